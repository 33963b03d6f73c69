r"""Analysis of variance: F-tests of nested least-squares models.

.. math:: F = \frac{(\mathrm{RSS}_0 - \mathrm{RSS}_1) / (p_1 - p_0)}{\mathrm{RSS}_1 / (n - p_1)}

follows the F law with :math:`(p_1 - p_0, n - p_1)` degrees of freedom if the smaller model is true and the
errors are independent and normal. One-way ANOVA is the case "one mean" against "one mean per group".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.statistics.arguments import Floats, integer, pair, vector
from margin.foundations.statistics.p_values import HypothesisTest
from margin.foundations.statistics.regression_inference import least_squares, with_intercept

__all__ = ["f_test_from_sums", "linearity_test", "natural_spline_basis", "nested_f_test", "one_way_anova"]


def nested_f_test(X_small: ArrayLike, X_big: ArrayLike, y: ArrayLike) -> HypothesisTest:
    """Does the bigger design explain more than chance? The columns of ``X_small`` must lie in the span of ``X_big``.

    Parameters
    ----------
    X_small : array-like of shape (n, p)
        The smaller design.
    X_big : array-like of shape (n, q)
        The bigger design.
    y : array-like of shape (n,)
        Responses.
    """
    small, big = least_squares(X_small, y), least_squares(X_big, y)
    extra = small.df - big.df
    if extra < 1:
        raise ValueError(f"nested_f_test: X_big must have more columns than X_small; it has {extra} more.")
    columns = np.asarray(X_small, dtype=np.float64)
    outside = columns - np.asarray(X_big) @ np.linalg.lstsq(np.asarray(X_big), columns, rcond=None)[0]
    # Rounding of a projection grows with the size of the columns.
    if np.abs(outside).max() > 1e-8 * max(1.0, np.abs(columns).max()):
        raise ValueError("nested_f_test: X_small must lie in the span of X_big; the models are not nested.")
    drop = float(small.residuals @ small.residuals - big.residuals @ big.residuals)
    return f_test_from_sums("the smaller model is enough", drop, extra, big.residual_variance, big.df)


def one_way_anova(groups: Sequence[ArrayLike]) -> HypothesisTest:
    """Have all groups one mean? Between-group against within-group mean squares.

    >>> round(one_way_anova([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]).statistic, 6)
    13.0
    """
    samples = [vector("one_way_anova", f"groups[{i}]", group) for i, group in enumerate(groups)]
    k, n = len(samples), sum(map(len, samples))
    if k < 2 or n <= k:
        raise ValueError(f"one_way_anova: groups must be at least two with more values than groups; got {k} and {n}.")
    grand = sum(float(s.sum()) for s in samples) / n
    between = sum(len(s) * (s.mean() - grand) ** 2 for s in samples)
    within = sum(float(((s - s.mean()) ** 2).sum()) for s in samples)
    if within == 0:
        raise ValueError("one_way_anova: groups must vary inside at least one group; all are constant.")
    return f_test_from_sums("all groups have one mean", float(between), k - 1, within / (n - k), n - k)


def linearity_test(x: ArrayLike, y: ArrayLike, n_knots: int = 5) -> HypothesisTest:
    """Is a straight line enough, against a natural cubic spline with knots at quantiles of ``x``?

    Parameters
    ----------
    x : array-like of shape (n,)
        A feature.
    y : array-like of shape (n,)
        Responses.
    n_knots : int
        Knots of the spline.
    """
    a, b = pair("linearity_test", x, y, least=integer("linearity_test", "n_knots", n_knots, low=3) + 2)
    knots = np.quantile(a, np.linspace(0.05, 0.95, n_knots))
    return nested_f_test(with_intercept(a), with_intercept(natural_spline_basis(a, knots)), b)


def natural_spline_basis(x: ArrayLike, knots: ArrayLike) -> Floats:
    r"""Natural cubic spline basis (n, K - 1) without the constant: x, then the K - 2 functions :math:`d_k - d_{K-1}`,

    .. math:: d_k(x) = \frac{(x - \xi_k)_+^3 - (x - \xi_K)_+^3}{\xi_K - \xi_k},

    cubic between the knots, straight outside them.
    """
    values, xi = vector("natural_spline_basis", "x", x), vector("natural_spline_basis", "knots", knots, least=3)
    if (np.diff(xi) <= 0).any():
        raise ValueError(f"natural_spline_basis: knots must increase strictly; got {xi.tolist()}.")
    cubes = np.maximum(values[:, None] - xi, 0.0) ** 3
    d = (cubes[:, :-1] - cubes[:, -1:]) / (xi[-1] - xi[:-1])
    scale = (xi[-1] - xi[0]) ** 2  # keeps the cubic columns of the size of x
    return np.column_stack([values, (d[:, :-1] - d[:, -1:]) / scale])


def f_test_from_sums(null: str, drop: float, extra: float, residual_variance: float, df: float) -> HypothesisTest:
    r"""The F-test of a drop in the sum of squares, :math:`F = (\mathrm{drop} / k) / \hat\sigma^2` on (k, df) degrees.

    Parameters
    ----------
    null : str
        What is tested, as a sentence.
    drop : float
        By how much the bigger model lowers the sum of squared residuals.
    extra : float
        Parameters that it has more, k.
    residual_variance : float
        Variance of its residuals, above 0.
    df : float
        Degrees of freedom of that variance.

    Examples
    --------
    >>> round(f_test_from_sums("all groups have one mean", 26.0, 2, 1.0, 6).statistic, 6)
    13.0
    """
    statistic = max(drop, 0.0) / extra / residual_variance
    return HypothesisTest(null, float(statistic), (extra, df), float(special.fdtrc(extra, df, statistic)))
