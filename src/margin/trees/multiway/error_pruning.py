r"""Error-based pruning: a branch stays only if a pessimist expects fewer errors from it than from a leaf.

Of the N rows in a leaf, E are wrong. The pessimist takes for its error rate the upper confidence limit of a binomial
fraction, the largest rate at which so few errors are still as likely as ``confidence``:

.. math:: \sum_{k \le E} \binom{N}{k} U^k (1 - U)^{N - k} = CF
    \quad\Longleftrightarrow\quad U_{CF}(E, N) = I^{-1}_{1 - CF}(E + 1, N - E)

with the inverse of the regularized incomplete beta function, which also takes weights that are not integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from margin.core.arguments import numbers, real
from margin.trees.multiway.category_tree import Tree, subtree

__all__ = ["error_based_pruning", "pessimistic_errors", "upper_error_rate"]

# Expected errors closer than this are equal: then the leaf, which is simpler, wins.
SAME_ERRORS = 1e-9


def upper_error_rate(errors: ArrayLike, weight: ArrayLike, confidence: float = 0.25) -> np.ndarray:
    """The upper confidence limit of the error rate of leaves with ``errors`` wrong in ``weight`` rows.

    >>> upper_error_rate([0, 0, 0, 1], [1, 6, 9, 16]).round(3)
    array([0.75 , 0.206, 0.143, 0.16 ])
    """
    E, N = numbers("upper_error_rate", "errors", errors), numbers("upper_error_rate", "weight", weight)
    level = real("upper_error_rate", "confidence", confidence)
    if not 0 < level < 1:
        raise ValueError(f"upper_error_rate: confidence must lie between 0 and 1; got {confidence!r}.")
    if not ((E >= 0) & (E <= N) & (N > 0)).all():
        raise ValueError("upper_error_rate: errors must lie between 0 and weight, and weight above 0.")
    right = N - E
    return np.where(right > 0, betaincinv(E + 1, np.where(right > 0, right, 1.0), 1 - level), 1.0)


def pessimistic_errors(tree: Tree, confidence: float = 0.25) -> np.ndarray:
    """The errors a pessimist expects of every node (nodes,) if it were a leaf."""
    weight = tree["value"].sum(axis=1)
    wrong = np.maximum(weight - tree["value"].max(axis=1), 0.0)
    return weight * upper_error_rate(wrong, weight, confidence)


def error_based_pruning(tree: Tree, confidence: float = 0.25) -> Tree:
    """The tree without the branches that do not pay, judged from the leaves upward."""
    as_leaf = pessimistic_errors(tree, confidence)
    expected = as_leaf.copy()
    cut = np.zeros(len(as_leaf), dtype=bool)
    below = np.zeros(len(as_leaf))
    for node in range(len(as_leaf) - 1, -1, -1):  # children have larger numbers than their parent
        if tree["n_children"][node]:
            cut[node] = as_leaf[node] <= below[node] + SAME_ERRORS
            expected[node] = as_leaf[node] if cut[node] else below[node]
        if node:
            below[tree["parent"][node]] += expected[node]
    return subtree(tree, cut)
