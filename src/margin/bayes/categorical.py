r"""Naive Bayes on categories.

.. math:: P(x_j = v \mid c) = \frac{N_{cjv} + \alpha}{W_c + \alpha K_j}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from margin.bayes.counting import PRIORS, SMOOTHING
from margin.bayes.naive import NO_TARGETS, NaiveBayes
from margin.bayes.posterior import log_priors
from margin.core.domains import Integer, Optional

__all__ = ["CategoricalNB", "category_log_probabilities"]

SAMPLE = 1024  # rows whose values are looked up first: most often they are all there are, and nothing long is sorted
TABLE = 4096  # largest range of integers that are looked up in a table


def category_log_probabilities(counts: np.ndarray, weight: np.ndarray, alpha: float, categories: int) -> np.ndarray:
    r"""Logarithms of :math:`(N_{cv} + \alpha) / (W_c + \alpha K)`, (classes, values + 1), the last for unseen values.

    >>> np.exp(category_log_probabilities(np.array([[3.0, 1.0]]), np.array([4.0]), 1.0, 2)).round(3)
    array([[0.667, 0.333, 0.167]])
    """
    unseen = np.zeros((len(counts), 1))
    return np.log(np.hstack([counts, unseen]) + alpha) - np.log(weight + alpha * categories)[:, None]


class CategoricalNB(NaiveBayes):
    r"""Every column is a category, whose values may be any numbers.

    ``alpha`` is added to every count when it is used. :math:`K_j` is the number of values seen in column j, or
    ``min_categories`` if that is larger; a value that was never seen has the probability of a category without rows.
    ``fit_prior`` and ``class_prior`` are those of :class:`MultinomialNB`.

    Learned: ``classes_``, ``class_count_``, and per column ``categories_`` (the values, ascending) and
    ``category_count_`` (classes, values).

    >>> CategoricalNB().fit([[0, 7], [0, 9], [1, 9]], [0, 0, 1]).predict([[1, 9], [0, 7]])
    array([1, 0])
    """

    domains = {**SMOOTHING, **PRIORS, "min_categories": Optional(Integer(low=1))}

    def __init__(
        self,
        alpha: float = 1.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: int | None = None,
    ):
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

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
        prior = log_priors(self.class_count_, self._given_priors(len(self.classes_)), uniform=not self.fit_prior)
        joint = np.tile(prior, (len(X), 1))
        for column, values, counts in zip(np.ascontiguousarray(X.T), self.categories_, self.category_count_):
            positions, seen = _located(values, column)
            log_probabilities = category_log_probabilities(
                counts, self.class_count_, self.alpha, self._categories(len(values))
            )
            joint += log_probabilities[:, np.where(seen, positions, len(values))].T
        return joint

    def _categories(self, seen: int) -> int:
        return max(seen, self.min_categories or 0)


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
