"""Walking many rows down many trees by one comparison of integers per step.

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

import cython

from margin.core.kernel_source import (
    ByteMatrix,
    ConstBytes,
    ConstIntegerMatrix,
    ConstIntegers,
    ConstIntegers32,
    ConstMatrix,
    IntegerMatrix,
    IntegerMatrix32,
    Integers,
    Matrix,
    inner,
    kernel,
)
from margin.trees.cart.keyed_trees import MAX_CODE

__all__ = ["pack_nodes", "walk_keyed"]

GREATEST = 2**63 - 1
INFINITE_BITS = 0x7FF0000000000000  # of an infinite float; those of NaN are above, the sign aside
FITTING = 2 ** (MAX_CODE + 1) - 1
SLOT, PLACE = 32, 0xFFFFFFFF  # the slot is shifted, the child's place below it
STEPS = 3  # between two looks at who is in a leaf
ConstWords = cython.const[cython.ulonglong][::1]
ConstWordMatrix = cython.const[cython.ulonglong][:, ::1]
Words = cython.ulonglong[::1]
SlotNumbers = cython.int[:, :, ::1]


@inner
def _order_key(bits: cython.longlong) -> cython.longlong:
    """The order key of the float that has these ``bits``."""
    if bits == -GREATEST - 1:  # -0.0 equals 0.0
        return 0
    return bits ^ ((bits >> 63) & GREATEST)


@kernel
def pack_nodes(
    start: ConstIntegers,
    feature: ConstIntegers32,
    threshold_bits: ConstIntegers,
    left: ConstIntegers32,
    missing_left: ConstBytes,
    category_row: ConstIntegers32,
    set_start: ConstIntegers,
    sets: ConstWordMatrix,
    may_miss: ConstBytes,
    slot_of: SlotNumbers,
    slots: IntegerMatrix,
    nodes: Integers,
) -> cython.Py_ssize_t:
    """Fill ``nodes`` (2 per node) and ``slots`` (column, about a set, key of a missing value); the number of slots.

    The trees lie one after another from ``start``, their ``sets``, four words each, from ``set_start``; of these the
    categories up to :data:`MAX_CODE` are taken. ``slot_of`` (p, 2, 2) begins as zeros.
    """
    used: cython.int = 1
    slot: cython.int
    asks_set: cython.bint
    missing_right: cython.bint
    for tree in range(start.shape[0] - 1):
        root = start[tree]
        for i in range(root, start[tree + 1]):
            column = feature[i]
            if column < 0:
                nodes[2 * i] = i
                nodes[2 * i + 1] = 2 * i
                continue
            asks_set = category_row[i] >= 0
            if asks_set:
                inside = cython.cast(cython.longlong, sets[set_start[tree] + category_row[i], 0] & FITTING)
                nodes[2 * i] = FITTING - inside
            else:
                nodes[2 * i] = _order_key(threshold_bits[i])
            missing_right = may_miss[column] and not missing_left[i]
            slot = slot_of[column, asks_set, missing_right]
            if slot == 0:
                slot = used
                slot_of[column, asks_set, missing_right] = slot
                slots[slot, 0] = column
                slots[slot, 1] = asks_set
                slots[slot, 2] = GREATEST if missing_right else -GREATEST - 1
                used += 1
            nodes[2 * i + 1] = 2 * (root + left[i]) | cython.cast(cython.longlong, slot) << SLOT
    return used


@inner
def _key_rows(
    X: ConstMatrix,
    bits: ConstIntegerMatrix,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    slots: ConstIntegerMatrix,
    keys: IntegerMatrix,
    shifts: ByteMatrix | None,
) -> cython.void:
    """The keys (and shifts, if there are any) of ``count`` rows from ``first``."""
    for i in range(count):
        keys[i, 0] = -GREATEST - 1
        for slot in range(1, slots.shape[0]):
            own = bits[first + i, slots[slot, 0]]
            keys[i, slot] = slots[slot, 2] if own & GREATEST > INFINITE_BITS else _order_key(own)
    if shifts is None:
        return
    for i in range(count):
        shifts[i, 0] = 0
        for slot in range(1, slots.shape[0]):
            x = X[first + i, slots[slot, 0]]
            shifts[i, slot] = 0
            if slots[slot, 1] != 0 and x == x:
                shifts[i, slot] = (63 - cython.cast(cython.longlong, x)) & 63
                keys[i, slot] = 0


@inner
def _walk_plain(
    keys: ConstIntegerMatrix,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    root: cython.ulonglong,
    nodes: ConstIntegers,
    at: Words,
    walking: Words,
    ends: Integers,
) -> cython.void:
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, whose numbers go to ``ends``."""
    left: cython.Py_ssize_t = count
    still: cython.Py_ssize_t
    child: cython.ulonglong
    for k in range(count):
        at[k] = root
        walking[k] = first + k
    while left > 0:
        for _ in range(STEPS):
            for k in range(left):
                word = cython.cast(cython.ulonglong, nodes[at[k] + 1])
                at[k] = (word & PLACE) + ((nodes[at[k]] < keys[walking[k], word >> SLOT]) << 1)
        still = 0
        for k in range(left):
            row, node = walking[k], at[k]
            word = cython.cast(cython.ulonglong, nodes[node + 1])
            child = (word & PLACE) + ((nodes[node] < keys[row, word >> SLOT]) << 1)
            ends[row] = nodes[node]  # the last one written is the leaf's
            at[still] = child
            walking[still] = row
            still += child != node
        left = still


