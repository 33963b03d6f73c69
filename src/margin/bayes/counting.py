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
from margin.core.array_types import MatrixLike
from margin.core.domains import Either, Flag, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.new_rows import validate_new_rows
from margin.core.notices import warn_user
from margin.core.parameters import Declared, attribute, parameter

__all__ = ["BernoulliNB", "MultinomialNB", "bernoulli_log_likelihood", "smoothed_log_probabilities"]

BLOCK_ROWS = 4096  # rows made binary at a time: nothing as large as X is allocated

SMALLEST_ALPHA = 1e-10  # what a smaller alpha becomes without force_alpha
IMPOSSIBLE = -1e200  # stands for the logarithm of zero in products, where minus infinity times zero would be NaN


class Smoothing(Declared):
    """Parameters of models that count."""

    alpha: Any = parameter(
        1.0,
        Number(low=0, search=(1e-3, 10), log=True),
        "Added to every count when it is used: Laplace smoothing for 1, Lidstone's below, none for 0.",
    )
    force_alpha: bool = parameter(True, Flag(), "Whether alpha is used as it is; if not, it is at least 1e-10.")
    fit_prior: bool = parameter(True, Flag(), "Whether class probabilities are learned; if not, they are equal.")
    class_prior: Any = parameter(
        None,
        Optional(SequenceOf(Number(low=0, high=1))),
        "Probabilities of the classes; None learns them.",
    )

    @property
    def _smoothing(self) -> Any:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        return alpha if self.force_alpha else np.maximum(alpha, SMALLEST_ALPHA)

    def _tell_of_smoothing(self) -> None:
        """Warn when another alpha than the given one is used."""
        if not np.array_equal(self._smoothing, np.asarray(self.alpha, dtype=np.float64)):
            warn_user(
                f"{type(self).__name__}: alpha={self.alpha} is taken for 1e-10; force_alpha=True uses it as it is."
            )


def smoothed_log_probabilities(counts: np.ndarray, alpha: Any) -> np.ndarray:
    r"""Logarithms of :math:`(N_{cj} + \alpha) / (\sum_l N_{cl} + \alpha d)`, for ``counts`` (classes, d).

    >>> np.exp(smoothed_log_probabilities(np.array([[1.0, 0.0]]), alpha=1.0)).round(2)
    array([[0.67, 0.33]])
    """
    smoothed = counts + alpha
    with np.errstate(divide="ignore"):
        return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))


def bernoulli_log_likelihood(X: MatrixLike, counts: np.ndarray, weight: np.ndarray, alpha: Any) -> np.ndarray:
    r"""Log-probability of zeros and ones ``X`` (n, d), (n, classes), from ``counts`` (classes, d) of ones.

    .. math:: \sum_j x_j \log\theta_{cj} + (1 - x_j) \log(1 - \theta_{cj})
    """
    with np.errstate(divide="ignore"):
        total = np.log(weight[:, None] + 2 * alpha)
        yes = np.maximum(np.log(counts + alpha) - total, IMPOSSIBLE)
        # Sums in different orders: with weights, the zeros may come out a rounding below none.
        no = np.maximum(np.log(np.maximum(weight[:, None] - counts, 0.0) + alpha) - total, IMPOSSIBLE)
    return X @ (yes - no).T + no.sum(axis=1)


