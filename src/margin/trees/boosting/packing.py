r"""Gradient, hessian and count of a row as integers in one 64-bit integer.

It holds :math:`(g \ll s_g) + (h \ll s_h) + 1` with :math:`g` and :math:`h` rounded to multiples of a unit.
The units are powers of two, as small as the sums over all rows allow, so a sum of such integers is three exact sums at
once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from margin.trees.boosting.kernel_types import Packing

__all__ = ["PackingBits", "choose_packing", "pack_by_numpy", "packing_bits"]

BITS = 64

# With more rows than this, a count of its own would leave too few bits: it is estimated from the hessian instead.
COUNTED_ROWS = 2**20
FINE = 2**12  # units in a mean gradient from which on rounding to the nearest does no harm; equal rows stay equal then
GRADIENT_BITS = 52  # of a sum, its sign among them: it is a float without rounding (``histogram_kernels._as_float``)
HALF_BITS, LOW_HALF, TWO_TO_MINUS_32 = np.uint64(32), np.uint64(0xFFFFFFFF), 2.0**-32  # of random bits
HESSIAN_BITS = 14  # of one hessian, at most: the gradient, whose sums cancel, has more use for bits


class PackingBits(NamedTuple):
    """How many bits gradient, hessian and count have."""

    gradient: int
    hessian: int  # 0: every row has the same
    rows: int  # of their count; 0: it is estimated
    fine: float


def packing_bits(n: int, constant: bool) -> PackingBits:
    """The bits of sums over ``n`` rows; ``constant``: hessians are 1."""
    counted = constant or n <= COUNTED_ROWS
    count_bits = n.bit_length() if counted else 0
    hessian_bits = 0 if constant else min(n.bit_length() + HESSIAN_BITS, (BITS - count_bits) // 2 - 2)
    gradient_bits = min(BITS - count_bits - hessian_bits, GRADIENT_BITS)
    return PackingBits(gradient_bits, hessian_bits, count_bits, float(FINE))


def choose_packing(gradient: np.ndarray, hessian: np.ndarray) -> Packing:
    """The finest units for these gradients and non-negative hessians (n,); an empty ``hessian`` is 1 for every row.

    >>> choose_packing(np.array([1.0, -2.0, 1.0]), np.zeros(0)).counted
    True
    """
    from margin.trees.boosting.packing_kernels import plain_packing

    n, constant = len(gradient), not len(hessian)
    total = float(np.abs(gradient).sum())
    if not math.isfinite(total):
        raise ValueError(
            "choose_packing: gradients must have a finite sum; targets, weights or learning_rate are too large."
        )
    total_hessian = float(n) if constant else float(hessian.sum())
    packing: Packing = plain_packing(total, total_hessian, n, packing_bits(n, constant))
    return packing


def pack_by_numpy(gradient: np.ndarray, hessian: np.ndarray, seed: int, packing: Packing, packed: np.ndarray) -> None:
    """What the kernel :func:`~margin.trees.boosting.histogram_kernels.pack` does, bit by bit."""
    up: np.ndarray | float = 0.5
    up_too: np.ndarray | float = 0.5
    if packing.dithered:
        start = _mixed(np.array([seed], dtype=np.int64).view(np.uint64))
        bits = _mixed(start + np.arange(len(gradient), dtype=np.uint64))
        up, up_too = (bits & LOW_HALF) * TWO_TO_MINUS_32, (bits >> HALF_BITS) * TWO_TO_MINUS_32
    units = np.floor(gradient * (1.0 / packing.gradient_unit) + up).astype(np.int64)
    np.left_shift(units, packing.gradient_shift, out=packed)
    packed += packing.counted
    if len(hessian):
        units = np.floor(hessian * (1.0 / packing.hessian_unit) + up_too).astype(np.int64)
        packed += units << packing.hessian_shift


def _mixed(x: np.ndarray) -> np.ndarray:
    """The finalizer of the splitmix64 generator, of every integer; products wrap around."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
