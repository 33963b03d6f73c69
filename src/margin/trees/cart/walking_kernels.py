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
def _step_by_numbers(
    X: ConstMatrix,
    first: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    nodes: ConstWords,
    thresholds: ConstVector,
    at: Words,
    walking: Integers,
) -> cython.Py_ssize_t:
    """One step of the first ``left`` rows in ``walking``, if no question is about categories; how many go on."""
    still: cython.Py_ssize_t = 0
    right: cython.ulonglong
    for k in range(left):
        i = walking[k]
        node = at[i]
        word = nodes[2 * node + 1]
        x = X[first + i, word >> COLUMN]
        right = x > thresholds[2 * node]
        if x != x:
            right = (word >> MISSING_RIGHT) & 1
        child = (word & CHILD) + right
        at[i] = child
        walking[still] = i
        still += child != node
    return still


@inner
def _step_by_sets(
    X: ConstMatrix,
    first: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    nodes: ConstWords,
    thresholds: ConstVector,
    category_set: ConstByteMatrix,
    at: Words,
    walking: Integers,
) -> cython.Py_ssize_t:
    """:func:`_step_by_numbers` where some questions are about categories."""
    still: cython.Py_ssize_t = 0
    right: cython.ulonglong
    for k in range(left):
        i = walking[k]
        node = at[i]
        word = nodes[2 * node + 1]
        x = X[first + i, word >> COLUMN]
        # Both answers, then the one that was asked for: no branch, which would be guessed wrong too often.
        asked = (word >> CATEGORY) & 1
        code = _category(x)
        byte = cython.cast(cython.ulonglong, category_set[nodes[2 * node] * asked, code >> 3])
        right = asked * (1 - ((byte >> (code & 7)) & 1)) + (1 - asked) * (x > thresholds[2 * node])
        if x != x:
            right = (word >> MISSING_RIGHT) & 1
        child = (word & CHILD) + right
        at[i] = child
        walking[still] = i
        still += child != node
    return still


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
    reads_ahead: cython.bint,
) -> cython.double:
    """The leaf of every row in every tree, counted from its root, into (n, trees).

    The rows that step together are as many as ``at`` and ``walking`` have room for. With ``reads_ahead`` they are read
    from first to last before they are walked: memory is faster in its order than in that of the questions. What is
    returned says nothing, but must be, or the compiler would leave the reading out.
    """
    first: cython.Py_ssize_t = 0
    left: cython.Py_ssize_t
    seen: cython.double = 0.0
    while first < X.shape[0]:
        count = min(X.shape[0] - first, at.shape[0])
        if reads_ahead:
            seen += _read_ahead(X, first, count)
        for tree in range(roots.shape[0]):
            root = roots[tree]
            for k in range(count):
                at[k] = root
                walking[k] = k
            left = count
            while left > 0:
                if category_set.shape[0] == 0:
                    left = _step_by_numbers(X, first, left, nodes, thresholds, at, walking)
                else:
                    left = _step_by_sets(X, first, left, nodes, thresholds, category_set, at, walking)
            for k in range(count):
                leaves[first + k, tree] = at[k] - root
        first += count
    return seen


@inner
def _read_ahead(X: ConstMatrix, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.double:
    """Bring all cache lines of some rows."""
    total: cython.double = 0.0
    j: cython.Py_ssize_t
    for i in range(first, first + count):
        j = 0
        while j < X.shape[1]:
            total += X[i, j]
            j += 8
    return total


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
