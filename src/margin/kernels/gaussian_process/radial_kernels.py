"""Contracting the derivatives of a kernel matrix with respect to all length scales, in one pass over a triangle."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["contract_triangle"]

TILE = 64  # rows and columns of a tile: three tiles of float64 fit the first-level cache with room for the sums


@njit(cache=True, fastmath=False, nogil=True)
def contract_triangle(inverse, slope, columns, left, right, scale):
    r"""Sum over i > j of (l_i r_j + r_i l_j - s_i s_j A_ij) G_ij (x_ik - x_jk)^2 for every column k.

    A is read from the lower triangle of ``inverse`` (n, n), G from the upper one of ``slope`` (n, n; both may be
    one array); ``columns`` is X^T (d, n). The sums run over the rows of a tile side by side, so the inner loops need
    no reordering of a sum to be vectorized.
    """
    d, n = columns.shape
    sums = np.zeros((d, TILE))
    weights = np.empty(TILE)
    for top in range(0, n, TILE):
        bottom = min(top + TILE, n)
        for first in range(0, top + 1, TILE):
            for i in range(top, bottom):
                count = min(TILE, i - first)
                for t in range(count):
                    j = first + t
                    pull = left[i] * right[j] + right[i] * left[j] - scale[i] * scale[j] * inverse[i, j]
                    weights[t] = pull * slope[j, i]
                for k in range(d):
                    here = columns[k, i]
                    for t in range(count):
                        away = here - columns[k, first + t]
                        sums[k, t] += weights[t] * away * away
    result = np.zeros(d)
    for k in range(d):
        for t in range(TILE):
            result[k] += sums[k, t]
    return result
