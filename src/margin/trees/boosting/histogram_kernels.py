"""Histograms of gradients, compiled by Numba: one 64-bit addition per row and column.

Gradient, hessian and count of a row are whole numbers in one int64 (:class:`Packing`), so sums do not depend on the
order of the rows nor on the number of threads, and the sibling's histogram is an exact difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["add_rows", "mix", "pack", "subtract"]

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

EIGHT = np.uint64(8)
NEXT_COLUMN = np.uint64(256)
HALF_BITS = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
TWO_TO_MINUS_32 = 2.0**-32


@njit(**OPTIONS)
def mix(x):
    """The finalizer of the splitmix64 generator: neighboring whole numbers become unrelated ones."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(**OPTIONS)
def pack(gradient, hessian, seed, packing, cells):
    """Round gradients and hessians to whole units and pack them.

    Coarse units are rounded up or down at random, so that sums are right on average. ``hessian`` is empty where every
    row has the same: then its count says all.
    """
    key = mix(np.uint64(seed))
    gradient_scale, hessian_scale = 1.0 / packing.gradient_unit, 1.0 / packing.hessian_unit
    for i in range(gradient.size):
        up, up_too = 0.5, 0.5
        if packing.dithered:
            bits = mix(key + np.uint64(i))
            up, up_too = (bits & LOW_HALF) * TWO_TO_MINUS_32, (bits >> HALF_BITS) * TWO_TO_MINUS_32
        whole = np.int64(np.floor(gradient[i] * gradient_scale + up))
        cell = (whole << packing.gradient_shift) + (1 if packing.counted else 0)
        if hessian.size:
            whole = np.int64(np.floor(hessian[i] * hessian_scale + up_too))
            cell += whole << packing.hessian_shift
        cells[i] = cell


@njit(**OPTIONS)
def add_rows(codes, rows, start, stop, cells, first, last, histogram):
    """Sum the cells of ``rows[start:stop]`` per code into columns ``first`` to ``last`` of a histogram (p * 256,)."""
    for at in range(first * 256, last * 256):
        histogram[at] = 0
    # Unsigned places: Numba then leaves out its test for negative ones, which costs a quarter of the time.
    low, width = np.uint64(first), last - first
    for i in range(np.uint64(start), np.uint64(stop)):
        row = np.uint64(rows[i])
        cell = cells[row]
        place = low << EIGHT
        for j in range(width):
            histogram[place + np.uint64(codes[row, low + np.uint64(j)])] += cell
            place += NEXT_COLUMN


@njit(**OPTIONS)
def subtract(whole, part, first, last):
    """Take ``part`` from ``whole``, in place: what is left is the sibling."""
    for at in range(first * 256, last * 256):
        whole[at] -= part[at]
