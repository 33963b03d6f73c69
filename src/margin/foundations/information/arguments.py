"""What every function of this package accepts as a distribution, a pair of them and a base of the logarithm."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.core.arguments import numbers

__all__ = ["as_distribution", "as_pair", "log_of_base"]

Array = NDArray[np.float64]

# Probabilities that come out of a float32 softmax over a few thousand classes sum to one within about 1e-5.
SUM_TOLERANCE = 1e-5


def as_distribution(owner: str, name: str, p: ArrayLike) -> Array:
    """``p`` as float64, its last axis a probability distribution; anything else is refused in one sentence.

    >>> as_distribution("entropy", "p", [1, 0]).tolist()
    [1.0, 0.0]
    """
    values = numbers(owner, name, p)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError(f"{owner}: {name} must hold at least one probability; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{owner}: {name} must be finite; it contains NaN or infinity.")
    if values.size and values.min() < 0:
        raise ValueError(f"{owner}: {name} must not be negative; its least entry is {values.min():g}.")
    totals = values.sum(axis=-1)
    gap = np.abs(totals - 1.0)
    if values.size and gap.max() > SUM_TOLERANCE:
        raise ValueError(f"{owner}: {name} must sum to 1 along its last axis; got {totals.flat[gap.argmax()]:.6g}.")
    return values


def as_pair(owner: str, p: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    """Two distributions over the same classes; leading axes broadcast."""
    left, right = as_distribution(owner, "p", p), as_distribution(owner, "q", q)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(
            f"{owner}: p and q must have the same number of classes; got {left.shape[-1]} and {right.shape[-1]}."
        )
    return left, right


def log_of_base(owner: str, base: float) -> float:
    r""":math:`\ln b`, the number of nats in one unit of information to the base :math:`b > 1`."""
    if isinstance(base, str) or not math.isfinite(base) or base <= 1:
        raise ValueError(f"{owner}: base must be a number above 1; got {base!r}.")
    return math.log(base)
