"""Transport on a line: sorting solves it. The plan that keeps the order is optimal for every p >= 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.transport.arguments import as_masses, as_order, as_points, check_equal_mass

__all__ = ["SparsePlan", "cdf_difference_norm", "monotone_plan", "wasserstein_1d", "wasserstein_1d_cdf"]

Array = NDArray[np.float64]


class SparsePlan(NamedTuple):
    """Mass ``mass[k]`` goes from point ``source[k]`` to point ``target[k]``; all else is zero."""

    source: NDArray[np.intp]
    target: NDArray[np.intp]
    mass: Array

    def dense(self, m: int, n: int) -> Array:
        """The plan as a matrix."""
        T = np.zeros((m, n))
        np.add.at(T, (self.source, self.target), self.mass)
        return T


def wasserstein_1d(
    x: ArrayLike, y: ArrayLike, p: float = 1.0, a: ArrayLike | None = None, b: ArrayLike | None = None
) -> float:
    r"""Wasserstein distance on the line by quantile functions, in the time of a sort.

    .. math:: W_p(\mu, \nu) = \Big( \int_0^1 |U^{-1}(t) - V^{-1}(t)|^p \, dt \Big)^{1/p}

    ``x`` and ``y`` are positions, ``a`` and ``b`` their masses (1/n each by default). Masses need not sum to one
    but must have equal totals; the cost is that of moving them all.

    >>> wasserstein_1d([0.0], [2.0], p=2)
    2.0
    """
    p = as_order("wasserstein_1d", p)
    x, y = _line("wasserstein_1d", "x", x), _line("wasserstein_1d", "y", y)
    if a is None and b is None and len(x) == len(y):
        x, y = np.sort(x), np.sort(y)
        return float(_powers(np.subtract(x, y, out=x), p).mean() ** (1.0 / p))
    plan = monotone_plan(x, y, a, b)
    return float((plan.mass @ _powers(x[plan.source] - y[plan.target], p)) ** (1.0 / p))


def monotone_plan(x: ArrayLike, y: ArrayLike, a: ArrayLike | None = None, b: ArrayLike | None = None) -> SparsePlan:
    r"""The order-preserving plan on the line: mass at level :math:`t` goes from :math:`U^{-1}(t)` to :math:`V^{-1}(t)`.

    At most m + n - 1 entries, sorted along the line.

    Parameters
    ----------
    x : array-like of shape (m,)
        Positions of the source.
    y : array-like of shape (n,)
        Positions of the target.
    a : array-like of shape (m,), optional
        Masses of the source; equal by default.
    b : array-like of shape (n,), optional
        Masses of the target; equal by default.

    Examples
    --------
    >>> monotone_plan([0.0, 1.0], [5.0, 3.0]).target.tolist()
    [1, 0]
    """
    x, y = _line("monotone_plan", "x", x), _line("monotone_plan", "y", y)
    a = as_masses("monotone_plan", "a", a, len(x))
    b = as_masses("monotone_plan", "b", b, len(y))
    check_equal_mass("monotone_plan", a, b)
    by_x, by_y = np.argsort(x), np.argsort(y)
    levels_x, levels_y = np.cumsum(a[by_x]), np.cumsum(b[by_y])
    # Both ladders end at the same total; rounding may leave them an ulp apart.
    levels_y = np.minimum(levels_y * (levels_x[-1] / levels_y[-1]), levels_x[-1])
    levels_y[-1] = levels_x[-1]
    ladder = np.concatenate([levels_x, levels_y])
    merged = np.argsort(ladder, kind="stable")  # merges two sorted runs in one pass
    is_x = merged < len(x)
    passed_x: NDArray[np.intp] = np.cumsum(is_x) - is_x  # steps of x's ladder below each level
    passed_y = np.arange(len(merged)) - passed_x
    mass = np.diff(ladder[merged], prepend=0.0)
    keep = mass > 0
    source = by_x[np.minimum(passed_x[keep], len(x) - 1)]
    return SparsePlan(source, by_y[np.minimum(passed_y[keep], len(y) - 1)], mass[keep])


def wasserstein_1d_cdf(
    x: ArrayLike, y: ArrayLike, p: float = 1.0, a: ArrayLike | None = None, b: ArrayLike | None = None
) -> float:
    r"""The area between the distribution functions, which is :math:`W_1` and only :math:`W_1`.

    .. math:: W_1(\mu, \nu) = \int_{-\infty}^{\infty} |U(s) - V(s)| \, ds

    The same formula with a power :math:`p > 1` is no Wasserstein distance (point masses at 0 and 2: it gives
    :math:`\sqrt 2` for :math:`p = 2`, while :math:`W_2 = 2`), so any other ``p`` is refused.

    Parameters
    ----------
    x : array-like of shape (m,)
        Positions of the source.
    y : array-like of shape (n,)
        Positions of the target.
    p : float
        Order of the distance; only 1.
    a : array-like of shape (m,), optional
        Masses of the source; equal by default.
    b : array-like of shape (n,), optional
        Masses of the target; equal by default.

    Examples
    --------
    >>> wasserstein_1d_cdf([0.0], [2.0])
    2.0
    """
    if p != 1:
        raise ValueError(f"wasserstein_1d_cdf: the formula by distribution functions needs p = 1; got {p!r}.")
    return cdf_difference_norm(x, y, 1.0, a, b)


def cdf_difference_norm(
    x: ArrayLike, y: ArrayLike, p: float, a: ArrayLike | None = None, b: ArrayLike | None = None
) -> float:
    r""":math:`\big( \int |U(s) - V(s)|^p ds \big)^{1/p}`: equal to :math:`W_p` for :math:`p = 1` and not beyond.

    Parameters
    ----------
    x : array-like of shape (m,)
        Positions of the source.
    y : array-like of shape (n,)
        Positions of the target.
    p : float
        Order of the norm.
    a : array-like of shape (m,), optional
        Masses of the source; equal by default.
    b : array-like of shape (n,), optional
        Masses of the target; equal by default.

    Examples
    --------
    >>> round(cdf_difference_norm([0.0], [2.0], 2), 6)
    1.414214
    """
    p = as_order("cdf_difference_norm", p)
    x, y = _line("cdf_difference_norm", "x", x), _line("cdf_difference_norm", "y", y)
    a = as_masses("cdf_difference_norm", "a", a, len(x))
    b = as_masses("cdf_difference_norm", "b", b, len(y))
    check_equal_mass("cdf_difference_norm", a, b)
    positions = np.concatenate([x, y])
    order = np.argsort(positions, kind="stable")
    difference = np.cumsum(np.concatenate([a, -b])[order])[:-1]  # U - V on each gap between positions
    return float((np.diff(positions[order]) @ _powers(difference, p)) ** (1.0 / p))


def _line(owner: str, name: str, x: ArrayLike) -> Array:
    points = as_points(owner, name, x)
    if points.shape[1] != 1:
        raise ValueError(f"{owner}: {name} must be points on a line; got dimension {points.shape[1]}.")
    return points[:, 0]


def _powers(difference: Array, p: float) -> Array:
    size = np.abs(difference)
    return size if p == 1 else size**p
