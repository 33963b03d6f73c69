r"""Naive Bayes on counts and on yes or no.

.. math::
    \text{multinomial:}\quad \theta_{cj} = \frac{N_{cj} + \alpha}{\sum_l N_{cl} + \alpha d},\quad
    \log P(x \mid c) = \sum_j x_j \log\theta_{cj} + \text{const};\qquad
    \text{Bernoulli:}\quad \theta_{cj} = \frac{N_{cj} + \alpha}{W_c + 2\alpha} .
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from margin.bayes.naive import NO_TARGETS, NaiveBayes
from margin.bayes.posterior import log_priors
from margin.bayes.statistics import add_to_sums
from margin.core.domains import Domain, Flag, Number, Optional
from margin.core.domains import Sequence as SequenceOf

__all__ = ["BernoulliNB", "MultinomialNB", "bernoulli_log_likelihood", "smoothed_log_probabilities"]

BLOCK_ROWS = 4096  # rows made binary at a time: nothing as large as X is allocated

SMOOTHING: dict[str, Domain] = {"alpha": Number(above=0, search=(1e-3, 10), log=True)}
PRIORS: dict[str, Domain] = {"fit_prior": Flag(), "class_prior": Optional(SequenceOf(Number(low=0, high=1)))}


def smoothed_log_probabilities(counts: np.ndarray, alpha: float) -> np.ndarray:
    r"""Logarithms of :math:`(N_{cj} + \alpha) / (\sum_l N_{cl} + \alpha d)`, for ``counts`` (classes, d).

    >>> np.exp(smoothed_log_probabilities(np.array([[1.0, 0.0]]), alpha=1.0)).round(2)
    array([[0.67, 0.33]])
    """
    smoothed = counts + alpha
    return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))


def bernoulli_log_likelihood(X: Any, counts: np.ndarray, weight: np.ndarray, alpha: float) -> np.ndarray:
    r"""Log-probability of zeros and ones ``X`` (n, d), (n, classes), from ``counts`` (classes, d) of ones.

    .. math:: \sum_j x_j \log\theta_{cj} + (1 - x_j) \log(1 - \theta_{cj})
    """
    total = np.log(weight + 2 * alpha)[:, None]
    yes = np.log(counts + alpha) - total
    # Sums in different orders: with weights, the zeros may come out a rounding below none.
    no = np.log(np.maximum(weight[:, None] - counts, 0.0) + alpha) - total
    return X @ (yes - no).T + no.sum(axis=1)


class _CountingNB(NaiveBayes):
    """Counts of features per class, from dense or sparse rows."""

    alpha: float
    fit_prior: bool
    class_prior: Any

    def _start(self, classes: int, d: int) -> None:
        self.class_count_, self.feature_count_ = np.zeros(classes), np.zeros((classes, d))

    def _absorb(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        for rows in _row_blocks(X):
            add_to_sums(self._counted(_part(X, rows)), codes[rows], weights[rows], self.feature_count_)
        np.add.at(self.class_count_, codes, weights)

    def _counted(self, rows: Any) -> Any:
        """What is counted in these rows."""
        return rows

    def _checked(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        return validate_data(self, X, y, reset=first, accept_sparse="csr", dtype=np.float64, order="C")

    def _log_priors(self) -> np.ndarray:
        return log_priors(self.class_count_, self._given_priors(len(self.classes_)), uniform=not self.fit_prior)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # on the continuous data of scikit-learn's checks, which are no counts
        return tags


class MultinomialNB(_CountingNB):
    """Counts, such as of terms in a text: a row is drawn feature by feature from the distribution of its class.

    ``alpha`` is added to every count when it is used (Laplace for 1, Lidstone below); ``fit_prior`` False makes classes
    equally probable, ``class_prior`` gives their probabilities. ``X`` holds non-negative numbers, dense or sparse.

    Learned: ``classes_``, ``class_count_`` and ``feature_count_`` (classes, d); ``feature_log_prob_`` follows.

    >>> model = MultinomialNB().fit([[2, 0], [1, 1], [0, 3]], ["a", "a", "b"])
    >>> model.feature_count_, model.predict([[0, 1]]).tolist()
    (array([[3., 1.],
           [0., 3.]]), ['b'])
    """

    domains = {**SMOOTHING, **PRIORS}

    def __init__(self, alpha: float = 1.0, fit_prior: bool = True, class_prior: Any = None):
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Smoothed log-probabilities of the features, (classes, d)."""
        return smoothed_log_probabilities(self.feature_count_, self.alpha)

    def _checked(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        checked = super()._checked(X, y, first=first)
        rows = checked[0] if isinstance(checked, tuple) else checked
        least = rows.min() if not sp.issparse(rows) or rows.nnz else 0.0
        if least < 0:
            raise ValueError(f"Negative values in data passed to MultinomialNB: X must hold counts; got {least:g}.")
        return checked

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        return self._checked(X) @ self.feature_log_prob_.T + self._log_priors()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class BernoulliNB(_CountingNB):
    """Features that are there or not; a missing one counts too.

    ``binarize`` is the bound above which a value means yes, or None for ``X`` of zeros and ones; the other
    parameters are those of :class:`MultinomialNB`.

    Learned: ``classes_``, ``class_count_`` and ``feature_count_`` (classes, d), the weight of rows with the feature.

    >>> BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], [0, 0, 1]).predict([[0, 1], [1, 0]])
    array([1, 0])
    """

    domains = {**SMOOTHING, "binarize": Optional(Number(search=(0, 1))), **PRIORS}

    def __init__(
        self, alpha: float = 1.0, binarize: float | None = 0.0, fit_prior: bool = True, class_prior: Any = None
    ):
        self.alpha = alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _checked(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        checked = super()._checked(X, y, first=first)
        rows = checked[0] if isinstance(checked, tuple) else checked
        if self.binarize is None and not np.isin(rows.data if sp.issparse(rows) else rows, (0, 1)).all():
            raise ValueError("BernoulliNB: with binarize=None X must hold zeros and ones only.")
        if sp.issparse(rows) and self.binarize is not None and self.binarize < 0:
            raise ValueError(f"BernoulliNB: binarize must be at least 0 for sparse X; got {self.binarize:g}.")
        return checked

    def _counted(self, rows: Any) -> Any:
        if self.binarize is None:
            return rows
        if not sp.issparse(rows):
            return (rows > self.binarize).astype(np.float64)
        there = (rows.data > self.binarize).astype(np.float64)
        return sp.csr_array((there, rows.indices, rows.indptr), shape=rows.shape)

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        X = self._checked(X)
        parts = [
            bernoulli_log_likelihood(self._counted(_part(X, rows)), self.feature_count_, self.class_count_, self.alpha)
            for rows in _row_blocks(X)
        ]
        return np.vstack(parts) + self._log_priors()


def _part(X: Any, rows: slice) -> Any:
    return X if rows == slice(0, X.shape[0]) else X[rows]  # a slice of a sparse array would be a copy


def _row_blocks(X: Any) -> list[slice]:
    if sp.issparse(X):
        return [slice(0, X.shape[0])]
    return [slice(start, start + BLOCK_ROWS) for start in range(0, X.shape[0], BLOCK_ROWS)]
