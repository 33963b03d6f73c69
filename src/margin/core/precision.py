"""The precision of what is learned: that of the rows, whatever a fit computes in."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["in_precision_of"]


def in_precision_of(X: Any, values: np.ndarray) -> np.ndarray:
    """``values`` as float32 if the rows ``X`` (or what has their ``dtype``) are: no prediction copies them to float64.

    >>> rows = np.zeros((1, 2), dtype=np.float32)
    >>> in_precision_of(rows, np.ones(2)).dtype, in_precision_of(rows.astype(float), np.ones(2)).dtype
    (dtype('float32'), dtype('float64'))
    """
    return values.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else values