@inner
def _walk_shifted(
    keys: ConstIntegerMatrix,
    shifts: ByteMatrix | None,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    root: cython.ulonglong,
    nodes: ConstIntegers,
    at: Words,
    walking: Words,
    ends: Integers,
) -> cython.void:
    """:func:`_walk_plain` where some questions are about sets of categories."""
    left: cython.Py_ssize_t = count
    still: cython.Py_ssize_t
    child: cython.ulonglong
    for k in range(count):
        at[k] = root
        walking[k] = first + k
    while left > 0:
        still = 0
        for k in range(left):
            row, node = walking[k], at[k]
            word = cython.cast(cython.ulonglong, nodes[node + 1])
            slot = word >> SLOT
            child = (word & PLACE) + (((nodes[node] << shifts[row, slot]) < keys[row, slot]) << 1)
            ends[row] = nodes[node]
            at[still] = child
            walking[still] = row
            still += child != node
        left = still


@kernel
def walk_keyed(
    X: ConstMatrix,
    bits: ConstIntegerMatrix,
    slots: ConstIntegerMatrix,
    roots: ConstWords,
    nodes: ConstIntegers,
    keys: IntegerMatrix,
    shifts: ByteMatrix | None,
    at: Words,
    walking: Words,
    ends: Integers,
    leaves: IntegerMatrix32,
    value: ConstMatrix,
    total: Matrix,
) -> cython.void:
    """The leaf of every row in every tree, counted from its root, into ``leaves`` (n, trees); if that has no columns,
    add the leaf's value to ``total`` (n, outputs), the trees in their order. ``bits`` are those of ``X``."""
    first: cython.Py_ssize_t = 0
    block: cython.Py_ssize_t
    while first < X.shape[0]:
        count = min(X.shape[0] - first, keys.shape[0])
        _key_rows(X, bits, first, count, slots, keys, shifts)
        for tree in range(roots.shape[0]):
            root = roots[tree]
            block = 0
            while block < count:
                together = min(count - block, at.shape[0])
                if shifts is None:
                    _walk_plain(keys, block, together, root, nodes, at, walking, ends)
                else:
                    _walk_shifted(keys, shifts, block, together, root, nodes, at, walking, ends)
                block += together
            if leaves.shape[1] > 0:
                for k in range(count):
                    leaves[first + k, tree] = ends[k] - cython.cast(cython.longlong, root >> 1)
            else:
                for k in range(count):
                    for output in range(value.shape[1]):
                        total[first + k, output] += value[ends[k], output]
        first += count
