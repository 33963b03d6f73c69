"""What every function of this package accepts: points, masses and a cost between them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from margin.core.arguments import finite

__all__ = ["as_cost", "as_masses", "as_order", "as_points", "check_equal_mass", "cost_matrix"]

Array = NDArray[np.float64]

# Masses that were normalized in float32 agree to about this, relative to their total.
MASS_TOLERANCE = 1e-6


def as_points(owner: str, name: str, x: ArrayLike) -> Array:
    """Points as float64 of shape (n, d); a flat list is taken as n points on a line."""
    points = finite(owner, name, x)
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[0] == 0:
        raise ValueError(f"{owner}: {name} must be a non-empty list of points; got shape {points.shape}.")
    return points


def as_masses(owner: str, name: str, masses: ArrayLike | None, n: int) -> Array:
    """Non-negative masses of ``n`` points, 1/n each when ``masses`` is None."""
    if masses is None:
        return np.full(n, 1.0 / n)
    values = finite(owner, name, masses)
    if values.shape != (n,):
        raise ValueError(f"{owner}: {name} must have one mass per point, shape ({n},); got shape {values.shape}.")
    if values.min() < 0:
        raise ValueError(f"{owner}: {name} must not be negative; its least entry is {values.min():g}.")
    if values.sum() == 0:
        raise ValueError(f"{owner}: {name} must have positive total mass; got 0.")
    return values


def check_equal_mass(owner: str, a: Array, b: Array) -> None:
    """Mass can only be moved between distributions that have the same amount of it."""
    total_a, total_b = a.sum(), b.sum()
    if abs(total_a - total_b) > MASS_TOLERANCE * max(total_a, total_b):
        raise ValueError(f"{owner}: a and b must have equal total mass; got {total_a:.6g} and {total_b:.6g}.")


def as_order(owner: str, p: float) -> float:
    if isinstance(p, str) or not (math.isfinite(p) and p >= 1):
        raise ValueError(f"{owner}: p must be a finite number of at least 1; got {p!r}.")
    return float(p)


def as_cost(owner: str, M: ArrayLike, m: int, n: int) -> Array:
    cost = finite(owner, "M", M)
    if cost.shape != (m, n):
        raise ValueError(f"{owner}: M must have shape ({m}, {n}) for masses a and b; got {cost.shape}.")
    return np.ascontiguousarray(cost)


def cost_matrix(x: ArrayLike, y: ArrayLike, p: float = 2.0) -> Array:
    r"""Ground costs :math:`M_{ij} = \lVert x_i - y_j \rVert^p`, shape (m, n).

    Parameters
    ----------
    x : array-like of shape (m,) or (m, d)
        Points of the source.
    y : array-like of shape (n,) or (n, d)
        Points of the target.
    p : float
        Power of the distance.

    Examples
    --------
    >>> cost_matrix([0.0, 1.0], [3.0], p=2).tolist()
    [[9.0], [4.0]]
    """
    p = as_order("cost_matrix", p)
    x, y = as_points("cost_matrix", "x", x), as_points("cost_matrix", "y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"cost_matrix: x and y must have the same dimension; got {x.shape[1]} and {y.shape[1]}.")
    if p == 2:
        return cdist(x, y, "sqeuclidean")
    distances = cdist(x, y)
    return distances if p == 1 else distances**p
