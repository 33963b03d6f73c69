"""Rows of a stream as ensembles of trees need them: targets in memory, one byte per value in a mapped file, no table.

Three passes: the targets, the rows from which bins are taken (those that a fit in memory would draw), and the codes. A
model that is fitted from here has the bits of one that was fitted to the same rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from margin.core.row_files import row_array
from margin.core.streaming import RowBlock, Stream, StreamPart
from margin.core.summaries import plain_labels
from margin.trees.binning import SUBSAMPLE, Bins, apply_bins, find_bins

__all__ = ["StreamedRows", "checked_rows"]

Check = Callable[[RowBlock], np.ndarray]


class NumberedRows(NamedTuple):
    """A part of a stream, and the number of its first row."""

    part: StreamPart
    first: int

    @property
    def name(self) -> str:
        return self.part.name

    def blocks(self) -> Iterator[RowBlock]:
        return self.part.blocks()


class StreamedRows:
    """The rows of ``stream``, of which ``check`` gives numbers (n, p)."""

    def __init__(self, stream: Stream, check: Check):
        self.stream, self.check = stream, check
        found = list(stream.runner.map(partial(_targets, check), stream.parts))
        self.y = plain_labels(np.concatenate([y for part in found for y in part]))
        self.width = stream.head().X.shape[1]
        self.sizes = [sum(map(len, part)) for part in found]
        self.parts = [NumberedRows(*pair) for pair in zip(stream.parts, accumulate([0, *self.sizes[:-1]]))]

    def find_bins(self, learned: np.ndarray, max_bins: int, categorical: np.ndarray, rng: np.random.Generator) -> Bins:
        """Bins of the rows whose numbers are ``learned``, as :func:`find_bins` would choose them in memory."""
        whole = len(learned) <= SUBSAMPLE
        if not whole:
            learned = learned[np.sort(rng.choice(len(learned), size=SUBSAMPLE, replace=False))]
        taken = self.stream.runner.map(partial(_choose_rows, self.check, learned), self.parts)
        bins = find_bins(np.concatenate(list(taken)), max_bins, None, categorical, subsample=None)
        return Bins(bins.edges, bins.offsets, bins.categorical, bins.exact & whole)

    def codes(self, bins: Bins) -> np.ndarray:
        """The code of every value, (n, p)."""
        codes = row_array((len(self.y), self.width), np.uint8)
        results = self.stream.runner.map(partial(_code_part, self.check, bins), self.parts)
        for i, found in enumerate(results):
            codes[self.place(i, len(found))] = found
        return codes

    def place(self, part: int, n: int) -> slice:
        """Where the ``n`` rows of a part belong; a file that was changed since the first pass is refused."""
        numbered, known = self.parts[part], self.sizes[part]
        if n != known:
            raise ValueError(f"{numbered.name}: had {known} rows in the first pass and has {n} now.")
        return slice(numbered.first, numbered.first + n)


def checked_rows(check: Check, part: StreamPart, block: RowBlock) -> np.ndarray:
    """The numbers of a block; an error names the part."""
    try:
        return check(block)
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}") from error


def _targets(check: Check, part: StreamPart) -> list[np.ndarray]:
    targets = []
    for block in part.blocks():
        if block.y is None:
            raise ValueError("a stream needs a target here: stream(..., target=NAME).")
        checked_rows(check, part, block)  # before the long passes begin
        targets.append(block.y)
    return targets


def _choose_rows(check: Check, numbers: np.ndarray, part: Any) -> np.ndarray:
    first, found = part.first, []
    for block in part.blocks():
        low, high = np.searchsorted(numbers, [first, first + len(block.X)])
        found.append(checked_rows(check, part, block)[numbers[low:high] - first])
        first += len(block.X)
    return np.concatenate(found)


def _code_part(check: Check, bins: Bins, part: Any) -> np.ndarray:
    return np.concatenate([apply_bins(checked_rows(check, part, block), bins) for block in part.blocks()])
