r"""The columns of a table as numbers that every density can describe on one measure, and back.

Log-densities can be compared only if they are densities of the same thing. A category has a probability, a number a
density; so a model of states takes categories as codes :math:`v`, and a continuous model takes :math:`v + u` with
:math:`u` uniform between 0 and 1, which bounds the log-probability from below:

.. math:: E_u[\log q(v + u)] \le \log \int_0^1 q(v + u)\,du = \log P(v)

Numbers that repeat because they were rounded would have an infinite density; uniform noise of one step is added to
them once, the same for every model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.data.table import Table

__all__ = ["MOST_CATEGORIES", "CodedColumn", "TableCode", "rounding_step"]

#: A column of numbers with at most so many different values is a category; densities of states use the same number.
MOST_CATEGORIES = 10
#: A column is rounded if fewer than this fraction of its values are different.
REPEATED = 0.9
NEARLY = 1e-6  # relative difference of a step from the decimal number it is meant to be
DIGITS = 10  # decimals of the ratio of a number to its column's range beyond which differences are rounding errors


def rounding_step(values: np.ndarray) -> float:
    """The smallest gap between values of a column that repeat; 0 for a column whose values hardly repeat.

    >>> rounding_step(np.array([1.0, 1.5, 1.5, 2.0, 1.0, 3.0]))
    0.5
    """
    different = np.unique(values)
    if len(different) < 2 or len(different) >= REPEATED * len(values):
        return 0.0
    spread = different[-1] - different[0]
    gaps = np.diff(np.unique(np.round((different - different[0]) / spread, DIGITS))) * spread
    step = float(gaps.min())
    short = (float(np.round(step, decimals)) for decimals in range(DIGITS))
    return next((value for value in short if abs(value - step) <= NEARLY * step), step)


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """One column: the ``categories`` that codes stand for, or none and the ``step`` of rounded numbers."""

    name: str
    categories: tuple[Any, ...] = ()
    step: float = 0.0

    @property
    def is_category(self) -> bool:
        return len(self.categories) > 0

    @classmethod
    def of(cls, name: str, values: np.ndarray, kind: str, *, image: bool = False) -> CodedColumn:
        """How a complete column is read. A pixel is a number however few values it has: its gray values have an order
        and a distance."""
        if image:
            return cls(name, step=1.0 if (values == np.round(values)).all() and np.ptp(values) > 1 else 1 / 255)
        different = np.unique(values.astype(str)) if kind in ("category", "flag") else np.unique(values)
        if kind in ("category", "flag"):
            by_text = {str(value): value for value in values.tolist()}
            return cls(name, tuple(by_text[text] for text in different.tolist()))
        if len(different) <= MOST_CATEGORIES:
            return cls(name, tuple(different.tolist()))
        return cls(name, step=rounding_step(values))

    def encode(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Codes of categories; numbers, with noise where they are rounded."""
        noise = rng.random(len(values))  # drawn for every column, so that one column does not move the next one's noise
        if self.is_category:
            code = {value: k for k, value in enumerate(self.categories)}
            return np.array([code[value] for value in values.tolist()], dtype=np.float64)
        return values.astype(np.float64) + self.step * noise

    def decode(self, column: np.ndarray) -> np.ndarray:
        """The nearest thing a row of the table can hold."""
        if self.is_category:
            states = np.clip(column, 0, len(self.categories) - 1).astype(int)
            return np.array(self.categories, dtype=None if isinstance(self.categories[0], float) else object)[states]
        return np.round(np.floor(column / self.step + NEARLY) * self.step, DIGITS) if self.step else column


@dataclass(frozen=True, eq=False)
class TableCode:
    """All columns, and the ``center`` and ``scale`` that continuous models are given them with."""

    columns: tuple[CodedColumn, ...]
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, columns: tuple[CodedColumn, ...], train: np.ndarray) -> TableCode:
        """Codes with half their noise lie at v + 1/2, with the variance of the noise added."""
        noise = np.array([column.is_category for column in columns])
        deviation = np.sqrt(train.var(axis=0) + noise / 12)
        return cls(columns, train.mean(axis=0) + noise / 2, np.where(deviation > 0, deviation, 1.0))

    @property
    def has_categories(self) -> bool:
        return any(column.is_category for column in self.columns)

    @property
    def log_volume(self) -> float:
        """The density of x = c + s u is that of u divided by the product of the scales s."""
        return float(np.log(self.scale).sum())

    def continuous(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Standardized rows; categories have noise between their codes."""
        noise = rng.random(rows.shape) * [column.is_category for column in self.columns]
        return (rows + noise - self.center) / self.scale

    def from_continuous(self, rows: np.ndarray) -> np.ndarray:
        """Codes and numbers of standardized rows."""
        rows = np.asarray(rows, dtype=np.float64) * self.scale + self.center
        for j, column in enumerate(self.columns):
            if column.is_category:
                rows[:, j] = np.clip(np.floor(rows[:, j]), 0, len(column.categories) - 1)
        return rows

    def features(self, rows: np.ndarray) -> np.ndarray:
        r"""Rows as points whose distances mean something: numbers in deviations, and two categories are
        :math:`\sqrt 2` apart."""
        parts = []
        for j, column in enumerate(self.columns):
            if column.is_category:
                parts.append(np.eye(len(column.categories))[rows[:, j].astype(int)])
            else:
                parts.append((rows[:, j : j + 1] - self.center[j]) / self.scale[j])
        return np.concatenate(parts, axis=1)

    def table(self, rows: np.ndarray) -> Table:
        """Rows as a table like the one they were learned from."""
        return Table({column.name: column.decode(rows[:, j]) for j, column in enumerate(self.columns)})
