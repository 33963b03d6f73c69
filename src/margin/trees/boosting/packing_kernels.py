"""The finest units that sums of packed rows allow, compiled by Numba; see :mod:`margin.trees.boosting.packing`."""

from __future__ import annotations

import math

from margin.core.cached_kernels import inner_kernel, interpreted
from margin.trees.boosting.kernel_types import Packing

__all__ = ["finest_packing", "plain_packing"]


@inner_kernel
def _unit(total, n, bits):
    """The smallest power of two in which ``n`` numbers of this absolute sum, each rounded up, sum to below 2**bits."""
    room = (1 << bits) - n - 1
    if total == 0.0:
        return 1.0
    exponent = math.ceil(math.log2(total / room) + 1e-9)  # the margin covers the rounding of the total
    return 2.0 ** max(exponent, -1000)


@inner_kernel
def finest_packing(total, total_hessian, n, bits):
    """The packing for absolute gradients of this sum and hessians of this sum."""
    constant = bits.hessian == 0
    unit = _unit(total, n, bits.gradient - 1)
    hessian_unit = 1.0 if constant else _unit(total_hessian, n, bits.hessian)
    hessian_rounding = 0.0 if constant else hessian_unit
    return Packing(
        bits.rows + bits.hessian,
        0 if constant else bits.rows,
        (1 << bits.rows) - 1 if constant else (1 << bits.hessian) - 1,
        (1 << bits.rows) - 1,
        unit,
        hessian_unit,
        hessian_rounding,
        n * bits.fine * unit > total or n * bits.fine * hessian_rounding > total_hessian,
        bits.rows > 0,
        n / total_hessian if total_hessian > 0 else 0.0,
    )


plain_packing = interpreted(finest_packing)  # the same in Python, for a tree that is prepared there
