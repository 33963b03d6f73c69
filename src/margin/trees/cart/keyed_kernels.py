"""Walking many rows down many trees by one comparison of integers per step, compiled by Numba.

Every value of a row becomes a key and a shift once, before the walk, so that all questions are the same one: a row goes
right if ``(question << shift) < key``.

=====================  ===============================  ==================================  =========
asked about            ``question`` of the node         ``key`` of the row                  ``shift``
=====================  ===============================  ==================================  =========
a threshold            its order key                    the order key of x                  0
a set of categories    bit c says that c goes right     0, so that bit c, as the sign, is   63 - c
                                                        what decides
anything, x missing    does not matter                  the greatest integer where missing  0
                                                        goes right, the least where left
nothing: a leaf        its own number                   the least, in slot 0                0
=====================  ===============================  ==================================  =========

The order key of a float is an integer: keys are ordered as floats are. A slot is what a row holds for all nodes that
ask the same way about the same column. A node is two integers of eight bytes side by side, so that one access to memory
brings all of it: the question, and the place of the first child with the slot above it. The second child follows the
first, and a leaf is its own child.

The rows of a block take one step each before any takes the next: their steps do not depend on each other, so the
processor waits for many nodes at once. Those in a leaf stay there, and drop out at every fourth step.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.trees.cart.keyed_trees import MAX_CODE

__all__ = ["pack_nodes", "walk_keyed"]

LEAST, GREATEST = np.int64(-(2**63)), np.int64(2**63 - 1)
FITTING = np.int64(2 ** (MAX_CODE + 1) - 1)
SIGN = np.int64(63)
SLOT, CHILD, ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)  # the slot is shifted, the child below it
STEPS = 3  # between two looks at who is in a leaf


@inner_kernel
def _order_key(x):
    bits = np.float64(x + 0.0).view(np.int64)  # -0.0 becomes 0.0, which it equals
    return bits ^ ((bits >> SIGN) & GREATEST)


@cached_kernel
def pack_nodes(
    start, feature, threshold, left, missing_left, category_row, set_start, sets, may_miss, slot_of, slots, nodes
):
    """Fill ``nodes`` (2 per node) and ``slots`` (column, about a set, key of a missing value); the number of slots.

    The trees lie one after another from ``start``, their ``sets``, four words each, from ``set_start``; of these the
    categories up to :data:`MAX_CODE` are taken. ``slot_of`` (p, 2, 2) begins as zeros.
    """
    used = 1
    for tree in range(start.size - 1):
        root = start[tree]
        for i in range(root, start[tree + 1]):
            column = feature[i]
            if column < 0:
                nodes[2 * i], nodes[2 * i + 1] = i, 2 * i
                continue
            asks_set = category_row[i] >= 0
            if asks_set:
                row = set_start[tree] + category_row[i]
                nodes[2 * i] = ~np.int64(sets[row, 0]) & FITTING
            else:
                nodes[2 * i] = _order_key(threshold[i])
            missing_right = may_miss[column] and not missing_left[i]
            slot = slot_of[column, np.int64(asks_set), np.int64(missing_right)]
            if slot == 0:
                slot = used
                slot_of[column, np.int64(asks_set), np.int64(missing_right)] = slot
                slots[slot, 0], slots[slot, 1] = column, asks_set
                slots[slot, 2] = GREATEST if missing_right else LEAST
                used += 1
            nodes[2 * i + 1] = 2 * (root + left[i]) | np.int64(slot) << np.int64(SLOT)
    return used


@inner_kernel
def _key_rows(X, first, count, slots, keys, shifts):
    """The keys (and shifts, if there are any) of ``count`` rows from ``first``."""
    for i in range(count):
        keys[i, 0] = LEAST
        if shifts is not None:
            shifts[i, 0] = 0
        for slot in range(1, slots.shape[0]):
            x = X[first + i, slots[slot, 0]]
            missing = x != x
            key = _order_key(x)
            if shifts is not None:
                asks_set = slots[slot, 1] != 0 and not missing
                shifts[i, slot] = (SIGN - np.int64(x)) & SIGN if asks_set else np.int64(0)
                key = np.int64(0) if asks_set else key
            keys[i, slot] = slots[slot, 2] if missing else key


@inner_kernel
def _next_node(keys, shifts, row, node, nodes):
    word = np.uint64(nodes[node + ONE])
    slot = word >> SLOT
    question = nodes[node]
    if shifts is not None:
        question = question << np.int64(shifts[row, slot])
    return (word & CHILD) + (np.uint64(question < keys[row, slot]) << ONE)


@inner_kernel
def _walk_block(keys, shifts, first, count, root, nodes, at, walking, ends):
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, whose numbers go to ``ends``."""
    for k in range(count):
        at[k] = root
        walking[k] = np.uint64(first + k)
    left = count
    while left > 0:
        for _ in range(STEPS):
            for k in range(left):
                at[k] = _next_node(keys, shifts, walking[k], at[k], nodes)
        still = np.uint64(0)
        for k in range(left):
            row, node = walking[k], at[k]
            child = _next_node(keys, shifts, row, node, nodes)
            ends[row] = nodes[node]  # the last one written is the leaf's
            at[still] = child
            walking[still] = row
            still += np.uint64(child != node)
        left = np.int64(still)


@cached_kernel
def walk_keyed(X, slots, roots, nodes, keys, shifts, at, walking, ends, leaves, value, total):
    """The leaf of every row in every tree, counted from its root, into ``leaves`` (n, trees); if that has no columns,
    add the leaf's value to ``total`` (n, outputs), the trees in their order."""
    for first in range(0, X.shape[0], keys.shape[0]):
        count = min(X.shape[0] - first, keys.shape[0])
        _key_rows(X, first, count, slots, keys, shifts)
        for tree in range(roots.size):
            root = roots[tree]
            for block in range(0, count, at.size):
                _walk_block(keys, shifts, block, min(count - block, at.size), root, nodes, at, walking, ends)
            if leaves.shape[1] > 0:
                for k in range(count):
                    leaves[first + k, tree] = ends[k] - np.int64(root >> ONE)
            else:
                for k in range(count):
                    for output in range(value.shape[1]):
                        total[first + k, output] += value[np.uint64(ends[k]), output]