class _CountingNB(Smoothing, NaiveBayes):
    """Counts of features per class, from dense or sparse rows."""

    alpha: Any = parameter(
        1.0,
        Either(Number(low=0, search=(1e-3, 10), log=True), SequenceOf(Number(low=0), min_length=1)),
        "Added to every count when it is used: Laplace smoothing for 1, Lidstone's below, none for 0; one number, or "
        "one per column.",
    )

    feature_count_: np.ndarray = attribute(
        ArrayOf("n_classes", "n_features", low=0), "Weighted counts of the columns in every class, (classes, p)."
    )

    @property
    def class_log_prior_(self) -> np.ndarray:
        """Logarithms of the probabilities of the classes."""
        return self._log_priors()

    def _start(self, classes: int, d: int) -> None:
        self.class_count_, self.feature_count_ = np.zeros(classes), np.zeros((classes, d))

    def _absorb(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        for rows in _row_blocks(X):
            add_to_sums(self._counted(_part(X, rows)), codes[rows], weights[rows], self.feature_count_)
        np.add.at(self.class_count_, codes, weights)

    def _with_statistics_of(self, other: Any) -> Any:
        self.class_count_ = self.class_count_ + other.class_count_
        self.feature_count_ = self.feature_count_ + other.feature_count_
        return self

    def _counted(self, rows: Any) -> Any:
        """What is counted in these rows."""
        return rows

    def _check_rows(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        rules = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
        if y is NO_TARGETS:
            return validate_new_rows(self, X, **rules)
        return validate_data(self, X, y, reset=first, **rules)

    def _log_priors(self) -> np.ndarray:
        return log_priors(self.class_count_, self._given_priors(len(self.classes_)), uniform=not self.fit_prior)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # on the continuous data of scikit-learn's checks, which are no counts
        return tags


class MultinomialNB(_CountingNB):
    """Counts, such as of terms in a text: a row is drawn feature by feature from the distribution of its class.

    ``X`` holds non-negative numbers, dense or sparse.

    Examples
    --------
    >>> model = MultinomialNB().fit([[2, 0], [1, 1], [0, 3]], ["a", "a", "b"])
    >>> model.feature_count_, model.predict([[0, 1]]).tolist()
    (array([[3., 1.],
           [0., 3.]]), ['b'])
    """

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Smoothed log-probabilities of the features, (classes, d)."""
        return smoothed_log_probabilities(self.feature_count_, self._smoothing)

    def _check_rows(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        checked = super()._check_rows(X, y, first=first)
        rows = checked[0] if isinstance(checked, tuple) else checked
        least = rows.min() if not sp.issparse(rows) or rows.nnz else 0.0
        if least < 0:
            raise ValueError(f"Negative values in data passed to MultinomialNB: X must hold counts; got {least:g}.")
        return checked

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        return self._check_rows(X) @ np.maximum(self.feature_log_prob_, IMPOSSIBLE).T + self._log_priors()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class BernoulliNB(_CountingNB):
    """Features that are there or not; a missing one counts too.

    Examples
    --------
    >>> BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], [0, 0, 1]).predict([[0, 1], [1, 0]])
    array([1, 0])
    """

    binarize: float | None = parameter(
        0.0, Optional(Number(search=(0, 1))), "The bound above which a value means yes; None for X of zeros and ones."
    )

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Smoothed log-probabilities that a feature is there, (classes, p)."""
        alpha = self._smoothing
        with np.errstate(divide="ignore"):
            return np.log(self.feature_count_ + alpha) - np.log(self.class_count_[:, None] + 2 * alpha)

    def _check_rows(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        checked = super()._check_rows(X, y, first=first)
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
        ones = (rows.data > self.binarize).astype(np.float64)
        return sp.csr_array((ones, rows.indices, rows.indptr), shape=rows.shape)

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        X = self._check_rows(X)
        parts = [
            bernoulli_log_likelihood(
                self._counted(_part(X, rows)), self.feature_count_, self.class_count_, self._smoothing
            )
            for rows in _row_blocks(X)
        ]
        return np.vstack(parts) + self._log_priors()


def _part(X: Any, rows: slice) -> Any:
    return X if rows == slice(0, X.shape[0]) else X[rows]  # a slice of a sparse array would be a copy


def _row_blocks(X: Any) -> list[slice]:
    if sp.issparse(X):
        return [slice(0, X.shape[0])]
    return [slice(start, start + BLOCK_ROWS) for start in range(0, X.shape[0], BLOCK_ROWS)]
