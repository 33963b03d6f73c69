r"""Residuals :math:`e_i = y_i - f(x_i)` and whether they look normal.

Errors that add up many small independent contributions of finite variance and comparable size are nearly
normal (central limit theorem). One contribution that dominates, or has no variance, is enough to break it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.statistics.arguments import Floats, vector
from margin.foundations.statistics.p_values import HypothesisTest

__all__ = ["jarque_bera", "normal_quantile_points", "residuals"]


def residuals(predict: Callable[[ArrayLike], ArrayLike], X: ArrayLike, y: ArrayLike) -> Floats:
    """Target minus prediction.

    Parameters
    ----------
    predict : callable
        Maps rows to predictions.
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    """
    target = vector("residuals", "y", y)
    fitted = np.asarray(predict(X), dtype=np.float64)
    if fitted.shape != target.shape:
        raise ValueError(f"residuals: predict must return shape {target.shape}; got {fitted.shape}.")
    return target - fitted


def normal_quantile_points(x: ArrayLike) -> tuple[Floats, Floats]:
    r"""The points of a QQ-plot: normal quantiles at :math:`(i - 1/2)/n` and the standardized values in order.

    Parameters
    ----------
    x : array-like of shape (n,)
        Observations.
    """
    values = np.sort(vector("normal_quantile_points", "x", x, least=3))
    if values[0] == values[-1]:
        raise ValueError(f"normal_quantile_points: x must vary; every value is {values[0]:g}.")
    levels = (np.arange(len(values)) + 0.5) / len(values)
    return special.ndtri(levels), (values - values.mean()) / values.std()


def jarque_bera(x: ArrayLike) -> HypothesisTest:
    r"""Test of normality from skewness :math:`g_1` and excess kurtosis :math:`g_2`:

    .. math:: \frac n6 \Big(g_1^2 + \frac{g_2^2}{4}\Big) \to \chi^2_2 .

    The limit is slow: meant for some hundreds of values or more.

    Parameters
    ----------
    x : array-like of shape (n,)
        Observations.
    """
    values = vector("jarque_bera", "x", x, least=8)
    _, z = normal_quantile_points(values)
    statistic = float(len(z) / 6 * (np.mean(z**3) ** 2 + (np.mean(z**4) - 3) ** 2 / 4))
    p = float(special.chdtrc(2, statistic))
    return HypothesisTest("the values are normal", statistic, 2.0, p)
