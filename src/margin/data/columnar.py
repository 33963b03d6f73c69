"""Tables of other libraries as ours: pandas, PyArrow, Parquet and Arrow files, and plain lists of values."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.data.columnar_size import check_arrow, check_parquet
from margin.data.delimited import unique_names
from margin.data.inference import infer, object_column
from margin.data.kinds import store_values
from margin.data.table import Table
from margin.data.unpacking import Allowance
from margin.data.values import column_of_values

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

__all__ = ["from_arrow", "from_pandas", "read_columnar"]


def from_pandas(frame: pandas.DataFrame, *, read_strings: bool = False) -> Table:
    """A table from a DataFrame; its index is left out.

    ``read_strings``: strings are taken as those of a text file are, so that ``"$1,234.50"`` is a number and ``"NA"`` is
    missing, with a note of it, and repeated column names are numbered; columns of dtype ``category`` stay labels.

    >>> import pandas as pd
    >>> from_pandas(pd.DataFrame({"x": [1, None], "s": ["a", "b"]}))
    Table(2 rows: x number, s category)
    >>> from_pandas(pd.DataFrame({"price": ["$5", "$1,200"]}), read_strings=True)["price"]
    array([   5., 1200.])
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"from_pandas: frame must be a pandas DataFrame; got {type(frame).__name__}.")
    names, remarks = _names([str(name) for name in frame.columns], read_strings)
    pairs, notes = {}, {}
    for i, name in enumerate(names):
        series = frame.iloc[:, i]
        if read_strings and (series.dtype == object or isinstance(series.dtype, pd.StringDtype)):
            kind, values, notes[name] = _read_series(name, series)
            pairs[name] = kind, values
        else:
            pairs[name] = _from_series(name, series)
    return Table.from_stored(pairs, len(frame), remarks, notes)


def from_arrow(table: pa.Table | pa.RecordBatch, *, read_strings: bool = False) -> Table:
    """A table from a PyArrow table (or record batch); dictionary columns become categories.

    ``read_strings``: as for :func:`from_pandas`; lists are then joined to text, and structs become several columns.

    >>> import pyarrow as pa
    >>> from_arrow(pa.table({"x": [1, 2], "ok": [True, None]}))
    Table(2 rows: x number, ok flag)
    """
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise TypeError(f"from_arrow: table must be a pyarrow.Table; got {type(table).__name__}.")
    while read_strings and any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    names, remarks = _names(table.column_names, read_strings)
    pairs, notes = {}, {}
    for i, name in enumerate(names):
        column = table.column(i)
        if read_strings and _is_string(column.type):
            strings = column.cast(pa.string())
            kind, values, notes[name] = infer(strings, padded=True, decimal_comma=False)
            pairs[name] = kind, values
        elif read_strings and _needs_reading(column.type):
            kind, values, notes[name] = column_of_values(name, column.to_pylist())
            pairs[name] = kind, values
        else:
            pairs[name] = _from_arrow_column(name, column)
    return Table.from_stored(pairs, table.num_rows, remarks, notes)


def read_columnar(source: Path | bytes, kind: str, allowance: Allowance | None = None) -> Table:
    """The table in a "Parquet" or "Arrow" file, in a folder of Parquet files, or in the bytes of such a file.

    It may become what is left of ``allowance``; None: what a packed file of its size may, however large that is.
    """
    import pyarrow as pa

    try:
        if isinstance(source, Path) and source.is_dir():
            table = _read_folder(source)
        else:
            file = pa.py_buffer(source) if isinstance(source, bytes) else source
            size = len(source) if isinstance(source, bytes) else source.stat().st_size
            table = _read_file(file, kind, allowance or Allowance(size, largest=None))
    except (pa.ArrowException, OSError) as problem:
        text = " ".join(str(problem).split()).rstrip(".")
        raise ValueError(f"is not a readable {kind} file ({text})") from None
    if not table.num_columns or not table.num_rows:
        raise ValueError("the table in it is empty")
    return from_arrow(table, read_strings=True)


