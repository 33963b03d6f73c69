"""The bits of a float as an integer, and back; compiled kernels have them from ``float_bits.pxd``."""

from __future__ import annotations

import numpy as np

__all__ = ["bits_of", "float_of"]


def bits_of(x: float) -> int:
    """The 64 bits of a float as a signed integer."""
    return int(np.float64(x).view(np.int64))


def float_of(bits: int) -> np.float64:
    """The float of these 64 bits."""
    return np.int64(bits).view(np.float64)  # of NumPy, so that a division by zero is one of IEEE
