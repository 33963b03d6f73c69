r"""What a statistician asks of a fitted linear model: standard errors, tests, intervals and quality of fit.

Least squares: :math:`\operatorname{cov}(\hat\beta) = \hat\sigma^2 (X^\top X)^{-1}` with t tests. Logistic regression:
:math:`\operatorname{cov}(\hat\beta) = (X^\top D X)^{-1}`, :math:`D = \operatorname{diag}(w_i p_i (1 - p_i))`, the
inverse of the information at the estimate, with z tests (Wald). A weight counts rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from margin.core.array_types import MatrixLike
from margin.foundations.statistics.anova import f_test_from_sums
from margin.foundations.statistics.regression_inference import CoefficientTable, coefficient_table
from margin.linear.logistic_loss import LabeledRows, Likelihood

__all__ = ["LinearSummary", "LogisticSummary", "summarize_linear", "summarize_logistic"]


@dataclass(frozen=True, eq=False)
class LinearSummary:
    """The table of a least-squares fit; ``str`` prints it."""

    names: list[str]
    table: CoefficientTable
    r2: float
    adjusted_r2: float
    residual_variance: float
    df: float
    f_statistic: float

    def __str__(self) -> str:
        head = f"R2 {self.r2:.4f}   adjusted {self.adjusted_r2:.4f}   residual variance {self.residual_variance:.6g}"
        return f"{head}   degrees of freedom {self.df:g}   F {self.f_statistic:.4g}\n" + _lines(
            self.names, self.table, "t"
        )


@dataclass(frozen=True, eq=False)
class LogisticSummary:
    r"""The table of a logistic fit; ``pseudo_r2`` is McFadden's :math:`1 - \log L / \log L_0`."""

    names: list[str]
    table: CoefficientTable
    odds_ratio: np.ndarray
    log_likelihood: float
    null_log_likelihood: float

    @property
    def pseudo_r2(self) -> float:
        return 1.0 - self.log_likelihood / self.null_log_likelihood

    def __str__(self) -> str:
        head = f"log-likelihood {self.log_likelihood:.6g}   null {self.null_log_likelihood:.6g}"
        body = _lines(self.names, self.table, "z", ("odds ratio", self.odds_ratio))
        return f"{head}   pseudo R2 {self.pseudo_r2:.4f}\n{body}"


def summarize_linear(
    coef: np.ndarray,
    intercept: float,
    X: MatrixLike,
    y: np.ndarray,
    names: list[str],
    *,
    weights: np.ndarray | None = None,
    fit_intercept: bool = True,
    level: float = 0.95,
) -> LinearSummary:
    """Inference on least-squares coefficients for the rows they were learned from.

    The columns must be linearly independent and fewer than the rows.
    """
    rows = LabeledRows(
        sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64), np.zeros(len(y), int), weights
    )
    n, k = rows.total, len(coef) + fit_intercept
    if n <= k:
        raise ValueError(f"summarize_linear: more rows than coefficients are needed; got {n:g} and {k}.")
    w = np.ones(len(y)) if weights is None else weights
    residual = y - (rows.X @ coef + intercept)
    rss = float(w @ residual**2)
    center = float(w @ y) / n if fit_intercept else 0.0
    total = float(w @ (y - center) ** 2)
    variance = rss / (n - k)
    moments = Likelihood(rows, 1, 0.0, fit_intercept).second_moments() * n
    table = coefficient_table(*_order(coef, intercept, variance * _inverse(moments, fit_intercept)), n - k, level)
    r2 = 1.0 - rss / total if total > 0 else float("nan")
    adjusted = 1.0 - (1.0 - r2) * (n - fit_intercept) / (n - k)
    features = max(k - fit_intercept, 1)
    f = _f_of_all(total - rss, features, variance, n - k) if variance > 0 else float("inf")
    return LinearSummary(_name_terms(names, fit_intercept), table, r2, adjusted, variance, n - k, f)


def _f_of_all(drop: float, features: int, variance: float, df: float) -> float:
    return f_test_from_sums("no column tells anything", drop, features, variance, df).statistic


def summarize_logistic(
    coef: np.ndarray,
    intercept: float,
    rows: LabeledRows,
    names: list[str],
    fit_intercept: bool = True,
    level: float = 0.95,
) -> LogisticSummary:
    """Wald inference for two classes at the given coefficients, which should maximize the likelihood of ``rows``."""
    likelihood = Likelihood(rows, 1, 0.0, fit_intercept)
    theta = np.append(coef, intercept)[:, None]
    information = likelihood.hessian(theta) * rows.total
    table = coefficient_table(*_order(coef, intercept, _inverse(information, fit_intercept)), None, level)
    w = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    fraction = float(w @ rows.y) / rows.total if fit_intercept else 0.5  # all scores are 0 without an intercept
    null = rows.total * float(xlogy(fraction, fraction) + xlogy(1 - fraction, 1 - fraction))
    log_likelihood = -likelihood.value_and_gradient(theta)[0] * rows.total
    return LogisticSummary(_name_terms(names, fit_intercept), table, np.exp(table.estimate), log_likelihood, null)


def _inverse(information: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """The covariance, intercept first; a singular matrix is one sentence."""
    k = len(information)
    order = np.r_[k - 1, : k - 1] if fit_intercept else np.arange(k - 1)
    ordered = information[np.ix_(order, order)]
    scale = np.sqrt(np.maximum(ordered.diagonal(), 0.0))
    if not scale.all():
        raise ValueError("summary: a column of X is zero (or its information is); its coefficient has no error bar.")
    unit = ordered / np.outer(scale, scale)
    values = np.linalg.eigvalsh(unit)
    if values[0] <= len(unit) * np.finfo(float).eps * values[-1]:
        raise ValueError("summary: the columns of X are linearly dependent, so single coefficients have no error bars.")
    return np.linalg.inv(unit) / np.outer(scale, scale)


def _order(coef: np.ndarray, intercept: float, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    estimate = np.append(intercept, coef) if len(covariance) > len(coef) else np.asarray(coef, dtype=float)
    return estimate, covariance


def _name_terms(names: list[str], fit_intercept: bool) -> list[str]:
    return ["intercept", *map(str, names)] if fit_intercept else list(map(str, names))


def _lines(names: list[str], table: CoefficientTable, test: str, extra: tuple[str, np.ndarray] | None = None) -> str:
    titles = ["estimate", "std. error", test, "p", "low", "high"]
    columns = [table.estimate, table.standard_error, table.statistic, table.p_value, table.low, table.high]
    if extra is not None:
        titles.append(extra[0])
        columns.append(extra[1])
    width = max(len(name) for name in names)
    lines = [" " * width + "".join(f"{title:>12}" for title in titles)]
    for name, *values in zip(names, *columns):
        lines.append(f"{name:<{width}}" + "".join(f"{value:>12.4g}" for value in values))
    return "\n".join(lines)
