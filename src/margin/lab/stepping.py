"""A fit that can be stepped forward and back, with the bits of one that never stopped.

Going back needs no stored models: the state after an earlier record continues exactly, so record k is reached from any
kept state before it. States are kept for every record while they fit into a budget of bytes, and thinned out from
there on, the oldest most.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from margin.core.records import Record

__all__ = ["SteppedFit", "is_scored", "size_of"]

STATE_BYTES = 64_000_000


class SteppedFit:
    """Records of ``build()`` learning from X and y, one at a time; ``position`` is how many there were."""

    def __init__(
        self,
        build: Callable[[], Any],
        X: Any,
        y: Any = None,
        options: Mapping[str, Any] | None = None,
        budget: int = STATE_BYTES,
    ):
        self.build, self.X, self.y, self.options, self.budget = build, X, y, dict(options or {}), budget
        self.model: Any = build()
        self.iterates = hasattr(self.model, "iterate")
        self.records: list[dict[str, Any]] = []
        self.finished = False
        self._states: dict[int, tuple[Any, int]] = {}
        self._running: Iterator[Record] | None = None

    @property
    def position(self) -> int:
        return len(self.records)

    def step(self) -> bool:
        """One more record; False when there is none."""
        if self.finished:
            return False
        if not self.iterates:
            self.records.append(self._fit_at_once())
            self.finished = True
            return True
        if self._running is None:
            self._running = self.model.iterate(self.X, self.y, **self.options)
        record = next(self._running, None)
        if record is None:
            self.finished = True
            return False
        self.records.append(record.as_dict())
        self._keep()
        return True

    def back_to(self, position: int) -> None:
        """Be where the fit was after ``position`` records (at least 1), ready to go on from there."""
        if not 1 <= position <= self.position:
            raise ValueError(f"back: the position must be from 1 to {self.position}; got {position!r}.")
        if not self.iterates or position == self.position:
            return
        start = max((kept for kept in self._states if kept < position), default=0)
        # The fit that continues a state may change it in place, and it must be there the next time.
        state = copy.deepcopy(self._states[start][0]) if start else None
        self._states = {kept: held for kept, held in self._states.items() if kept <= start}
        self.records, self.finished, self.model = self.records[:start], False, self.build()
        resumed = {} if state is None else {"state": state}
        self._running = self.model.iterate(self.X, self.y, **self.options, **resumed)
        while self.position < position:
            self.step()

    def _fit_at_once(self) -> dict[str, Any]:
        self.model.fit(self.X, **self.options) if self.y is None else self.model.fit(self.X, self.y, **self.options)
        scored = is_scored(self.model, self.y)
        return {"iteration": 1, **({"score": float(self.model.score(self.X, self.y))} if scored else {})}

    def _keep(self) -> None:
        state = self.model.get_state()
        self._states[self.position] = (state, size_of(state))
        while sum(size for _, size in self._states.values()) > self.budget and len(self._states) > 1:
            del self._states[self._least_useful()]

    def _least_useful(self) -> int:
        """The kept position whose loss costs least: between close neighbors, and long ago. The last one stays."""
        kept = sorted(self._states)
        around = zip([0, *kept[:-2]], kept[:-1], kept[1:])
        return min(around, key=lambda near: (near[2] - near[0]) / (kept[-1] - near[1]))[1]


def is_scored(model: Any, y: Any) -> bool:
    """Whether a fit can be judged by its own rows: they have a target, and none lacks its label (-1)."""
    if not hasattr(model, "score") or y is None:
        return False
    labels = np.asarray(y) if isinstance(y, np.ndarray) else np.empty(0)
    return not (labels.dtype.kind == "i" and bool((labels == -1).any()))


def size_of(state: Any) -> int:
    """Bytes of the arrays in nested dictionaries and lists, and a little for everything else."""
    if isinstance(state, dict):
        return sum(size_of(value) for value in state.values()) + 64 * len(state)
    if isinstance(state, list | tuple):
        return sum(size_of(value) for value in state) + 16
    if isinstance(state, np.ndarray):
        return state.nbytes
    if hasattr(state, "element_size"):  # a tensor
        return state.element_size() * state.nelement()
    return len(state) if isinstance(state, str | bytes) else 32
