"""Coordinate descent on a quadratic with an L1 penalty, compiled."""

from __future__ import annotations

from math import sqrt

import cython

from margin.core.kernel_source import ConstMatrix, ConstVector, Vector, kernel

__all__ = ["lasso_step"]


@kernel
def lasso_step(
    H: ConstMatrix,
    slope: Vector,
    w: ConstVector,
    penalty: ConstVector,
    tol: cython.double,
    max_passes: cython.Py_ssize_t,
    d: Vector,
) -> cython.void:
    """The d that minimizes g d + d H d / 2 + sum_j penalty_j |w_j + d_j|, to changes of ``tol`` in a pass.

    H (q, q) is symmetric with a positive diagonal. ``slope``, that of the quadratic at d, begins as g, and d as zero.
    """
    largest: cython.double
    change: cython.double
    q = w.shape[0]
    for _ in range(max_passes):
        largest = 0.0
        for j in range(q):
            curvature = H[j, j]
            z = w[j] + d[j]
            target = curvature * z - slope[j]
            shrunk = max(abs(target) - penalty[j], 0.0) / curvature
            change = (shrunk if target >= 0.0 else -shrunk) - z
            if change != 0.0:
                d[j] += change
                for k in range(q):
                    slope[k] += change * H[j, k]
                largest = max(largest, abs(change) * sqrt(curvature))
        if largest <= tol:
            break
