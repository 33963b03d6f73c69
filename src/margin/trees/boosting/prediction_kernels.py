"""Coded rows down many trees, compiled by Numba."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from margin.trees.boosting.kernel_types import CATEGORY_SHIFT, CODE_SHIFT, FEATURE_SHIFT, MISSING_SHIFT

__all__ = ["add_predictions", "find_leaves"]

BLOCK = 64  # rows that go down one tree before the next is looked at
MISSING = 255
LEFT_CHILD = np.uint64(0xFFFFFFFF)
ONE_BYTE, ONE_BIT = np.uint64(0xFF), np.uint64(1)
CODE, MISSES, ASKS_CATEGORY, COLUMN = (
    np.uint64(shift) for shift in (CODE_SHIFT, MISSING_SHIFT, CATEGORY_SHIFT, FEATURE_SHIFT)
)


@njit(cache=True, nogil=True)
def _leaf_of(codes, i, first, trees):
    at = np.uint64(first)
    while True:
        word = np.uint64(trees.word[at])
        child = word & LEFT_CHILD
        if child == 0:
            return at
        code = codes[i, word >> COLUMN]
        if code == MISSING:
            right = ONE_BIT - ((word >> MISSES) & ONE_BIT)
        elif (word >> ASKS_CATEGORY) & ONE_BIT:
            byte = trees.category_set[trees.category_row[at], code >> 3]
            right = np.uint64(((byte >> (code & 7)) & 1) ^ 1)
        else:
            right = np.uint64(code > ((word >> CODE) & ONE_BYTE))
        at = np.uint64(first) + child + right


@njit(cache=True, nogil=True, parallel=True)
def add_predictions(codes, trees, low, high, outputs, total):
    """Add the trees ``low`` to ``high`` to ``total`` (outputs, n); tree ``t`` speaks for output ``t % outputs``."""
    n = codes.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for tree in range(low, high):
            first = trees.start[tree]
            output = tree % outputs
            for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
                total[output, i] += trees.value[_leaf_of(codes, i, first, trees)]


@njit(cache=True, nogil=True, parallel=True)
def find_leaves(codes, trees, leaves):
    """The node in which every row ends in every tree, counted from the start of the tree, into (n, trees)."""
    n = codes.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for tree in range(leaves.shape[1]):
            first = trees.start[tree]
            for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
                leaves[i, tree] = np.int64(_leaf_of(codes, i, first, trees)) - first
