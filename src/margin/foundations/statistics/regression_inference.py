r"""Inference on regression coefficients, and the three things called :math:`R^2`.

Least squares with design ``X`` (n, p), the intercept being a column of ones the caller adds with
:func:`with_intercept`: :math:`\hat\beta = (X^\top X)^{-1} X^\top y`,
:math:`\operatorname{cov}(\hat\beta) = \hat\sigma^2 (X^\top X)^{-1}`, :math:`\hat\sigma^2 = \mathrm{RSS}/(n - p)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.linalg import solve_triangular

from margin.foundations.statistics.arguments import Floats, matrix, open_unit, pair, vector

__all__ = [
    "CoefficientTable",
    "LeastSquares",
    "RSquared",
    "coefficient_table",
    "design_and_target",
    "full_rank_qr",
    "least_squares",
    "r_squared_forms",
    "with_intercept",
]


def with_intercept(X: ArrayLike) -> Floats:
    """``X`` (n,) or (n, p) with a first column of ones."""
    columns = np.atleast_2d(np.asarray(X, dtype=np.float64).T).T
    return np.column_stack([np.ones(len(columns)), columns])


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """One entry per coefficient: estimate, standard error, t or z, two-sided p, and interval."""

    estimate: Floats
    standard_error: Floats
    statistic: Floats
    p_value: Floats
    low: Floats
    high: Floats


def coefficient_table(
    estimate: Floats, covariance: Floats, df: float | None = None, level: float = 0.95
) -> CoefficientTable:
    """Wald statistics of ``estimate``; ``df`` degrees of freedom of the t law, or the normal law if None.

    Parameters
    ----------
    estimate : ndarray of shape (p,)
        Estimated coefficients.
    covariance : ndarray of shape (p, p)
        Their covariance.
    df : float, optional
        Degrees of freedom.
    level : float in (0, 1)
        Confidence level.
    """
    tail = (1 - open_unit("coefficient_table", "level", level)) / 2
    error = np.sqrt(np.diag(covariance))
    statistic = estimate / error
    if df is None:
        p, c = 2 * special.ndtr(-np.abs(statistic)), -special.ndtri(tail)
    else:
        p, c = 2 * special.stdtr(df, -np.abs(statistic)), -special.stdtrit(df, tail)
    return CoefficientTable(estimate, error, statistic, p, estimate - c * error, estimate + c * error)


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A least-squares fit with what its inference needs."""

    coefficients: Floats
    covariance: Floats
    residuals: Floats
    residual_variance: float
    df: int

    def table(self, level: float = 0.95) -> CoefficientTable:
        """Standard errors, t statistics, p-values and intervals of the coefficients."""
        return coefficient_table(self.coefficients, self.covariance, self.df, level)

    def predict(self, X: ArrayLike) -> Floats:
        """Fitted values for another design with the same columns."""
        return matrix("LeastSquares.predict", "X", X) @ self.coefficients


def least_squares(X: ArrayLike, y: ArrayLike) -> LeastSquares:
    """Fit ``y`` (n,) on the columns of ``X`` (n, p) by QR; the columns must be linearly independent.

    >>> fit = least_squares(with_intercept([0.0, 1.0, 2.0, 3.0]), [1.0, 3.0, 5.0, 8.0])
    >>> fit.coefficients.round(3).tolist(), fit.table().standard_error.round(3).tolist()
    ([0.8, 2.3], [0.324, 0.173])
    """
    design, target = design_and_target("least_squares", X, y)
    n, p = design.shape
    if n <= p:
        raise ValueError(f"least_squares: X needs more rows than columns; got shape {design.shape}.")
    Q, R = full_rank_qr("least_squares: the columns of X are linearly dependent", design)
    coefficients = solve_triangular(R, Q.T @ target)
    residuals = target - design @ coefficients
    sigma2 = float(residuals @ residuals / (n - p))
    root = solve_triangular(R, np.eye(p))  # R^-1, so that (X'X)^-1 = R^-1 R^-T
    return LeastSquares(coefficients, sigma2 * root @ root.T, residuals, sigma2, n - p)


def full_rank_qr(complaint: str, A: Floats) -> tuple[Floats, Floats]:
    """QR factors of ``A``; each column must add something of its own size to the ones before it."""
    Q, R = np.linalg.qr(A)
    added, size = np.abs(np.diag(R)), np.linalg.norm(A, axis=0)
    dependent = added <= len(A) * np.finfo(float).eps * size
    if dependent.any():
        raise ValueError(f"{complaint}; got column {int(dependent.argmax())} in the span of the others.")
    return Q, R


def design_and_target(caller: str, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """A matrix and a vector with as many entries as it has rows."""
    design, target = matrix(caller, "X", X), vector(caller, "y", y)
    if len(design) != len(target):
        raise ValueError(f"{caller}: X and y must have one length; got {len(design)} and {len(target)}.")
    return design, target


@dataclass(frozen=True)
class RSquared:
    r"""Three quantities called :math:`R^2`: equal for least squares with an intercept on its own training data."""

    unexplained: float
    explained: float
    squared_correlation: float


def r_squared_forms(y: ArrayLike, prediction: ArrayLike) -> RSquared:
    r"""All three forms for predictions :math:`f_i` of :math:`y_i`:

    * unexplained: :math:`1 - \sum (y_i - f_i)^2 / \sum (y_i - \bar y)^2`, negative when worse than the mean;
    * explained: :math:`\sum (f_i - \bar y)^2 / \sum (y_i - \bar y)^2`, above 1 for predictions that swing too far;
    * squared correlation of f and y, blind to shift and scale.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses.
    prediction : array-like of shape (n,)
        Predictions.
    """
    target, fitted = pair("r_squared_forms", y, prediction, names="y and prediction")
    centered = target - target.mean()
    total = float(centered @ centered)
    if total == 0:
        raise ValueError(f"r_squared_forms: y must vary; every value is {target[0]:g}.")
    swing = fitted - fitted.mean()
    length = float(swing @ swing)
    # A constant prediction explains nothing; its correlation is undefined and counted as zero.
    squared_correlation = float((swing @ centered) ** 2 / (length * total)) if length > 0 else 0.0
    return RSquared(
        float(1 - np.sum((target - fitted) ** 2) / total),
        float(np.sum((fitted - target.mean()) ** 2) / total),
        squared_correlation,
    )
