r"""First centers for k-means.

k-means++ draws each next center with probability proportional to its squared distance to the nearest one so far,

.. math:: P(x_i) = \frac{w_i D(x_i)^2}{\sum_j w_j D(x_j)^2},

here from a few candidates of which the best is kept (Arthur and Vassilvitskii 2007, section 8). Rows are points in
:math:`\mathbb{R}^d`, weights are non-negative, and the generator is the only source of randomness.
"""

from __future__ import annotations

import numpy as np

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
    x, weights = X[order] - weights @ X / weights.sum(), weights[order]
    squares = (x**2).sum(axis=1)
    chosen = [int(_draw(weights, 1, rng)[0])]
    nearest = _squared_distances(x, squares, chosen)[0]
    trials = 2 + int(np.log(k))
    for _ in range(1, k):
        candidates = _draw(weights * nearest, trials, rng)
        distances = _squared_distances(x, squares, candidates)  # (trials, n)
        np.minimum(nearest, distances, out=distances)
        best = int((distances @ weights).argmin())
        chosen.append(int(candidates[best]))
        nearest = distances[best]
    return order[chosen]


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
    return np.sort(_draw(weights, size, rng))


def _order_of_values(X: np.ndarray) -> np.ndarray:
    """An order of the rows that depends on their values only: along one fixed direction in general position."""
    return np.argsort(X @ np.cos(np.arange(1.0, X.shape[1] + 1)), kind="stable")


def _draw(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    cumulated = np.cumsum(weights)
    if cumulated[-1] <= 0:  # every row lies on a center already: any will do
        return rng.integers(len(weights), size=size)
    # A draw of exactly the total would fall behind the last row with weight.
    return np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right").clip(max=len(weights) - 1)


def _squared_distances(x: np.ndarray, squares: np.ndarray, rows: list[int] | np.ndarray) -> np.ndarray:
    products = x[rows] @ x.T
    products *= 2.0
    found = np.add.outer(squares[rows], squares)
    found -= products
    found[np.arange(len(rows)), rows] = 0.0
    return np.maximum(found, 0.0, out=found)
