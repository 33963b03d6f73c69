"""Histograms of gradients, compiled by Numba: one 64-bit addition per row and column.

Gradient, hessian and count of a row are integers in one int64 (:class:`Packing`), so sums do not depend on the order
of the rows nor on the number of threads, and the sibling's histogram is an exact difference.

Indices are unsigned: Numba then leaves out its test for negative ones, with which a loop over a histogram is not
vectorized and one over rows takes a quarter longer.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel

__all__ = ["add_parts", "add_rows", "mix", "pack", "pack_rows", "subtract", "take_rows", "unpack", "unpack_derivatives"]

EIGHT = np.uint64(8)
NEXT_COLUMN = np.uint64(256)
HALF_BITS = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
TWO_TO_MINUS_32 = 2.0**-32

# From 2**52 to 2**53 neighboring floats differ by 1, so the bits of this one plus a small integer are their sum.
ONES_APART = 2.0**52 + 2.0**51
BITS_OF_ONES_APART = np.float64(ONES_APART).view(np.int64)


@inner_kernel
def mix(x):
    """The finalizer of the splitmix64 generator: neighboring integers become unrelated ones."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner_kernel
def pack_rows(gradient, hessian, seed, dithered, packing, packed):
    """Round gradients and hessians to integer units and pack them.

    Coarse units are rounded up or down at random (``dithered``), by ``seed``, so that sums are right on average; fine
    ones to the nearest. ``hessian`` is empty where every row has the same: then its count says all.
    """
    gradient_scale, hessian_scale = 1.0 / packing.gradient_unit, 1.0 / packing.hessian_unit
    one_row = 1 if packing.counted else 0
    for i in range(gradient.size):
        up, up_too = 0.5, 0.5
        if dithered:
            bits = mix(mix(np.uint64(seed)) + np.uint64(i))
            up, up_too = (bits & LOW_HALF) * TWO_TO_MINUS_32, (bits >> HALF_BITS) * TWO_TO_MINUS_32
        row = (np.int64(np.floor(gradient[i] * gradient_scale + up)) << packing.gradient_shift) + one_row
        if hessian.size:
            row += np.int64(np.floor(hessian[i] * hessian_scale + up_too)) << packing.hessian_shift
        packed[i] = row


@cached_kernel
def pack(gradient, hessian, seed, packing, packed):
    """:func:`pack_rows` by itself; ``seed`` is None if nothing is rounded at random."""
    if seed is None:
        pack_rows(gradient, hessian, 0, False, packing, packed)
    else:
        pack_rows(gradient, hessian, seed, True, packing, packed)


@inner_kernel
def _as_float(x):
    """An integer below 2**51 in absolute value as a float: what AVX2 has no instruction for, in a vectorizable way."""
    return np.int64(BITS_OF_ONES_APART + x).view(np.float64) - ONES_APART


@inner_kernel
def unpack_derivatives(total, packing):
    """Gradient and hessian in a sum of packed rows."""
    gradient = _as_float(total >> packing.gradient_shift) * packing.gradient_unit
    hessian = _as_float((total >> packing.hessian_shift) & packing.hessian_mask) * packing.hessian_unit
    return gradient, hessian


@inner_kernel
def unpack(total, packing):
    """Gradient, hessian and number of rows in a sum of packed rows."""
    gradient, hessian = unpack_derivatives(total, packing)
    rows = _as_float(total & packing.count_mask) if packing.counted else hessian * packing.rows_per_hessian
    return gradient, hessian, rows


@inner_kernel
def add_rows(codes, rows, start, stop, packed, first, last, histogram):
    """Sum the packed ``rows[start:stop]`` per code into stored columns ``first`` to ``last`` of a histogram."""
    for at in range(np.uint64(first) << EIGHT, np.uint64(last) << EIGHT):
        histogram[at] = 0
    low, width = np.uint64(first), last - first
    for i in range(np.uint64(start), np.uint64(stop)):
        row = np.uint64(rows[i])
        value = packed[row]
        offset = low << EIGHT
        for j in range(width):
            histogram[offset + np.uint64(codes[row, low + np.uint64(j)])] += value
            offset += NEXT_COLUMN


@inner_kernel
def add_parts(parts, first, last, histogram):
    """The sum of histograms of ranges of rows."""
    low, high = np.uint64(first) << EIGHT, np.uint64(last) << EIGHT
    for at in range(low, high):
        histogram[at] = parts[0, at]
    for part in range(1, parts.shape[0]):
        for at in range(low, high):
            histogram[at] += parts[part, at]


@inner_kernel
def take_rows(codes, rows, start, stop, packed, first, last, histogram):
    """Take the packed ``rows[start:stop]`` out of a histogram: what is left is the sibling of their node."""
    low, width = np.uint64(first), last - first
    for i in range(np.uint64(start), np.uint64(stop)):
        row = np.uint64(rows[i])
        value = packed[row]
        offset = low << EIGHT
        for j in range(width):
            histogram[offset + np.uint64(codes[row, low + np.uint64(j)])] -= value
            offset += NEXT_COLUMN


@inner_kernel
def subtract(parent, child, first, last):
    """Take ``child`` from ``parent``, in place: what is left is the sibling."""
    for at in range(np.uint64(first) << EIGHT, np.uint64(last) << EIGHT):
        parent[at] -= child[at]
