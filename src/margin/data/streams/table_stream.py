"""``margin.stream``: a table larger than memory as a stream of blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from margin.core.streaming import InOrder, PartRunner, RowBlock, Stream, StreamPart
from margin.data.streams.files import file_hash, stream_files
from margin.data.streams.headers import check_headers, first_rows
from margin.data.streams.sources import BLOCK_ROWS, RowSource, dask_sources, file_sources, frame_sources, most_rows
from margin.data.streams.stream_columns import StreamColumns, judge_stream_columns

__all__ = ["TableStream", "stream"]

Frames = Iterable[Any] | Callable[[], Iterable[Any]]


def stream(
    source: str | os.PathLike[str] | Frames | Any,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> TableStream:
    """A table larger than memory: rows that are read block by block, in the same blocks in every pass.

    Models that say so fit it as they fit ``X`` and ``y``: ``LinearRegression().fit(margin.stream("rows/", "y"))``.
    Blocks depend on the data alone, so a fit has the same bits on one process and on a cluster
    (:func:`margin.selection.dask_cluster.on_cluster`).

    Parameters
    ----------
    source : path, list of paths, frames or Dask DataFrame
        A folder or a pattern such as ``"rows/*.parquet"`` of Parquet, Arrow or delimited text files, all of one format
        and with the same columns; a list of frames, or a function that returns a new iterator of frames whenever it is
        called; a Dask DataFrame, whose partitions are the parts.
    target : str, optional
        The column to predict. No row may lack it.
    columns : list of str, optional
        The columns to use; others are not read.
    kinds : dict, optional
        Kinds of columns ("number", "flag", "category", "text", "date") where the sample would judge otherwise.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = stream([pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 3.0]}), pd.DataFrame({"x": [2.0], "y": [5.0]})], "y")
    >>> rows
    TableStream(2 parts: x number; target y number)
    >>> from margin.linear import LinearRegression
    >>> LinearRegression().fit(rows).coef_.round(12)
    array([2.])
    """
    sources, files = _sources(source)
    if not sources:
        raise ValueError("stream: there are no rows.")
    names = None if columns is None else [*columns, *([] if target is None or target in columns else [target])]
    sample = first_rows(sources, names)
    judged = judge_stream_columns(sample, target, columns, dict(kinds or {}))
    check_headers(sources, judged)
    return TableStream(tuple(sources), judged, tuple(files))


@dataclass(frozen=True)
class TablePart:
    """Blocks of a bounded number of rows of one source."""

    source: RowSource
    columns: StreamColumns

    @property
    def name(self) -> str:
        return self.source.name

    def blocks(self) -> Iterator[RowBlock]:
        for table in fixed_blocks(self.source.tables(list(self.columns.kinds), self.columns.text_types)):
            try:
                yield self.columns.block(table)
            except ValueError as error:
                raise ValueError(f"{self.name}: {error}") from None


@dataclass(frozen=True)
class TableStream(Stream):
    """What :func:`stream` gives: parts in order, the columns they share, and the files they come from."""

    sources: tuple[RowSource, ...]
    columns: StreamColumns
    files: tuple[Path, ...] = ()
    runner: PartRunner = InOrder()  # noqa: RUF009 (it has no state)

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns.features

    @property
    def target(self) -> str | None:
        return self.columns.target

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kind of every column, the target's too."""
        return dict(self.columns.kinds)

    @property
    def parts(self) -> Sequence[StreamPart]:
        return [TablePart(source, self.columns) for source in self.sources]

    def on(self, runner: PartRunner) -> TableStream:
        return replace(self, runner=runner)

    def select(self, columns: Sequence[str]) -> TableStream:
        """The same rows with only these columns (and the target)."""
        wanted = [*columns, *([] if self.target is None else [self.target])]
        kept = replace(self.columns, kinds={name: self.columns.kinds[name] for name in wanted})
        return replace(self, columns=kept)

    @cached_property
    def file_hashes(self) -> Mapping[str, str]:
        """SHA-256 of every file by its path."""
        return {str(path): file_hash(path) for path in self.files}

    def hash(self) -> str:
        """SHA-256 over the content of the files (or blocks), in order, and the kinds of the columns."""
        digest = hashlib.sha256(repr(sorted(self.columns.kinds.items())).encode() + repr(self.target).encode())
        contents: Iterable[str] = self.file_hashes.values() if self.files else map(_block_hash, self)
        for content in contents:
            digest.update(content.encode())
        return digest.hexdigest()

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {self.columns.kinds[name]}" for name in self.names[:8])
        more = f", {len(self.names) - 8} more" if len(self.names) > 8 else ""
        goal = "" if self.target is None else f"; target {self.target} {self.columns.kinds[self.target]}"
        return f"TableStream({len(self.sources)} parts: {listed}{more}{goal})"


def fixed_blocks(tables: Iterable[Any]) -> Iterator[Any]:
    """The rows of Arrow tables in blocks of one size, however they came; the last one may be shorter."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = 0
    for table in tables:
        size = min(BLOCK_ROWS, most_rows(table.num_columns))
        while rows + table.num_rows >= size:
            cut = size - rows
            yield pa.concat_tables([*waiting, table.slice(0, cut)])
            table, waiting, rows = table.slice(cut), [], 0
        if table.num_rows:
            waiting.append(table)
            rows += table.num_rows
    if waiting:
        yield pa.concat_tables(waiting)


def _sources(source: Any) -> tuple[list[RowSource], list[Path]]:
    if type(source).__module__.split(".")[0] in ("dask", "dask_expr"):
        return dask_sources(source), []
    paths = isinstance(source, str | os.PathLike) or (
        isinstance(source, Sequence) and len(source) > 0 and all(isinstance(one, str | os.PathLike) for one in source)
    )
    if paths:
        files, folder = stream_files(source)
        return file_sources(files, folder), files
    if hasattr(source, "columns") or not (callable(source) or isinstance(source, Iterable)):
        raise TypeError(
            "stream: source must be a path, a list of frames, a function or a Dask DataFrame; got "
            f"{type(source).__name__}."
        )
    return frame_sources(source), []


def _block_hash(block: RowBlock) -> str:
    import pandas as pd

    digest = hashlib.sha256(pd.util.hash_pandas_object(block.X, index=False).to_numpy().tobytes())
    if block.y is not None:
        digest.update(pd.util.hash_pandas_object(pd.Series(block.y), index=False).to_numpy().tobytes())
    return digest.hexdigest()
