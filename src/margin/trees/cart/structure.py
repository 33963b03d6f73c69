r"""A decision tree as a dict of flat arrays, and pure functions of it.

Node 0 is the root, children have larger numbers than their parent, and the two children of a node are neighbors.

=================  =========================================================================================
``feature``        column asked about, int32; -1 in a leaf
``threshold``      a row goes left if ``x <= threshold``, float64 (infinity: every known value goes left)
``left, right``    numbers of the children, int32; -1 in a leaf
``missing_left``   whether a missing value (NaN) goes left, bool
``category_row``   row of ``category_set`` for a question about categories, int32; -1 for a threshold
``category_set``   32 bytes per such node, uint8: bit ``c`` says that category code ``c`` goes left
``value``          what the node predicts, float64 (nodes, outputs): class fractions, or a mean or median
``n_samples``      training rows in the node, int64
``weight``         their total weight, float64
``impurity``       their impurity, float64
=================  =========================================================================================

Categorical columns of ``X`` hold codes here (:mod:`margin.core.category_encoding` makes them), NaN for
missing or unknown ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = [
    "TreeArrays",
    "depth",
    "depths",
    "goes_left",
    "leaf",
    "n_leaves",
    "parents",
    "subtree",
]

TreeArrays = Mapping[str, np.ndarray]

FEW_NODES = 500  # nodes up to which lists are walked faster than arrays


def leaf(value: Any, n_samples: int = 0, weight: float = 0.0, impurity: float = 0.0) -> TreeArrays:
    """A tree that is one leaf.

    >>> leaf([0.25, 0.75])["value"]
    array([[0.25, 0.75]])
    """
    return {
        "feature": np.full(1, -1, dtype=np.int32),
        "threshold": np.zeros(1),
        "left": np.full(1, -1, dtype=np.int32),
        "right": np.full(1, -1, dtype=np.int32),
        "missing_left": np.zeros(1, dtype=bool),
        "category_row": np.full(1, -1, dtype=np.int32),
        "category_set": np.zeros((0, 32), dtype=np.uint8),
        "value": np.atleast_2d(np.asarray(value, dtype=np.float64)),
        "n_samples": np.full(1, n_samples, dtype=np.int64),
        "weight": np.full(1, weight, dtype=np.float64),
        "impurity": np.full(1, impurity, dtype=np.float64),
    }


def goes_left(tree: TreeArrays, node: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Whether row ``i`` of ``X`` goes left at the inner node ``node[i]``."""
    x = X[np.arange(len(X)), tree["feature"][node]]
    missing = np.isnan(x)
    left = x <= tree["threshold"][node]
    row = tree["category_row"][node]
    by_category = (row >= 0) & ~missing
    if by_category.any():
        code = x[by_category].astype(np.int64)
        byte = tree["category_set"][row[by_category], code >> 3]
        left[by_category] = (byte >> (code & 7).astype(np.uint8)) & 1 == 1
    return np.where(missing, tree["missing_left"][node], left)


def parents(tree: TreeArrays) -> np.ndarray:
    """The number of every node's parent, int64 (nodes,); -1 for the root."""
    above = np.full(len(tree["feature"]), -1, dtype=np.int64)
    inner = np.flatnonzero(tree["feature"] >= 0)
    above[tree["left"][inner]] = inner
    above[tree["right"][inner]] = inner
    return above


def depths(tree: TreeArrays) -> np.ndarray:
    """How many questions lie above every node, int64 (nodes,)."""
    depth = np.zeros(len(tree["feature"]), dtype=np.int64)
    level, nodes = 0, np.zeros(1, dtype=np.int64)
    while len(nodes):
        depth[nodes] = level
        inner = nodes[tree["feature"][nodes] >= 0]
        level, nodes = level + 1, np.concatenate([tree["left"][inner], tree["right"][inner]])
    return depth


def depth(tree: TreeArrays) -> int:
    """The most questions between the root and a leaf."""
    if len(tree["feature"]) > FEW_NODES:
        return int(depths(tree).max())
    left, right = tree["left"].tolist(), tree["right"].tolist()
    level, nodes = -1, [0]
    while nodes:
        level += 1
        nodes = [child for node in nodes if left[node] >= 0 for child in (left[node], right[node])]
    return level


def n_leaves(tree: TreeArrays) -> int:
    return int(np.count_nonzero(tree["feature"] < 0))


def subtree(tree: TreeArrays, cut: np.ndarray) -> TreeArrays:
    """The tree in which every node of ``cut`` (bool, one per node) is a leaf and what was below it is gone."""
    count = len(tree["feature"])
    kept = np.zeros(count, dtype=bool)
    nodes = np.zeros(1, dtype=np.int64)
    while len(nodes):
        kept[nodes] = True
        inner = nodes[(tree["feature"][nodes] >= 0) & ~cut[nodes]]
        nodes = np.concatenate([tree["left"][inner], tree["right"][inner]])
    number = np.cumsum(kept) - 1
    closed = (cut | (tree["feature"] < 0))[kept]
    pruned = {
        name: array[kept].copy() for name, array in tree.items() if len(array) == count and name != "category_set"
    }
    pruned["feature"][closed] = -1
    pruned["threshold"][closed] = 0.0
    pruned["missing_left"][closed] = False
    for side in ("left", "right"):
        pruned[side] = np.where(closed, -1, number[pruned[side]]).astype(np.int32)
    by_category = ~closed & (pruned["category_row"] >= 0)
    pruned["category_set"] = tree["category_set"][pruned["category_row"][by_category]]
    pruned["category_row"] = np.where(by_category, np.cumsum(by_category) - 1, -1).astype(np.int32)
    return pruned
