"""Parts of files, frames and Dask partitions: each gives Arrow tables of a bounded number of rows, always the same.

A part knows where its rows are, not the rows, so that it can be sent to another process and read there. Nothing is read
ahead: PyArrow's own read-ahead would hold a whole file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from margin.data.streams.files import constants_of, format_of

if TYPE_CHECKING:
    import pyarrow

__all__ = ["BLOCK_ROWS", "RowSource", "dask_sources", "file_sources", "frame_sources", "most_rows"]

BLOCK_ROWS = 65_536  # of a block: large enough for products of matrices, small enough for a worker's memory
BLOCK_VALUES, FEWEST_ROWS = 2**21, 1_024  # a block of a wide table has fewer rows, but never less than so many
PART_ROWS = 4 * BLOCK_ROWS  # row groups of a Parquet file are joined to parts of about so many rows


class RowSource(Protocol):
    """Where the rows of a part are; ``name`` is what errors call it."""

    @property
    def name(self) -> str: ...

    def tables(self, columns: Sequence[str] | None, types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        """Tables of these columns (None: all), in order; text files are read as ``types`` says, else as strings."""


def most_rows(n_columns: int) -> int:
    """Rows of a block by the number of columns.

    >>> most_rows(20), most_rows(200), most_rows(10**6)
    (65536, 10485, 1024)
    """
    return min(BLOCK_ROWS, max(FEWEST_ROWS, BLOCK_VALUES // max(n_columns, 1)))


@contextmanager
def named_file(path: Path, kind: str) -> Iterator[None]:
    """What PyArrow says about a file becomes one sentence that names it."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"{path}: the file is no longer there.") from None
    except (pa.ArrowException, OSError) as problem:
        text = " ".join(str(problem).split()).rstrip(".")
        raise ValueError(f"{path}: is not a readable {kind} file ({text}).") from None


@dataclass(frozen=True)
class ParquetRows:
    """Some row groups of a Parquet file."""

    path: Path
    groups: tuple[int, ...]
    constants: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.path)

    def tables(self, columns: Sequence[str] | None, types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        import pyarrow as pa
        from pyarrow import parquet

        inner = None if columns is None else [name for name in columns if name not in self.constants]
        with named_file(self.path, "Parquet"), parquet.ParquetFile(self.path, pre_buffer=False) as file:
            rows = most_rows(file.metadata.num_columns if inner is None else len(inner))
            for batch in file.iter_batches(rows, list(self.groups), inner, use_threads=False):
                yield with_constants(pa.Table.from_batches([batch]), self.constants)


@dataclass(frozen=True)
class ArrowRows:
    """An Arrow file, mapped into memory."""

    path: Path
    constants: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.path)

    def tables(self, columns: Sequence[str] | None, types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        import pyarrow as pa

        with named_file(self.path, "Arrow"), pa.memory_map(str(self.path)) as mapped, pa.ipc.open_file(mapped) as file:
            for i in range(file.num_record_batches):
                table = with_constants(pa.Table.from_batches([file.get_batch(i)]), self.constants)
                yield table if columns is None else table.select(list(columns))


@dataclass(frozen=True)
class FrameRows:
    """A data frame, or a function that gives frames."""

    name: str
    frames: Any

    def tables(self, columns: Sequence[str] | None, types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        for frame in self.frames() if callable(self.frames) else [self.frames]:
            table = _arrow(self.name, frame)
            yield table if columns is None else self._select(table, columns)

    def _select(self, table: Any, columns: Sequence[str]) -> Any:
        lacking = [name for name in columns if name not in table.column_names]
        if lacking:
            raise ValueError(f"{self.name}: lacks the column {lacking[0]!r} that the stream begins with.")
        return table.select(list(columns))


@dataclass(frozen=True)
class DaskRows:
    """One partition of a Dask DataFrame."""

    name: str
    partition: Any

    def tables(self, columns: Sequence[str] | None, types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        # On the thread that asks: on a worker of a cluster, a task that waits for others would hold its place.
        frame = self.partition.compute(scheduler="synchronous")
        yield from FrameRows(self.name, frame).tables(columns, types)


def file_sources(files: Sequence[Path], folder: Path | None) -> list[RowSource]:
    """The parts of files: row groups of Parquet, whole files of other formats."""
    from margin.data.streams.text_rows import TextRows

    sources: list[RowSource] = []
    for path in files:
        constants, kind = constants_of(path, folder), format_of(path)
        if kind == "Parquet":
            sources += [ParquetRows(path, groups, constants) for groups in _row_groups(path)]
        else:
            sources.append(ArrowRows(path, constants) if kind == "Arrow" else TextRows.of(path, constants))
    return sources


def frame_sources(frames: Iterable[Any] | Callable[[], Iterable[Any]]) -> list[RowSource]:
    """The parts of a list of frames, or of a function that gives a new iterator of frames whenever it is called."""
    if callable(frames):
        return [FrameRows("frames", frames)]
    if iter(frames) is frames:
        raise TypeError(
            "stream: an iterator can be read once, and fits read the rows several times; give a list of frames or a "
            "function that returns a new iterator."
        )
    return [FrameRows(f"frame {i}", frame) for i, frame in enumerate(frames)]


def dask_sources(frame: Any) -> list[RowSource]:
    """The partitions of a Dask DataFrame."""
    return [DaskRows(f"partition {i}", frame.partitions[i]) for i in range(frame.npartitions)]


def with_constants(table: Any, constants: Mapping[str, str]) -> Any:
    """The table with a column of one string for every folder such as ``year=2025``."""
    import pyarrow as pa

    for name, value in constants.items():
        table = table.append_column(name, pa.array([value]).take(pa.array([0] * table.num_rows, pa.int32())))
    return table


def _row_groups(path: Path) -> list[tuple[int, ...]]:
    """Row groups of a file, neighbors joined to about ``PART_ROWS`` rows."""
    from pyarrow import parquet

    with named_file(path, "Parquet"):
        metadata = parquet.read_metadata(path)
    parts: list[list[int]] = []
    rows = PART_ROWS
    for i in range(metadata.num_row_groups):
        if rows >= PART_ROWS:
            parts.append([])
            rows = 0
        parts[-1].append(i)
        rows += metadata.row_group(i).num_rows
    return [tuple(part) for part in parts]


def _arrow(name: str, frame: Any) -> Any:
    """A frame of pandas, polars or Arrow, or a Table, as an Arrow table."""
    import pyarrow as pa

    if hasattr(frame, "to_arrow"):
        frame = frame.to_arrow()
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return frame
    if type(frame).__module__.split(".")[0] != "pandas" or getattr(frame, "ndim", 0) != 2:
        raise TypeError(f"stream: {name} must be a frame of pandas, polars or Arrow; got {type(frame).__name__}.")
    try:
        return pa.Table.from_pandas(frame.rename(columns=str), preserve_index=False)
    except (pa.ArrowException, TypeError) as problem:
        text = " ".join(str(problem).split()).rstrip(".")
        raise ValueError(f"{name}: a column holds values of several types ({text}).") from None
