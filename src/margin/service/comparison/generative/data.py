"""From a file, a name, a data frame or an array to training rows and held-out rows of codes and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from margin import data as data_package
from margin.data.kinds import missing_mask
from margin.data.profile import ColumnProfile
from margin.data.table import Table
from margin.runs import data_hash
from margin.service.comparison.generative.columns import CodedColumn, TableCode
from margin.service.requests import BadRequest
from margin.service.sources import image_folder, open_source, open_table, table_of_frame

__all__ = ["GenerativeData", "open_rows"]

LEAST_ROWS = 40  # fewer cannot be both learned from and judged by
DESCRIBED = ("number", "flag", "category")
MOST_MISSING = 0.5  # a column with more missing entries is left out: it would take more rows along than it describes


@dataclass(frozen=True, eq=False)
class GenerativeData:
    """Rows to learn from and rows to be judged by, both of codes and numbers."""

    name: str
    code: TableCode
    train: np.ndarray
    held_out: np.ndarray
    hash: str
    given: str
    remarks: list[str] = field(default_factory=list)
    image_shape: tuple[int, ...] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.train) + len(self.held_out)


def open_rows(
    data: Any, *, held_out: float, ignore: Sequence[str], kinds: Mapping[str, str], seed: int
) -> GenerativeData:
    """Open ``data``; rows with a missing entry and columns that are neither numbers nor categories are left out."""
    name, table, given, shape, remarks = _open_data(data)
    image = shape is not None
    if not image:
        table, more_remarks = _describe_columns(table, ignore, kinds)
        remarks += more_remarks
    elif ignore or kinds:
        raise BadRequest("compare: ignore and kinds name the columns of a table; these are images.")
    table, more_remarks = _complete(table)
    remarks += more_remarks
    if len(table) < LEAST_ROWS:
        raise BadRequest(
            f"compare: generative models need at least {LEAST_ROWS} complete rows; {name} has {len(table)}."
        )
    columns = _pixels(table) if image else tuple(CodedColumn.of(c, table[c], table.kinds[c]) for c in table.names)
    rounded = [column.name for column in columns if column.step]
    if rounded and not image:
        named = ", ".join(rounded[:5]) + (", ..." if len(rounded) > 5 else "")
        remarks.append(f"Rounded numbers ({named}) have uniform noise of one step, so that their density is finite.")
    noise, division = (np.random.default_rng([seed, k]) for k in range(2))
    rows = np.stack([column.encode(table.columns[column.name], noise) for column in columns], axis=1)
    order = division.permutation(len(rows))
    n_held_out = round(held_out * len(rows))
    train, rest = rows[np.sort(order[n_held_out:])], rows[np.sort(order[:n_held_out])]
    rest, more_remarks = _keep_seen(columns, train, rest)
    return GenerativeData(
        name, TableCode.of(columns, train), train, rest, _hash(table), given, remarks + more_remarks, shape
    )


def _open_data(data: Any) -> tuple[str, Table, str, tuple[int, ...] | None, list[str]]:
    """Name, table, how it was given, shape of images and remarks."""
    if isinstance(data, str | Path):
        return _from_spec(str(data))
    if isinstance(data, Table):
        return "table", data, "frame", None, []
    table = table_of_frame(data)
    if table is not None:
        return "data frame", table, "frame", None, []
    try:
        X = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        X = np.empty(0)
    if X.ndim != 2:
        raise BadRequest(
            f"compare: data must be a file, a name, a data frame or a table of numbers; got {type(data).__name__}."
        )
    return "array", _table_of(X, [f"x{j}" for j in range(X.shape[1])]), "array", None, []


def _from_spec(spec: str) -> tuple[str, Table, str, tuple[int, ...] | None, list[str]]:
    named = spec.partition(":")[0] in data_package.names() and not Path(spec).exists()
    if image_folder(spec) is not None or named:
        source = open_source(spec)
        if source.image_shape is not None:
            return spec, _table_of(np.asarray(source.X, dtype=float), source.features), "spec", source.image_shape, []
    table, target = open_table(spec)
    if target is None:
        return spec, table, "spec", None, []
    return spec, table.drop(target), "spec", None, [f"{target} is what others predict; here it is left out."]


def _pixels(table: Table) -> tuple[CodedColumn, ...]:
    """A pixel is a number however few values it has: its gray values have an order and a distance."""
    all_integers = all((table[name] == np.round(table[name])).all() for name in table.names)
    brightest = max(float(table[name].max()) for name in table.names)
    return tuple(CodedColumn(name, step=1.0 if all_integers and brightest > 1 else 1 / 255) for name in table.names)


def _table_of(X: np.ndarray, names: Sequence[str]) -> Table:
    return Table({name: X[:, j] for j, name in enumerate(names)})


def _describe_columns(table: Table, ignore: Sequence[str], kinds: Mapping[str, str]) -> tuple[Table, list[str]]:
    """The columns of numbers and categories, and a remark for each of the others."""
    try:
        profile = data_package.profile(table, kinds=kinds, ignore=ignore)
    except (KeyError, ValueError) as error:
        raise BadRequest(f"compare: {str(error.args[0]).removeprefix('profile: ')}") from None
    reasons = {c.name: _reason(c, profile.table.kinds[c.name]) for c in profile.columns if c.name not in ignore}
    used = [name for name, reason in reasons.items() if not reason]
    remarks = [f"{name}: {reason}." for name, reason in reasons.items() if reason]
    if not used:
        raise BadRequest(f"compare: no column is of numbers or categories ({' '.join(remarks) or 'all are ignored'})")
    return profile.table.select(used), remarks


def _reason(column: ColumnProfile, stored: str) -> str:
    """Why a density cannot describe the column, which is ``stored`` as that kind; "" if it can."""
    if not column.used:
        return column.remark
    if column.kind not in DESCRIBED:
        return f"left out: {column.kind}"
    if stored == "text":  # judged to be labels, but nearly every row has its own: states that are seen once
        return f"left out: {column.distinct:,} different labels, most of them in one row"
    if column.missing > MOST_MISSING:
        return f"left out: {column.missing:.0%} of the rows have no value"
    return ""


def _complete(table: Table) -> tuple[Table, list[str]]:
    """Rows in which every entry is known and finite."""
    gone = np.zeros(len(table), dtype=bool)
    for name in table.names:
        values = table.columns[name]
        gone |= ~np.isfinite(values) if values.dtype.kind == "f" else missing_mask(values)
    if not gone.any():
        return table, []
    return table.take(~gone), [f"{int(gone.sum()):,} of {len(gone):,} rows have a missing entry and are left out."]


def _keep_seen(columns: Sequence[CodedColumn], train: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Held-out rows whose categories all occur in the training rows: any other has probability 0 for a count."""
    known = np.ones(len(rest), dtype=bool)
    for j, column in enumerate(columns):
        if column.is_category:
            known &= np.isin(rest[:, j], train[:, j])
    if known.all():
        return rest, []
    return rest[known], [f"{int((~known).sum()):,} held-out rows have a category that no training row has; left out."]


def _hash(table: Table) -> str:
    return data_hash(table.to_pandas())
