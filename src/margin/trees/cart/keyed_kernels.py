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
    Bytes,
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
ConstWordMatrix = cython.const[cython.ulonglong][:, ::1]
Places = cython.ulonglong[::1]
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
    asks_set: cython.Py_ssize_t
    missing_right: cython.Py_ssize_t
    for tree in range(start.shape[0] - 1):
        root = start[tree]
        for i in range(root, start[tree + 1]):
            column = feature[i]
            if column < 0:
                nodes[2 * i] = i
                nodes[2 * i + 1] = 2 * i
                continue
            asks_set = 1 if category_row[i] >= 0 else 0
            if asks_set == 1:
                inside = cython.cast(cython.longlong, sets[set_start[tree] + category_row[i], 0] & FITTING)
                nodes[2 * i] = FITTING - inside
            else:
                nodes[2 * i] = _order_key(threshold_bits[i])
            missing_right = 1 if may_miss[column] and not missing_left[i] else 0
            slot = slot_of[column, asks_set, missing_right]
            if slot == 0:
                slot = used
                slot_of[column, asks_set, missing_right] = slot
                slots[slot, 0] = column
                slots[slot, 1] = asks_set
                slots[slot, 2] = GREATEST if missing_right == 1 else -GREATEST - 1
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
    keys: Integers,
    shifts: Bytes | None,
) -> cython.void:
    """The keys (and shifts, if there are any) of ``count`` rows from ``first``; a key more per row is left free."""
    width = slots.shape[0] + 1
    for i in range(count):
        keys[i * width] = -GREATEST - 1
        for slot in range(1, width - 1):
            own = bits[first + i, slots[slot, 0]]
            keys[i * width + slot] = slots[slot, 2] if own & GREATEST > INFINITE_BITS else _order_key(own)
    if shifts is None:
        return
    for entry in range(count * width):
        shifts[entry] = 0
    for slot in range(1, width - 1):
        if slots[slot, 1] != 0:
            for i in range(count):
                x = X[first + i, slots[slot, 0]]
                if x == x:
                    shifts[i * width + slot] = (63 - cython.cast(cython.longlong, x)) & 63
                    keys[i * width + slot] = 0


@inner
def _next_place(
    nodes: ConstIntegers, keys: ConstIntegers, at: cython.ulonglong, begin: cython.ulonglong
) -> cython.ulonglong:
    """Where a row whose keys are from ``begin`` goes from the node at ``at``."""
    word = cython.cast(cython.ulonglong, nodes[at + 1])
    return (word & PLACE) + 2 * (nodes[at] < keys[begin + (word >> SLOT)])


@inner
def _next_place_shifted(
    nodes: ConstIntegers, keys: ConstIntegers, shifts: ConstBytes, at: cython.ulonglong, begin: cython.ulonglong
) -> cython.ulonglong:
    """:func:`_next_place` where some questions are about sets of categories."""
    word = cython.cast(cython.ulonglong, nodes[at + 1])
    entry = begin + (word >> SLOT)
    return (word & PLACE) + 2 * ((nodes[at] << shifts[entry]) < keys[entry])


@inner
def _walk_keys(
    keys: Integers,
    shifts: ConstBytes | None,
    width: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    root: cython.ulonglong,
    nodes: ConstIntegers,
    at: Places,
    begins: Places,
) -> cython.void:
    """Bring rows ``first`` to ``first + count`` from ``root`` to their leaves, whose numbers become their last keys.

    ``keys`` and ``shifts`` hold ``width`` entries per row; those of the rows that still walk are from ``begins`` on.
    """
    left: cython.Py_ssize_t = count
    still: cython.Py_ssize_t
    k: cython.Py_ssize_t
    child: cython.ulonglong
    for i in range(count):
        at[i] = root
        begins[i] = (first + i) * width
    while left > 0:
        for _ in range(STEPS):
            k = 0
            if shifts is None:
                while k + 4 <= left:  # four at a time, or too much of the time goes into counting
                    at[k] = _next_place(nodes, keys, at[k], begins[k])
                    at[k + 1] = _next_place(nodes, keys, at[k + 1], begins[k + 1])
                    at[k + 2] = _next_place(nodes, keys, at[k + 2], begins[k + 2])
                    at[k + 3] = _next_place(nodes, keys, at[k + 3], begins[k + 3])
                    k += 4
                while k < left:
                    at[k] = _next_place(nodes, keys, at[k], begins[k])
                    k += 1
            else:
                while k < left:
                    at[k] = _next_place_shifted(nodes, keys, shifts, at[k], begins[k])
                    k += 1
        still = 0
        for i in range(left):
            node = at[i]
            begin = begins[i]
            if shifts is None:
                child = _next_place(nodes, keys, node, begin)
            else:
                child = _next_place_shifted(nodes, keys, shifts, node, begin)
            keys[begin + width - 1] = nodes[node]  # the last one written is the leaf's
            at[still] = child
            begins[still] = begin
            still += child != node
        left = still


@kernel
def walk_keyed(
    X: ConstMatrix,
    bits: ConstIntegerMatrix,
    slots: ConstIntegerMatrix,
    roots: ConstIntegers,
    nodes: ConstIntegers,
    keys: Integers,
    shifts: Bytes | None,
    at: Places,
    begins: Places,
    leaves: IntegerMatrix32,
    value: ConstMatrix,
    total: Matrix,
) -> cython.void:
    """The leaf of every row in every tree, counted from its root, into ``leaves`` (n, trees); if that has no columns,
    add the leaf's value to ``total`` (n, outputs), the trees in their order. ``bits`` are those of ``X``.

    ``keys`` (and ``shifts``) have room for the rows that pass all trees before the next do, with one entry per slot and
    one more for each; ``at`` and ``begins`` for the rows that step together.
    """
    first: cython.Py_ssize_t = 0
    block: cython.Py_ssize_t
    width = slots.shape[0] + 1
    while first < X.shape[0]:
        count = min(X.shape[0] - first, keys.shape[0] // width)
        _key_rows(X, bits, first, count, slots, keys, shifts)
        for tree in range(roots.shape[0]):
            root = roots[tree]
            block = 0
            while block < count:
                together = min(count - block, at.shape[0])
                _walk_keys(keys, shifts, width, block, together, 2 * root, nodes, at, begins)
                block += together
            if leaves.shape[1] > 0:
                for k in range(count):
                    leaves[first + k, tree] = keys[(k + 1) * width - 1] - root
            else:
                for k in range(count):
                    end = keys[(k + 1) * width - 1]
                    for output in range(value.shape[1]):
                        total[first + k, output] += value[end, output]
        first += count
