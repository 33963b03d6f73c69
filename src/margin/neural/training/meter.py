"""Running means with names, each with its own denominator: per row, per token, per step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from margin.neural.precision import widen

__all__ = ["Mean", "Meter"]


class Mean(NamedTuple):
    """A mean as what it is made of, so that means of unequal batches can be joined."""

    total: Tensor
    mass: Tensor | float  # what the total is divided by: rows, tokens or weights


class Meter:
    """Adds up totals and counts in double precision, as tensors, so that no step waits for a number.

    >>> meter = Meter()
    >>> meter.add({"loss": Mean(torch.tensor(6.0), 2.0)})
    >>> meter.add({"loss": Mean(torch.tensor(1.0), 1.0)})
    >>> round(meter.means()["loss"], 3)
    2.333
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.totals: dict[str, Tensor] = {}
        self.counts: dict[str, Tensor | float] = {}

    def add(self, means: Mapping[str, Mean]) -> None:
        """Add the totals and counts of a batch."""
        for name, (total, count) in means.items():
            self.totals[name] = _add(self.totals.get(name), total)
            self.counts[name] = _add(self.counts.get(name), count)

    def means(self) -> dict[str, float]:
        """Means over all batches so far."""
        return {name: float(total / self.counts[name]) for name, total in self.totals.items()}

    def state(self) -> dict[str, Any]:
        return {name: [float(total), float(self.counts[name])] for name, total in self.totals.items()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.totals = {name: torch.tensor(total, dtype=torch.float64) for name, (total, _) in state.items()}
        self.counts = {name: torch.tensor(count, dtype=torch.float64) for name, (_, count) in state.items()}


def _add(before: Any, number: Tensor | float) -> Any:
    """``before`` and ``number``, in double precision and where the number is; None before the first."""
    if not isinstance(number, Tensor):
        return number if before is None else before + number
    number = number.detach()
    if before is None:
        return widen(number).clone()
    if number.device.type == "mps":  # which has no double precision, so the step is waited for
        number = number.cpu()
    if isinstance(before, Tensor) and before.device != number.device:  # it was read from a state
        before = before.to(number.device)
    before += number
    return before
