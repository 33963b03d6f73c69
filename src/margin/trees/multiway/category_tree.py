"""A tree whose nodes may have many branches, as a dict of flat arrays, and pure functions of it.

Node 0 is the root. Nodes are numbered level by level, so a node's children stand together, after all children of
nodes before it.

================  ====================================================================================
``feature``       column asked about, int32; -1 in a leaf
``threshold``     ``x <= threshold`` is branch 0, ``x > threshold`` branch 1; NaN for a category or a leaf
``gain``          information gain of the question in bits, float64; 0 in a leaf
``parent``        number of the node above, int32; -1 for the root
``branch``        which branch of its parent the node is: the category's code, or 0 and 1; -1 for the root
``first_child``   number of the first child, int32; -1 in a leaf
``n_children``    how many there are, int32
``value``         weight of every class among the training rows of the node, float64 (nodes, classes)
================  ====================================================================================

Rows are a float64 matrix in which categories are codes (:mod:`margin.trees.multiway.category_columns`).
"""

from __future__ import annotations

import numpy as np

__all__ = ["GrowingTree", "Tree", "children", "class_fractions", "depths", "subtree"]

Tree = dict[str, np.ndarray]

# Rows with missing values go down many branches at once, so rows are walked in blocks of bounded memory.
WALK_ROWS = 4096

FIELDS = {
    "feature": (np.int32, -1),
    "threshold": (np.float64, np.nan),
    "gain": (np.float64, 0.0),
    "parent": (np.int32, -1),
    "branch": (np.int32, -1),
    "first_child": (np.int32, -1),
    "n_children": (np.int32, 0),
}


class GrowingTree:
    """A tree that gains nodes: arrays with room to spare, doubled when they are full.

    Nodes must be split in the order of their numbers.
    """

    def __init__(self, tree: Tree):
        self.size = len(tree["feature"])
        self.arrays = {name: array.copy() for name, array in tree.items()}

    @classmethod
    def root(cls, value: np.ndarray) -> GrowingTree:
        """A tree of one leaf that holds ``value`` (classes,)."""
        fields = {name: np.full(1, empty, dtype=kind) for name, (kind, empty) in FIELDS.items()}
        return cls(fields | {"value": np.array(value, dtype=np.float64)[None]})

    def split(
        self, node: int, feature: int, threshold: float, gain: float, branches: np.ndarray, values: np.ndarray
    ) -> range:
        """Give ``node`` one child per entry of ``branches`` (ascending); the numbers of the children."""
        count = len(branches)
        while self.size + count > len(self.arrays["feature"]):
            self._double()
        numbers = range(self.size, self.size + count)
        new = slice(numbers.start, numbers.stop)
        for name, (_, empty) in FIELDS.items():
            self.arrays[name][new] = empty
        self.arrays["parent"][new], self.arrays["branch"][new], self.arrays["value"][new] = node, branches, values
        for name, entry in (("feature", feature), ("threshold", threshold), ("gain", gain)):
            self.arrays[name][node] = entry
        self.arrays["first_child"][node], self.arrays["n_children"][node] = numbers.start, count
        self.size += count
        return numbers

    def tree(self) -> Tree:
        """The tree so far, as views that stay true until the next split."""
        return {name: array[: self.size] for name, array in self.arrays.items()}

    def grown_tree(self) -> Tree:
        """The tree so far, as arrays of its own."""
        return {name: array.copy() for name, array in self.tree().items()}

    def _double(self) -> None:
        self.arrays = {name: np.concatenate([array, np.zeros_like(array)]) for name, array in self.arrays.items()}


def class_fractions(tree: Tree, X: np.ndarray) -> np.ndarray:
    """What the tree says about every row of encoded ``X``: the fraction of each class, (n, classes).

    A row goes down to a leaf. Where the category asked about has no branch (training did not meet it there), the
    node's own fractions answer. Where the value is missing, all branches answer, each by its fraction of the weight.
    """
    fractions = np.zeros((len(X), tree["value"].shape[1]))
    keys = _branch_keys(tree)
    for start in range(0, len(X), WALK_ROWS):
        _walk(tree, keys, X[start : start + WALK_ROWS], fractions[start : start + WALK_ROWS])
    return fractions


