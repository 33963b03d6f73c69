"""Solutions at given times by many small steps: what solvers that split an equation into exact parts share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["at_times"]


def at_times(
    advance: Callable[[np.ndarray, float], np.ndarray], start: np.ndarray, times: Any, steps: int
) -> np.ndarray:
    """The states (times, ...) that ``advance(state, h)`` leads to from ``start`` at time 0, in steps of equal length
    between two times and of at most 1 / ``steps``.

    >>> halved = at_times(lambda u, h: u * 0.5**h, np.ones(1), [0.0, 1.0, 3.0], steps=4)
    >>> halved.ravel().round(9).tolist()
    [1.0, 0.5, 0.125]
    """
    states, state, now = [], start, 0.0
    for time in np.asarray(times, dtype=np.float64):
        if time < now:
            raise ValueError(f"at_times: times must not fall; got {time:g} after {now:g}.")
        count = math.ceil((time - now) * steps - 1e-9)
        for _ in range(count):
            state = advance(state, (time - now) / count)
        now = float(time)
        states.append(state)
    return np.stack(states)
