"""The precision of what is learned, that of the rows, whatever a fit computes in; and what fits into float32."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LARGEST_INPUT", "check_magnitude", "in_precision_of"]

# Sums of a hundred million products with weights of about one stay below float32's limit of 3.4e38.
LARGEST_INPUT = 1e30


def in_precision_of(X: Any, values: np.ndarray) -> np.ndarray:
    """``values`` as float32 if the rows ``X`` (or what has their ``dtype``) are: no prediction copies them to float64.

    >>> rows = np.zeros((1, 2), dtype=np.float32)
    >>> in_precision_of(rows, np.ones(2)).dtype, in_precision_of(rows.astype(float), np.ones(2)).dtype
    (dtype('float32'), dtype('float64'))
    """
    return values.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else values


def check_magnitude(owner: str, name: str, values: np.ndarray, largest: float = LARGEST_INPUT) -> None:
    """Refuse finite ``values`` with which a computation in float32 would overflow and end in NaN.

    >>> check_magnitude("Model", "X", np.array([1.0, -1e200]))
    Traceback (most recent call last):
    ValueError: Model: X must lie between -1e+30 and 1e+30, since it is computed in float32; got -1e+200.
    """
    if values.size == 0 or values.dtype.kind != "f":
        return
    low, high = values.min(), values.max()
    if -largest <= low and high <= largest:
        return
    raise ValueError(
        f"{owner}: {name} must lie between {-largest:g} and {largest:g}, since it is computed in float32; "
        f"got {low if low < -largest else high:g}."
    )
