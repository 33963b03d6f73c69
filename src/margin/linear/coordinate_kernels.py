"""Coordinate descent on a penalized quadratic."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstIntegers, ConstMatrix, ConstVector, Vector, kernel

__all__ = ["descend_to_gap", "quadratic_descent", "quadratic_gap", "sweep"]


@kernel
def sweep(
    Q: ConstMatrix,
    order: ConstIntegers,
    slack: Vector,
    w: Vector,
    l1: ConstVector,
    l2: ConstVector,
    positive: cython.bint,
) -> cython.double:
    """Move every coordinate in ``order`` once to its own minimum, in place; returns the largest decrease of a move.

    ``slack`` (m,) is q - Q w and is kept so ("covariance updates"): a coordinate that does not move costs nothing.
    With ``positive`` no coordinate goes below zero.
    """
    most: cython.double = 0.0
    new: cython.double
    m = slack.shape[0]
    for i in range(order.shape[0]):
        j = order[i]
        curvature = Q[j, j] + l2[j]
        if curvature <= 0.0:
            continue
        pull = slack[j] + Q[j, j] * w[j]
        if pull > l1[j]:
            new = (pull - l1[j]) / curvature
        elif pull < -l1[j] and not positive:
            new = (pull + l1[j]) / curvature
        else:
            new = 0.0
        move = new - w[j]
        if move != 0.0:
            w[j] = new
            for k in range(m):
                slack[k] -= move * Q[j, k]
            gain = 0.5 * move * move * curvature
            most = gain if gain > most else most
    return most


@kernel
def quadratic_descent(
    Q: ConstMatrix,
    order: ConstIntegers,
    slack: Vector,
    w: Vector,
    l1: ConstVector,
    l2: ConstVector,
    tol: cython.double,
    max_sweeps: cython.Py_ssize_t,
    positive: cython.bint,
) -> cython.Py_ssize_t:
    r"""Minimize :math:`\tfrac12 w^\top Q w - q^\top w + \sum_j l_{1j} |w_j| + \tfrac12 \sum_j l_{2j} w_j^2` in place.

    Only coordinates in ``order`` move. ``Q`` may be larger than m x m; its first m rows and columns count.
    Ends when no move of a sweep lowers the value by more than ``tol``; returns the number of sweeps.
    """
    for done in range(max_sweeps):
        if sweep(Q, order, slack, w, l1, l2, positive) <= tol:
            return done + 1
    return max_sweeps


@kernel
def quadratic_gap(
    q: ConstVector, slack: ConstVector, w: ConstVector, square: cython.double, l1: cython.double, l2: cython.double
) -> cython.double:
    """The duality gap of these m columns at ``w`` from inner products alone; ``square`` is the mean square of y."""
    length: cython.double = 0.0
    absolute: cython.double = 0.0
    with_target: cython.double = 0.0
    with_slack: cython.double = 0.0
    steepest: cython.double = 0.0
    for j in range(w.shape[0]):
        length += w[j] * w[j]
        absolute += abs(w[j])
        with_target += w[j] * q[j]
        with_slack += w[j] * slack[j]
        pull = abs(slack[j] - l2 * w[j])
        steepest = pull if pull > steepest else steepest
    residual_square = max(square - with_target - with_slack, 0.0)
    c = 1.0 if steepest <= l1 else l1 / steepest
    augmented = residual_square + l2 * length
    return 0.5 * (1.0 + c * c) * augmented + l1 * absolute - c * (residual_square + with_slack)


@kernel
def descend_to_gap(
    Q: ConstMatrix,
    order: ConstIntegers,
    q: ConstVector,
    square: cython.double,
    slack: Vector,
    w: Vector,
    l1: ConstVector,
    l2: ConstVector,
    bound: cython.double,
    least: cython.double,
    max_sweeps: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Sweep in place until the duality gap is at most ``bound``, or no move gains more than ``least``.

    At least two sweeps, which make zeros exact wherever ``w`` came from; ``l1`` and ``l2`` (m,) hold one number each.
    Returns the number of sweeps, ``max_sweeps`` + 1 if they were not enough.
    """
    for done in range(max_sweeps):
        gain = sweep(Q, order, slack, w, l1, l2, False)
        if gain <= least or (done > 0 and quadratic_gap(q, slack, w, square, l1[0], l2[0]) <= bound):
            return done + 1
    return max_sweeps + 1
