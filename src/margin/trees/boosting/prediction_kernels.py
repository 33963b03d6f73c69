"""Coded rows down many trees, compiled by Numba.

``split`` packs all that a node asks into one integer (:func:`margin.trees.boosting.tree_buffer.packed_trees`).
``category_row`` and ``category_set`` are None where no node asks about categories.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.trees.boosting.kernel_types import MISSING
from margin.trees.boosting.tree_buffer import CATEGORY_SHIFT, CODE_SHIFT, FEATURE_SHIFT, MISSING_SHIFT

__all__ = ["add_predictions", "find_leaves"]

BLOCK = 64  # rows that go down one tree before the next is looked at
LEFT_CHILD = np.uint64(0xFFFFFFFF)
ONE_BYTE, ONE_BIT = np.uint64(0xFF), np.uint64(1)
CODE, MISSES, ASKS_CATEGORY, COLUMN = (
    np.uint64(shift) for shift in (CODE_SHIFT, MISSING_SHIFT, CATEGORY_SHIFT, FEATURE_SHIFT)
)


@inner_kernel
def _leaf_of(codes, i, first, split, category_row, category_set):
    at = np.uint64(first)
    while True:
        question = np.uint64(split[at])
        child = question & LEFT_CHILD
        if child == 0:
            return at
        code = codes[i, question >> COLUMN]
        right = np.uint64(code > ((question >> CODE) & ONE_BYTE))
        if category_set is not None and (question >> ASKS_CATEGORY) & ONE_BIT:
            byte = category_set[category_row[at], code >> 3]
            right = np.uint64(((byte >> (code & 7)) & 1) ^ 1)
        if code == MISSING:
            right = ONE_BIT - ((question >> MISSES) & ONE_BIT)
        at = np.uint64(first) + child + right


@cached_kernel
def add_predictions(codes, begin, end, start, split, category_row, category_set, value, low, high, total):
    """Add trees ``low`` to ``high`` to ``total`` (outputs, n) for rows ``begin`` to ``end``.

    Tree ``t`` speaks for output ``t % outputs``.
    """
    for block in range(begin, end, BLOCK):
        last = min(end, block + BLOCK)
        for tree in range(low, high):
            output = tree % total.shape[0]
            for i in range(block, last):
                total[output, i] += value[_leaf_of(codes, i, start[tree], split, category_row, category_set)]


@cached_kernel
def find_leaves(codes, begin, end, start, split, category_row, category_set, leaves):
    """The node in which rows ``begin`` to ``end`` end in every tree, counted from the start of it, into (n, trees)."""
    for block in range(begin, end, BLOCK):
        last = min(end, block + BLOCK)
        for tree in range(leaves.shape[1]):
            for i in range(block, last):
                leaf = _leaf_of(codes, i, start[tree], split, category_row, category_set)
                leaves[i, tree] = np.int64(leaf) - start[tree]
