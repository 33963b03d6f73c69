"""The columns of a stream: their kinds, judged on a sample and checked on every block, and blocks as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.streaming import RowBlock
from margin.data.coercion import coerce, spelling_of
from margin.data.columnar import from_arrow
from margin.data.kinds import KINDS, missing_mask
from margin.data.table import Table, UnknownColumnError, close_names

if TYPE_CHECKING:
    import pyarrow

__all__ = ["StreamColumns", "judge_stream_columns"]

ABSENT = {"number": np.array([np.nan]), "date": np.array(["NaT"], dtype="datetime64[us]")}


@dataclass(frozen=True)
class StreamColumns:
    """Names and kinds of the columns, how their strings spell numbers and dates, and which one is the target."""

    kinds: Mapping[str, str]
    spellings: Mapping[str, str]
    stored_as: Mapping[str, str]  # what a column is made of in the files: numbers, strings, ...
    target: str | None

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(name for name in self.kinds if name != self.target)

    @property
    def text_types(self) -> dict[str, Any]:
        """How columns of text files are parsed: numbers at once, everything else as strings."""
        import pyarrow as pa

        plain = [name for name, kind in self.kinds.items() if kind == "number" and self.spellings[name] in ("", ".")]
        return dict.fromkeys(plain, pa.float64())

    def block(self, table: pyarrow.Table) -> RowBlock:
        """The rows of an Arrow table; a column that cannot be read as its kind is one sentence."""
        columns = {name: self._column(name, table.column(name)) for name in self.kinds}
        y = None if self.target is None else _targets(self.target, columns.pop(self.target))
        return RowBlock(self._frame(columns, table.num_rows), y)

    def _frame(self, columns: Mapping[str, np.ndarray], n_rows: int) -> Any:
        import pandas as pd

        if all(self.kinds[name] == "number" for name in columns):
            # One array behind all columns: models get it back without a copy.
            rows = np.empty((n_rows, len(columns)))
            for j, values in enumerate(columns.values()):
                rows[:, j] = values
            return pd.DataFrame(rows, columns=list(columns), copy=False)
        return Table.from_stored({name: (self.kinds[name], v) for name, v in columns.items()}, n_rows).to_pandas()

    def _column(self, name: str, column: Any) -> np.ndarray:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self.kinds[name]
        found = describe_kind(column.type)
        if found == "nothing":
            return np.repeat(ABSENT.get(kind, np.array([None], dtype=object)), len(column))
        expected = self.stored_as[name]
        if found != expected and not (found == "numbers" and expected == "strings" and kind == "number"):
            raise ValueError(f"column {name!r} holds {found} here, and {expected} where the stream begins.")
        if kind == "number" and found == "numbers":
            numbers = pc.cast(column, pa.float64(), safe=False)
            return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        if found == "strings":
            return self._read_strings(name, kind, column)
        (values,) = from_arrow(pa.table({name: column})).as_kind(name, kind).columns.values()
        return values

    def _read_strings(self, name: str, kind: str, column: Any) -> np.ndarray:
        import pandas as pd
        import pyarrow as pa

        series = pd.Series(np.asarray(column.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object), name=name)
        values = coerce(series, kind, self.spellings[name])
        if kind in ("category", "text"):
            return values
        lost = missing_mask(values) & ~missing_mask(coerce(series, "category"))
        if lost.any():
            row = int(np.flatnonzero(lost)[0])
            raise ValueError(f"column {name!r} must hold a {kind}, as where the stream begins; got {series[row]!r}.")
        if kind == "flag":
            flags = np.full(len(values), None, dtype=object)
            flags[~missing_mask(values)] = values[~missing_mask(values)] == 1.0
            return flags
        return values


def judge_stream_columns(
    sample: pyarrow.Table, target: str | None, columns: Sequence[str] | None, kinds: Mapping[str, str]
) -> StreamColumns:
    """The columns of a stream that begins with ``sample``; ``columns`` are those that are used, ``kinds`` overrule."""
    import pyarrow as pa

    table = from_arrow(sample, read_strings=True)
    wanted = list(table.names if columns is None else columns)
    wanted += [target] if target is not None and target not in wanted else []
    for role, names in (("target", [] if target is None else [target]), ("columns", wanted), ("kinds", kinds)):
        for name in names:
            if name not in table or name not in sample.column_names:
                raise UnknownColumnError(
                    f"stream: there is no column {name!r} ({role}); {close_names(name, table.names)}."
                )
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ValueError(f"stream: the kind of {name!r} must be one of {', '.join(KINDS)}; got {kind!r}.")
    coded = {name: "category" for name in wanted if pa.types.is_dictionary(sample.schema.field(name).type)}
    judged = {name: kinds.get(name, coded.get(name, table.kinds[name])) for name in wanted}
    spelled = {name: spelling_of(_strings(sample.column(name)), kind) for name, kind in judged.items()}
    stored_as = {name: describe_kind(sample.column(name).type) for name in wanted}
    return StreamColumns(judged, spelled, stored_as, target)


def describe_kind(kind: Any) -> str:
    """What an Arrow column holds, as an error says it."""
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(kind):
        return "flags"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "dates"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "strings"
    if types.is_dictionary(kind):
        return describe_kind(kind.value_type)
    return "nothing" if types.is_null(kind) else f"{kind} values"


def _strings(column: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    if describe_kind(column.type) != "strings":
        return pd.Series(np.zeros(0))
    return pd.Series(np.asarray(column.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object))


def _targets(name: str, values: np.ndarray) -> np.ndarray:
    absent = int(missing_mask(values).sum())
    if absent:
        raise ValueError(f"the target {name!r} is missing in {absent} of {len(values)} rows.")
    if values.dtype.kind == "M":
        raise ValueError(f"the target {name!r} holds dates, which no model predicts.")
    return values.astype(bool) if values.dtype == object and isinstance(values[:1].tolist()[0], bool) else values
