"""Columns that share a stored one, compiled by Numba: written together, read apart."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.trees.boosting.kernel_types import MISSING
from margin.trees.boosting.split_kernels import UNDECIDED, bounded_gains, first_near, gains_of_cuts, leaf_rows

__all__ = ["best_shared_thresholds", "shared_sums", "store"]


@cached_kernel
def store(codes, columns, stored, conflict):
    """Fill ``stored`` (n, q) from ``codes`` (n, p); mark columns that want a cell another has taken in some row."""
    for i in range(codes.shape[0]):
        for at in range(stored.shape[1]):
            stored[i, at] = 0
        for j in range(codes.shape[1]):
            code, at = codes[i, j], columns[j].stored
            if columns[j].base < 0:
                stored[i, at] = code
            elif code > 0:
                conflict[j] |= stored[i, at] > 0 or code == MISSING
                stored[i, at] = np.uint8(columns[j].base + code)


@inner_kernel
def shared_sums(histogram, total, base, n_bins, sums):
    """What a column has at most at code k, into ``sums[base + k]`` for every k but the last.

    ``histogram`` (256,) is that of the stored column which the column shares, ``total`` the sum of the node: rows that
    are not above k in this column are all others.
    """
    above = np.int64(0)
    for k in range(n_bins - 1, 0, -1):
        above += histogram[base + k]
        sums[base + k - 1] = total - above


@inner_kernel
def _forbid_small_leaves(sums, count, total, packing, limits, gains):
    """-1 for every cut that leaves less than ``min_leaf`` rows on a side; vectorizable."""
    shift, mask, least = leaf_rows(packing, limits)
    most = ((total >> shift) & mask) - least
    for k in range(np.uint64(count)):
        left = (sums[k] >> shift) & mask
        gains[k] = gains[k] if (left >= least) & (left <= most) else -1.0


@inner_kernel
def best_shared_thresholds(
    histogram, members, total, columns, packing, limits, node, bounds, sums, gains, gain_bits, candidates, side
):
    """The best threshold of every column that shares a stored one; they miss no value.

    Their cuts lie side by side in ``sums``, so that one vectorized loop scores them all.
    """
    count = np.int64(0)
    for j in members:
        shared_sums(histogram, total, columns[j].base, columns[j].n_bins, sums)
        count += columns[j].n_bins - 1
    if bounds is None:
        gains_of_cuts(sums, 0, count, total, packing, limits, gains)
    else:
        for j in members:
            low, high = columns[j].base, columns[j].base + columns[j].n_bins - 1
            lower, upper = bounds[node, 0], bounds[node, 1]
            bounded_gains(sums, low, high, total, packing, limits, columns[j].monotone, lower, upper, gains)
    _forbid_small_leaves(sums, count, total, packing, limits, gains)
    for j in members:
        low, high = columns[j].base, columns[j].base + columns[j].n_bins - 1
        gain, cut = first_near(gains, gain_bits, low, high, -1.0)
        candidates[side, j].gain = gain
        candidates[side, j].cut = cut - low
        candidates[side, j].missing_side = UNDECIDED
