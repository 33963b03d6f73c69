r"""Multidimensional scaling: points whose distances are given ones.

Classical (Torgerson) scaling has a closed form: of squared distances, double centering gives inner products

.. math:: \tau(D) = -\tfrac12 H D^{\circ 2} H, \quad H = I - \tfrac1n \mathbf 1 \mathbf 1^\top, \qquad
    Y = V_k \Lambda_k^{1/2}, \quad \tau(D) = V \Lambda V^\top .

Metric scaling minimizes the stress :math:`\sum_{i<j} (\delta_{ij} - \lVert y_i - y_j \rVert)^2`, which every Guttman
transform lowers (majorization); non-metric scaling (Kruskal) lets :math:`\delta` be any monotone function of the given
numbers, found by isotonic regression.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from margin.core.arguments import finite
from margin.foundations.probability.kernels import squared_distances
from margin.reduction.spectrum import largest_eigenpairs

__all__ = [
    "Disparities",
    "classical_coordinates",
    "disparities",
    "distance_rows",
    "double_centered",
    "gower_positions",
    "guttman_transform",
    "stress",
]


class Disparities(NamedTuple):
    """Distances after the best monotone change: ``values`` (n, n), and the change as a table of knots."""

    values: np.ndarray
    knots: np.ndarray
    heights: np.ndarray


def distance_rows(owner: str, D: Any, name: str = "D") -> np.ndarray:
    """``D`` as a symmetric matrix of distances: finite, at least zero, zero on its diagonal."""
    distances = finite(owner, name, D)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or distances.size == 0:
        raise ValueError(f"{owner}: {name} must be a square matrix of distances; got shape {distances.shape}.")
    scale = np.abs(distances).max()
    if distances.min() < 0 or np.abs(distances - distances.T).max() > 1e-8 * scale:
        raise ValueError(f"{owner}: {name} must be symmetric and nowhere negative.")
    if np.abs(np.diag(distances)).max() > 1e-8 * scale:
        raise ValueError(f"{owner}: {name} must be zero on its diagonal; got {np.abs(np.diag(distances)).max():g}.")
    return distances


def double_centered(D: Any) -> np.ndarray:
    r""":math:`\tau(D) = -\frac12 H D^{\circ 2} H`: inner products of the centered points with these distances.

    >>> double_centered([[0.0, 2.0], [2.0, 0.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    squares = distance_rows("double_centered", D) ** 2
    means = squares.mean(axis=0)
    return -(squares - means - means[:, None] + means.mean()) / 2


def classical_coordinates(
    D: Any, k: int = 2, *, solver: str = "auto", tol: float = 0.0, max_iter: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Classical scaling: coordinates (n, k), centered along principal axes, and the k largest eigenvalues.

    Euclidean distances of points in k dimensions are met exactly; an axis whose eigenvalue is not positive (distances
    that no points have) is zero.
    """
    squares = distance_rows("classical_coordinates", D) ** 2
    if not 1 <= k <= len(squares):
        raise ValueError(f"classical_coordinates: k must be from 1 to {len(squares)}; got {k}.")
    means = squares.mean(axis=0)

    def product(v: np.ndarray) -> np.ndarray:
        """Double centering without a second matrix."""
        v = v - v.mean(axis=0)
        w = squares @ v
        return -(w - w.mean(axis=0)) / 2

    def dense() -> np.ndarray:
        return -(squares - means - means[:, None] + means.mean()) / 2

    values, vectors = largest_eigenpairs(product, dense, len(squares), k, solver=solver, tol=tol, max_iter=max_iter)
    return vectors * np.sqrt(np.maximum(values, 0.0)), values


def gower_positions(
    squares: np.ndarray, mean_squares: np.ndarray, points: np.ndarray, values: np.ndarray
) -> np.ndarray:
    r"""Where new rows stand among classical coordinates ``points`` (n, k), from squared distances to them (m, n).

    .. math:: y = \tfrac12 \Lambda^{-1} Y^\top (\overline{d^2} - d^2)

    with the mean squared distances of every old point, (n,) (Gower). Old points are placed where they are.
    """
    weights = np.divide(points, 2 * values, out=np.zeros_like(points), where=values > 0)
    return (mean_squares - squares) @ weights


def stress(D: np.ndarray, Y: np.ndarray) -> float:
    r"""Normalized stress :math:`\sqrt{\sum_{ij} (\delta_{ij} - d_{ij}(Y))^2 / \sum_{ij} \delta_{ij}^2}`.

    >>> stress(np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[0.0], [1.0]]))
    0.5
    """
    total = float(np.vdot(D, D))
    gaps = D - np.sqrt(squared_distances(Y))
    return float(np.sqrt(np.vdot(gaps, gaps) / total)) if total > 0 else 0.0


def guttman_transform(D: np.ndarray, Y: np.ndarray) -> np.ndarray:
    r"""The points that minimize the quadratic upper bound of the stress touching it at ``Y``; it never rises.

    .. math:: y_i' = \tfrac1n \sum_{j} \frac{\delta_{ij}}{d_{ij}(Y)} (y_i - y_j)

    Coincident points do not push each other.
    """
    distances = np.sqrt(squared_distances(Y))
    ratios = np.divide(D, distances, out=distances, where=distances > 0)
    return (Y * ratios.sum(axis=1, keepdims=True) - ratios @ Y) / len(Y)


def disparities(D: np.ndarray, Y: np.ndarray) -> Disparities:
    """The monotone function of ``D`` nearest to the distances of ``Y``, scaled to the size of ``D``.

    Equal entries of ``D`` get equal disparities.
    """
    upper = np.triu_indices(len(D), 1)
    given, actual = D[upper], np.sqrt(squared_distances(Y))[upper]
    knots, group, counts = np.unique(given, return_inverse=True, return_counts=True)
    means = np.bincount(group, weights=actual) / counts
    heights = isotonic_regression(means, weights=counts.astype(float)).x
    size = np.sqrt(counts @ heights**2)
    heights = heights * (np.sqrt(counts @ knots**2) / size) if size > 0 else heights
    values = np.zeros_like(D)
    values[upper] = heights[group]
    values += values.T
    # Only the ends of level stretches are needed to tell the function.
    ends = np.ones(len(knots), dtype=bool)
    if len(knots) > 2:
        ends[1:-1] = (heights[1:-1] != heights[:-2]) | (heights[1:-1] != heights[2:])
    return Disparities(values, knots[ends], heights[ends])
