"""How far predictions are from responses. With several outputs (2-D arrays) each is measured and the mean taken."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.core.quantiles import weighted_quantile
from margin.metrics.arguments import UndefinedMetricError, finite, weights
from margin.metrics.parameter_texts import RESPONSES

__all__ = [
    "adjusted_r2",
    "explained_ratio",
    "explained_variance",
    "mae",
    "mape",
    "max_error",
    "median_absolute_error",
    "mse",
    "pinball",
    "r2",
    "rmse",
    "rmsle",
    "squared_correlation",
]


@with_parameters(RESPONSES)
def mse(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean squared error :math:`\sum_i w_i (y_i - \hat y_i)^2 / \sum_i w_i`.

    Examples
    --------
    >>> mse([1, 2, 3], [1, 2, 5])
    1.3333333333333333
    """
    y, p, w = _arguments("mse", y_true, y_pred, sample_weight)
    return float(np.mean(_mean((y - p) ** 2, w)))


@with_parameters(RESPONSES)
def rmse(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Root of the mean squared error, in the units of the response."""
    y, p, w = _arguments("rmse", y_true, y_pred, sample_weight)
    return float(np.mean(np.sqrt(_mean((y - p) ** 2, w))))


@with_parameters(RESPONSES)
def mae(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean absolute error :math:`\sum_i w_i |y_i - \hat y_i| / \sum_i w_i`."""
    y, p, w = _arguments("mae", y_true, y_pred, sample_weight)
    return float(np.mean(_mean(np.abs(y - p), w)))


@with_parameters(RESPONSES)
def max_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """The largest absolute error of all rows and outputs."""
    y, p, _ = _arguments("max_error", y_true, y_pred, None)
    return float(np.max(np.abs(y - p)))


@with_parameters(RESPONSES)
def rmsle(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Root of the mean squared difference of :math:`\log(1 + y)`: relative errors of values that are not negative."""
    y, p, w = _arguments("rmsle", y_true, y_pred, sample_weight)
    if np.any(y < 0) or np.any(p < 0):
        raise UndefinedMetricError("rmsle: y_true and y_pred must not be negative.")
    return float(np.mean(np.sqrt(_mean((np.log1p(y) - np.log1p(p)) ** 2, w))))


@with_parameters(RESPONSES)
def median_absolute_error(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Median of :math:`|y_i - \hat y_i|`, of the weighted distribution where there are weights."""

    y, p, w = _arguments("median_absolute_error", y_true, y_pred, sample_weight)
    return float(np.mean([weighted_quantile(errors, w, 0.5) for errors in np.abs(y - p).T]))


@with_parameters(RESPONSES)
def r2(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Coefficient of determination :math:`1 - \sum_i w_i(y_i - \hat y_i)^2 / \sum_i w_i(y_i - \bar y)^2`.

    For a constant response it is 1 when the prediction is perfect and 0 otherwise. It is negative for predictions
    worse than the mean.

    Examples
    --------
    >>> r2([1, 2, 3], [1, 2, 3]), r2([1, 2, 3], [2, 2, 2])
    (1.0, 0.0)
    """
    y, p, w = _arguments("r2", y_true, y_pred, sample_weight)
    if len(y) < 2:
        raise UndefinedMetricError("r2: at least two rows are needed; got one.")
    return float(np.mean(_one_minus(_mean((y - p) ** 2, w), _mean((y - _mean(y, w)) ** 2, w))))


@with_parameters(RESPONSES)
def adjusted_r2(y_true: ArrayLike, y_pred: ArrayLike, n_features: int, sample_weight: ArrayLike | None = None) -> float:
    r"""R squared with the price of its features: :math:`1 - (1 - R^2)\frac{n - 1}{n - m - 1}`.

    Parameters
    ----------
    n_features : int
        Number of features of the model, :math:`m`; the intercept does not count.
    """
    n = len(np.asarray(y_true))
    if isinstance(n_features, bool) or not isinstance(n_features, int | np.integer) or n_features < 0:
        raise ValueError(f"adjusted_r2: n_features must be an integer of at least 0; got {n_features!r}.")
    if n - n_features - 1 <= 0:
        raise ValueError(f"adjusted_r2: {n_features} features need more than {n_features + 1} rows; got {n}.")
    return 1.0 - (1.0 - r2(y_true, y_pred, sample_weight)) * (n - 1) / (n - n_features - 1)


@with_parameters(RESPONSES)
def explained_variance(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Explained variance, :math:`1 - \mathrm{Var}(y - \hat y)/\mathrm{Var}(y)`: blind to a constant shift."""
    y, p, w = _arguments("explained_variance", y_true, y_pred, sample_weight)
    residual = y - p
    return float(np.mean(_one_minus(_mean((residual - _mean(residual, w)) ** 2, w), _mean((y - _mean(y, w)) ** 2, w))))


@with_parameters(RESPONSES)
def explained_ratio(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Spread of predictions over spread of responses, :math:`\sum_i(\hat y_i - \bar y)^2/\sum_i(y_i - \bar y)^2`.

    It equals :func:`r2` for least squares with an intercept on the rows it was fitted to, and in general nowhere else.
    """
    y, p, w = _arguments("explained_ratio", y_true, y_pred, None)
    center = _mean(y, w)
    return float(np.mean(_over(_mean((p - center) ** 2, w), _mean((y - center) ** 2, w), "explained_ratio")))


@with_parameters(RESPONSES)
def squared_correlation(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Squared Pearson correlation of responses and predictions: blind to shift and scale."""
    y, p, w = _arguments("squared_correlation", y_true, y_pred, None)
    dy, dp = y - _mean(y, w), p - _mean(p, w)
    return float(np.mean(_over(_mean(dy * dp, w) ** 2, _mean(dy**2, w) * _mean(dp**2, w), "squared_correlation")))


@with_parameters(RESPONSES)
def mape(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean absolute error relative to the response, :math:`|y_i - \hat y_i| / |y_i|`; 0.1 is ten percent.

    A response of zero is replaced by the machine epsilon, which makes the value huge rather than undefined.
    """
    y, p, w = _arguments("mape", y_true, y_pred, sample_weight)
    return float(np.mean(_mean(np.abs(y - p) / np.maximum(np.abs(y), np.finfo(np.float64).eps), w)))


@with_parameters(RESPONSES)
def pinball(y_true: ArrayLike, y_pred: ArrayLike, alpha: float = 0.5, sample_weight: ArrayLike | None = None) -> float:
    r"""Pinball loss :math:`\alpha(y - \hat y)_+ + (1 - \alpha)(\hat y - y)_+`: least for the ``alpha`` quantile.

    Parameters
    ----------
    alpha : float in (0, 1)
        The quantile that is predicted.
    """
    if not isinstance(alpha, int | float | np.number) or not 0 <= alpha <= 1:
        raise ValueError(f"pinball: alpha must lie in [0, 1]; got {alpha!r}.")
    y, p, w = _arguments("pinball", y_true, y_pred, sample_weight)
    gap = y - p
    return float(np.mean(_mean(np.maximum(alpha * gap, (alpha - 1) * gap), w)))


def _arguments(where: str, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses and predictions of shape (n, outputs), and weights of shape (n,)."""
    y = finite(where, "y_true", y_true, ndim=(1, 2))
    p = finite(where, "y_pred", y_pred, ndim=(1, 2))
    y, p = (column[:, None] if column.ndim == 1 else column for column in (y, p))
    if y.shape != p.shape:
        raise ValueError(f"{where}: y_true and y_pred must have equal shapes; got {y.shape} and {p.shape}.")
    return y, p, weights(where, sample_weight, len(y))


def _mean(values: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weighted mean over rows, one per output."""
    return np.average(values, axis=0, weights=w)


def _one_minus(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """1 - a/b per output; for b = 0 it is 1 if a is 0 too, else 0."""
    safe = np.where(denominator > 0, denominator, 1.0)
    return np.where(denominator > 0, 1 - numerator / safe, np.where(numerator > 0, 0.0, 1.0))


def _over(numerator: np.ndarray, denominator: np.ndarray, where: str) -> np.ndarray:
    if np.any(denominator == 0):
        raise UndefinedMetricError(f"{where}: is not defined for values that are all equal.")
    return numerator / denominator
