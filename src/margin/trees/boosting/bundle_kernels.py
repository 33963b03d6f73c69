"""Columns that share a stored one, compiled by Numba: written together, read apart."""

from __future__ import annotations

import numpy as np
from numba import njit

from margin.trees.boosting.histogram_kernels import OPTIONS

__all__ = ["shared_sums", "store"]

MISSING = 255


@njit(**OPTIONS)
def store(codes, bundles, stored, conflict):
    """Fill ``stored`` (n, q) from ``codes`` (n, p); mark columns that want a place another has taken in some row."""
    for i in range(codes.shape[0]):
        for at in range(stored.shape[1]):
            stored[i, at] = 0
        for j in range(codes.shape[1]):
            code, at = codes[i, j], bundles.place[j]
            if bundles.base[j] < 0:
                stored[i, at] = code
            elif code > 0:
                conflict[j] |= stored[i, at] > 0 or code == MISSING
                stored[i, at] = np.uint8(bundles.base[j] + code)


@njit(**OPTIONS)
def shared_sums(own, total, base, n_bins, sums):
    """What a column has at most at code k, into ``sums[base + k]`` for every k but the last.

    ``own`` is the histogram (256,) of the place that the column shares, ``total`` the sum of the node's cells: rows
    that are not above k in this column are all others.
    """
    above = np.int64(0)
    for k in range(n_bins - 1, 0, -1):
        above += own[base + k]
        sums[base + k - 1] = total - above
