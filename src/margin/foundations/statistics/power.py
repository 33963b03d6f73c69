r"""Power of a t-test: how often it rejects when there is something to find.

With the standardized effect :math:`\delta = (\mu - \mu_0) / \sigma` the statistic follows the noncentral t law
with shift :math:`\delta \sqrt n` (one sample or pairs) or :math:`\delta \sqrt{n_a n_b / (n_a + n_b)}` (two samples).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from margin.foundations.statistics.arguments import integer, open_unit
from margin.foundations.statistics.p_values import ALTERNATIVES, t_quantile

__all__ = ["sample_size", "t_test_power"]

LARGEST_SAMPLE = 10_000_000  # beyond this an effect is too small for a t-test to be the question


def t_test_power(
    effect: float, n: int, second_n: int | None = None, alpha: float = 0.05, alternative: str = "two-sided"
) -> float:
    """Probability of rejecting at level ``alpha``; ``second_n`` makes it the pooled two-sample test.

    Parameters
    ----------
    effect : float
        Difference of the means in standard deviations.
    n : int
        Size of the sample.
    second_n : int, optional
        Size of the second sample.
    alpha : float in (0, 1)
        Level of the test.
    alternative : {"two-sided", "less", "greater"}
        The alternative.

    Examples
    --------
    >>> round(t_test_power(0.5, 64, 64), 3)
    0.801
    """
    integer("t_test_power", "n", n, low=2)
    open_unit("t_test_power", "alpha", alpha)
    if not np.isfinite(effect):
        raise ValueError(f"t_test_power: effect must be finite; got {effect!r}.")
    if second_n is None:
        df, shift = n - 1, effect * np.sqrt(n)
    else:
        integer("t_test_power", "second_n", second_n, low=2)
        df, shift = n + second_n - 2, effect * np.sqrt(n * second_n / (n + second_n))
    if alternative == "two-sided":
        c = t_quantile(df, 1 - alpha / 2)
        return _beyond(df, shift, c) + _beyond(df, -shift, c)
    if alternative == "greater":
        return _beyond(df, shift, t_quantile(df, 1 - alpha))
    if alternative == "less":
        return _beyond(df, -shift, t_quantile(df, 1 - alpha))
    raise ValueError(f"t_test_power: alternative must be one of {', '.join(ALTERNATIVES)}; got {alternative!r}.")


def sample_size(effect: float, power: float = 0.8, alpha: float = 0.05, two_samples: bool = True) -> int:
    """The smallest n (per group if ``two_samples``) whose two-sided test has at least this power.

    Parameters
    ----------
    effect : float
        Difference of the means in standard deviations.
    power : float in (0, 1)
        Probability of rejecting.
    alpha : float in (0, 1)
        Level of the test.
    two_samples : bool
        Whether two groups are compared.

    Examples
    --------
    >>> sample_size(0.5)
    64
    """
    open_unit("sample_size", "power", power)
    if not (np.isfinite(effect) and effect != 0):
        raise ValueError(f"sample_size: effect must be a number other than 0; got {effect!r}.")

    def reached(n: int) -> bool:
        return t_test_power(effect, n, n if two_samples else None, alpha) >= power

    low, high = 1, 2
    while not reached(high):
        low, high = high, 2 * high
        if high > LARGEST_SAMPLE:
            raise ValueError(f"sample_size: effect must be reachable with {LARGEST_SAMPLE} values; got {effect!r}.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _beyond(df: float, shift: float, c: float) -> float:
    """Probability that the noncentral t variable exceeds ``c``."""
    return float(1 - special.nctdtr(df, shift, c))
