"""Loops over stored kernel columns: sums (in double precision whatever they are stored in) and compaction."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstIntegers, ConstRealMatrix, ConstVector, RealVector, Vector, kernel

__all__ = ["combine_lines", "compact_lines"]

BLOCK = 2048  # entries of the sum that stay in the fastest cache while all lines pass


@kernel
def combine_lines(
    lines: ConstRealMatrix,
    chosen: ConstIntegers,
    coef: ConstVector,
    out: Vector,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
) -> cython.void:
    """Add sum_k coef_k lines[chosen_k, i] to ``out`` for i from ``start`` to ``stop``; four lines at a time."""
    whole = chosen.shape[0] // 4 * 4
    begin: cython.Py_ssize_t = start
    while begin < stop:
        end = min(begin + BLOCK, stop)
        for k in range(0, whole, 4):
            a = coef[k]
            b = coef[k + 1]
            c = coef[k + 2]
            d = coef[k + 3]
            first = chosen[k]
            second = chosen[k + 1]
            third = chosen[k + 2]
            fourth = chosen[k + 3]
            for i in range(begin, end):
                out[i] += (
                    a * cython.cast(cython.double, lines[first, i])
                    + b * cython.cast(cython.double, lines[second, i])
                    + c * cython.cast(cython.double, lines[third, i])
                    + d * cython.cast(cython.double, lines[fourth, i])
                )
        for k in range(whole, chosen.shape[0]):
            a = coef[k]
            first = chosen[k]
            for i in range(begin, end):
                out[i] += a * cython.cast(cython.double, lines[first, i])
        begin = end


@kernel
def compact_lines(
    memory: RealVector, width: cython.Py_ssize_t, lines: ConstIntegers, where: ConstIntegers
) -> cython.void:
    """Of lines of ``width`` numbers keep the chosen ``lines``, and in them the positions ``where``, at the front.

    Both are rising, so that every number moves towards the front and none is overwritten before it is read.
    """
    to: cython.Py_ssize_t = 0
    for line in range(lines.shape[0]):
        start = lines[line] * width
        for position in range(where.shape[0]):
            memory[to] = memory[start + where[position]]
            to += 1
