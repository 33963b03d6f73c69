r"""Dates as numbers that a model can use: calendar parts and the days since the first date of training."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute
from margin.core.streaming import RowBlock
from margin.data.stored import dates_are_there

__all__ = ["PARTS", "DateParts", "date_parts"]

PARTS = ("year", "month", "day", "weekday", "hour", "elapsed")
_DAY = np.timedelta64(1, "D")


def date_parts(dates: np.ndarray, first: np.datetime64) -> np.ndarray:
    """The parts of moments as columns: year, month, day, weekday (Monday 0), hour with fraction, days since ``first``.

    >>> date_parts(np.array(["2023-05-14T18:30"], dtype="datetime64[us]"), np.datetime64("2023-05-01"))
    array([[2023.        ,    5.        ,   14.        ,    6.        ,
              18.5       ,   13.77083333]])
    """
    days, months, years = (dates.astype(f"datetime64[{unit}]") for unit in "DMY")
    columns = [
        years.astype(np.float64) + 1970,
        (months - years).astype(np.float64) + 1,
        (days - months).astype(np.float64) + 1,
        (days.astype(np.float64) + 3) % 7,  # 1970 began on a Thursday
        (dates - days) / np.timedelta64(1, "h"),
        (dates - first) / _DAY,
    ]
    parts = np.column_stack(columns)
    parts[np.isnat(dates)] = np.nan
    return parts


class DateExtent(NamedTuple):
    """The earliest date of a column, and the least and greatest of its parts but the last."""

    first: np.datetime64
    lowest: np.ndarray
    highest: np.ndarray

    def merge(self, other: DateExtent) -> DateExtent:
        first = np.fmin(self.first, other.first)  # of a date and none, the date
        return DateExtent(first, np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest))


def _extent(present: np.ndarray) -> DateExtent:
    if not len(present):
        nowhere = np.full(len(PARTS) - 1, np.inf)
        return DateExtent(np.datetime64("NaT", "us"), nowhere, -nowhere)
    first = present.min()
    parts = date_parts(present, first)[:, :-1]  # elapsed days are kept in any case
    return DateExtent(first, parts.min(axis=0), parts.max(axis=0))


class DateParts(TransformerMixin, Estimator):
    """Columns of dates as the parts that vary in training: year, month, day, weekday, hour, elapsed days.

    The hour counts minutes as a fraction; ``elapsed`` is in days since the first date that training saw. A missing date
    is NaN in every part. A column whose parts do not vary keeps ``elapsed``.

    Examples
    --------
    >>> import pandas as pd
    >>> days = pd.DataFrame({"sold": pd.to_datetime(["2023-05-14", "2023-06-01"])})
    >>> parts = DateParts().fit(days)
    >>> parts.get_feature_names_out().tolist(), parts.transform(days).tolist()
    (['sold_month', 'sold_day', 'sold_weekday', 'sold_elapsed'], [[5.0, 14.0, 6.0, 0.0], [6.0, 1.0, 3.0, 18.0]])
    """

    _: KW_ONLY

    first_: np.ndarray = attribute(ArrayOf("n_features", kind="datetime64[us]"), "The earliest date of each column.")
    kept_: np.ndarray = attribute(ArrayOf("n_features", len(PARTS), kind="b"), "Which parts vary, (columns, 6).")
    _stored_rules = (dates_are_there,)

    def fit(self, X: Any, y: Any = None) -> DateParts:
        """Learn the first date of each column, and which parts vary."""
        extents = self.summarize(RowBlock(X))
        self.n_features_in_ = len(extents)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        return self.solve(extents)

    def summarize(self, block: RowBlock) -> list[DateExtent]:
        """The first date of each column of some rows, and the range of each part."""
        return [_extent(column[~np.isnat(column)]) for column in self._dates(block.X).T]

    def merge(self, first: list[DateExtent], second: list[DateExtent]) -> list[DateExtent]:
        """Those of both."""
        return [one.merge(other) for one, other in zip(first, second, strict=True)]

    def solve(self, summary: list[DateExtent]) -> DateParts:
        """Keep the parts that vary, and the elapsed days."""
        first = [np.datetime64(0, "us") if np.isnat(one.first) else one.first for one in summary]
        self.first_ = np.array(first, dtype="datetime64[us]")
        self.kept_ = np.array([np.append(one.highest > one.lowest, True) for one in summary])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The kept parts of every column, side by side."""
        check_is_fitted(self)
        dates = self._dates(X)
        if dates.shape[1] != self.n_features_in_:
            raise ValueError(f"DateParts: X has {dates.shape[1]} columns, training had {self.n_features_in_}.")
        parts = [date_parts(dates[:, i], self.first_[i])[:, kept] for i, kept in enumerate(self.kept_)]
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as ``sold_month``."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        feature_names = [
            f"{name}_{part}" for name, kept in zip(names, self.kept_) for part, keep in zip(PARTS, kept) if keep
        ]
        return np.array(feature_names, dtype=object)

    @staticmethod
    def _dates(X: Any) -> np.ndarray:
        values = np.column_stack([X.iloc[:, i].to_numpy() for i in range(X.shape[1])]) if hasattr(X, "iloc") else X
        dates = np.asarray(values)
        if dates.ndim != 2 or dates.dtype.kind != "M":
            raise ValueError(f"DateParts: X must hold dates in columns; got {dates.dtype} of shape {dates.shape}.")
        return dates.astype("datetime64[us]")
