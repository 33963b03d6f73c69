"""Streams that are read from their files once: later passes take the numbers from memory, or from a file of numbers.

Reading a block anew, from Parquet or text, takes longer than most passes compute. A model that passes over the rows
again and again keeps them; blocks, their order and so the bits of the fit stay. What other processes read stays there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from margin.core.full_disk import is_full_disk
from margin.core.row_files import RowFile
from margin.core.streaming import InOrder, PartRunner, RowBlock, Stream, StreamPart

__all__ = ["keep_rows"]


def keep_rows(stream: Stream) -> Stream:
    """The same blocks, read once; the stream itself where others read it, blocks are no numbers, or a disk is full."""
    if not isinstance(stream.runner, InOrder):
        return stream
    X, y = RowFile(), RowFile()
    try:
        places = [(part.name, [_keep(X, y, block) for block in part.blocks()]) for part in stream.parts]
    except (OSError, _NotNumbers) as error:
        if isinstance(error, OSError) and not is_full_disk(error):
            raise
        return stream
    if not len(X):
        return stream
    numbers, targets = X.array(), y.array() if len(y) else None
    start, parts = 0, []
    for name, blocks in places:
        pieces = []
        for length, columns, labels in blocks:
            cut = slice(start, start + length)
            pieces.append(Piece(numbers[cut], columns, None if targets is None else targets[cut], labels))
            start += length
        parts.append(KeptPart(name, pieces))
    return KeptStream(stream.names, tuple(parts))


class _NotNumbers(Exception):
    """A block that cannot be kept."""


def _keep(X: RowFile, y: RowFile, block: RowBlock) -> tuple[int, Any, np.ndarray | None]:
    """Keep a block: its number of rows, its columns if they have names, and its labels if targets are kept as codes."""
    columns = getattr(block.X, "columns", None)
    if columns is not None and not (block.X.dtypes == np.float64).all():
        raise _NotNumbers
    numbers, labels = np.asarray(block.X), None
    if numbers.dtype != np.float64 or numbers.ndim != 2:
        raise _NotNumbers
    if block.y is not None:
        targets = block.y
        if targets.dtype != np.float64:
            labels, targets = np.unique(targets, return_inverse=True)
        y.append(targets.astype(np.float64, copy=False))  # codes are exact in it, and targets of one type
    X.append(numbers)
    return len(numbers), columns, labels


class Piece(NamedTuple):
    """A block as it is kept."""

    X: np.ndarray
    columns: Any
    y: np.ndarray | None
    labels: np.ndarray | None

    def block(self) -> RowBlock:
        X: Any = self.X
        if self.columns is not None:
            import pandas as pd

            X = pd.DataFrame(X, columns=self.columns, copy=False)
        if self.y is None or self.labels is None:
            return RowBlock(X, self.y)
        return RowBlock(X, self.labels[self.y.astype(np.int64)])


@dataclass(frozen=True)
class KeptPart:
    """The blocks of one part."""

    name: str
    pieces: list[Piece]

    def blocks(self) -> Iterator[RowBlock]:
        for piece in self.pieces:
            yield piece.block()


@dataclass(frozen=True)
class KeptStream(Stream):
    """What :func:`keep_rows` gives."""

    columns: tuple[str, ...]
    kept: tuple[KeptPart, ...]
    runner: PartRunner = InOrder()  # noqa: RUF009 (it has no state)

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def parts(self) -> Sequence[StreamPart]:
        return self.kept

    def on(self, runner: PartRunner) -> Stream:
        return KeptStream(self.columns, self.kept, runner)
