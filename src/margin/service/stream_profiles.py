"""The profile of many files: columns judged by rows drawn from all, rows and missing values counted in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from margin import data
from margin.core.streaming import RowBlock
from margin.data import Profile
from margin.service.streams import open_stream, sampled_table

__all__ = ["profile_stream"]


class Absent(NamedTuple):
    """Rows, and how many of them have no value, column by column."""

    n_rows: int
    missing: np.ndarray

    @classmethod
    def of(cls, block: RowBlock) -> Absent:
        return cls(len(block.X), block.X.isna().to_numpy().sum(axis=0))

    def merge(self, other: Absent) -> Absent:
        return Absent(self.n_rows + other.n_rows, self.missing + other.missing)


def profile_stream(spec: str, target: str | None, kinds: Mapping[str, str], ignore: Iterable[str] = ()) -> Profile:
    """What :func:`margin.data.profile` says of rows drawn from all files, with rows and missing values of all."""
    rows = open_stream(spec, None, kinds={name: kind for name, kind in kinds.items() if kind != "identifier"})
    table, _ = sampled_table(rows)
    found = data.profile(table, target, kinds=kinds, ignore=ignore)
    counted = rows.reduce(Absent.of, Absent.merge)
    present = counted.n_rows - counted.missing
    missing = dict(zip(rows.names, (1.0 - present / counted.n_rows).tolist()))  # as facts_of has it, to the bit
    columns = tuple(replace(column, missing=missing[column.name]) for column in found.columns)
    return replace(found, columns=columns, remarks=(*_how(len(table), counted.n_rows), *found.remarks),
                   rows_in_all=counted.n_rows)  # fmt: skip


def _how(drawn: int, rows: int) -> list[str]:
    """What the profile rests on, where not all rows were looked at."""
    if drawn == rows:
        return []
    return [
        f"Judged by {drawn:,} of the {rows:,} rows, drawn from all files: distinct values, leaks and copies are theirs;"
        " rows and missing values are counted in all."
    ]