def _walk(tree: Tree, keys: tuple[np.ndarray, int], X: np.ndarray, fractions: np.ndarray) -> None:
    weight_of = tree["value"].sum(axis=1)
    says = tree["value"] / weight_of[:, None]
    row, node, weight = np.arange(len(X)), np.zeros(len(X), dtype=np.int64), np.ones(len(X))
    while len(row):
        feature = tree["feature"][node]
        x = X[row, np.maximum(feature, 0)]
        missing = np.isnan(x) & (feature >= 0)
        child = np.where((feature >= 0) & ~missing, _child(tree, keys, node, x), -1)
        ends = (child < 0) & ~missing
        np.add.at(fractions, row[ends], weight[ends, None] * says[node[ends]])
        many = np.repeat(np.flatnonzero(missing), tree["n_children"][node[missing]])
        below = tree["first_child"][node[many]] + _count_within(many)
        spread = weight[many] * weight_of[below] / _sum_over_siblings(many, weight_of[below])
        on = child >= 0
        row = np.concatenate([row[on], row[many]])
        weight = np.concatenate([weight[on], spread])
        node = np.concatenate([child[on], below])


def _branch_keys(tree: Tree) -> tuple[np.ndarray, int]:
    """One ascending number per child that says whose branch it is, and the factor in it."""
    width = int(tree["branch"].max()) + 2
    return tree["parent"][1:].astype(np.int64) * width + tree["branch"][1:], width


def _child(tree: Tree, keys: tuple[np.ndarray, int], node: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The child that value ``x[i]`` leads to from ``node[i]``, -1 if there is none."""
    sorted_keys, width = keys
    if not len(sorted_keys):
        return np.full(len(node), -1)
    threshold = tree["threshold"][node]
    branch = np.where(np.isnan(threshold), np.where(np.isnan(x), -1.0, x), x > threshold)
    outside = (branch < 0) | (branch >= width)
    key = node * width + np.where(outside, 0, branch).astype(np.int64)
    position = np.minimum(np.searchsorted(sorted_keys, key), len(sorted_keys) - 1)
    return np.where((sorted_keys[position] == key) & ~outside, position + 1, -1)


def _count_within(groups: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... within every run of equal entries."""
    positions = np.arange(len(groups))
    begins = np.r_[True, groups[1:] != groups[:-1]][: len(groups)]
    return positions - np.maximum.accumulate(np.where(begins, positions, 0))


def _sum_over_siblings(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For every entry the sum of ``values`` over its run of equal ``groups``."""
    _, run = np.unique(groups, return_inverse=True)
    return np.bincount(run, values)[run]


def children(tree: Tree, node: int) -> range:
    """The numbers of the children of ``node``; none in a leaf."""
    first = int(tree["first_child"][node])
    return range(first, first + int(tree["n_children"][node]))


def depths(tree: Tree) -> np.ndarray:
    """How many questions lie above every node, int64 (nodes,)."""
    depth = np.zeros(len(tree["feature"]), dtype=np.int64)
    for node, above in enumerate(tree["parent"]):
        if above >= 0:  # a parent has a smaller number than its children
            depth[node] = depth[above] + 1
    return depth


def subtree(tree: Tree, cut: np.ndarray) -> Tree:
    """The tree in which every node of ``cut`` (bool, one per node) is a leaf and what was below it is gone."""
    kept = np.ones(len(cut), dtype=bool)
    for node, above in enumerate(tree["parent"]):
        if above >= 0:
            kept[node] = kept[above] and not cut[above]
    number = np.append(np.cumsum(kept) - 1, -1)  # the last entry answers for -1, "none"
    pruned = {name: array[kept].copy() for name, array in tree.items()}
    for name in ("feature", "threshold", "gain", "first_child", "n_children"):
        pruned[name][cut[kept]] = FIELDS[name][1]
    for name in ("parent", "first_child"):
        pruned[name] = number[pruned[name]].astype(np.int32)
    return pruned
