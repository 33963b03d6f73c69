"""Rows that are read block by block: what a fit on data larger than memory, or on a cluster, is given instead of ``X``.

A stream is cut into *parts* (a few row groups of a file, a partition), which any process can read, and each part into
*blocks* of rows. Both depend on the data alone. A pass over the rows summarizes every block, merges the summaries of a
part in the order of its blocks and those of the parts in their order, whoever computed them: the result has the same
bits for any number of workers.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

__all__ = [
    "InOrder",
    "KeepsObjects",
    "KeptObjects",
    "NamedWork",
    "PartRunner",
    "RowBlock",
    "SharesData",
    "Stream",
    "StreamPart",
]

S = TypeVar("S")
Item = TypeVar("Item")


class RowBlock(NamedTuple):
    """Some rows of a stream: ``X`` is a data frame or an array (n, p), ``y`` the targets (n,), None without any."""

    X: Any
    y: np.ndarray | None = None


class StreamPart(Protocol):
    """Blocks that belong together, which another process can read too; ``name`` is what errors call it."""

    @property
    def name(self) -> str: ...

    def blocks(self) -> Iterator[RowBlock]: ...


class PartRunner(Protocol):
    """Whoever does the work: ``function`` of every part, in the order of the parts."""

    def map(self, function: Callable[[StreamPart], S], parts: Sequence[StreamPart]) -> Iterable[S]: ...


class NamedWork(Protocol):
    """Work that errors call by its ``name``."""

    @property
    def name(self) -> str: ...


@runtime_checkable
class SharesData(Protocol):
    """A runner whose workers keep data that many pieces of work need."""

    def map_shared(self, function: Callable[[Any, Any], S], shared: Any, items: Sequence[NamedWork]) -> Iterable[S]:
        """``function(shared, item)`` of every item, in order; ``shared`` is sent once to each worker."""


class KeptObjects(Protocol):
    """An object on each of several workers, which remembers what it was asked; made again where its worker is lost."""

    def begin(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What each object answers to its arguments, in order; from now on nothing depends on earlier calls."""

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The same of a call that depends on those since the last ``begin``."""

    def close(self) -> None:
        """Nobody asks any more."""


@runtime_checkable
class KeepsObjects(Protocol):
    """A runner whose workers keep objects that are asked again and again."""

    @property
    def n_workers(self) -> int: ...

    def keep(self, make: Callable[[Item], Any], items: Sequence[Item]) -> KeptObjects:
        """An object ``make(item)`` for every item, each on one of the workers."""


class InOrder:
    """This process, part after part."""

    def map(self, function: Callable[[StreamPart], S], parts: Sequence[StreamPart]) -> Iterable[S]:
        return map(function, parts)


class Stream(ABC):
    """Rows in fixed parts and blocks; read anew, in the same order, for every pass."""

    runner: PartRunner = InOrder()

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns of ``X``."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[StreamPart]:
        """What the stream is made of, in order."""

    @abstractmethod
    def on(self, runner: PartRunner) -> Stream:
        """The same rows in the same blocks, read by ``runner``."""

    def __iter__(self) -> Iterator[RowBlock]:
        for part in self.parts:
            yield from part.blocks()

    def reduce(self, summarize: Callable[[RowBlock], S], merge: Callable[[S, S], S]) -> S:
        """One pass: the merged summaries of all blocks."""
        total: S | None = None
        # Merged as they come: a list of them would grow with the rows.
        for summary in self.runner.map(partial(summarize_part, summarize, merge), self.parts):
            if summary is not None:
                total = summary if total is None else merge(total, summary)
        if total is None:
            raise ValueError("The stream has no rows.")
        return total

    def map(self, function: Callable[[Any], Any]) -> Stream:
        """The stream of ``function(X)`` with the same targets, computed in every pass."""
        return MappedStream(self, function)

    def sample(self, n: int, random_state: int = 0) -> RowBlock:
        """``n`` rows drawn without replacement, in the order of the stream: the same for every number of workers."""
        from margin.core.row_sample import sample_rows

        return sample_rows(self, n, random_state)

    @property
    def n_rows(self) -> int:
        """How many rows there are: a pass over them."""
        return self.reduce(count_rows, operator.add)

    def head(self, n: int = 1) -> RowBlock:
        """The first rows."""
        for block in self:
            if len(block.X):
                return RowBlock(block.X[:n], None if block.y is None else block.y[:n])
        raise ValueError("The stream has no rows.")


def count_rows(block: RowBlock) -> int:
    return len(block.X)


def summarize_part(summarize: Callable[[RowBlock], S], merge: Callable[[S, S], S], part: StreamPart) -> S | None:
    """The merged summaries of the blocks of one part; None if it has no rows. An error names the part."""
    total: S | None = None
    for block in part.blocks():
        try:
            summary = summarize(block)
        except ValueError as error:
            raise ValueError(f"{part.name}: {error}") from error
        total = summary if total is None else merge(total, summary)
    return total


class MappedPart:
    """A part whose ``X`` goes through a function."""

    def __init__(self, part: StreamPart, function: Callable[[Any], Any]):
        self.part, self.function, self.name = part, function, part.name

    def blocks(self) -> Iterator[RowBlock]:
        for block in self.part.blocks():
            yield RowBlock(self.function(block.X), block.y)


class MappedStream(Stream):
    """What :meth:`Stream.map` gives."""

    def __init__(self, source: Stream, function: Callable[[Any], Any]):
        self.source, self.function, self.runner = source, function, source.runner

    @property
    def names(self) -> tuple[str, ...]:
        X = self.head().X
        return tuple(map(str, X.columns)) if hasattr(X, "columns") else tuple(f"x{j}" for j in range(X.shape[1]))

    @property
    def parts(self) -> Sequence[StreamPart]:
        return [MappedPart(part, self.function) for part in self.source.parts]

    def on(self, runner: PartRunner) -> Stream:
        return MappedStream(self.source.on(runner), self.function)