def _read_file(file: Any, kind: str, allowance: Allowance) -> Any:
    from pyarrow import feather, parquet

    if kind != "Parquet":
        check_arrow(file, allowance)
        return feather.read_table(file)
    check_parquet(file, allowance)
    # ParquetFile and not read_table: a path such as "year=2025/x.parquet" must not grow a column.
    return parquet.ParquetFile(file).read()


def _read_folder(path: Path) -> Any:
    """All Parquet files below a folder, one after another; folders such as ``year=2025`` become columns."""
    from pyarrow import dataset

    files = sorted(str(file) for pattern in ("*.parquet", "*.pq") for file in path.rglob(pattern))
    allowance = Allowance(sum(Path(file).stat().st_size for file in files), largest=None)
    for file in files:
        check_parquet(file, allowance)
    partitions = dataset.partitioning(flavor="hive")
    return dataset.dataset(files, format="parquet", partitioning=partitions, partition_base_dir=str(path)).to_table()


def _names(names: list[str], number_repeated: bool) -> tuple[list[str], list[str]]:
    if number_repeated:
        return unique_names(names)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"column names must differ; {', '.join(map(repr, twice[:5]))} occurs more than once")
    return names, []


def _is_string(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _needs_reading(kind: Any) -> bool:
    import pyarrow as pa

    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)
    return is_list or pa.types.is_duration(kind)


def _read_series(name: str, series: Any) -> tuple[str, np.ndarray, str]:
    import pandas as pd
    import pyarrow as pa

    if pd.api.types.infer_dtype(series, skipna=True) == "string":
        try:
            return infer(pa.array(series, pa.string(), from_pandas=True), padded=True, decimal_comma=False)
        except (pa.ArrowException, UnicodeError):  # half of a surrogate pair
            pass
    return column_of_values(name, series.tolist())


def _from_series(name: str, series: Any) -> tuple[str, np.ndarray]:
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        return store_values(series.astype(object).to_numpy(), "category", name=name)
    if pd.api.types.is_bool_dtype(series.dtype):
        return store_values(series.astype(object).to_numpy(), "flag", name=name)
    if pd.api.types.is_integer_dtype(series.dtype):
        return store_values(series.astype(object).to_numpy() if series.hasnans else series.to_numpy(), name=name)
    if pd.api.types.is_numeric_dtype(series.dtype):
        if pd.api.types.is_complex_dtype(series.dtype):
            raise ValueError(f"from_pandas: column {name!r} has type {series.dtype}, which no kind holds.")
        return store_values(series.to_numpy(dtype=np.float64, na_value=np.nan), "number", name=name)
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        naive = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
        return store_values(naive.to_numpy(), "date", name=name)
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return store_values(series.dt.total_seconds().to_numpy(), "number", name=name)
    if isinstance(series.dtype, pd.PeriodDtype):
        return store_values(series.dt.to_timestamp().to_numpy(), "date", name=name)
    return store_values(series.astype(object).to_numpy(), name=name)


def _labels(column: Any) -> np.ndarray:
    """The values that codes stand for: each value once, however often it occurs, None where there is none."""
    parts = [np.empty(0, dtype=object)]
    for chunk in column.chunks:
        known = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        codes = chunk.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
        parts.append(known[codes])
    return np.concatenate(parts)


def _from_arrow_column(name: str, column: Any) -> tuple[str, np.ndarray]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return store_values(_labels(column), "category", name=name)
    if pa.types.is_boolean(kind):
        return store_values(np.array(column.to_pylist(), dtype=object), "flag", name=name)
    if pa.types.is_integer(kind):
        return store_values(
            column.to_numpy() if not column.null_count else np.array(column.to_pylist(), object), name=name
        )
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = pc.cast(column, pa.float64(), safe=False)
        return store_values(np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64), "number", name=name)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return store_values(
            pc.cast(column, pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False), "date", name=name
        )
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        encoded = pc.dictionary_encode(pc.cast(column, pa.string())).combine_chunks()
        labels = encoded.dictionary.to_pylist() if column.length() else []
        labels = object_column(encoded, labels) if labels else np.full(column.length(), None, dtype=object)
        return store_values(labels, name=name)
    if pa.types.is_null(kind):
        return store_values(np.full(column.length(), np.nan), "number", name=name)
    raise ValueError(f"column {name!r} has type {kind}, which no kind holds")
