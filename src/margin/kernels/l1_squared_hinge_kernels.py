"""Coordinate descent on a quadratic with an L1 penalty, compiled."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["lasso_step"]


@njit(cache=True, fastmath=False)
def lasso_step(H, gradient, w, penalty, tol, max_passes):
    """The d that minimizes g d + d H d / 2 + sum_j penalty_j |w_j + d_j|, to changes of ``tol`` in a pass.

    H (q, q) is symmetric with a positive diagonal.
    """
    q = len(w)
    d, slope = np.zeros(q), gradient.copy()  # slope is that of the quadratic at d
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
                largest = max(largest, abs(change) * np.sqrt(curvature))
        if largest <= tol:
            break
    return d
