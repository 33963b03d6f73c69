r"""Gradient, hessian and count of a row as integers in one 64-bit integer.

It holds :math:`(g \ll s_g) + (h \ll s_h) + 1` with :math:`g` and :math:`h` rounded to multiples of a unit.
The units are powers of two, as small as the sums over all rows allow, so a sum of such integers is three exact sums at
once.
"""

from __future__ import annotations

import math

import numpy as np

from margin.trees.boosting.kernel_types import Packing

__all__ = ["choose_packing"]

BITS = 64

# With more rows than this, a count of its own would leave too few bits: it is estimated from the hessian instead.
COUNTED_ROWS = 2**20
FINE = 2**12  # units in a mean gradient from which on rounding to the nearest does no harm; equal rows stay equal then
HESSIAN_BITS = 14  # of one hessian, at most: the gradient, whose sums cancel, has more use for bits


def choose_packing(gradient: np.ndarray, hessian: np.ndarray) -> Packing:
    """The finest units for these gradients and non-negative hessians (n,); an empty ``hessian`` is 1 for every row.

    >>> choose_packing(np.array([1.0, -2.0, 1.0]), np.zeros(0)).counted
    True
    """
    n, constant = len(gradient), not len(hessian)
    counted = constant or n <= COUNTED_ROWS
    count_bits = n.bit_length() if counted else 0
    hessian_bits = 0 if constant else min(n.bit_length() + HESSIAN_BITS, (BITS - count_bits) // 2 - 2)
    gradient_bits = BITS - count_bits - hessian_bits
    total = float(np.abs(gradient).sum())
    if not math.isfinite(total):
        raise ValueError(
            "choose_packing: gradients must have a finite sum; targets, weights or learning_rate are too large."
        )
    unit = _unit(total, n, gradient_bits - 1)
    total_hessian = float(n) if constant else float(hessian.sum())
    hessian_unit = 1.0 if constant else _unit(total_hessian, n, hessian_bits)
    hessian_rounding = 0.0 if constant else hessian_unit
    return Packing(
        gradient_shift=count_bits + hessian_bits,
        hessian_shift=0 if constant else count_bits,
        hessian_mask=2**count_bits - 1 if constant else 2**hessian_bits - 1,
        count_mask=2**count_bits - 1,
        gradient_unit=unit,
        hessian_unit=hessian_unit,
        hessian_rounding=hessian_rounding,
        dithered=n * FINE * unit > total or n * FINE * hessian_rounding > total_hessian,
        counted=counted,
        rows_per_hessian=n / total_hessian if total_hessian > 0 else 0.0,
    )


def _unit(total: float, n: int, bits: int) -> float:
    """The smallest power of two in which ``n`` numbers of this absolute sum, each rounded up, sum to below 2**bits."""
    room = 2**bits - n - 1
    if total == 0.0:
        return 1.0
    exponent = math.ceil(math.log2(total / room) + 1e-9)  # the margin covers the rounding of the total
    return 2.0 ** max(exponent, -1000)
