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

LEFT_CHILD = np.uint64(0xFFFFFFFF)
ONE_BYTE, ONE_BIT = np.uint64(0xFF), np.uint64(1)
CODE, MISSES, ASKS_CATEGORY, COLUMN = (
    np.uint64(shift) for shift in (CODE_SHIFT, MISSING_SHIFT, CATEGORY_SHIFT, FEATURE_SHIFT)
)


@inner_kernel
def _walk_block(codes, first, count, root, split, category_row, category_set, at, walking):
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, in ``at``.

    As in :mod:`margin.trees.cart.walking_kernels` all rows take one step before any takes the next, and those in a
    leaf drop out.
    """
    for k in range(count):
        at[k] = root
        walking[k] = k
    left = count
    while left > 0:
        still = 0
        for k in range(left):
            i = np.uint64(walking[k])
            node = at[i]
            question = np.uint64(split[node])
            child = question & LEFT_CHILD  # 0 in a leaf
            code = codes[np.uint64(first) + i, question >> COLUMN]
            right = np.uint64(code > ((question >> CODE) & ONE_BYTE))
            if category_set is not None:
                # Both answers, then the one that was asked for: no branch, which would be guessed wrong too often.
                asked = (question >> ASKS_CATEGORY) & ONE_BIT
                byte = category_set[np.uint64(category_row[node]) * asked, code >> 3]
                right = np.uint64(((byte >> (code & 7)) & 1) ^ 1) if asked else right
            right = ONE_BIT - ((question >> MISSES) & ONE_BIT) if code == MISSING else right
            at[i] = np.uint64(root) + child + right if child != 0 else node
            walking[np.uint64(still)] = i
            still += child != 0
        left = still


@cached_kernel
def add_predictions(codes, begin, end, start, split, category_row, category_set, value, low, high, total, at, walking):
    """Add trees ``low`` to ``high`` to ``total`` (outputs, n) for rows ``begin`` to ``end``.

    Tree ``t`` speaks for output ``t % outputs``. ``at`` and ``walking`` are memory for a block of rows.
    """
    for first in range(begin, end, at.size):
        count = min(end - first, at.size)
        for tree in range(low, high):
            output = tree % total.shape[0]
            _walk_block(codes, first, count, start[tree], split, category_row, category_set, at, walking)
            for k in range(count):
                total[output, first + k] += value[at[k]]


@cached_kernel
def find_leaves(codes, begin, end, start, split, category_row, category_set, leaves, at, walking):
    """The node in which rows ``begin`` to ``end`` end in every tree, counted from the start of it, into (n, trees)."""
    for first in range(begin, end, at.size):
        count = min(end - first, at.size)
        for tree in range(leaves.shape[1]):
            _walk_block(codes, first, count, start[tree], split, category_row, category_set, at, walking)
            for k in range(count):
                leaves[first + k, tree] = np.int64(at[k]) - start[tree]
