"""Coordinate descent on a penalized quadratic, compiled by Numba."""

from __future__ import annotations

from numba import njit

__all__ = ["quadratic_descent"]


@njit(cache=True)
def quadratic_descent(Q, order, slack, w, l1, l2, tol, max_sweeps):
    r"""Minimize :math:`\tfrac12 w^\top Q w - q^\top w + \sum_j l_{1j} |w_j| + \tfrac12 \sum_j l_{2j} w_j^2` in place.

    Only coordinates in ``order`` move. ``slack`` (m,) is q - Q w and is kept so ("covariance updates"): a coordinate
    that does not move costs nothing. ``Q`` may be larger than m x m; its first m rows and columns count.
    Ends when no move of a sweep lowers the value by more than ``tol``; returns the number of sweeps.
    """
    m = len(slack)
    for sweep in range(max_sweeps):
        most = 0.0
        for j in order:
            curvature = Q[j, j] + l2[j]
            if curvature <= 0.0:
                continue
            pull = slack[j] + Q[j, j] * w[j]
            if pull > l1[j]:
                new = (pull - l1[j]) / curvature
            elif pull < -l1[j]:
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
        if most <= tol:
            return sweep + 1
    return max_sweeps
