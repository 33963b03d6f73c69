"""Coded rows down many trees.

``split`` packs all that a node asks into one integer (:func:`margin.trees.boosting.tree_buffer.packed_trees`).
``category_row`` and ``category_set`` are empty where no node asks about categories.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstByteMatrix,
    ConstIntegers,
    ConstIntegers32,
    ConstVector,
    IntegerMatrix32,
    Integers,
    Matrix,
    inner,
    kernel,
)
from margin.trees.boosting.kernel_types import MISSING
from margin.trees.boosting.tree_buffer import CATEGORY_SHIFT, CODE_SHIFT, FEATURE_SHIFT, LEFT_CHILD, MISSING_SHIFT

__all__ = ["add_predictions", "find_leaves"]


@inner
def _walk_block(
    codes: ConstByteMatrix,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    root: cython.longlong,
    split: ConstIntegers,
    at: Integers,
    walking: Integers,
) -> cython.void:
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, in ``at``.

    As in :mod:`margin.trees.cart.walking_kernels` all rows take one step before any takes the next, and those in a
    leaf drop out.
    """
    still: cython.Py_ssize_t
    left: cython.Py_ssize_t = count
    for k in range(count):
        at[k] = root
        walking[k] = k
    while left > 0:
        still = 0
        for k in range(left):
            i = walking[k]
            node = at[i]
            question = split[node]
            child = question & LEFT_CHILD  # 0 in a leaf
            code: cython.longlong = codes[first + i, question >> FEATURE_SHIFT]
            right: cython.longlong = code > ((question >> CODE_SHIFT) & 255)
            right = 1 - ((question >> MISSING_SHIFT) & 1) if code == MISSING else right
            at[i] = root + child + right if child != 0 else node
            walking[still] = i
            still += child != 0
        left = still


@inner
def _walk_block_of_sets(
    codes: ConstByteMatrix,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    root: cython.longlong,
    split: ConstIntegers,
    category_row: ConstIntegers32,
    category_set: ConstByteMatrix,
    at: Integers,
    walking: Integers,
) -> cython.void:
    """The same where nodes may ask about categories."""
    still: cython.Py_ssize_t
    left: cython.Py_ssize_t = count
    for k in range(count):
        at[k] = root
        walking[k] = k
    while left > 0:
        still = 0
        for k in range(left):
            i = walking[k]
            node = at[i]
            question = split[node]
            child = question & LEFT_CHILD
            code: cython.longlong = codes[first + i, question >> FEATURE_SHIFT]
            right: cython.longlong = code > ((question >> CODE_SHIFT) & 255)
            # Both answers, then the one that was asked for: no branch, which would be guessed wrong too often.
            asked = (question >> CATEGORY_SHIFT) & 1
            byte: cython.longlong = category_set[category_row[node] * asked, code >> 3]
            right = ((byte >> (code & 7)) & 1) ^ 1 if asked else right
            right = 1 - ((question >> MISSING_SHIFT) & 1) if code == MISSING else right
            at[i] = root + child + right if child != 0 else node
            walking[still] = i
            still += child != 0
        left = still


@kernel
def add_predictions(
    codes: ConstByteMatrix,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    start: ConstIntegers,
    split: ConstIntegers,
    category_row: ConstIntegers32,
    category_set: ConstByteMatrix,
    value: ConstVector,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    total: Matrix,
    at: Integers,
    walking: Integers,
) -> cython.void:
    """Add trees ``low`` to ``high`` to ``total`` (outputs, n) for rows ``begin`` to ``end``.

    Tree ``t`` speaks for output ``t % outputs``. ``at`` and ``walking`` are memory for a block of rows.
    """
    block = at.shape[0]
    for part in range((end - begin + block - 1) // block):
        first = begin + part * block
        count = min(end - first, block)
        for tree in range(low, high):
            output = tree % total.shape[0]
            if category_set.shape[0] == 0:
                _walk_block(codes, first, count, start[tree], split, at, walking)
            else:
                _walk_block_of_sets(codes, first, count, start[tree], split, category_row, category_set, at, walking)
            for k in range(count):
                total[output, first + k] += value[at[k]]


@kernel
def find_leaves(
    codes: ConstByteMatrix,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    start: ConstIntegers,
    split: ConstIntegers,
    category_row: ConstIntegers32,
    category_set: ConstByteMatrix,
    leaves: IntegerMatrix32,
    at: Integers,
    walking: Integers,
) -> cython.void:
    """The node in which rows ``begin`` to ``end`` end in every tree, counted from the start of it, into (n, trees)."""
    block = at.shape[0]
    for part in range((end - begin + block - 1) // block):
        first = begin + part * block
        count = min(end - first, block)
        for tree in range(leaves.shape[1]):
            if category_set.shape[0] == 0:
                _walk_block(codes, first, count, start[tree], split, at, walking)
            else:
                _walk_block_of_sets(codes, first, count, start[tree], split, category_row, category_set, at, walking)
            for k in range(count):
                leaves[first + k, tree] = at[k] - start[tree]
