"""Couplings: joint distributions with two given marginals, and when one of them is optimal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.transport.arguments import as_cost, as_masses, check_equal_mass

__all__ = ["is_coupling", "is_cyclically_monotone", "plan_cost", "product_coupling"]

Array = NDArray[np.float64]


def is_coupling(T: ArrayLike, a: ArrayLike, b: ArrayLike, tolerance: float = 1e-9) -> bool:
    r"""Whether :math:`T \ge 0`, :math:`T 1_n = a` and :math:`T^\top 1_m = b`, each within ``tolerance``.

    >>> is_coupling([[0.5, 0.0], [0.0, 0.5]], [0.5, 0.5], [0.5, 0.5])
    True
    """
    plan, rows, columns = (np.asarray(value, dtype=np.float64) for value in (T, a, b))
    if plan.shape != (rows.size, columns.size):
        return False
    # NaN compares false, so a plan with NaN is no coupling.
    misses = (-plan.min(), np.abs(plan.sum(axis=1) - rows).max(), np.abs(plan.sum(axis=0) - columns).max())
    return all(miss <= tolerance for miss in misses)


def product_coupling(a: ArrayLike, b: ArrayLike) -> Array:
    r"""The independent plan :math:`T = a b^\top / \sum_i a_i`: every sink is served by all sources alike."""
    a = as_masses("product_coupling", "a", a, len(np.atleast_1d(a)))
    b = as_masses("product_coupling", "b", b, len(np.atleast_1d(b)))
    check_equal_mass("product_coupling", a, b)
    return np.outer(a, b) / a.sum()


def plan_cost(T: ArrayLike, M: ArrayLike) -> float:
    r""":math:`\langle T, M \rangle = \mathrm{tr}(T^\top M) = \sum_{ij} T_{ij} M_{ij}`."""
    plan = np.atleast_2d(np.asarray(T, dtype=np.float64))
    return float(np.vdot(plan, as_cost("plan_cost", M, *plan.shape)))


def is_cyclically_monotone(costs: ArrayLike, tolerance: float = 1e-9) -> bool:
    r"""Whether no cycle of re-assignments among matched pairs saves anything.

    ``costs[i, j]`` is :math:`c(x_i, y_j)` for matched pairs :math:`(x_i, y_i)`. A saving cycle is a negative cycle
    of the graph with arc weights :math:`c(x_i, y_j) - c(x_i, y_i)`, found by relaxing all arcs (Bellman and Ford).

    Parameters
    ----------
    costs : array-like of shape (n, n)
        Costs between the sources and the targets of the pairs.
    tolerance : float
        Savings below this count as none.

    Examples
    --------
    >>> is_cyclically_monotone([[0.0, 1.0], [1.0, 0.0]]), is_cyclically_monotone([[1.0, 0.0], [0.0, 1.0]])
    (True, False)
    """
    table = np.asarray(costs, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"is_cyclically_monotone: costs must be square, one row per pair; got shape {table.shape}.")
    if not np.isfinite(table).all():
        raise ValueError("is_cyclically_monotone: costs must be finite.")
    weights = table - np.diag(table)[:, None]
    distance = np.zeros(len(table))
    for _ in range(len(table) + 1):
        relaxed = np.minimum(distance, (distance[:, None] + weights).min(axis=0))
        if (distance - relaxed <= tolerance).all():
            return True
        distance = relaxed
    return False
