r"""Gradient, hessian and count of a row as integers in one 64-bit integer.

It holds :math:`(g \ll s_g) + (h \ll s_h) + 1` with :math:`g` and :math:`h` rounded to multiples of a unit.
The units are powers of two, as small as the sums over all rows allow, so a sum of such integers is three exact sums at
once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PackingBits", "choose_packing", "packing_bits"]

BITS = 64

# With more rows than this, a count of its own would leave too few bits: it is estimated from the hessian instead.
COUNTED_ROWS = 2**20
GRADIENT_BITS = 52  # of a sum, its sign among them: it is a float without rounding (``histogram_kernels._as_float``)
HESSIAN_BITS = 14  # of one hessian, at most: the gradient, whose sums cancel, has more use for bits


class PackingBits(NamedTuple):
    """How many bits gradient, hessian and count have."""

    gradient: int
    hessian: int  # 0: every row has the same
    rows: int  # of their count; 0: it is estimated


def packing_bits(n: int, constant: bool) -> PackingBits:
    """The bits of sums over ``n`` rows; ``constant``: hessians are 1."""
    counted = constant or n <= COUNTED_ROWS
    count_bits = n.bit_length() if counted else 0
    hessian_bits = 0 if constant else min(n.bit_length() + HESSIAN_BITS, (BITS - count_bits) // 2 - 2)
    gradient_bits = min(BITS - count_bits - hessian_bits, GRADIENT_BITS)
    return PackingBits(gradient_bits, hessian_bits, count_bits)


def choose_packing(gradient: np.ndarray, hessian: np.ndarray) -> Any:
    """The finest ``Packing`` for these gradients and non-negative hessians (n,); an empty ``hessian`` is 1 everywhere.

    >>> choose_packing(np.array([1.0, -2.0, 1.0]), np.zeros(0)).counted
    True
    """
    from margin.compiled.boosting import Packing, choose_units

    n, constant = len(gradient), not len(hessian)
    total = float(np.abs(gradient).sum())
    if not math.isfinite(total):
        raise ValueError(
            "choose_packing: gradients must have a finite sum; targets, weights or learning_rate are too large."
        )
    total_hessian = float(n) if constant else float(hessian.sum())
    packing = Packing()
    choose_units(total, total_hessian, n, *packing_bits(n, constant), packing)
    return packing
