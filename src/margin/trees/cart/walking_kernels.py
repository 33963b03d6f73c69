"""Walking rows down trees, the table as it is; see :mod:`margin.trees.cart.walking`.

A node is two integers of eight bytes side by side, so that one access to memory brings all of a question: the threshold
(a float's bits; the row of the set where the question is about categories), and the first child, whether missing values
go right, whether the question is about categories, and the column. The second child follows the first. A leaf is its
own child and nothing exceeds its threshold, infinity.

The rows of a block take one step each before any takes the next, and those in a leaf drop out: their steps do not
depend on each other, so the processor waits for many nodes at once where a walk row by row waits for each in turn.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstByteMatrix,
    ConstBytes,
    ConstIntegers32,
    ConstMatrix,
    ConstVector,
    IntegerMatrix32,
    Integers,
    Integers32,
    inner,
    kernel,
)

__all__ = ["walk", "walk_few"]

MISSING_RIGHT, CATEGORY, COLUMN, CHILD = 32, 33, 34, 0xFFFFFFFF  # shifts; the child is below them
ConstWords = cython.const[cython.ulonglong][::1]
Words = cython.ulonglong[::1]


@inner
def _walk_block(
    X: ConstMatrix,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    root: cython.ulonglong,
    nodes: ConstWords,
    thresholds: ConstVector,
    category_set: ConstByteMatrix,
    at: Words,
    walking: Integers,
) -> cython.void:
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, in ``at``."""
    left: cython.Py_ssize_t = count
    still: cython.Py_ssize_t
    right: cython.ulonglong
    some_sets: cython.bint = category_set.shape[0] > 0
    for k in range(count):
        at[k] = root
        walking[k] = k
    while left > 0:
        still = 0
        for k in range(left):
            i = walking[k]
            node = at[i]
            word = nodes[2 * node + 1]
            x = X[first + i, word >> COLUMN]
            right = x > thresholds[2 * node]
            if some_sets:
                # Both answers, then the one that was asked for: no branch, which would be guessed wrong too often.
                asked = (word >> CATEGORY) & 1
                code = _category(x)
                byte = cython.cast(cython.ulonglong, category_set[nodes[2 * node] * asked, code >> 3])
                right = asked * (1 - ((byte >> (code & 7)) & 1)) + (1 - asked) * right
            if x != x:
                right = (word >> MISSING_RIGHT) & 1
            child = (word & CHILD) + right
            at[i] = child
            walking[still] = i
            still += child != node
        left = still


@inner
def _category(x: cython.double) -> cython.longlong:
    """The code that ``x`` holds, if it is one; else some code: its answer is not used."""
    return cython.cast(cython.longlong, x) & 255 if abs(x) < 256.0 else 0


@kernel
def walk(
    X: ConstMatrix,
    roots: ConstWords,
    nodes: ConstWords,
    thresholds: ConstVector,
    category_set: ConstByteMatrix,
    leaves: IntegerMatrix32,
    at: Words,
    walking: Integers,
) -> cython.void:
    """The leaf of every row in every tree, counted from its root, into (n, trees).

    The rows that step together are as many as ``at`` and ``walking`` have room for.
    """
    first: cython.Py_ssize_t = 0
    while first < X.shape[0]:
        count = min(X.shape[0] - first, at.shape[0])
        for tree in range(roots.shape[0]):
            root = roots[tree]
            _walk_block(X, first, count, root, nodes, thresholds, category_set, at, walking)
            for k in range(count):
                leaves[first + k, tree] = at[k] - root
        first += count


@kernel
def walk_few(
    X: ConstMatrix,
    feature: ConstIntegers32,
    threshold: ConstVector,
    left: ConstIntegers32,
    missing_left: ConstBytes,
    category_row: ConstIntegers32,
    category_set: ConstByteMatrix,
    leaves: Integers32,
) -> cython.void:
    """The leaf of every row in one tree, whose arrays are read as they are: bringing them together would cost more."""
    at: cython.Py_ssize_t
    right: cython.bint
    for i in range(X.shape[0]):
        at = 0
        while feature[at] >= 0:
            x = X[i, feature[at]]
            right = x > threshold[at]
            if x != x:
                right = not missing_left[at]
            elif category_row[at] >= 0:
                code = cython.cast(cython.longlong, x)
                right = (category_set[category_row[at], code >> 3] >> (code & 7)) & 1 == 0
            at = left[at] + right
        leaves[i] = at
