"""Exact medians of the columns of a stream: the values between which the median lies are narrowed pass by pass.

A float64 is read as an integer of 64 bits that grows with it. The first pass counts the values by their first 16 bits,
which says in which of 65,536 intervals the median lies; the next one counts or collects the values of that interval
only. Two passes are enough for some millions of rows, three beyond, four at most; what is kept depends on neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.core.summaries import union_of

__all__ = ["KeyCounts", "MedianSearch"]

BITS, DIGIT = 64, 16
COLLECTED = 2**18  # an interval of so many values or fewer is collected, value by value
SIGN = np.uint64(1 << 63)


class KeyRange(NamedTuple):
    """The values whose key begins with ``prefix`` (``shift`` bits follow); the one sought has ``rank`` among them."""

    prefix: int
    shift: int
    rank: int
    size: int

    @property
    def next_shift(self) -> int:
        """How many bits the next pass leaves open."""
        first = self.shift == BITS
        return 0 if not first and self.size <= COLLECTED else self.shift - DIGIT


class KeyCounts(NamedTuple):
    """How often each beginning of a key occurs in an interval, and the least and greatest whole key there."""

    keys: np.ndarray
    counts: np.ndarray
    lowest: int
    highest: int

    def merge(self, other: KeyCounts) -> KeyCounts:
        """The counts of both."""
        keys, mine, theirs = union_of(self.keys, other.keys)
        counts = np.zeros(len(keys), dtype=np.int64)
        counts[mine] += self.counts
        counts[theirs] += other.counts
        return KeyCounts(keys, counts, min(self.lowest, other.lowest), max(self.highest, other.highest))


class MedianSearch:
    """The medians of ``n_columns`` columns, after as many passes as it takes; of a column without a value, NaN.

    >>> search, X = MedianSearch(1), np.array([[3.0], [np.nan], [-1.0], [8.0], [4.0]])
    >>> while search.medians is None:
    ...     search.advance(search.count(X))
    >>> search.medians
    array([3.5])
    """

    def __init__(self, n_columns: int):
        self.found: list[list[int]] = [[] for _ in range(n_columns)]  # keys of the one or two middle values
        self.sought: list[list[KeyRange]] = [[KeyRange(0, BITS, 0, 0)] for _ in range(n_columns)]

    @property
    def medians(self) -> np.ndarray | None:
        """The medians; None while another pass is needed."""
        if any(self.sought):
            return None
        middles = [values_of(np.array(keys, dtype=np.uint64)) for keys in self.found]
        return np.array([(values[0] + values[-1]) / 2 if len(values) else np.nan for values in middles])

    def count(self, X: np.ndarray) -> list[list[KeyCounts]]:
        """What some rows add to this pass."""
        return [_count_all(keys, sought) for keys, sought in zip(map(_keys, X.T), self.sought)]

    @staticmethod
    def merge(first: list[list[KeyCounts]], second: list[list[KeyCounts]]) -> list[list[KeyCounts]]:
        return [[a.merge(b) for a, b in zip(*pair)] for pair in zip(first, second)]

    def advance(self, counted: list[list[KeyCounts]]) -> None:
        """Narrow the intervals by the counts of all rows."""
        for j, (sought, counts) in enumerate(zip(self.sought, counted)):
            if sought and sought[0].shift == BITS:
                sought, counts = _middles(counts[0])
            self.sought[j] = []
            for interval, its in zip(sought, counts):
                narrowed = _narrow(interval, its)
                if narrowed.shift:
                    self.sought[j].append(narrowed)
                else:
                    self.found[j].append(narrowed.prefix)


def _middles(counts: KeyCounts) -> tuple[list[KeyRange], list[KeyCounts]]:
    """The one or two ranks of the median among all values."""
    n = int(counts.counts.sum())
    ranks = [] if n == 0 else sorted({(n - 1) // 2, n // 2})
    return [KeyRange(0, BITS, rank, n) for rank in ranks], [counts] * len(ranks)


def _narrow(interval: KeyRange, counts: KeyCounts) -> KeyRange:
    """The interval of the next pass; ``shift`` is 0 where the value itself is found."""
    if counts.lowest == counts.highest:
        return KeyRange(counts.lowest, 0, 0, interval.size)
    before = np.cumsum(counts.counts)
    place = int(np.searchsorted(before, interval.rank, side="right"))
    size = int(counts.counts[place])
    return KeyRange(int(counts.keys[place]), interval.next_shift, interval.rank - int(before[place]) + size, size)


def _count_all(keys: np.ndarray, sought: list[KeyRange]) -> list[KeyCounts]:
    if len(sought) == 2 and sought[0][:2] == sought[1][:2]:  # both middle values are still in one interval
        return [_count_keys(keys, sought[0])] * 2
    return [_count_keys(keys, interval) for interval in sought]


def _count_keys(keys: np.ndarray, interval: KeyRange) -> KeyCounts:
    if interval.shift < BITS:
        keys = keys[keys >> np.uint64(interval.shift) == np.uint64(interval.prefix)]
    if not len(keys):
        return KeyCounts(keys, np.zeros(0, dtype=np.int64), 2**BITS, -1)
    lowest, highest, shift = int(keys.min()), int(keys.max()), interval.next_shift
    beginnings = keys >> np.uint64(shift)
    if shift == 0:
        distinct, counts = np.unique(beginnings, return_counts=True)
        return KeyCounts(distinct, counts, lowest, highest)
    low = interval.prefix << (interval.shift - shift)
    dense = np.bincount((beginnings - np.uint64(low)).astype(np.int64), minlength=2**DIGIT)
    some = np.flatnonzero(dense)
    return KeyCounts(some.astype(np.uint64) + np.uint64(low), dense[some], lowest, highest)


def _keys(values: np.ndarray) -> np.ndarray:
    """Integers that grow with the numbers; missing ones have none."""
    present = values[~np.isnan(values)] + 0.0  # -0 becomes 0
    bits = present.view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def values_of(keys: np.ndarray) -> np.ndarray:
    """The numbers of such integers.

    >>> values_of(_keys(np.array([-2.5, 0.0, 7.0]))).tolist()
    [-2.5, 0.0, 7.0]
    """
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)
