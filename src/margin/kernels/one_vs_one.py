r"""Many classes by pairs: one binary machine for every pair of classes i < j, positive values speaking for i."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "couple_probabilities",
    "pair_coefficients",
    "pair_decisions",
    "pairs_of",
    "pairs_with",
    "support_table",
    "votes",
    "votes_with_confidence",
]

Floats = NDArray[np.float64]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), ..., (k-2, k-1)."""
    return list(combinations(range(n_classes), 2))


def support_table(
    rows: NDArray[np.int64], values: Floats, sizes: NDArray[np.int64], codes: NDArray[np.intp], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """What all pairs learned in one table.

    ``rows`` are the rows with a coefficient and ``values`` the coefficients, pair after pair, ``sizes`` of each.
    Returns the rows (sorted by class), their number per class, and ``dual_coef`` (k-1, n_rows): a row of class i holds
    its coefficient against class j in line j - 1 if j > i, else in line j.
    """
    union = np.unique(rows)
    support = union[np.argsort(codes[union], kind="stable")]
    position = np.zeros(len(codes), dtype=np.int64)
    position[support] = np.arange(len(support))
    i, j = (np.repeat(part, sizes) for part in np.triu_indices(n_classes, 1))
    dual_coef = np.zeros((n_classes - 1, len(support)))
    dual_coef[np.where(codes[rows] == i, j - 1, i), position[rows]] = values
    return support, np.bincount(codes[support], minlength=n_classes), dual_coef


def pair_coefficients(dual_coef: Floats, counts: NDArray[np.int64]) -> Floats:
    """The coefficients of every pair as a line of zeros and its own, (k(k-1)/2, n_support)."""
    ends = np.cumsum(counts)
    starts = ends - counts
    pairs = pairs_of(len(counts))
    table = np.zeros((len(pairs), dual_coef.shape[1]))
    for line, (i, j) in zip(table, pairs):
        line[starts[i] : ends[i]] = dual_coef[j - 1, starts[i] : ends[i]]
        line[starts[j] : ends[j]] = dual_coef[i, starts[j] : ends[j]]
    return table


def pair_decisions(values: Floats, dual_coef: Floats, counts: NDArray[np.int64]) -> Floats:
    r"""What every pair says about n rows, without its constant, (n, k(k-1)/2).

    ``values`` (n, n_support) are kernel values with the support vectors. Those of class i meet the coefficients
    against all other classes in one product, so that the work is k - 1 and not k(k - 1)/2 times the values:
    :math:`f_{ij} = \sum_{s \in i} c_{js} k_s + \sum_{s \in j} c_{is} k_s`.
    """
    ends = np.cumsum(counts)
    decisions = np.zeros((len(values), len(counts) * (len(counts) - 1) // 2))
    for code, (start, end) in enumerate(zip(ends - counts, ends)):
        against_others = values[:, start:end] @ dual_coef[:, start:end].T  # (n, k - 1)
        decisions[:, pairs_with(code, len(counts))] += against_others
    return decisions


def pairs_with(code: int, n_classes: int) -> NDArray[np.int64]:
    """The numbers of the pairs that a class is in, (k - 1,): first those in which it is the second, then the others.

    >>> pairs_of(4)[1], pairs_of(4)[3], pairs_with(2, 4).tolist()
    ((0, 2), (1, 2), [1, 3, 5])
    """
    return _pairs_by_class(n_classes)[code]


@lru_cache(maxsize=8)  # a prediction of one row would count them anew for every class
def _pairs_by_class(n_classes: int) -> NDArray[np.int64]:
    """:func:`pairs_with` of every class, (k, k - 1)."""
    table = np.empty((n_classes, n_classes - 1), dtype=np.int64)
    for code in range(n_classes):
        first, second = np.arange(code), np.arange(code + 1, n_classes)
        table[code, :code] = _pair_number(first, code, n_classes)
        table[code, code:] = _pair_number(code, second, n_classes)
    table.flags.writeable = False
    return table


def _pair_number(i: Any, j: Any, n_classes: int) -> Any:
    return i * (2 * n_classes - i - 1) // 2 + j - i - 1


def votes(decisions: Floats, n_classes: int) -> NDArray[np.int64]:
    """How many pairs decide for each class, (n, k); a value of zero is for the second class of its pair.

    >>> votes(np.array([[2.0, 1.0, -0.5]]), 3).tolist()
    [[2, 0, 1]]
    """
    favorable = (decisions > 0)[:, _pairs_by_class(n_classes)]  # (n, k, k - 1)
    favorable ^= np.tri(n_classes, n_classes - 1, -1, dtype=bool)  # where a class is the second of its pair
    return favorable.sum(axis=2)


def votes_with_confidence(decisions: Floats, n_classes: int) -> Floats:
    r"""Votes of the pairs per class (n, k), ties settled by the sum of decision values squeezed into
    :math:`(-\frac13, \frac13)`, so that confidence never outweighs a vote.

    >>> votes_with_confidence(np.array([[2.0, 1.0, -0.5]]), 3).round(2).tolist()
    [[2.25, -0.24, 0.89]]
    """
    confidence = np.empty((len(decisions), n_classes))
    for code in range(n_classes):
        values = decisions[:, pairs_with(code, n_classes)]
        confidence[:, code] = values[:, code:].sum(axis=1) - values[:, :code].sum(axis=1)
    return votes(decisions, n_classes) + confidence / (3 * (np.abs(confidence) + 1))


def couple_probabilities(pairwise: Floats) -> Floats:
    r"""Class probabilities from those of pairs (Wu, Lin and Weng, 2004, second method).

    .. math:: \min_p \sum_{i<j} (r_{ji}p_i - r_{ij}p_j)^2 \quad\text{s.t.}\quad \textstyle\sum_i p_i = 1

    ``pairwise`` is (n, k, k) with r_ij the probability of i among {i, j} and r_ij + r_ji = 1. The minimizer of this
    quadratic is non-negative, and one linear system per row gives it.

    >>> r = np.array([[[0.0, 0.9, 0.9], [0.1, 0.0, 0.5], [0.1, 0.5, 0.0]]])
    >>> couple_probabilities(r).round(3).tolist()
    [[0.818, 0.091, 0.091]]
    """
    n, k, _ = pairwise.shape
    off = pairwise * (1 - np.eye(k))
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -off.transpose(0, 2, 1) * off
    index = np.arange(k)
    system[:, index, index] = (off**2).sum(axis=1)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.clip(np.linalg.solve(system, right)[:, :k, 0], 0.0, None)
    return p / p.sum(axis=1, keepdims=True)
