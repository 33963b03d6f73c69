"""From a test statistic to a decision: tail areas of the t law, a printed table, and the outcome of a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from margin.foundations.statistics.arguments import open_unit, positive

__all__ = ["ALTERNATIVES", "HypothesisTest", "p_value", "t_quantile", "t_table"]

ALTERNATIVES = ("two-sided", "greater", "less")


def p_value(t: float, df: float, alternative: str = "two-sided") -> float:
    r"""Probability, under the null, of a t statistic at least as extreme as ``t``.

    "greater" is :math:`P(T \ge t)`, "less" is :math:`P(T \le t)`, "two-sided" is :math:`P(|T| \ge |t|)`.

    Parameters
    ----------
    t : float
        The statistic.
    df : float
        Degrees of freedom.
    alternative : {"two-sided", "less", "greater"}
        The alternative.

    Examples
    --------
    >>> round(p_value(1.61, 38, "greater"), 3), round(p_value(1.61, 38), 3)
    (0.058, 0.116)
    """
    positive("p_value", "df", df)
    if np.isnan(t):
        raise ValueError(f"p_value: t must be a number; got {t!r}.")
    if alternative == "two-sided":
        return float(2 * special.stdtr(df, -abs(t)))
    if alternative == "greater":
        return float(special.stdtr(df, -t))
    if alternative == "less":
        return float(special.stdtr(df, t))
    raise ValueError(f"p_value: alternative must be one of {', '.join(ALTERNATIVES)}; got {alternative!r}.")


def t_quantile(df: float, probability: float) -> float:
    """The value below which a t variable with ``df`` degrees of freedom falls with ``probability``."""
    positive("t_quantile", "df", df)
    return float(special.stdtrit(df, open_unit("t_quantile", "probability", probability)))


def t_table(dfs: Sequence[float], probabilities: Sequence[float] = (0.9, 0.95, 0.975, 0.99, 0.995)) -> str:
    """The table at the back of the textbook: one row per degrees of freedom, one column per quantile.

    Parameters
    ----------
    dfs : sequence of float
        Degrees of freedom of the rows.
    probabilities : sequence of float
        Probabilities of the columns.

    Examples
    --------
    >>> print(t_table([1, 38], [0.95, 0.975]))
      df   0.950   0.975
       1   6.314  12.706
      38   1.686   2.024
    """
    header = "  df" + "".join(f"{p:8.3f}" for p in probabilities)
    lines = [f"{df:4g}" + "".join(f"{t_quantile(df, p):8.3f}" for p in probabilities) for df in dfs]
    return "\n".join([header, *lines])


@dataclass(frozen=True)
class HypothesisTest:
    """The outcome of a test: what was assumed, how far the data are from it, and how surprising that is.

    ``df`` is a pair for an F statistic; ``standard_error`` is what a t statistic was divided by.
    """

    null: str
    statistic: float
    df: float | tuple[float, float]
    p_value: float
    alternative: str = "greater"
    standard_error: float | None = None

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the null is rejected at significance level ``alpha``: p below alpha."""
        return self.p_value < open_unit("HypothesisTest.reject", "alpha", alpha)

    def sentence(self, alpha: float = 0.05) -> str:
        """The decision in words."""
        if self.reject(alpha):
            return f"p = {self.p_value:.3g} is below {alpha:g}: reject that {self.null}."
        return f"p = {self.p_value:.3g} is not below {alpha:g}: the data do not refute that {self.null}."
