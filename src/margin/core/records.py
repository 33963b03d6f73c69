"""A record is what one iteration of any fit reports: which iteration it was and a few named numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Record", "shown_values"]


@dataclass(frozen=True)
class Record:
    """One iteration of an iterative process.

    ``iteration`` counts from 1; ``total`` is the most iterations there can be, if that is known, so that a
    progress bar has an end. ``values`` are the numbers worth following, by name.

    >>> record = Record(3, {"loss": 0.25}, total=10)
    >>> record["loss"]
    0.25
    """

    iteration: int
    values: Mapping[str, float] = field(default_factory=dict)
    total: int | None = None

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def as_dict(self) -> dict[str, Any]:
        """A flat, JSON-ready form: one line of ``metrics.jsonl``."""
        return {"iteration": self.iteration, **{name: float(value) for name, value in self.values.items()}}


def shown_values(values: Mapping[str, float], limit: int = 4) -> str:
    """The first few named numbers of a record in one line.

    >>> shown_values({"loss": 0.123456789, "epoch": 3})
    'loss 0.1235  epoch 3'
    """
    return "  ".join(f"{name} {value:.4g}" for name, value in list(values.items())[:limit])
