"""Loops over stored kernel columns: sums (in double precision whatever they are stored in) and compaction."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["combine_lines", "compact_lines"]

BLOCK = 2048  # entries of the sum that stay in the fastest cache while all lines pass


@njit(cache=True, fastmath=False, nogil=True)
def combine_lines(lines, chosen, coef, out, start, stop):
    """Add sum_k coef_k lines[chosen_k, i] to ``out`` for i from ``start`` to ``stop``; four lines at a time."""
    whole = len(chosen) // 4 * 4
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        total = out[begin:end]
        for k in range(0, whole, 4):
            a, b, c, d = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            first, second = lines[chosen[k], begin:end], lines[chosen[k + 1], begin:end]
            third, fourth = lines[chosen[k + 2], begin:end], lines[chosen[k + 3], begin:end]
            for i in range(end - begin):
                total[i] += (
                    a * np.float64(first[i])
                    + b * np.float64(second[i])
                    + c * np.float64(third[i])
                    + d * np.float64(fourth[i])
                )
        for k in range(whole, len(chosen)):
            a, first = coef[k], lines[chosen[k], begin:end]
            for i in range(end - begin):
                total[i] += a * np.float64(first[i])


@njit(cache=True, fastmath=False)
def compact_lines(memory, width, lines, where):
    """Of lines of ``width`` numbers keep the chosen ``lines``, and in them the positions ``where``, at the front.

    Both are rising, so that every number moves towards the front and none is overwritten before it is read.
    """
    to = 0
    for line in lines:
        start = line * width
        for position in where:
            memory[to] = memory[start + position]
            to += 1
