"""Some rows of the table that a tree grows on, as a worker keeps them: it divides and counts them, no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from margin.trees.boosting.kernel_types import CODES

__all__ = ["Division", "RowGroup"]

ROOT = 0


class Division(NamedTuple):
    """A node whose rows are divided; nodes have keys that the caller gives them, the root has 0."""

    key: int
    stored: int  # the stored column that decides
    sides: bytes  # a bit for every code: whether it goes left
    left: int  # keys of the children
    right: int
    counts_left: bool  # whether the left child is counted, or the right one


class RowGroup:
    """The coded rows (m, q) of one worker, and where the nodes of the tree that is growing have theirs."""

    def __init__(self, codes: np.ndarray):
        self.codes = np.ascontiguousarray(codes)
        self.rows, self.spare = np.empty(0, dtype=np.int32), np.empty(len(codes), dtype=np.int32)
        self.packed, self.spans = np.empty(0, dtype=np.int64), dict[int, tuple[int, int]]()

    def plant(self, packed: np.ndarray, drawn: np.ndarray | None) -> np.ndarray:
        """Begin a tree on the rows ``drawn`` (None: all) with these packed derivatives (m,): its root's histogram."""
        self.packed = np.array(packed)  # what was sent may be read-only
        self.rows = np.arange(len(self.codes), dtype=np.int32) if drawn is None else np.array(drawn)
        self.drawn = self.rows.copy()
        self.spans = {ROOT: (0, len(self.rows))}
        return self._count(ROOT)

    def divide(self, divisions: Sequence[Division]) -> list[tuple[int, np.ndarray]]:
        """How many rows of every node go left, and the histogram of the child that is counted."""
        from margin.compiled.boosting import divide_rows

        found = []
        for key, stored, sides, left, right, counts_left in divisions:
            start, stop = self.spans[key]
            goes_left = np.unpackbits(np.frombuffer(sides, dtype=np.uint8)).astype(np.int64)
            middle = int(divide_rows(self.codes, self.rows, self.spare, start, stop, stored, goes_left))
            self.spans[left], self.spans[right] = (start, middle), (middle, stop)
            found.append((middle - start, self._count(left if counts_left else right)))
        return found

    def places(self, keys: Sequence[int]) -> np.ndarray:
        """In which of these nodes, which share all rows among them, every drawn row is: its number in ``keys``."""
        found = np.empty(len(self.codes), dtype=np.min_scalar_type(len(keys)))
        for number, key in enumerate(keys):
            start, stop = self.spans[key]
            found[self.rows[start:stop]] = number
        return found[self.drawn]

    def _count(self, key: int) -> np.ndarray:
        from margin.compiled.boosting import count_codes

        histogram = np.empty(self.codes.shape[1] * CODES, dtype=np.int64)
        count_codes(self.codes, self.rows, *self.spans[key], self.packed, histogram)
        return histogram
