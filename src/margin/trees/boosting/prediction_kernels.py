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
    IntegerMatrix,
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
    asked: Integers,
) -> cython.void:
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, in ``at``.

    As in :mod:`margin.trees.cart.walking_kernels` all rows take one step before any takes the next, and those in a
    leaf drop out. ``walking`` are the others, ``asked`` the questions of their nodes.
    """
    still: cython.Py_ssize_t
    question: cython.longlong
    code: cython.longlong
    right: cython.longlong
    left: cython.Py_ssize_t = _begin_walk(count, root, split, at, walking, asked)
    while left > 0:
        still = 0
        for k in range(left):
            i = walking[k]
            question = asked[k]
            code = codes[first + i, question >> FEATURE_SHIFT]
            missing_left = (question >> MISSING_SHIFT) & 1
            # No branch, which would be guessed wrong too often: where missing values go left, codes are compared one
            # higher, so that theirs is the lowest.
            right = ((code + missing_left) & 255) > ((question >> CODE_SHIFT) & 255) + missing_left
            node = root + (question & LEFT_CHILD) + right
            question = split[node]
            at[i] = node
            walking[still] = i
            asked[still] = question
            still += (question & LEFT_CHILD) != 0  # 0 in a leaf
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
    asked: Integers,
) -> cython.void:
    """The same where nodes may ask about categories: both answers, then the one that was asked for."""
    still: cython.Py_ssize_t
    question: cython.longlong
    code: cython.longlong
    right: cython.longlong
    known: cython.longlong
    byte: cython.longlong
    left: cython.Py_ssize_t = _begin_walk(count, root, split, at, walking, asked)
    while left > 0:
        still = 0
        for k in range(left):
            i = walking[k]
            question = asked[k]
            code = codes[first + i, question >> FEATURE_SHIFT]
            missing_left = (question >> MISSING_SHIFT) & 1
            right = ((code + missing_left) & 255) > ((question >> CODE_SHIFT) & 255) + missing_left
            known = code != MISSING
            by_set = (question >> CATEGORY_SHIFT) & 1
            byte = category_set[category_row[at[i]] * by_set, code >> 3]
            right ^= (right ^ 1 ^ (byte >> (code & 7))) & by_set & known
            node = root + (question & LEFT_CHILD) + right
            question = split[node]
            at[i] = node
            walking[still] = i
            asked[still] = question
            still += (question & LEFT_CHILD) != 0
        left = still


@inner
def _begin_walk(
    count: cython.Py_ssize_t,
    root: cython.longlong,
    split: ConstIntegers,
    at: Integers,
    walking: Integers,
    asked: Integers,
) -> cython.Py_ssize_t:
    """All rows at the root; returns how many walk on: none if it is a leaf."""
    question = split[root]
    for k in range(count):
        at[k] = root
        walking[k] = k
        asked[k] = question
    return count if question & LEFT_CHILD != 0 else 0


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
    memory: IntegerMatrix,
) -> cython.void:
    """Add trees ``low`` to ``high`` to ``total`` (outputs, n) for rows ``begin`` to ``end``.

    Tree ``t`` speaks for output ``t % outputs``. ``memory`` (3, rows) is for a block of rows.
    """
    at: Integers = memory[0]
    walking: Integers = memory[1]
    asked: Integers = memory[2]
    block = memory.shape[1]
    for part in range((end - begin + block - 1) // block):
        first = begin + part * block
        count = min(end - first, block)
        for tree in range(low, high):
            output = tree % total.shape[0]
            if category_set.shape[0] == 0:
                _walk_block(codes, first, count, start[tree], split, at, walking, asked)
            else:
                _walk_block_of_sets(
                    codes, first, count, start[tree], split, category_row, category_set, at, walking, asked
                )
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
    memory: IntegerMatrix,
) -> cython.void:
    """The node in which rows ``begin`` to ``end`` end in every tree, counted from the start of it, into (n, trees)."""
    at: Integers = memory[0]
    walking: Integers = memory[1]
    asked: Integers = memory[2]
    block = memory.shape[1]
    for part in range((end - begin + block - 1) // block):
        first = begin + part * block
        count = min(end - first, block)
        for tree in range(leaves.shape[1]):
            if category_set.shape[0] == 0:
                _walk_block(codes, first, count, start[tree], split, at, walking, asked)
            else:
                _walk_block_of_sets(
                    codes, first, count, start[tree], split, category_row, category_set, at, walking, asked
                )
            for k in range(count):
                leaves[first + k, tree] = at[k] - start[tree]
