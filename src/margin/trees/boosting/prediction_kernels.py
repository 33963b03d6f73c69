"""Coded rows down many trees, compiled by Numba."""

from __future__ import annotations

from numba import njit, prange

__all__ = ["add_predictions", "find_leaves"]

BLOCK = 64  # rows that go down one tree before the next is looked at
MISSING = 255


@njit(cache=True, nogil=True)
def _leaf_of(codes, i, first, trees):
    at = first
    while trees.feature[at] >= 0:
        code = codes[i, trees.feature[at]]
        if code == MISSING:
            left = trees.missing_left[at]
        elif trees.category_row[at] >= 0:
            left = (trees.category_set[trees.category_row[at], code >> 3] >> (code & 7)) & 1 == 1
        else:
            left = code <= trees.code[at]
        at = first + (trees.left[at] if left else trees.right[at])
    return at


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
                leaves[i, tree] = _leaf_of(codes, i, first, trees) - first
