"""Trees in the form of :mod:`margin.trees.cart.keyed_kernels`, made for one table and then forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from margin.trees.cart.structure import TreeArrays

__all__ = ["KeyedTrees", "keyed_trees", "walk_rows"]

MAX_CODE = 61  # the largest category whose bit fits: the sign is free, and no set is the greatest integer
KEY_BYTES = 1 << 18  # of the rows that pass all trees before the next ones do: they stay in the second-level cache
BLOCK = 128  # rows that step together: enough to wait for, few enough that they stay in the first cache
ASKED = ("feature", "threshold", "left", "missing_left", "category_row")
NO_LEAVES, NO_VALUES = np.zeros((0, 0), dtype=np.int32), np.zeros((0, 0))


class KeyedTrees(NamedTuple):
    """What a row holds in every slot, where the trees begin, and their nodes."""

    slots: np.ndarray  # (slots, 3) int64: column, whether it is asked for a set of categories, key of a missing value
    roots: np.ndarray  # int64: the first node of every tree
    nodes: np.ndarray  # int64, two per node


def keyed_trees(trees: Sequence[TreeArrays], X: np.ndarray) -> KeyedTrees | None:
    """``trees`` for the rows of ``X``; None if these have a category beyond :data:`MAX_CODE`, which no key can hold."""
    from margin.compiled.cart import pack_nodes

    start, set_start = _starts(trees, "feature"), _starts(trees, "category_set")
    p, count = X.shape[1], int(start[-1])
    slots, nodes = np.empty((1 + min(4 * p, count), 3), dtype=np.int64), np.empty(2 * count, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        may_miss = ~np.isfinite(X.sum(axis=0))
    together = {name: np.concatenate([tree[name] for tree in trees]) for name in ASKED}
    used = pack_nodes(
        start,
        together["feature"],
        together["threshold"].view(np.int64),
        together["left"],
        together["missing_left"].view(np.uint8),
        together["category_row"],
        set_start,
        np.concatenate([tree["category_set"] for tree in trees]).view(np.uint64),
        may_miss.view(np.uint8),
        np.zeros((p, 2, 2), dtype=np.int32),
        slots,
        nodes,
    )
    slots = slots[:used]
    if _largest_code(X, slots) > MAX_CODE:
        return None
    return KeyedTrees(slots, start[:-1], nodes)


def walk_rows(
    trees: KeyedTrees,
    X: np.ndarray,
    leaves: np.ndarray = NO_LEAVES,
    value: np.ndarray = NO_VALUES,
    total: np.ndarray = NO_VALUES,
) -> None:
    """Write the leaves (n, trees) of rows, or add the values of all nodes at their leaves to ``total`` (n, outputs)."""
    from margin.compiled.cart import walk_keyed

    width = len(trees.slots) + 1
    rows = min(max(BLOCK, KEY_BYTES // (8 * width)), len(X))
    keys = np.empty(rows * width, dtype=np.int64)
    shifts = np.empty(rows * width, dtype=np.uint8) if trees.slots[1:, 1].any() else None
    at, begins = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint64)
    table = X, X.view(np.int64)
    walk_keyed(*table, trees.slots, trees.roots, trees.nodes, keys, shifts, at, begins, leaves, value, total)


def _largest_code(X: np.ndarray, slots: np.ndarray) -> float:
    """The largest category in columns that are asked for one."""
    columns = np.unique(slots[1:, 0][slots[1:, 1] == 1])
    return float(max((np.fmax.reduce(X[:, j], initial=0.0) for j in columns), default=0.0))


def _starts(trees: Sequence[TreeArrays], name: str) -> np.ndarray:
    """Where the rows of every tree begin when its arrays stand one after another, and where the last end."""
    return np.cumsum([0] + [len(tree[name]) for tree in trees])
