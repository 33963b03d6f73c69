"""Columns that share a stored one: written together, read apart."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ByteMatrix, Bytes, ConstByteMatrix, inner, kernel
from margin.trees.boosting.kernel_types import MISSING
from margin.trees.boosting.split_kernels import (
    UNDECIDED,
    bounded_gains,
    first_near,
    gains_of_cuts,
    largest_gain,
    leaf_rows,
)
from margin.trees.boosting.state_kernels import Columns, Growth

__all__ = ["best_shared_thresholds", "shared_sums", "store"]


@kernel
def store(codes: ConstByteMatrix, columns: Columns, stored: ByteMatrix, conflict: Bytes) -> cython.void:
    """Fill ``stored`` (n, q) from ``codes`` (n, p); mark columns that want a cell another has taken in some row."""
    for i in range(codes.shape[0]):
        for to in range(stored.shape[1]):
            stored[i, to] = 0
        for j in range(codes.shape[1]):
            code = codes[i, j]
            to = columns[j].stored
            if columns[j].base < 0:
                stored[i, to] = code
            elif code > 0:
                if stored[i, to] > 0 or code == MISSING:
                    conflict[j] = 1
                stored[i, to] = (columns[j].base + code) & 255


@inner
def shared_sums(
    growth: Growth,
    own: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    total: cython.longlong,
    base: cython.Py_ssize_t,
    n_bins: cython.Py_ssize_t,
) -> cython.void:
    """What a column has at most at code k, into ``growth.sums[own + base + k]`` for every k but the last.

    ``at`` is where the histogram of the stored column begins that it shares, ``total`` the sum of the node: rows that
    are not above k in this column are all others.
    """
    above: cython.longlong = 0
    for k in range(n_bins - 1, 0, -1):
        above += growth.pool[at + base + k]
        growth.sums[own + base + k - 1] = total - above


@inner
def _forbid_small_leaves(
    growth: Growth, own: cython.Py_ssize_t, count: cython.Py_ssize_t, total: cython.longlong
) -> cython.void:
    """-1 for every cut that leaves less than ``min_leaf`` rows on a side; vectorizable."""
    shift, mask, least = leaf_rows(growth.packing, growth.limits)
    most = ((total >> shift) & mask) - least
    for k in range(own, own + count):
        left = (cython.cast(cython.ulonglong, growth.sums[k]) >> shift) & mask
        rows = cython.cast(cython.longlong, left)
        growth.gains[k] = growth.gains[k] if (rows >= least) & (rows <= most) else -1.0


@inner
def best_shared_thresholds(
    growth: Growth,
    own: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    stored: cython.Py_ssize_t,
    total: cython.longlong,
    node: cython.Py_ssize_t,
    side: cython.Py_ssize_t,
) -> cython.void:
    """The best threshold of every column that shares a stored one; they miss no value.

    Their cuts lie side by side in ``growth.sums``, so that one vectorized loop scores them all.
    """
    begin = growth.member_start[stored]
    end = growth.member_start[stored + 1]
    count: cython.Py_ssize_t = 0
    for m in range(begin, end):
        column = growth.columns[growth.members[m]]
        shared_sums(growth, own, at, total, column.base, column.n_bins)
        count += column.n_bins - 1
    if growth.bounds is None:
        gains_of_cuts(growth, own, 0, count, total)
    else:
        for m in range(begin, end):
            column = growth.columns[growth.members[m]]
            low = column.base
            bounded_gains(growth, own, low, low + column.n_bins - 1, total, column.monotone, node)
    _forbid_small_leaves(growth, own, count, total)
    for m in range(begin, end):
        j = growth.members[m]
        low = growth.columns[j].base
        high = low + growth.columns[j].n_bins - 1
        gain, cut = first_near(growth, own, low, high, largest_gain(growth, own, low, high), -1.0)
        growth.candidates[side, j].gain = gain
        growth.candidates[side, j].cut = cut - low
        growth.candidates[side, j].missing_side = UNDECIDED
