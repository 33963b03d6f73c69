"""A comparison on many files: rows drawn from all of them are its table, and the winner may learn from all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margin.core.streaming import Stream
from margin.data.table import Table, UnknownColumnError, close_names
from margin.service.comparison_request import ComparisonRequest
from margin.service.requests import BadRequest
from margin.service.streams import is_too_large, open_stream, sampled_table

if TYPE_CHECKING:
    from margin.data.streams import TableStream

__all__ = ["DrawnTable", "draw_rows"]

#: So many rows are compared on, and fewer of wide tables: no more values than these.
MOST_ROWS, MOST_VALUES, LEAST_ROWS = 100_000, 20_000_000, 1_000


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """Rows drawn from all of a stream as one table, which has the target too."""

    name: str
    stream: TableStream
    table: Table

    @cached_property
    def n_rows(self) -> int:
        """How many rows the stream has."""
        return self.stream.n_rows

    @cached_property
    def hash(self) -> str:
        """The hash of the stream: the comparison of the same files goes on, that of others does not."""
        return self.stream.hash()

    @property
    def is_part(self) -> bool:
        """Whether there are rows that were not drawn."""
        return len(self.table) < self.n_rows

    @property
    def sentence(self) -> str:
        """Of how many rows these are how many."""
        whence = "all files" if self.stream.files else "all parts"
        return f"{len(self.table):,} of {self.n_rows:,} rows, drawn from {whence}"


def draw_rows(data: Any, y: Any, request: ComparisonRequest) -> DrawnTable | None:
    """The rows to compare on where ``data`` is a stream or names too many files; None for one table."""
    if isinstance(data, str | Path):
        if not is_too_large(str(data)):
            return None
        rows = open_stream(str(data), request.target, kinds=request.kinds)
    elif isinstance(data, Stream):
        rows = _with_target(data, request)
    else:
        return None
    name = str(data) if isinstance(data, str | Path) else "stream"
    if rows.target is None:
        raise BadRequest(f"compare: {name} needs a target; name its column with --target.")
    _refuse_for_streams(name, y, request)
    n = max(LEAST_ROWS, min(MOST_ROWS, MOST_VALUES // max(len(rows.names), 1)))
    X, targets = sampled_table(rows, n)
    return DrawnTable(name, rows, X.beside(rows.target, targets))


def _with_target(stream: Stream, request: ComparisonRequest) -> TableStream:
    """A stream that was given in Python, with the target that is asked for."""
    from margin.data.streams import TableStream

    if not isinstance(stream, TableStream):
        raise BadRequest(f"compare: data must be what margin.stream gives; got a {type(stream).__name__}.")
    if request.kinds:
        raise BadRequest("compare: kinds of a stream are given to margin.stream(..., kinds=...).")
    if request.target is None or request.target == stream.target:
        return stream
    if request.target not in stream.kinds:
        problem = close_names(request.target, stream.names)
        raise UnknownColumnError(f"compare: there is no column {request.target!r} to predict; {problem}.")
    return replace(stream, columns=replace(stream.columns, target=request.target))


def _refuse_for_streams(name: str, y: Any, request: ComparisonRequest) -> None:
    """What one table takes and rows that are read block by block do not."""
    if y is not None:
        raise BadRequest(f"compare: {name} is read block by block with its targets, so y does not act; use target.")
    for role in ("group", "time"):
        if not isinstance(getattr(request, role), str | None):
            raise BadRequest(f"compare: {role} of {name}, which is read block by block, must be the name of a column.")
    if request.missing_target == "class":
        raise BadRequest(f"compare: {name} is read block by block, where no row may lack the target; got 'class'.")
