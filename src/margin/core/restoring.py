"""Arrays of a state that a fit goes on from: compiled loops trust them, so they must be like the fit's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["restore", "restored_indices"]


def restore(state: Mapping[str, Any], name: str, like: np.ndarray) -> np.ndarray:
    """A copy of the array ``name`` of ``state``, which must have the shape and dtype of ``like``.

    >>> restore({"theta": np.ones(3)}, "theta", np.zeros(2))
    Traceback (most recent call last):
    ValueError: the state belongs to another fit or is damaged: its theta is float64(3,), here it must be float64(2,).
    """
    found = state[name]
    if not isinstance(found, np.ndarray) or found.shape != like.shape or found.dtype != like.dtype:
        got = f"{found.dtype}{found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
        raise ValueError(_sentence(f"its {name} is {got}, here it must be {like.dtype}{like.shape}"))
    return np.array(found)


def restored_indices(found: Any, name: str, below: int, *, low: int = 0, count: int | None = None) -> np.ndarray:
    """A copy of the one-dimensional array of integers ``found``: ``count`` of them, from ``low`` to ``below`` - 1.

    >>> restored_indices(np.array([0, 7]), "rows", 5)
    Traceback (most recent call last):
    ValueError: the state belongs to another fit or is damaged: its rows must be integers from 0 to 4.
    """
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype != np.int64:
        raise ValueError(_sentence(f"its {name} must be an array of integers"))
    if count is not None and len(found) != count:
        raise ValueError(_sentence(f"its {name} has {len(found)} entries, here it must have {count}"))
    if len(found) and not (low <= found.min() and found.max() < below):
        raise ValueError(_sentence(f"its {name} must be integers from {low} to {below - 1}"))
    return found.copy()


def _sentence(reason: str) -> str:
    return f"the state belongs to another fit or is damaged: {reason}."
