"""Histograms of gradients: one 64-bit addition per row and column.

Gradient, hessian and count of a row are integers in one int64 (:class:`~margin.trees.boosting.state_kernels.Packing`),
so sums do not depend on the order of the rows nor on the number of threads, and the sibling's histogram is an exact
difference.
"""

from __future__ import annotations

from math import floor

import cython

from margin.core.float_bits_kernels import bits_of, float_of
from margin.core.kernel_source import ConstByteMatrix, ConstIntegers, ConstVector, Integers, Integers32, inner, kernel
from margin.trees.boosting.kernel_types import CODES
from margin.trees.boosting.state_kernels import Packing

__all__ = ["add_parts", "add_rows", "mix", "pack", "subtract", "take_rows", "unpack", "unpack_derivatives"]

# From 2**52 to 2**53 neighboring floats differ by 1, so the bits of this one plus a small integer are their sum: how an
# integer below 2**51 becomes a float and back, in a way that every processor can vectorize.
ONES_APART = 2.0**52 + 2.0**51
BITS_OF_ONES_APART = 0x4338000000000000
LOW_HALF, HALF_BITS, TWO_TO_MINUS_32 = 0xFFFFFFFF, 32, 2.0**-32


@inner
def mix(x: cython.ulonglong) -> cython.ulonglong:
    """The finalizer of the splitmix64 generator: neighboring integers become unrelated ones."""
    golden: cython.ulonglong = 0x9E3779B97F4A7C15
    one: cython.ulonglong = 0xBF58476D1CE4E5B9
    other: cython.ulonglong = 0x94D049BB133111EB
    wrap: cython.ulonglong = 0xFFFFFFFFFFFFFFFF  # as a product of C does by itself
    x = (x + golden) & wrap
    x = ((x ^ (x >> 30)) * one) & wrap
    x = ((x ^ (x >> 27)) * other) & wrap
    return x ^ (x >> 31)


@inner
def _as_float(x: cython.longlong) -> cython.double:
    """An integer below 2**51 in absolute value as a float."""
    return float_of(BITS_OF_ONES_APART + x) - ONES_APART


@inner
def _as_integer(x: cython.double) -> cython.longlong:
    """A float that is such an integer, as one."""
    return bits_of(x + ONES_APART) - BITS_OF_ONES_APART


@kernel
def pack(
    gradient: ConstVector, hessian: ConstVector, seed: cython.longlong, packing: Packing, packed: Integers
) -> cython.void:
    """Round gradients and hessians to integer units and pack them.

    Coarse units are rounded up or down at random, by ``seed``, so that sums are right on average; fine ones to the
    nearest. ``hessian`` is empty where every row has the same: then its count says all.
    """
    scale: cython.double = 1.0 / packing.gradient_unit
    hessian_scale: cython.double = 1.0 / packing.hessian_unit
    shift: cython.longlong = packing.gradient_shift
    hessian_shift: cython.longlong = packing.hessian_shift
    one_row: cython.longlong = 1 if packing.counted else 0
    start: cython.ulonglong = mix(seed)
    key: cython.ulonglong
    if packing.dithered and hessian.shape[0] > 0:
        for i in range(gradient.shape[0]):
            key = mix(start + i)
            units = _as_integer(floor(gradient[i] * scale + _as_float(key & LOW_HALF) * TWO_TO_MINUS_32))
            curved = _as_integer(floor(hessian[i] * hessian_scale + _as_float(key >> HALF_BITS) * TWO_TO_MINUS_32))
            packed[i] = (units << shift) + (curved << hessian_shift) + one_row
    elif packing.dithered:
        for i in range(gradient.shape[0]):
            key = mix(start + i)
            units = _as_integer(floor(gradient[i] * scale + _as_float(key & LOW_HALF) * TWO_TO_MINUS_32))
            packed[i] = (units << shift) + one_row
    elif hessian.shape[0] > 0:
        for i in range(gradient.shape[0]):
            units = _as_integer(floor(gradient[i] * scale + 0.5))
            curved = _as_integer(floor(hessian[i] * hessian_scale + 0.5))
            packed[i] = (units << shift) + (curved << hessian_shift) + one_row
    else:
        for i in range(gradient.shape[0]):
            packed[i] = (_as_integer(floor(gradient[i] * scale + 0.5)) << shift) + one_row


