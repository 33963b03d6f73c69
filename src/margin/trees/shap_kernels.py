"""Shapley values of a tree's columns for many rows, compiled by Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["Paths", "Questions", "add_attributions"]


class Questions(NamedTuple):
    """What a tree asks, as in :mod:`margin.trees.cart.structure`."""

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    category_row: np.ndarray
    category_set: np.ndarray


class Paths(NamedTuple):
    """The way to every leaf: its questions, and the different columns they are about."""

    leaf: np.ndarray  # number of the node
    node_start: np.ndarray  # where each leaf's questions start
    node: np.ndarray  # the question
    goes_left: np.ndarray  # the answer that leads to the leaf
    position: np.ndarray  # which of the leaf's columns it is about
    column_start: np.ndarray  # where each leaf's columns start
    column: np.ndarray
    fraction: np.ndarray  # of the weight that the column's questions let pass


@njit(cache=True, nogil=True)
def _answer_all(row, asked, answers):
    """Whether the row goes left, at every question of the tree."""
    for node in range(asked.feature.size):
        if asked.feature[node] < 0:
            continue
        x = row[asked.feature[node]]
        if np.isnan(x):
            answers[node] = asked.missing_left[node]
        elif asked.category_row[node] >= 0:
            code = int(x)
            answers[node] = (asked.category_set[asked.category_row[node], code >> 3] >> (code & 7)) & 1 == 1
        else:
            answers[node] = x <= asked.threshold[node]


@njit(cache=True, nogil=True)
def _multiply(polynomial, degree, z):
    """polynomial * (z + t), in place."""
    polynomial[degree + 1] = polynomial[degree]
    for s in range(degree, 0, -1):
        polynomial[s] = polynomial[s - 1] + z * polynomial[s]
    polynomial[0] *= z


@njit(cache=True, nogil=True)
def _expected_without(polynomial, degree, z, chance):
    """The sum of coefficient times chance after dividing by (z + t), highest power first."""
    quotient, total = polynomial[degree], 0.0
    for s in range(degree - 1, -1, -1):
        total += quotient * chance[s]
        quotient = polynomial[s] - z * quotient
    return total


@njit(cache=True, nogil=True)
def _leaf_fractions(passes, columns, fractions, chance, polynomial, contribution):
    """What the leaf's value is multiplied by for each of its columns."""
    degree, blocked = 0, 1.0
    polynomial[0] = 1.0
    for k in range(columns):
        if passes[k]:
            _multiply(polynomial, degree, fractions[k])
            degree += 1
        else:
            blocked *= fractions[k]
    # Dividing by a factor z_k + 0 t and multiplying by 0 - z_k is the same for every column that does not pass.
    missed = 0.0
    for s in range(degree + 1):
        if s < columns:
            missed += polynomial[s] * chance[s]
    for k in range(columns):
        if passes[k]:
            contribution[k] = (
                blocked * (1.0 - fractions[k]) * _expected_without(polynomial, degree, fractions[k], chance)
            )
        else:
            contribution[k] = -blocked * missed


@njit(cache=True, nogil=True)
def add_attributions(low, high, X, asked, value, paths, chances, total):
    """Add every leaf's contribution for the rows ``low`` to ``high`` to ``total`` (n, p, outputs)."""
    widest = chances.shape[0]
    answers = np.zeros(asked.feature.size, dtype=np.bool_)
    passes = np.empty(widest, dtype=np.bool_)
    polynomial, contribution = np.empty(widest + 1), np.empty(widest)
    for i in range(low, high):
        _answer_all(X[i], asked, answers)
        for leaf in range(paths.leaf.size):
            first, last = paths.column_start[leaf], paths.column_start[leaf + 1]
            for k in range(last - first):
                passes[k] = True
            for q in range(paths.node_start[leaf], paths.node_start[leaf + 1]):
                if answers[paths.node[q]] != paths.goes_left[q]:
                    passes[paths.position[q]] = False
            fraction, chance = paths.fraction[first:last], chances[last - first]
            _leaf_fractions(passes, last - first, fraction, chance, polynomial, contribution)
            for k in range(last - first):
                for output in range(value.shape[1]):
                    total[i, paths.column[first + k], output] += contribution[k] * value[paths.leaf[leaf], output]
