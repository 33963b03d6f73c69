"""Steps of a preparation, fitted by passes over the rows: what each keeps of a block, and what follows from all."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from margin.core.streaming import RowBlock
from margin.core.summaries import OnePass, union_of
from margin.data.column_reader import ColumnReader
from margin.data.streams.medians import MedianSearch
from margin.foundations.statistics.streaming import Moments

__all__ = ["StepFit", "step_fit"]


class StepFit(Protocol):
    """A step in the middle of its fit; ``fitted`` is None while it needs another pass."""

    fitted: Any

    def summarize(self, X: Any) -> Any:
        """What is kept of some rows in this pass."""

    def merge(self, first: Any, second: Any) -> Any:
        """That of both."""

    def advance(self, summary: Any) -> None:
        """Learn from all rows of this pass."""


def step_fit(step: Any, head: Any) -> Any:
    """The :class:`StepFit` of a step of :func:`margin.data.preprocessor`; ``head`` are first rows."""
    from sklearn.base import clone
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler

    from margin.data.standard_columns import StandardColumns

    step = clone(step)
    if isinstance(step, ColumnReader):
        return KnownAtOnce(step.fit(head))
    if isinstance(step, OnePass):
        return OnePassFit(step, head)
    if isinstance(step, StandardColumns):
        return StandardFit(step, head)
    if isinstance(step, SimpleImputer) and step.strategy == "median" and _fills_nan_alone(step):
        return MedianFit(step, head)
    if isinstance(step, SimpleImputer) and step.strategy == "most_frequent" and _fills_nan_alone(step):
        return CommonestFit(step, head)
    if isinstance(step, MinMaxScaler) or (isinstance(step, KBinsDiscretizer) and _cuts_evenly(step)):
        return RangeFit(step, head)
    raise TypeError(
        f"{step!r} needs all rows at once and takes no stream; a preparation by margin.data.preprocessor takes one."
    )


def _fills_nan_alone(step: Any) -> bool:
    missing = step.missing_values  # of a model that was loaded, a NaN of its own
    return isinstance(missing, float) and missing != missing and not step.add_indicator


def _cuts_evenly(step: Any) -> bool:
    return step.strategy == "uniform" and step.encode == "ordinal"


class KnownAtOnce:
    """A step that is fitted by the first rows: they show which columns there are."""

    def __init__(self, fitted: Any):
        self.fitted = fitted


class OnePassFit:
    """A step that says itself what it keeps of a block."""

    def __init__(self, step: Any, head: Any):
        from sklearn.utils.validation import _check_feature_names, _check_n_features

        self.step = step
        self.fitted: Any = None
        step._check_parameters()
        _check_feature_names(step, head, reset=True)
        _check_n_features(step, head, reset=True)

    def summarize(self, X: Any) -> Any:
        return self.step.summarize(RowBlock(X))

    def merge(self, first: Any, second: Any) -> Any:
        return self.step.merge(first, second)

    def advance(self, summary: Any) -> None:
        self.fitted = self.step.solve(summary)


class ColumnFit:
    """A step of scikit-learn that a few numbers per column determine: it learns them from rows that have the same."""

    def __init__(self, step: Any, head: Any):
        self.step, self.head = step, head[:1]
        self.fitted: Any = None

    def _fit_to(self, *rows: np.ndarray) -> Any:
        import pandas as pd

        X = np.array(rows)
        columns = getattr(self.head, "columns", None)
        return self.step.fit(X if columns is None else pd.DataFrame(X, columns=columns))


class MedianFit(ColumnFit):
    """Missing numbers by the exact median: two passes or more."""

    def __init__(self, step: Any, head: Any):
        super().__init__(step, head)
        self.search = MedianSearch(head.shape[1])

    def summarize(self, X: Any) -> Any:
        return self.search.count(_numbers(X))

    def merge(self, first: Any, second: Any) -> Any:
        return MedianSearch.merge(first, second)

    def advance(self, summary: Any) -> None:
        self.search.advance(summary)
        medians = self.search.medians
        if medians is not None:
            self.fitted = self._fit_to(medians)


class CommonestFit(ColumnFit):
    """Missing flags by the commonest value; the different values of a column are kept, so it is for flags."""

    def summarize(self, X: Any) -> Any:
        return [np.unique(column[~np.isnan(column)], return_counts=True) for column in _numbers(X).T]

    def merge(self, first: Any, second: Any) -> Any:
        return [_counts_of_both(*pair) for pair in zip(first, second)]

    def advance(self, summary: Any) -> None:
        self.fitted = self._fit_to(
            np.array([values[np.argmax(counts)] if len(values) else np.nan for values, counts in summary])
        )


class Extent(NamedTuple):
    """How many rows, and the least and the greatest value of every column."""

    n_rows: int
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Extent:
        return cls(len(X), X.min(axis=0), X.max(axis=0))

    def merge(self, other: Extent) -> Extent:
        lowest, highest = np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest)
        return Extent(self.n_rows + other.n_rows, lowest, highest)


class RangeFit(ColumnFit):
    """What the least and the greatest value of a column determine: a unit range, intervals of equal length."""

    def summarize(self, X: Any) -> Extent:
        return Extent.of(_numbers(X))

    def merge(self, first: Extent, second: Extent) -> Extent:
        return first.merge(second)

    def advance(self, summary: Extent) -> None:
        self.fitted = self._fit_to(summary.lowest, summary.highest)
        if hasattr(self.fitted, "n_samples_seen_"):
            self.fitted.n_samples_seen_ = summary.n_rows


class StandardFit(ColumnFit):
    """Mean and deviation of every column, by sums that lose no digits: equal to those in memory up to rounding."""

    def summarize(self, X: Any) -> tuple[Moments, Extent]:
        rows = _numbers(X)
        return Moments.of(rows), Extent.of(rows)

    def merge(self, first: tuple[Moments, Extent], second: tuple[Moments, Extent]) -> tuple[Moments, Extent]:
        return first[0].merge(second[0]), first[1].merge(second[1])

    def advance(self, summary: tuple[Moments, Extent]) -> None:
        moments, extent = summary
        scaler = self._fit_to(extent.lowest, extent.highest)
        self.fitted = scaler.set_moments(extent.n_rows, moments.mean, moments.variance(), extent.lowest, extent.highest)


def _numbers(X: Any) -> np.ndarray:
    return np.asarray(X, dtype=np.float64)


def _counts_of_both(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> Any:
    values, mine, theirs = union_of(first[0], second[0])
    counts = np.zeros(len(values), dtype=np.int64)
    counts[mine] += first[1]
    counts[theirs] += second[1]
    return values, counts
