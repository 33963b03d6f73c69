"""Walking rows down trees, compiled by Numba: the table as it is; see :mod:`margin.trees.cart.walking`.

A node is two integers of eight bytes side by side, so that one access to memory brings all of a question: the threshold
(a float's bits; the row of the set where the question is about categories), and the first child, whether missing values
go right, whether the question is about categories, and the column. The second child follows the first. A leaf is its
own child and nothing exceeds its threshold, infinity.

The rows of a block take one step each before any takes the next, and those in a leaf drop out: their steps do not
depend on each other, so the processor waits for many nodes at once where a walk row by row waits for each in turn.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.trees.cart.walking import BLOCK

__all__ = ["walk", "walk_few"]

MISSING_RIGHT, CATEGORY, COLUMN = np.uint64(32), np.uint64(33), np.uint64(34)  # shifts; the child is below
CHILD, BYTE, ZERO, ONE, TWO, THREE, SEVEN = (np.uint64(k) for k in (0xFFFFFFFF, 0xFF, 0, 1, 2, 3, 7))


@inner_kernel
def _walk_block(X, first, count, root, nodes, thresholds, category_set, at, walking):
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, in ``at``."""
    for k in range(count):
        at[k] = root
        walking[k] = k
    left, some_sets = count, category_set.shape[0] > 0
    while left > 0:
        still = 0
        for k in range(left):
            i = walking[k]
            node = at[np.uint64(i)]
            word, threshold = nodes[TWO * node + ONE], thresholds[TWO * node]
            x = X[np.uint64(first + i), word >> COLUMN]
            right = np.uint64(x > threshold)
            if some_sets:
                # Both answers, then the one that was asked for: no branch, which would be guessed wrong too often.
                asked = (word >> CATEGORY) & ONE
                code = np.uint64(np.int64(x)) & BYTE  # a value that is no category finds some bit, unused
                byte = np.uint64(category_set[nodes[TWO * node] * asked, code >> THREE])
                right ^= (right ^ (((byte >> (code & SEVEN)) & ONE) ^ ONE)) & (ZERO - asked)
            if x != x:
                right = (word >> MISSING_RIGHT) & ONE
            child = (word & CHILD) + right
            at[np.uint64(i)] = child
            walking[np.uint64(still)] = i
            still += child != node
        left = still


@cached_kernel
def walk(X, roots, nodes, thresholds, category_set, leaves, at, walking):
    """The leaf of every row in every tree, counted from its root, into (n, trees)."""
    for first in range(0, X.shape[0], BLOCK):
        rest = X.shape[0] - first
        count = rest if rest < BLOCK else BLOCK
        for tree in range(roots.size):
            root = roots[tree]
            _walk_block(X, first, count, root, nodes, thresholds, category_set, at, walking)
            for k in range(count):
                leaves[first + k, tree] = at[k] - root


@cached_kernel
def walk_few(X, feature, threshold, left, missing_left, category_row, category_set, leaves):
    """The leaf of every row in one tree, whose arrays are read as they are: bringing them together would cost more."""
    for i in range(X.shape[0]):
        at = np.int64(0)
        while feature[at] >= 0:
            x = X[i, feature[at]]
            right = x > threshold[at]
            if x != x:
                right = not missing_left[at]
            elif category_row[at] >= 0:
                code = np.int64(x)
                right = (category_set[category_row[at], code >> 3] >> (code & 7)) & 1 == 0
            at = np.int64(left[at]) + right
        leaves[i] = at
