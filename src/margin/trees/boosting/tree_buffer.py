"""The trees of an ensemble one after the other in flat arrays that grow: one dict of arrays whatever their number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.trees.cart.structure import TreeArrays

__all__ = ["NO_SETS", "PackedTrees", "TreeBuffer", "packed_trees", "tree_at"]

# What is stored per node, as in :mod:`margin.trees.cart.structure`; children count from the start of their tree.
STORED_NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("value", np.float64),
        ("gain", np.float64),
        ("weight", np.float64),
        ("n_samples", np.int64),
        ("feature", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("category_row", np.int32),
        ("code", np.uint8),
        ("missing_left", np.bool_),
    ],
    align=True,
)

NO_SETS = np.zeros((0, 32), dtype=np.uint8)  # no question about categories

# Where the parts of a node's question lie in an integer of PackedTrees.
CODE_SHIFT, MISSING_SHIFT, CATEGORY_SHIFT, FEATURE_SHIFT = 32, 40, 41, 42
LEFT_CHILD = 2**CODE_SHIFT - 1

NO_ROWS = np.zeros(0, dtype=np.int32)


class PackedTrees(NamedTuple):
    """Trees as the compiled prediction reads them.

    ``split`` holds all of a node's question: the left child in the lowest 32 bits (0 in a leaf: the root is nobody's
    child), then the last code that goes left (8 bits), whether missing values go left, whether the question is about
    categories, and the column. The right child follows the left one.
    """

    start: np.ndarray  # (trees + 1,) int64
    split: np.ndarray  # (nodes,) int64
    category_row: np.ndarray  # int32, row of category_set, -1 for a threshold; empty if no node asks about categories
    category_set: np.ndarray  # (questions about categories, 32) uint8
    value: np.ndarray  # (nodes,) float64


class TreeBuffer:
    """Buffers of twice the needed size, so that adding a tree costs no more than its nodes."""

    def __init__(self, trees: dict[str, np.ndarray] | None = None):
        self.n_trees, self.n_nodes, self.n_sets = 0, 0, 0
        self.start = np.zeros(16, dtype=np.int64)
        self.nodes = np.zeros(256, dtype=STORED_NODE)
        self.category_sets = NO_SETS
        if trees is not None:
            nodes = np.zeros(len(trees["feature"]), dtype=STORED_NODE)
            for name in STORED_NODE.names or ():
                nodes[name] = trees[name]
            self._append(nodes, trees["category_set"], trees["start"][1:])

    def append(self, nodes: np.ndarray, category_sets: np.ndarray) -> None:
        """Add one tree: its records, whose ``category_row`` counts rows of its own ``category_sets``."""
        rows = nodes["category_row"]
        if len(category_sets):
            rows[rows >= 0] += self.n_sets
        self._append(nodes, category_sets, np.array([self.n_nodes + len(nodes)]))

    def reserve(self, nodes: int, sets: int) -> tuple[np.ndarray, np.ndarray]:
        """Records and category sets with room for so many more; what is written there counts by ``accept``."""
        self.nodes = _with_room(self.nodes, self.n_nodes, self.n_nodes + nodes)
        self.category_sets = _with_room(self.category_sets, self.n_sets, self.n_sets + sets)
        return self.nodes, self.category_sets

    def accept(self, stops: np.ndarray, n_sets: int) -> None:
        """Take the trees written to what :meth:`reserve` gave, which end at ``stops``; their sets end at ``n_sets``."""
        self.start = _extend(self.start, self.n_trees + 1, stops)
        self.n_trees += len(stops)
        self.n_nodes, self.n_sets = int(stops[-1]), int(n_sets)

    def _append(self, nodes: np.ndarray, category_sets: np.ndarray, stops: np.ndarray) -> None:
        self.nodes = _extend(self.nodes, self.n_nodes, nodes)
        if len(category_sets):
            self.category_sets = _extend(self.category_sets, self.n_sets, category_sets)
        self.start = _extend(self.start, self.n_trees + 1, stops)
        self.n_trees += len(stops)
        self.n_nodes += len(nodes)
        self.n_sets += len(category_sets)

    def view(self) -> dict[str, np.ndarray]:
        """What has been added so far, without a copy; later trees do not change it."""
        return self._fields(self.start[: self.n_trees + 1], self.nodes[: self.n_nodes])

    def between(self, low: int, high: int) -> dict[str, np.ndarray]:
        """Trees ``low`` to ``high``, counted from ``low``, without a copy."""
        start = self.start[low : high + 1]
        return self._fields(start - start[0], self.nodes[start[0] : start[-1]])

    def _fields(self, start: np.ndarray, nodes: np.ndarray) -> dict[str, np.ndarray]:
        fields = {name: nodes[name] for name in STORED_NODE.names or ()}
        return {"start": start, **fields, "category_set": self.category_sets[: self.n_sets]}


def packed_trees(trees: dict[str, np.ndarray]) -> PackedTrees:
    """Trees of a buffer in the form that the compiled prediction reads."""
    inner = trees["feature"] >= 0
    split = np.where(inner, trees["left"], 0).astype(np.int64)
    split |= trees["code"].astype(np.int64) << CODE_SHIFT
    split |= trees["missing_left"].astype(np.int64) << MISSING_SHIFT
    split |= (trees["category_row"] >= 0).astype(np.int64) << CATEGORY_SHIFT
    split |= np.where(inner, trees["feature"], 0).astype(np.int64) << FEATURE_SHIFT
    row, category_set = NO_ROWS, NO_SETS
    if len(trees["category_set"]):
        row, category_set = np.ascontiguousarray(trees["category_row"]), np.ascontiguousarray(trees["category_set"])
    return PackedTrees(trees["start"], split, row, category_set, np.ascontiguousarray(trees["value"]))


def tree_at(trees: dict[str, np.ndarray], number: int) -> TreeArrays:
    """Tree ``number`` in the form of :mod:`margin.trees.cart.structure`."""
    nodes = slice(trees["start"][number], trees["start"][number + 1])
    tree = {name: trees[name][nodes].copy() for name in STORED_NODE.names or ()}
    by_category = tree["category_row"] >= 0
    first = int(tree["category_row"][by_category].min()) if by_category.any() else 0
    tree["category_row"][by_category] -= first
    sets = trees["category_set"][first : first + int(by_category.sum())].copy()
    return tree | {"value": tree["value"][:, None], "category_set": sets}


def _extend(buffer: np.ndarray, used: int, more: np.ndarray) -> np.ndarray:
    """``buffer`` with ``more`` written after the ``used`` first elements; a larger one if it was full."""
    buffer = _with_room(buffer, used, used + len(more))
    buffer[used : used + len(more)] = more
    return buffer


def _with_room(buffer: np.ndarray, used: int, needed: int) -> np.ndarray:
    if needed <= len(buffer):
        return buffer
    larger = np.zeros((max(2 * len(buffer), needed), *buffer.shape[1:]), dtype=buffer.dtype)
    larger[:used] = buffer[:used]
    return larger
