r"""Naive Bayes on categories.

.. math:: P(x_j = v \mid c) = \frac{N_{cjv} + \alpha}{W_c + \alpha K_j}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from margin.bayes.counting import Smoothing
from margin.bayes.naive import NO_TARGETS, NaiveBayes
from margin.bayes.posterior import log_priors
from margin.bayes.stored import categories_ascend
from margin.core.domains import Either, Integer, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf, ListOf
from margin.core.new_rows import validate_new_rows
from margin.core.parameters import attribute, parameter
from margin.core.summaries import union_of

__all__ = ["CategoricalNB", "category_log_probabilities"]

SAMPLE = 1024  # rows whose values are looked up first: most often they are all there are, and nothing long is sorted
TABLE = 4096  # largest range of integers that are looked up in a table
EMPTY = 4  # most places of a larger table for every value that was seen


def category_log_probabilities(counts: np.ndarray, weight: np.ndarray, alpha: float, categories: Any) -> np.ndarray:
    r"""Logarithms of :math:`(N_{cv} + \alpha) / (W_c + \alpha K)`, (classes, values); K may differ between values.

    >>> np.exp(category_log_probabilities(np.array([[3.0, 1.0, 0.0]]), np.array([4.0]), 1.0, 2)).round(3)
    array([[0.667, 0.333, 0.167]])
    """
    number = np.atleast_1d(np.asarray(categories, dtype=np.float64))  # codes beyond 64 bits are Python's integers
    with np.errstate(divide="ignore"):
        return np.log(counts + alpha) - np.log(weight[:, None] + alpha * number)


class CategoricalNB(Smoothing, NaiveBayes):
    r"""Every column is a category: codes 0, 1, ..., of which the largest tells how many there are, or any numbers.

    A column with a negative or fractional number has the categories that were seen. A value that was never seen has
    the probability of a category without rows.

    Examples
    --------
    >>> CategoricalNB().fit([[0, 7], [0, 9], [1, 9]], [0, 0, 1]).predict([[1, 9], [0, 7]])
    array([1, 0])
    """

    min_categories: Any = parameter(
        None,
        Optional(Either(Integer(low=1), SequenceOf(Integer(low=1), min_length=1))),
        "Fewest categories that a column is taken to have, one number or one per column; None reads them off X.",
    )

    _value_count: list[np.ndarray] = attribute(
        ListOf(ArrayOf("n_classes", None, low=0), "n_features"), "Weighted counts of the values in every class."
    )
    categories_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None), "n_features"), "The values that every column was seen to hold, ascending."
    )

    _stored_rules = (categories_ascend,)

    @property
    def n_categories_(self) -> np.ndarray:
        """The number of categories of every column: of codes one more than the largest, seen or not."""
        return np.array([self._n_categories(j, values) for j, values in enumerate(self.categories_)])

    @property
    def category_count_(self) -> list[np.ndarray]:
        """Weighted counts of the categories of every column, (classes, categories), those that were not seen too."""
        return [
            np.array([_by_category(row, values, n) for row in counts])
            for counts, values, n in zip(self._value_count, self.categories_, self.n_categories_)
        ]

    @property
    def class_log_prior_(self) -> np.ndarray:
        """Logarithms of the probabilities of the classes."""
        return log_priors(self.class_count_, self._given_priors(len(self.classes_)), uniform=not self.fit_prior)

    @property
    def feature_log_prob_(self) -> list[np.ndarray]:
        """Smoothed log-probabilities of the categories of every column, (classes, categories)."""
        return [
            category_log_probabilities(counts, self.class_count_, self._smoothing, n)
            for counts, n in zip(self.category_count_, self.n_categories_)
        ]

    def _start(self, classes: int, d: int) -> None:
        self.class_count_ = np.zeros(classes)
        self.categories_ = [np.zeros(0) for _ in range(d)]
        self._value_count = [np.zeros((classes, 0)) for _ in range(d)]

    def _absorb(self, X: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        np.add.at(self.class_count_, codes, weights)
        counted = weights > 0
        if not counted.all():  # a row without weight makes no category
            X, codes, weights = X[counted], codes[counted], weights[counted]
        for j, column in enumerate(np.ascontiguousarray(X.T)):
            known = self.categories_[j]
            values, _ = _extend(known, column[:SAMPLE])
            values, positions = _extend(values, column)
            counts = np.zeros((len(self.class_count_), len(values)))
            counts[:, np.searchsorted(values, known)] = self._value_count[j]
            np.add.at(counts.reshape(-1), codes * len(values) + positions, weights)
            self.categories_[j], self._value_count[j] = values, counts

    def _class_statistics(self) -> tuple[str, ...]:
        return "class_count_", "_value_count"

    def _with_statistics_of(self, other: Any) -> CategoricalNB:
        self.class_count_ = self.class_count_ + other.class_count_
        pairs = zip(self.categories_, self._value_count, other.categories_, other._value_count)
        merged = [_merged_counts(*pair) for pair in pairs]
        self.categories_, self._value_count = [values for values, _ in merged], [counts for _, counts in merged]
        return self

    def _check_rows(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        if y is NO_TARGETS:
            return validate_new_rows(self, X, dtype=np.float64)
        return validate_data(self, X, y, reset=first, dtype=np.float64)

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        X = self._check_rows(X)
        columns = CodeColumns.of(self.categories_)
        parts = self._by_column(X) if columns is None else self._by_code(X, columns)
        return parts + self.class_log_prior_

    def _by_code(self, X: np.ndarray, columns: CodeColumns) -> np.ndarray:
        """Sums of the logarithms of all columns, (n, classes), by one table for them all."""
        counts = columns.spread(np.hstack(self._value_count))
        given = 0 if self.min_categories is None else np.asarray(self.min_categories)
        n_categories = columns.repeat(np.maximum(columns.categories, given))
        table = category_log_probabilities(counts, self.class_count_, self._smoothing, n_categories)
        places = columns.places(X)
        return np.stack([np.take(row, places).sum(axis=1) for row in table], axis=1)

    def _by_column(self, X: np.ndarray) -> np.ndarray:
        """The same for columns of any numbers."""
        total = np.zeros((len(X), len(self.classes_)))
        columns = zip(np.ascontiguousarray(X.T), self.categories_, self._value_count, self.n_categories_)
        for column, values, counts, n in columns:
            positions, seen = _locate(values, column)
            counts = np.hstack([counts, np.zeros((len(counts), 1))])  # the last for values that were not seen
            log_probabilities = category_log_probabilities(counts, self.class_count_, self._smoothing, n)
            total += log_probabilities[:, np.where(seen, positions, len(values))].T
        return total

    def _n_categories(self, j: int, values: np.ndarray) -> int:
        fewest = 0 if self.min_categories is None else np.broadcast_to(self.min_categories, len(self.categories_))[j]
        return max(int(values[-1]) + 1 if _are_codes(values) else len(values), int(fewest))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class CodeColumns:
    """Columns of small integers and one table for all: a place for every integer of a column, one more on each side."""

    def __init__(self, values: np.ndarray, lengths: np.ndarray):
        ends = np.cumsum(lengths)
        self.low, high = values[ends - lengths], values[ends - 1]
        self.span = high - self.low
        self.widths = self.span.astype(np.intp) + 3
        self.starts = np.cumsum(self.widths) - self.widths
        self.categories = np.where(self.low >= 0, high + 1, lengths)  # of codes one more than the largest
        self.filled = (values - np.repeat(self.low, lengths)).astype(np.intp) + np.repeat(self.starts + 1, lengths)

    @classmethod
    def of(cls, categories: list[np.ndarray]) -> CodeColumns | None:
        """None where a column holds other numbers than small integers, or so few of them that most places are empty."""
        lengths = np.fromiter(map(len, categories), dtype=np.intp, count=len(categories))
        values = np.concatenate(categories)
        if not lengths.all() or (values != np.floor(values)).any():
            return None
        ends = np.cumsum(lengths)
        places = float((values[ends - 1] - values[ends - lengths] + 3).sum())
        return cls(values, lengths) if places <= max(TABLE, EMPTY * len(values)) else None

    def spread(self, counts: np.ndarray) -> np.ndarray:
        """The counts of the values of all columns, (classes, values), as (classes, places)."""
        spread = np.zeros((len(counts), int(self.widths.sum())))
        spread[:, self.filled] = counts
        return spread

    def repeat(self, numbers: np.ndarray) -> np.ndarray:
        """A number of every column for each of its places."""
        return np.repeat(numbers, self.widths)

    def places(self, X: np.ndarray) -> np.ndarray:
        """The place of every entry, (n, columns): of one that is no integer or beyond the others, that below them."""
        shifted = np.clip(X - self.low + 1, 0, self.span + 2)
        shifted[np.floor(X) != X] = 0
        return shifted.astype(np.intp) + self.starts


def _merged_counts(
    values: np.ndarray, counts: np.ndarray, other_values: np.ndarray, other_counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The values of both, ascending, and their counts (classes, values)."""
    both, mine, theirs = union_of(values, other_values)
    total = np.zeros((len(counts), len(both)))
    total[:, mine] += counts
    total[:, theirs] += other_counts
    return both, total


