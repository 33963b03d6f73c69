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

Categorical columns of ``X`` hold codes here (:mod:`margin.trees.category_encoding` makes them), NaN for
missing or unknown ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.compiling_ahead import is_compiling_ahead
from margin.core.parallel import parallel_map
from margin.core.threads import threads_for

__all__ = [
    "TreeArrays",
    "apply",
    "apply_all",
    "decision_path",
    "depth",
    "depths",
    "goes_left",
    "leaf",
    "n_leaves",
    "packed",
    "parents",
    "predict",
    "subtree",
    "sum_values",
]

TreeArrays = Mapping[str, np.ndarray]

# Fewer rows are walked by NumPy, level by level, unless there is compiled code already: making it takes a second, which
# pays only after so many walks down a tree. Both ways reach the same leaves.
COMPILED_ROWS = 4096
NUMPY_WALKS = 3000
_walked = 0  # by NumPy in this process

BLOCK = 256  # rows that step together: enough to wait for, few enough that they stay in the first caches

NODES_PER_ROW = 3  # nodes that are packed in the time that packing saves one row
CHUNK = 2048  # rows that pass all trees before the next ones do: they stay in the second-level cache
WORK_PER_WALK = 200.0  # basic operations per row and tree
FEW_NODES = 500  # nodes up to which lists are walked faster than arrays


