"""Exact optimal transport between finite sets: the linear program, its network form, and the distance it defines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye_array, kron, vstack

from margin.foundations.transport.arguments import (
    as_cost,
    as_masses,
    as_order,
    as_points,
    check_equal_mass,
    cost_matrix,
)
from margin.foundations.transport.coupling import plan_cost
from margin.foundations.transport.network import solve_network
from margin.foundations.transport.one_dimension import SparsePlan, wasserstein_1d

__all__ = ["Transport", "solve", "wasserstein"]

Array = NDArray[np.float64]

# Up to this many arcs HiGHS answers in a few milliseconds; its plans have no masses that are rounding alone.
SMALL = 2500
# Total mass that HiGHS is given, and its tolerance: 1e-15 of all mass. With less than the rounding of sums of masses
# it calls problems infeasible, such as one with a mass of 1e-16.
HIGHS_MASS, HIGHS_TOLERANCE = 1e6, 1e-9
# A coarse problem on every third source and sink pays for itself once it has this many of each.
COARSE = 100
STRIDE = 3
# Reduced costs are sums of costs along tree paths; below this fraction of the largest cost they are rounding.
RELATIVE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Transport:
    r"""An optimal plan, its cost and the dual prices that prove it: :math:`u_i + v_j \le M_{ij}`, with equality
    where mass moves, so :math:`\langle a, u \rangle + \langle b, v \rangle` equals the cost."""

    plan: Array
    cost: float
    u: Array
    v: Array


def solve(a: ArrayLike, b: ArrayLike, M: ArrayLike, method: str = "auto") -> Transport:
    r"""Move masses ``a`` onto masses ``b`` at least total cost.

    .. math:: \min_T \langle T, M \rangle \quad\text{subject to}\quad T \ge 0,\; T 1_n = a,\; T^\top 1_m = b

    ``method`` is ``"network"`` (network simplex, compiled), ``"linprog"`` (SciPy's HiGHS), ``"assignment"`` (SciPy;
    equal masses and sizes only) or ``"auto"``, which picks by size. All are exact.

    >>> solve([1.0, 1.0], [1.0, 1.0], [[0.0, 1.0], [1.0, 5.0]]).cost
    2.0
    """
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    a, b = as_masses("solve", "a", a, a.size), as_masses("solve", "b", b, b.size)
    check_equal_mass("solve", a, b)
    M = as_cost("solve", M, a.size, b.size)
    sparse, u, v = _solve_sparse(a, b, M, method)
    plan = sparse.dense(*M.shape)
    return Transport(plan, plan_cost(plan, M), u, v)


def wasserstein(
    x: ArrayLike, y: ArrayLike, p: float = 1.0, a: ArrayLike | None = None, b: ArrayLike | None = None
) -> float:
    r"""Wasserstein distance between weighted point clouds in any dimension, exactly.

    .. math:: W_p(\mu, \nu) = \Big( \min_{T \in \Gamma(a, b)} \sum_{ij} T_{ij} \lVert x_i - y_j \rVert^p \Big)^{1/p}

    Parameters
    ----------
    x : array-like of shape (m,) or (m, d)
        Points of the source.
    y : array-like of shape (n,) or (n, d)
        Points of the target.
    p : float
        Order of the distance, at least 1.
    a : array-like of shape (m,), optional
        Masses of the source; equal by default.
    b : array-like of shape (n,), optional
        Masses of the target; equal by default.

    Examples
    --------
    >>> wasserstein([[0.0, 0.0]], [[3.0, 4.0]], p=2)
    5.0
    """
    p = as_order("wasserstein", p)
    x, y = as_points("wasserstein", "x", x), as_points("wasserstein", "y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"wasserstein: x and y must have the same dimension; got {x.shape[1]} and {y.shape[1]}.")
    if x.shape[1] == 1:
        return wasserstein_1d(x, y, p, a, b)
    a, b = as_masses("wasserstein", "a", a, len(x)), as_masses("wasserstein", "b", b, len(y))
    check_equal_mass("wasserstein", a, b)
    M = cost_matrix(x, y, p)
    plan, _, _ = _solve_sparse(a, b, M, "auto")
    return float((plan.mass @ M[plan.source, plan.target]) ** (1.0 / p))


def _solve_sparse(a: Array, b: Array, M: Array, method: str) -> tuple[SparsePlan, Array, Array]:
    """The plan and both prices; empty sources and sinks are priced but take no part."""
    solvers = {"network": _by_network, "linprog": _by_linprog, "assignment": _by_assignment}
    if method == "auto":
        method = "linprog" if M.size <= SMALL else "network"
    if method not in solvers:
        raise ValueError(f"solve: method must be 'auto' or one of {sorted(solvers)}; got {method!r}.")
    rows, columns = np.flatnonzero(a), np.flatnonzero(b)
    all_take_part = len(rows) == len(a) and len(columns) == len(b)
    inner = M if all_take_part else np.ascontiguousarray(M[np.ix_(rows, columns)])
    # Exactly equal totals: the rest of the code may then rely on the last source filling the last sink.
    plan, v_inner = solvers[method](a[rows], b[columns] * (a.sum() / b.sum()), inner)
    # The best prices that v allows; on sources with mass they are the solver's own.
    u = (M[:, columns] - v_inner).min(axis=1) if not all_take_part else (M - v_inner).min(axis=1)
    v = v_inner if all_take_part else (M - u[:, None]).min(axis=0)
    return SparsePlan(rows[plan.source], columns[plan.target], plan.mass), u, v


def _by_network(a: Array, b: Array, M: Array) -> tuple[SparsePlan, Array]:
    m, n = M.shape
    prices = -_guess_sink_prices(a, b, M)
    # Far more than is ever needed: a strongly feasible tree cannot cycle, so this only bounds a defect.
    max_pivots = (m + n) ** 2 + 1_000_000
    tree, n_pivots = solve_network(a, b, M, prices, RELATIVE_TOLERANCE * np.abs(M).max(), max_pivots)
    if n_pivots == max_pivots:
        raise RuntimeError(f"solve: the network simplex did not end within {max_pivots} pivots.")
    node = np.flatnonzero((tree.flow[:-1] > 0) & (tree.parent[:-1] < m + n))
    above = tree.parent[node]
    source, target = np.where(node < m, node, above), np.where(node < m, above, node) - m
    return SparsePlan(source, target, tree.flow[node]), -tree.potential[m : m + n]


def _guess_sink_prices(a: Array, b: Array, M: Array) -> Array:
    """Prices of all sinks from the exact solution on every third source and sink, recursively."""
    if min(M.shape) < STRIDE * COARSE:
        return M.min(axis=0)
    some_a, some_b, some_M = a[::STRIDE], b[::STRIDE], M[::STRIDE]
    inner = np.ascontiguousarray(some_M[:, ::STRIDE])
    _, v = _by_network(some_a / some_a.sum(), some_b / some_b.sum(), inner)
    u = (inner - v).min(axis=1)
    return (some_M - u[:, None]).min(axis=0)


def _by_linprog(a: Array, b: Array, M: Array) -> tuple[SparsePlan, Array]:
    m, n = M.shape
    row_sums, column_sums = kron(eye_array(m), np.ones((1, n))), kron(np.ones((1, m)), eye_array(n))
    # The last column sum follows from the others; leaving it out keeps rounded totals feasible.
    constraints = vstack([row_sums, column_sums]).tocsr()[:-1]
    # HiGHS meets constraints to an absolute tolerance: masses of total HIGHS_MASS and costs up to one make it relative.
    mass, cost = a.sum() / HIGHS_MASS, np.abs(M).max() or 1.0
    answer = linprog(
        M.ravel() / cost,
        A_eq=constraints,
        b_eq=np.concatenate([a, b])[:-1] / mass,
        method="highs-ds",
        options={"primal_feasibility_tolerance": HIGHS_TOLERANCE, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.status != 0:  # every transport problem has an optimum: masses are too small beside others for HiGHS
        return _by_network(a, b, M)
    # HiGHS meets the bounds to its tolerance: a mass of that size, of either sign, is none.
    plan = np.where(answer.x > HIGHS_TOLERANCE, answer.x, 0.0).reshape(m, n) * mass
    source, target = np.nonzero(plan)
    v = np.append(answer.eqlin.marginals[m:], 0.0) * cost
    return SparsePlan(source, target, plan[source, target]), v


def _by_assignment(a: Array, b: Array, M: Array) -> tuple[SparsePlan, Array]:
    if len(a) != len(b) or not np.allclose(np.concatenate([a, b]), a[0], rtol=1e-12, atol=0):
        raise ValueError(
            f"solve: method 'assignment' needs equally many sources and sinks with equal masses; "
            f"got {len(a)} and {len(b)}."
        )
    source, target = linear_sum_assignment(M)
    return SparsePlan(source, target, a), _prices_of_assignment(M, target)


def _prices_of_assignment(M: Array, target: NDArray[np.intp]) -> Array:
    """Prices of the sinks by shortest paths in the graph of re-assignments (no negative cycle at an optimum)."""
    # A path i -> k replaces i's sink by k's: weight M[i, target[k]] - M[i, target[i]]. Shape (n, n).
    weights = M[:, target] - M[np.arange(len(M)), target][:, None]
    distance = np.zeros(len(M))
    for _ in range(len(M)):
        relaxed = np.minimum(distance, (distance[:, None] + weights).min(axis=0))
        if np.array_equal(relaxed, distance):
            break
        distance = relaxed
    v = np.empty(len(M))
    v[target] = distance
    return v