def _are_codes(values: np.ndarray) -> bool:
    """Whether ascending ``values`` can be codes 0, 1, ... of categories."""
    return len(values) > 0 and values[0] >= 0 and bool((values == np.floor(values)).all())


def _by_category(counts: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """The counts of ``values`` as counts of ``n`` categories."""
    counts_by_code = np.zeros(n)
    counts_by_code[values.astype(np.intp) if _are_codes(values) else np.arange(len(values))] = counts
    return counts_by_code


def _extend(values: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending ``values`` with those of ``column`` that they lack, and the position of every entry among them."""
    positions, seen = _locate(values, column)
    if seen.all():
        return values, positions
    values = np.union1d(values, column[~seen])
    return values, _locate(values, column)[0]


def _locate(values: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the entries of ``column`` in ascending ``values``, and whether each is there (else any position)."""
    if not len(values):
        return np.zeros(len(column), dtype=np.intp), np.zeros(len(column), dtype=bool)
    span = values[-1] - values[0]
    if span < TABLE and (values == np.floor(values)).all():
        # Small integers, the usual codes: one look into a table instead of a search.
        table = np.searchsorted(values, values[0] + np.arange(int(span) + 1))
        positions = table[np.clip(column - values[0], 0, span).astype(np.intp)]
    else:
        positions = np.minimum(np.searchsorted(values, column), len(values) - 1)
    return positions, values[positions] == column