def leaf(value: Any, n_samples: int = 0, weight: float = 0.0, impurity: float = 0.0) -> TreeArrays:
    """A tree that is one leaf.

    >>> predict(leaf([0.25, 0.75]), np.zeros((2, 3)))
    array([[0.25, 0.75],
           [0.25, 0.75]])
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
    asked = (row >= 0) & ~missing
    if asked.any():
        code = x[asked].astype(np.int64)
        byte = tree["category_set"][row[asked], code >> 3]
        left[asked] = (byte >> (code & 7).astype(np.uint8)) & 1 == 1
    return np.where(missing, tree["missing_left"][node], left)


def packed(trees: Sequence[TreeArrays]) -> tuple[np.ndarray, ...]:
    """What the compiled walk reads of trees: roots, nodes of two 64-bit integers each, the same as floats, sets."""
    counts = [len(tree["feature"]) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.uint64)
    nodes = np.zeros((sum(counts), 2), dtype=np.uint64)
    sets = 0
    for root, tree in zip(roots.astype(np.int64), trees):
        own = nodes[root : root + len(tree["feature"])]
        inner, asked = tree["feature"] >= 0, tree["category_row"] >= 0
        own.view(np.float64)[:, 0] = np.where(inner, tree["threshold"], np.inf)
        own[asked, 0] = tree["category_row"][asked] + sets
        child = root + np.where(inner, tree["left"], np.arange(len(own)))
        turns = (inner & ~tree["missing_left"]).astype(np.int64) << 32 | asked.astype(np.int64) << 33
        own[:, 1] = child | turns | np.where(inner, tree["feature"], 0).astype(np.int64) << 34
        sets += len(tree["category_set"])
    flat = nodes.ravel()
    return roots, flat, flat.view(np.float64), np.concatenate([tree["category_set"] for tree in trees])


def apply(tree: TreeArrays, X: np.ndarray) -> np.ndarray:
    """The number of the leaf that every row of float64 ``X`` reaches, int32 (n,)."""
    return apply_all([tree], X)[:, 0]


def apply_all(trees: Sequence[TreeArrays], X: np.ndarray) -> np.ndarray:
    """The number of the leaf that every row of float64 ``X`` reaches in every tree, int32 (n, trees)."""
    way = _way_for(trees, X, "walk")
    if way != "walk":
        return np.column_stack([_apply_one(tree, X, way) for tree in trees])
    from margin.trees.cart.structure_kernels import walk

    leaves, X, nodes = np.empty((len(X), len(trees)), dtype=np.int32), np.ascontiguousarray(X), packed(trees)
    compiled: Any = walk

    def walk_chunk(rows: slice) -> None:
        compiled(X[rows], *nodes, leaves[rows], *_block())

    _in_chunks(walk_chunk, len(X), WORK_PER_WALK * len(X) * len(trees))
    return leaves


def predict(tree: TreeArrays, X: np.ndarray) -> np.ndarray:
    """The value of the leaf that every row reaches, (n, outputs)."""
    return tree["value"][apply(tree, X)]


def sum_values(trees: Sequence[TreeArrays], X: np.ndarray) -> np.ndarray:
    """The sum over trees of what they predict for every row, (n, outputs)."""
    total = np.zeros((len(X), trees[0]["value"].shape[1]))
    way = _way_for(trees, X, "walk_and_add")
    if way != "walk_and_add":
        for tree in trees:
            total += tree["value"][_apply_one(tree, X, way)]
        return total
    from margin.trees.cart.structure_kernels import walk_and_add

    X, nodes, value = np.ascontiguousarray(X), packed(trees), np.concatenate([tree["value"] for tree in trees])
    compiled: Any = walk_and_add

    def walk_chunk(rows: slice) -> None:
        compiled(X[rows], *nodes, value, total[rows], *_block())

    _in_chunks(walk_chunk, len(X), WORK_PER_WALK * len(X) * len(trees))
    return total


def _block() -> tuple[np.ndarray, np.ndarray]:
    """Memory for the rows that step together."""
    return np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.int64)


def _way_for(trees: Sequence[TreeArrays], X: np.ndarray, many: str) -> str:
    """The compiled walk to take: ``many``, or "walk_few" where packing the nodes would take longer; or "levels".

    Compiled code is used if it is there, or there are many rows, or NumPy has walked for long enough.
    """
    global _walked
    few = NODES_PER_ROW * len(X) * len(trees) < sum(len(tree["feature"]) for tree in trees)
    way = "walk_few" if few else many
    if len(X) >= COMPILED_ROWS or _walked >= NUMPY_WALKS or is_compiling_ahead():
        return way
    if "numba" in sys.modules:
        from margin.core.cached_kernels import is_ready
        from margin.trees.cart import structure_kernels

        if is_ready(getattr(structure_kernels, way)):
            return way
    _walked += len(trees)
    return "levels"


def _apply_one(tree: TreeArrays, X: np.ndarray, way: str) -> np.ndarray:
    if way == "levels":
        return _apply_by_levels(tree, X)
    from margin.trees.cart.structure_kernels import walk_few

    names = ("feature", "threshold", "left", "missing_left", "category_row", "category_set")
    leaves = np.empty(len(X), dtype=np.int32)
    compiled: Any = walk_few
    compiled(np.ascontiguousarray(X), *(tree[name] for name in names), leaves)
    return leaves


def _apply_by_levels(tree: TreeArrays, X: np.ndarray) -> np.ndarray:
    leaves = np.zeros(len(X), dtype=np.int32)
    rows = np.flatnonzero(tree["feature"][leaves] >= 0)
    while len(rows):
        node = leaves[rows]
        left = goes_left(tree, node, X[rows])
        leaves[rows] = np.where(left, tree["left"][node], tree["right"][node])
        rows = rows[tree["feature"][leaves[rows]] >= 0]
    return leaves


def _in_chunks(walk: Callable[[slice], None], n: int, work: float) -> None:
    """Call ``walk`` on chunks of rows, in threads if the work is worth it."""
    chunks = [slice(start, start + CHUNK) for start in range(0, n, CHUNK)]
    parallel_map(walk, chunks, threads_for(work))


def decision_path(tree: TreeArrays, X: np.ndarray) -> sp.csr_matrix:
    """Which nodes every row passes, as a sparse matrix of ones (n, nodes); the root and the leaf are among them."""
    above = parents(tree)
    passed = []
    node = apply(tree, X).astype(np.int64)
    rows = np.arange(len(X))
    while len(rows):
        passed.append((rows, node))
        node = above[node]
        rows, node = rows[node >= 0], node[node >= 0]
    row, column = (np.concatenate([np.zeros(0, dtype=np.int64), *parts]) for parts in zip(*passed, strict=True))
    ones = np.ones(len(row), dtype=np.int64)
    path = sp.csr_matrix((ones, (row, column)), shape=(len(X), len(tree["feature"])))
    path.sort_indices()
    return path


def parents(tree: TreeArrays) -> np.ndarray:
    """The number of every node's parent, int64 (nodes,); -1 for the root."""
    above = np.full(len(tree["feature"]), -1, dtype=np.int64)
    inner = np.flatnonzero(tree["feature"] >= 0)
    above[tree["left"][inner]] = inner
    above[tree["right"][inner]] = inner
    return above


def depths(tree: TreeArrays) -> np.ndarray:
    """How many questions lie above every node, int64 (nodes,)."""
    found = np.zeros(len(tree["feature"]), dtype=np.int64)
    level, nodes = 0, np.zeros(1, dtype=np.int64)
    while len(nodes):
        found[nodes] = level
        inner = nodes[tree["feature"][nodes] >= 0]
        level, nodes = level + 1, np.concatenate([tree["left"][inner], tree["right"][inner]])
    return found


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
    asked = ~closed & (pruned["category_row"] >= 0)
    pruned["category_set"] = tree["category_set"][pruned["category_row"][asked]]
    pruned["category_row"] = np.where(asked, np.cumsum(asked) - 1, -1).astype(np.int32)
    return pruned
