"""The finest units that sums of packed rows allow; see :mod:`margin.trees.boosting.packing`."""

from __future__ import annotations

from math import ceil, ldexp

import cython

from margin.core.elementary_kernels import log2
from margin.core.kernel_source import inner, kernel
from margin.trees.boosting.state_kernels import Packing

__all__ = ["choose_units"]

FINE = 4096.0  # units in a mean gradient from which on rounding to the nearest does no harm; equal rows stay equal then


@inner
def _unit(total: cython.double, n: cython.longlong, bits: cython.longlong) -> cython.double:
    """The smallest power of two in which ``n`` numbers of this absolute sum, each rounded up, sum to below 2**bits."""
    one: cython.longlong = 1
    room = (one << bits) - n - 1
    if total == 0.0:
        return 1.0
    exponent = ceil(log2(total / room) + 1e-9)  # the margin covers the rounding of the total
    return ldexp(1.0, cython.cast(cython.int, max(exponent, -1000.0)))


@kernel
def choose_units(
    total: cython.double,
    total_hessian: cython.double,
    n: cython.longlong,
    gradient_bits: cython.longlong,
    hessian_bits: cython.longlong,
    row_bits: cython.longlong,
    packing: Packing,
) -> cython.void:
    """The packing for absolute gradients of this sum and hessians of this sum, into ``packing``.

    The bits are those of :class:`~margin.trees.boosting.packing.PackingBits`.
    """
    one: cython.longlong = 1
    constant: cython.bint = hessian_bits == 0
    unit = _unit(total, n, gradient_bits - 1)
    packing.gradient_shift = row_bits + hessian_bits
    packing.hessian_shift = 0 if constant else row_bits
    packing.hessian_mask = (one << (row_bits if constant else hessian_bits)) - 1
    packing.count_mask = (one << row_bits) - 1
    packing.gradient_unit = unit
    packing.hessian_unit = 1.0 if constant else _unit(total_hessian, n, hessian_bits)
    packing.hessian_rounding = 0.0 if constant else packing.hessian_unit
    packing.dithered = n * FINE * unit > total or n * FINE * packing.hessian_rounding > total_hessian
    packing.counted = row_bits > 0
    packing.rows_per_hessian = n / total_hessian if total_hessian > 0 else 0.0
