r"""Sufficient statistics of the naive Bayes models: what they learn, free of any smoothing.

Per class c: the weight :math:`W_c = \sum_i w_i`, and

.. math:: \bar x_{cj} = \tfrac{1}{W_c}\sum_i w_i x_{ij},\qquad S_{cj} = \sum_i w_i (x_{ij} - \bar x_{cj})^2
          \qquad\text{(Gaussian)},\qquad N_{cj} = \sum_i w_i x_{ij}\qquad\text{(counts)} .

Smoothing is applied when the statistics are used. Chunks of a table are added row by row, so their result is that of
the table read at once to the last bit. (The streaming moments of :mod:`margin.foundations.statistics` know neither
weights nor classes.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["ClassMoments", "add_to_sums", "pooled_variance"]


@dataclass
class ClassMoments:
    """Weight (classes,), mean and summed squared deviations (classes, d) of the rows of each class.

    >>> moments = ClassMoments.empty(1, 1).add(np.array([[1.0], [3.0]]), np.array([0, 0]), np.ones(2))
    >>> moments.weight, moments.mean, moments.scatter
    (array([2.]), array([[2.]]), array([[2.]]))
    """

    weight: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def empty(cls, classes: int, d: int) -> ClassMoments:
        return cls(np.zeros(classes), np.zeros((classes, d)), np.zeros((classes, d)))

    def add(self, X: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> ClassMoments:
        """Take in the rows of ``X`` (n, d) in their order; changes this object and returns it."""
        from margin.compiled.bayes import add_deviations

        add_deviations(np.ascontiguousarray(X, dtype=np.float64), codes, weights, self.weight, self.mean, self.scatter)
        return self

    def merge(self, other: ClassMoments) -> ClassMoments:
        r"""The moments of both sets of rows, with :math:`S = S_1 + S_2 + \frac{W_1 W_2}{W_1 + W_2} \delta^2`.

        >>> one = ClassMoments.empty(1, 1).add(np.array([[1.0]]), np.array([0]), np.ones(1))
        >>> other = ClassMoments.empty(1, 1).add(np.array([[3.0]]), np.array([0]), np.ones(1))
        >>> one.merge(other).scatter
        array([[2.]])
        """
        weight = self.weight + other.weight
        fraction = (other.weight / np.where(weight > 0, weight, 1.0))[:, None]
        step = other.mean - self.mean
        between = self.weight[:, None] * fraction * step**2
        return ClassMoments(weight, self.mean + fraction * step, self.scatter + other.scatter + between)


def pooled_variance(moments: ClassMoments) -> np.ndarray:
    """Variance of every column over the rows of all classes together, (d,)."""
    total = moments.weight.sum()
    center = moments.weight @ moments.mean / total
    return (moments.scatter.sum(axis=0) + moments.weight @ (moments.mean - center) ** 2) / total


def add_to_sums(X: Any, codes: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> None:
    """Add the weighted rows of ``X`` (dense or CSR) to the ``sums`` (classes, d) of their classes, in order."""
    from margin.compiled.bayes import add_rows, add_sparse_rows

    if sp.issparse(X):
        add_sparse_rows(X.data.astype(np.float64, copy=False), X.indices, X.indptr, codes, weights, sums)
    else:
        add_rows(np.ascontiguousarray(X, dtype=np.float64), codes, weights, sums)
