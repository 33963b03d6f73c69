"""Rows drawn from a stream in one pass: every row has a random number of its own, and the smallest are taken.

The number of a row depends on the seed, its part and its place there, so samples of parts can be merged in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.core.arguments import integer
from margin.core.streaming import RowBlock, Stream, StreamPart

__all__ = ["sample_rows"]


class DrawnRows(NamedTuple):
    """Rows with their random numbers, at most as many as are wanted."""

    keys: np.ndarray
    X: Any
    y: np.ndarray | None


def sample_rows(stream: Stream, n: int, random_state: int = 0) -> RowBlock:
    """``n`` rows (all, if there are fewer) in the order of the stream."""
    n, seed = integer("sample", "n", n, low=1), integer("sample", "random_state", random_state)
    draw = _Draw(n, seed)
    numbered = [NumberedPart(part, number) for number, part in enumerate(stream.parts)]
    kept: list[DrawnRows] = []
    for drawn in stream.runner.map(draw, numbered):  # every part has up to n rows: never are those of all kept
        if len(drawn.keys):
            kept = _smallest([*kept, drawn], n)
    if not kept:
        raise ValueError("The stream has no rows.")
    y = None if kept[0].y is None else np.concatenate([part.y for part in kept if part.y is not None])
    return RowBlock(_stack([part.X for part in kept]), y)


class _Draw:
    """The rows of one part that may be among the ``n`` smallest."""

    def __init__(self, n: int, seed: int):
        self.n, self.seed = n, seed

    def __call__(self, part: Any) -> DrawnRows:
        rng = np.random.default_rng([self.seed, part.number])
        found: list[DrawnRows] = []
        bound = np.inf
        for block in part.blocks():
            drawn = _below(DrawnRows(rng.random(len(block.X)), block.X, block.y), bound)
            found = _smallest([*found, drawn], self.n)
            if sum(len(one.keys) for one in found) == self.n:
                bound = max(one.keys.max() for one in found if len(one.keys))
        if not found:
            return DrawnRows(np.zeros(0), None, None)
        y = None if found[0].y is None else np.concatenate([one.y for one in found if one.y is not None])
        return DrawnRows(np.concatenate([one.keys for one in found]), _stack([one.X for one in found]), y)


class NumberedPart:
    """A part that knows its place."""

    def __init__(self, part: StreamPart, number: int):
        self.part, self.number, self.name = part, number, part.name

    def blocks(self) -> Any:
        return self.part.blocks()


def _smallest(drawn: list[DrawnRows], n: int) -> list[DrawnRows]:
    """The ``n`` rows of the smallest numbers; all, if there are fewer."""
    keys = np.concatenate([one.keys for one in drawn])
    if len(keys) <= n:
        return drawn
    bound = np.partition(keys, n - 1)[n - 1]
    return [below for below in (_below(one, bound) for one in drawn) if len(below.keys)]


def _below(rows: DrawnRows, bound: float) -> DrawnRows:
    kept = rows.keys <= bound
    if kept.all():
        return rows
    X = rows.X[kept] if isinstance(rows.X, np.ndarray) else rows.X.iloc[np.flatnonzero(kept)]
    return DrawnRows(rows.keys[kept], X, None if rows.y is None else rows.y[kept])


def _stack(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
