"""What is counted once of every column, so that all judgements about a table read it and none counts again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from margin.data.kinds import EXACT
from margin.data.table import Table

__all__ = ["ColumnFacts", "facts_of", "write_value"]

#: How many characters of a value are shown, and how many values.
SHOWN_CHARACTERS, SHOWN_VALUES = 24, 3


@dataclass(frozen=True)
class ColumnFacts:
    """One column with its distinct values: ``codes`` numbers them in order of appearance, -1 is a missing value."""

    name: str
    kind: str
    values: np.ndarray
    codes: np.ndarray
    distinct: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @cached_property
    def absent(self) -> np.ndarray:
        """Which rows have no value."""
        return self.codes < 0

    @cached_property
    def n_present(self) -> int:
        return int(self.n_rows - self.absent.sum())

    @property
    def n_distinct(self) -> int:
        return len(self.distinct)

    @property
    def missing(self) -> float:
        """The fraction of rows without a value."""
        return 1.0 - self.n_present / self.n_rows if self.n_rows else 0.0

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each distinct value occurs."""
        return np.bincount(self.codes[~self.absent], minlength=self.n_distinct)

    @cached_property
    def is_integer(self) -> bool:
        """Whether all values are finite numbers without a fraction."""
        if self.kind != "number" or not self.n_distinct:
            return False
        return bool(np.all(np.isfinite(self.distinct)) and np.all(self.distinct == np.floor(self.distinct)))

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few distinct values as a reader would write them."""
        return tuple(write_value(value) for value in self.distinct[:SHOWN_VALUES])


def facts_of(table: Table) -> dict[str, ColumnFacts]:
    """The facts of every column by name.

    >>> facts_of(Table({"town": ["Ulm", None, "Bonn", "Ulm"]}))["town"].codes
    array([ 0, -1,  1,  0])
    """
    return {name: _facts(name, table.kinds[name], table.columns[name]) for name in table.names}


def _facts(name: str, kind: str, values: np.ndarray) -> ColumnFacts:
    import pandas as pd

    codes, distinct = pd.factorize(values)
    return ColumnFacts(name, kind, values, codes, np.asarray(distinct))


def write_value(value: Any) -> str:
    """A value in one short line: integers without a point, days without midnight, long text cut.

    >>> write_value(20230514.0), write_value(np.datetime64("2023-05-14T00:00:00.000000")), write_value("a" * 40)
    ('20230514', '2023-05-14', 'aaaaaaaaaaaaaaaaaaaaaaa…')
    """
    if isinstance(value, np.datetime64):
        text = str(value.astype("datetime64[s]")).replace("T", " ").removesuffix(" 00:00:00")
    elif isinstance(value, float | np.floating):
        number = float(value)
        text = f"{number:.0f}" if number.is_integer() and abs(number) < EXACT else f"{number:.6g}"
    else:
        text = " ".join(str(value).split())
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
