"""The table to be judged, with columns of the kinds that a user says they have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.data.coercion import coerce, spelling_of
from margin.data.columnar import from_pandas
from margin.data.facts import write_value
from margin.data.kinds import KINDS, missing_mask
from margin.data.table import Table, UnknownColumnError, close_names

__all__ = ["KINDS_OF_COLUMNS", "as_table", "with_kinds"]

#: What a user may call a column: a kind of table column, or something that no model may see.
KINDS_OF_COLUMNS = (*KINDS, "identifier")


def as_table(data: Table | Any) -> Table:
    if isinstance(data, Table):
        table = data
    elif type(data).__module__.split(".")[0] == "pandas":
        table = from_pandas(data, read_strings=True)
    elif isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "biuf":
        table = Table({str(i): np.array(column, dtype=np.float64) for i, column in enumerate(data.T)})
    else:
        got = type(data).__name__
        raise TypeError(f"profile: data must be a Table, a DataFrame or a 2-D array of numbers; got {got}.")
    if not table.names or not table.n_rows:
        raise ValueError(f"profile: the table is empty ({table.n_rows} rows, {len(table.names)} columns).")
    return table


def with_kinds(table: Table, target: str | None, user_kinds: Mapping[str, str], ignored: frozenset[str]) -> Table:
    """The table with columns of the kinds in ``user_kinds``; one sentence for a name or kind that does not exist."""
    for role, names in (("target", () if target is None else (target,)), ("kinds", user_kinds), ("ignore", ignored)):
        for name in names:
            if name not in table:
                what = "there is no target" if role == "target" else f"{role} names"
                raise UnknownColumnError(f"profile: {what} {name!r}; {close_names(name, table.names)}.")
    if target is not None and target in ignored:
        raise ValueError(f"profile: ignore names {target!r}, which is the target.")
    for name, kind in user_kinds.items():
        if kind not in KINDS_OF_COLUMNS:
            allowed = ", ".join(KINDS_OF_COLUMNS)
            raise ValueError(f"profile: the kind of {name!r} must be one of {allowed}; got {kind!r}.")
        if kind not in ("identifier", table.kinds[name]):
            table = _convert(table, name, kind)
    return table


def _convert(table: Table, name: str, kind: str) -> Table:
    """The column read as another kind; what cannot be is missing, and at least one value must be."""
    series = table.select([name]).to_pandas()[name]
    spelling = spelling_of(series, kind)
    values = coerce(series, kind, spelling)
    lost = missing_mask(values) & ~series.isna().to_numpy()
    if lost.any() and missing_mask(values).all():
        example = write_value(series.to_numpy(dtype=object)[lost][0])
        raise ValueError(f"profile: column {name!r} cannot be read as {kind}; {example!r} is none.")
    if kind == "flag":
        flags = np.full(len(values), None, dtype=object)
        flags[~np.isnan(values)] = values[~np.isnan(values)] == 1.0
        values = flags
    order = f"read with the {spelling}" if spelling.endswith("first") else ""
    lost_note = f"{int(lost.sum())} of the values cannot be read as {kind} and count as missing" if lost.any() else ""
    note = "; ".join(filter(None, (order, lost_note)))
    pairs = {other: (table.kinds[other], table.columns[other]) for other in table.names}
    notes = {**table.notes, name: note}
    return Table.from_stored({**pairs, name: (kind, values)}, table.n_rows, table.remarks, notes)
