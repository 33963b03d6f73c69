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
from margin.core.domains import Either, Integer, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.parameters import attribute, parameter

__all__ = ["CategoricalNB", "category_log_probabilities"]

SAMPLE = 1024  # rows whose values are looked up first: most often they are all there are, and nothing long is sorted
TABLE = 4096  # largest range of integers that are looked up in a table


def category_log_probabilities(counts: np.ndarray, weight: np.ndarray, alpha: float, categories: int) -> np.ndarray:
    r"""Logarithms of :math:`(N_{cv} + \alpha) / (W_c + \alpha K)`, (classes, values + 1), the last for unseen values.

    >>> np.exp(category_log_probabilities(np.array([[3.0, 1.0]]), np.array([4.0]), 1.0, 2)).round(3)
    array([[0.667, 0.333, 0.167]])
    """
    unseen = np.zeros((len(counts), 1))
    with np.errstate(divide="ignore"):
        return np.log(np.hstack([counts, unseen]) + alpha) - np.log(weight + alpha * categories)[:, None]


class CategoricalNB(Smoothing, NaiveBayes):
    r"""Every column is a category, whose values may be any numbers.

    A value that was never seen has the probability of a category without rows.

    Examples
    --------
    >>> CategoricalNB().fit([[0, 7], [0, 9], [1, 9]], [0, 0, 1]).predict([[1, 9], [0, 7]])
    array([1, 0])
    """

    min_categories: Any = parameter(
        None,
        Optional(Either(Integer(low=1), SequenceOf(Integer(low=1), min_length=1))),
        "Fewest categories that a column is taken to have, one number or one per column; None counts those seen.",
    )

    categories_: list[np.ndarray] = attribute("The values of every column, ascending.")
    category_count_: list[np.ndarray] = attribute("Weighted counts (classes, values) for every column.")

    @property
    def n_categories_(self) -> np.ndarray:
        """The number of categories of every column."""
        return np.array([self._categories(j, len(values)) for j, values in enumerate(self.categories_)])

    @property
    def class_log_prior_(self) -> np.ndarray:
        """Logarithms of the probabilities of the classes."""
        return log_priors(self.class_count_, self._given_priors(len(self.classes_)), uniform=not self.fit_prior)

    @property
    def feature_log_prob_(self) -> list[np.ndarray]:
        """Smoothed log-probabilities (classes, values) of the values of every column."""
        return [
            category_log_probabilities(counts, self.class_count_, self._smoothing, n)[:, :-1]
            for counts, n in zip(self.category_count_, self.n_categories_)
        ]

    def _start(self, classes: int, d: int) -> None:
        self.class_count_ = np.zeros(classes)
        self.categories_ = [np.zeros(0) for _ in range(d)]
        self.category_count_ = [np.zeros((classes, 0)) for _ in range(d)]

    def _absorb(self, X: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        np.add.at(self.class_count_, codes, weights)
        counted = weights > 0
        if not counted.all():  # a row without weight makes no category
            X, codes, weights = X[counted], codes[counted], weights[counted]
        for j, column in enumerate(np.ascontiguousarray(X.T)):
            known = self.categories_[j]
            values, _ = _extended(known, column[:SAMPLE])
            values, positions = _extended(values, column)
            counts = np.zeros((len(self.class_count_), len(values)))
            counts[:, np.searchsorted(values, known)] = self.category_count_[j]
            np.add.at(counts.reshape(-1), codes * len(values) + positions, weights)
            self.categories_[j], self.category_count_[j] = values, counts

    def _checked(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        return validate_data(self, X, y, reset=first, dtype=np.float64)

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        X = self._checked(X)
        joint = np.tile(self.class_log_prior_, (len(X), 1))
        columns = zip(np.ascontiguousarray(X.T), self.categories_, self.category_count_)
        for j, (column, values, counts) in enumerate(columns):
            positions, seen = _located(values, column)
            log_probabilities = category_log_probabilities(
                counts, self.class_count_, self._smoothing, self._categories(j, len(values))
            )
            joint += log_probabilities[:, np.where(seen, positions, len(values))].T
        return joint

    def _categories(self, j: int, seen: int) -> int:
        fewest = 0 if self.min_categories is None else np.broadcast_to(self.min_categories, len(self.categories_))[j]
        return max(seen, int(fewest))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _extended(values: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending ``values`` with those of ``column`` that they lack, and the position of every entry among them."""
    positions, seen = _located(values, column)
    if seen.all():
        return values, positions
    values = np.union1d(values, column[~seen])
    return values, _located(values, column)[0]


def _located(values: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
