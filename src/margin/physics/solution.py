"""What a solver gives back: the steps it took, a curve between them, and where events happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Event", "ODESolution"]


@dataclass(frozen=True)
class Event:
    """Where g(t, y) = 0 is crossed: upwards (``direction`` 1), downwards (-1) or either way (0)."""

    g: Callable[[float, np.ndarray], float]
    direction: int = 0
    terminal: bool = False  # whether the solution ends there

    def crosses(self, before: float, after: float) -> bool:
        """Whether g changes sign in the direction looked for; a zero at the start of a step was seen before."""
        if self.direction >= 0 and before < 0 <= after:
            return True
        return self.direction <= 0 and before > 0 >= after


@dataclass(frozen=True)
class ODESolution:
    """Times and states of the accepted steps; calling it gives the states at any times between the ends."""

    t: np.ndarray
    y: np.ndarray  # (steps + 1, d)
    pieces: list[Callable[[np.ndarray], np.ndarray]]  # one curve per step, of its fraction from 0 to 1
    evaluations: int
    rejected: int
    ended: bool = False  # by a terminal event
    event_times: list[np.ndarray] = field(default_factory=list)
    event_states: list[np.ndarray] = field(default_factory=list)

    def __call__(self, t: Any) -> np.ndarray:
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        low, high = min(self.t[0], self.t[-1]), max(self.t[0], self.t[-1])
        slack = 1e-12 * max(1.0, abs(low), abs(high))
        if times.size and (times.min() < low - slack or times.max() > high + slack):
            raise ValueError(
                f"ODESolution: times must lie in [{low:g}, {high:g}]; got {times.min():g} to {times.max():g}."
            )
        if not self.pieces:
            states = np.repeat(self.y[:1], len(times), axis=0)
            return states if np.ndim(t) else states[0]
        backward = self.t[-1] < self.t[0]
        ascending, where = (-self.t, -times) if backward else (self.t, times)
        steps = np.clip(np.searchsorted(ascending, where, side="right") - 1, 0, len(self.pieces) - 1)
        states = np.empty((len(times), self.y.shape[1]))
        for step in np.unique(steps):
            inside = steps == step
            fraction = (times[inside] - self.t[step]) / (self.t[step + 1] - self.t[step])
            states[inside] = self.pieces[step](fraction)
        return states if np.ndim(t) else states[0]
