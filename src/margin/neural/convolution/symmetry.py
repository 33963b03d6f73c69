r"""How far a function is from ignoring a transformation, and from following it.

Invariant: :math:`f(t(x)) = f(x)`. Equivariant: :math:`f(t(x)) = t'(f(x))`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["equivariance_error", "invariance_error", "shift"]

Function = Callable[[np.ndarray], np.ndarray]


def shift(x: np.ndarray, *steps: int) -> np.ndarray:
    """The last axes moved by so many entries; what leaves at one end comes in at the other.

    >>> shift(np.arange(4), 1)
    array([3, 0, 1, 2])
    """
    return np.roll(x, steps, axis=tuple(range(-len(steps), 0)))


def invariance_error(f: Function, t: Function, x: np.ndarray) -> float:
    """Largest change of ``f`` when its input is transformed."""
    return float(np.abs(f(t(x)) - f(x)).max())


def equivariance_error(f: Function, t: Function, x: np.ndarray, after: Function | None = None) -> float:
    """Largest difference between transforming before and ``after`` (``t`` itself by default)."""
    return float(np.abs(f(t(x)) - (after or t)(f(x))).max())
