r"""First centers for k-means.

k-means++ draws each next center with probability proportional to its squared distance to the nearest one so far,

.. math:: P(x_i) = \frac{w_i D(x_i)^2}{\sum_j w_j D(x_j)^2},

here from a few candidates of which the best is kept (Arthur and Vassilvitskii 2007, section 8). Rows are points in
:math:`\mathbb{R}^d`, weights are non-negative, and the generator is the only source of randomness.
"""

from __future__ import annotations

import numpy as np

from margin.cluster import compiled_loops
from margin.core.threads import blas_threads

__all__ = ["draw_rows", "plusplus", "random_rows"]


def plusplus(X: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of ``k`` rows that are far apart: greedy k-means++ with ``2 + log k`` candidates per center.

    The draws go through the rows in an order of their values, so neither shuffling the rows nor writing a row of weight
    two as two rows changes the centers.

    >>> X = np.array([[0.0], [0.1], [10.0], [10.1]])
    >>> bool(np.ptp(X[plusplus(X, np.ones(4), 2, np.random.default_rng(0))]) > 9)
    True
    """
    # Products with a few rows are bound by memory: a second thread of BLAS gains little and spins on busy cores.
    with blas_threads(1):
        return _plusplus(X, weights, k, rng)


def _plusplus(X: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    order = _order_of_values(X)
    first = int(_draw(weights[order], rng.random(1))[0])
    offset = weights @ X / weights.sum()
    return compiled_loops.far_rows(X, weights, offset, order, first, rng.random((k - 1, 2 + int(np.log(k)))))


def random_rows(weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of ``k`` different rows, drawn in proportion to their weights as far as weighted rows go."""
    keys = rng.exponential(size=len(weights))
    # The smallest keys divided by weights are a weighted sample without replacement (Efraimidis and Spirakis 2006).
    with np.errstate(divide="ignore"):
        return np.argsort(keys / weights, kind="stable")[:k]


def draw_rows(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """A random sample of rows: different ones if all weights are equal, else in proportion to the weights."""
    if (weights == weights[0]).all():
        return np.sort(rng.choice(len(weights), size=size, replace=False, shuffle=False))
    return np.sort(_draw(weights, rng.random(size)))


def _order_of_values(X: np.ndarray) -> np.ndarray:
    """An order of the rows that depends on their values only: along one fixed direction in general position.

    Equal rows are interchangeable: it does not matter which of them comes first.
    """
    return np.argsort(X @ np.cos(np.arange(1.0, X.shape[1] + 1)))


def _draw(weights: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Indices in proportion to ``weights``, one for every number of ``uniform`` in [0, 1)."""
    cumulated = np.cumsum(weights)
    if cumulated[-1] <= 0:  # every row lies on a center already: any will do
        return (uniform * len(weights)).astype(np.intp)
    # A draw of exactly the total would fall behind the last row with weight.
    return np.minimum(np.searchsorted(cumulated, uniform * cumulated[-1], side="right"), len(weights) - 1)