@inner
def unpack_derivatives(total: cython.longlong, packing: Packing) -> tuple[cython.double, cython.double]:
    """Gradient and hessian in a sum of packed rows."""
    gradient = _as_float(total >> packing.gradient_shift) * packing.gradient_unit
    hessian = _as_float((total >> packing.hessian_shift) & packing.hessian_mask) * packing.hessian_unit
    return gradient, hessian


@inner
def unpack(total: cython.longlong, packing: Packing) -> tuple[cython.double, cython.double, cython.double]:
    """Gradient, hessian and number of rows in a sum of packed rows."""
    gradient, hessian = unpack_derivatives(total, packing)
    rows = _as_float(total & packing.count_mask) if packing.counted else hessian * packing.rows_per_hessian
    return gradient, hessian, rows


@inner
def add_rows(
    codes: ConstByteMatrix,
    rows: Integers32,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    packed: Integers,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    histograms: Integers,
    at: cython.Py_ssize_t,
) -> cython.void:
    """Sum the packed ``rows[start:stop]`` per code: stored columns ``first`` to ``last`` of the histogram ``at``."""
    cell: cython.Py_ssize_t
    fourths: cython.Py_ssize_t = first + (last - first) // 4 * 4
    for k in range(at + first * CODES, at + last * CODES):
        histograms[k] = 0
    for i in range(start, stop):
        row = rows[i]
        value = packed[row]
        cell = at + first * CODES
        for j in range(first, fourths, 4):  # four at a time take a tenth less
            histograms[cell + codes[row, j]] += value
            histograms[cell + CODES + codes[row, j + 1]] += value
            histograms[cell + 2 * CODES + codes[row, j + 2]] += value
            histograms[cell + 3 * CODES + codes[row, j + 3]] += value
            cell += 4 * CODES
        for j in range(fourths, last):
            histograms[cell + codes[row, j]] += value
            cell += CODES


@inner
def take_rows(
    codes: ConstByteMatrix,
    rows: Integers32,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    packed: Integers,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    histograms: Integers,
    at: cython.Py_ssize_t,
) -> cython.void:
    """Take the packed ``rows[start:stop]`` out of a histogram: what is left is the sibling of their node."""
    cell: cython.Py_ssize_t
    fourths: cython.Py_ssize_t = first + (last - first) // 4 * 4
    for i in range(start, stop):
        row = rows[i]
        value = packed[row]
        cell = at + first * CODES
        for j in range(first, fourths, 4):
            histograms[cell + codes[row, j]] -= value
            histograms[cell + CODES + codes[row, j + 1]] -= value
            histograms[cell + 2 * CODES + codes[row, j + 2]] -= value
            histograms[cell + 3 * CODES + codes[row, j + 3]] -= value
            cell += 4 * CODES
        for j in range(fourths, last):
            histograms[cell + codes[row, j]] -= value
            cell += CODES


@inner
def add_parts(
    parts: ConstIntegers,
    size: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    histograms: Integers,
    at: cython.Py_ssize_t,
) -> cython.void:
    """The sum of histograms of ranges of rows, which have ``size`` elements each."""
    for k in range(first * CODES, last * CODES):
        histograms[at + k] = parts[k]
    for part in range(1, parts.shape[0] // size):
        for k in range(first * CODES, last * CODES):
            histograms[at + k] += parts[part * size + k]


@inner
def subtract(
    histograms: Integers,
    parent: cython.Py_ssize_t,
    child: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Take the histogram ``child`` from ``parent``, in place: what is left is the sibling."""
    for k in range(first * CODES, last * CODES):
        histograms[parent + k] -= histograms[child + k]
