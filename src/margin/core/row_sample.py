"""Rows drawn from a stream in one pass: every row has a random number of its own, and the smallest are taken.

The number of a row depends on the seed, its part and its place there, so samples of parts can be merged in any order.
A part sends a few times as many rows as are its fair share, so that what is sent does not grow with the parts; where
one was so large that more of its rows belong to the sample, a second pass sends as many as could.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.core.arguments import integer
from margin.core.streaming import RowBlock, Stream, StreamPart

__all__ = ["sample_rows"]

SLACK, LEAST = 4, 64  # times the fair share of a part, and rows at least, that it sends


class DrawnRows(NamedTuple):
    """Rows with their random numbers, at most as many as are wanted; those left out have no number below ``cut``."""

    keys: np.ndarray
    X: Any
    y: np.ndarray | None
    cut: float = np.inf


def sample_rows(stream: Stream, n: int, random_state: int = 0) -> RowBlock:
    """``n`` rows (all, if there are fewer) in the order of the stream."""
    n, seed = integer("sample", "n", n, low=1), integer("sample", "random_state", random_state)
    numbered = [NumberedPart(part, number) for number, part in enumerate(stream.parts)]
    share = min(n, max(LEAST, SLACK * n // max(len(numbered), 1)))
    kept = _drawn(stream, numbered, n, _Draw(share, seed)) or _drawn(stream, numbered, n, _Draw(n, seed))
    if not kept:
        raise ValueError("The stream has no rows.")
    y = None if kept[0].y is None else np.concatenate([part.y for part in kept if part.y is not None])
    return RowBlock(_stack([part.X for part in kept]), y)


def _drawn(stream: Stream, parts: list[NumberedPart], n: int, draw: _Draw) -> list[DrawnRows]:
    """The ``n`` rows of the smallest numbers; none where a part may have left out one of them."""
    kept: list[DrawnRows] = []
    cut = np.inf
    for drawn in stream.runner.map(draw, parts):  # merged as they come: never are the rows of all parts kept
        if len(drawn.keys):
            kept, cut = _smallest([*kept, drawn], n), min(cut, drawn.cut)
    largest = max((part.keys.max() for part in kept), default=0.0)
    enough = sum(len(part.keys) for part in kept) >= n and largest <= cut
    return kept if enough or cut == np.inf else []


class _Draw:
    """The rows of one part that may be among the ``n`` smallest."""

    def __init__(self, n: int, seed: int):
        self.n, self.seed = n, seed

    def __call__(self, part: Any) -> DrawnRows:
        rng = np.random.default_rng([self.seed, part.number])
        found: list[DrawnRows] = []
        bound, n_rows = np.inf, 0
        for block in part.blocks():
            n_rows += len(block.X)
            drawn = _below(DrawnRows(rng.random(len(block.X)), block.X, block.y), bound)
            found = _smallest([*found, drawn], self.n)
            if sum(len(one.keys) for one in found) == self.n:
                bound = max(one.keys.max() for one in found if len(one.keys))
        if not found:
            return DrawnRows(np.zeros(0), None, None)
        y = None if found[0].y is None else np.concatenate([one.y for one in found if one.y is not None])
        keys = np.concatenate([one.keys for one in found])
        cut = float(keys.max()) if len(keys) < n_rows else np.inf
        return DrawnRows(keys, _stack([one.X for one in found]), y, cut)


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
    return rows._replace(keys=rows.keys[kept], X=X, y=None if rows.y is None else rows.y[kept])


def _stack(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
