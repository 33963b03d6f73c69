"""Columns that share a stored one, compiled by Numba: written together, read apart."""

from __future__ import annotations

import numpy as np
from numba import njit

from margin.trees.boosting.histogram_kernels import OPTIONS

__all__ = ["own_histogram", "store"]

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
def own_histogram(histogram, total, j, table, buffer):
    """The cells of column ``j`` by its own codes: a part of the histogram (q * 256,), or ``buffer``, filled.

    ``total`` is the sum of the node's cells. Only the codes in use and the missing one are filled.
    """
    first, base = table.place[j] * 256, table.base[j]
    if base < 0:
        return histogram[first : first + 256]
    lowest = total
    for k in range(1, table.n_bins[j]):
        cell = histogram[first + base + k]
        buffer[k] = cell
        lowest -= cell
    buffer[0], buffer[MISSING] = lowest, 0
    return buffer
