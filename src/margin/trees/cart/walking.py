"""Rows down trees: the leaves they reach and the values of these, by whichever way is the quickest.

All ways reach the same leaves, and values are added tree by tree, so the bits do not depend on the way, the number of
rows or the number of threads.

==========  ==========================================================================================================
by one      row by row, the arrays of a tree as they are: few rows
by keys     one comparison of integers per step (:mod:`margin.trees.cart.keyed_trees`): many rows
by floats   the table as it is: many rows, but few trees for so many columns; or many categories
==========  ==========================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from margin.core.parallel import parallel_map
from margin.core.threads import threads_for
from margin.trees.cart.keyed_trees import KeyedTrees, keyed_trees, walk_rows
from margin.trees.cart.structure import TreeArrays, parents

__all__ = ["apply", "apply_all", "decision_path", "pack", "predict", "sum_values"]

BLOCK = 256  # rows that step together: enough to wait for, few enough that they stay in the first caches
# What a walk of many rows costs before it begins, and what it then saves, in nodes that are packed in the same time.
NODES_PER_TABLE, NODES_PER_TREE, NODES_PER_WALK = 4500, 250, 8
# Of a row that are made keys in the time that keys save at a node; so many nodes pay for what else they need.
COLUMNS_PER_STEP, STEPS_FOR_KEYS = 2.0, 10.0
COLUMNS_PER_LINE = 8  # that one access to memory brings; a step asks for one
CHUNK = 2048  # rows that a thread takes at a time
WORK_PER_WALK = 200.0  # basic operations per row and tree
OUTPUTS_PER_TABLE = 16  # from more on, values are read where the trees hold them: one table of all would cost too much
VALUES_PER_BLOCK = 1 << 14  # that are added at a time, so that they stay in the second-level cache


def pack(trees: Sequence[TreeArrays]) -> tuple[np.ndarray, ...]:
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
    way = _way_for(trees, X)
    X = np.ascontiguousarray(X)
    if way == "walk_few":
        return np.column_stack([_apply_one(tree, X) for tree in trees])
    leaves = np.empty((len(X), len(trees)), dtype=np.int32)
    keyed = keyed_trees(trees, X) if way == "walk_keyed" else None
    nodes = pack(trees) if keyed is None else ()

    def walk_chunk(rows: slice) -> None:
        if keyed is None:
            _walk_floats(X[rows], nodes, leaves[rows])
        else:
            walk_rows(keyed, X[rows], leaves=leaves[rows])

    _in_chunks(walk_chunk, len(X), WORK_PER_WALK * leaves.size)
    return leaves


def predict(tree: TreeArrays, X: np.ndarray) -> np.ndarray:
    """The value of the leaf that every row reaches, (n, outputs)."""
    return tree["value"][apply(tree, X)]


def sum_values(trees: Sequence[TreeArrays], X: np.ndarray) -> np.ndarray:
    """The sum over trees of what they predict for every row, (n, outputs)."""
    total = np.zeros((len(X), trees[0]["value"].shape[1]))
    way = _way_for(trees, X)
    X = np.ascontiguousarray(X)
    if way == "walk_few":
        for tree in trees:
            total += tree["value"][_apply_one(tree, X)]
        return total
    keyed = keyed_trees(trees, X) if way == "walk_keyed" else None
    add_chunk = _adding_floats(trees, X, total) if keyed is None else _adding_keyed(trees, keyed, X, total)
    _in_chunks(add_chunk, len(X), WORK_PER_WALK * len(X) * len(trees))
    return total


def _adding_keyed(
    trees: Sequence[TreeArrays], keyed: KeyedTrees, X: np.ndarray, total: np.ndarray
) -> Callable[[slice], None]:
    if total.shape[1] > OUTPUTS_PER_TABLE:

        def add_chunk(rows: slice) -> None:
            leaves = np.empty((len(X[rows]), len(trees)), dtype=np.int32)
            walk_rows(keyed, X[rows], leaves=leaves)
            _add_leaves(trees, leaves, total[rows])

        return add_chunk
    value = np.concatenate([tree["value"] for tree in trees])
    return lambda rows: walk_rows(keyed, X[rows], value=value, total=total[rows])


def _adding_floats(trees: Sequence[TreeArrays], X: np.ndarray, total: np.ndarray) -> Callable[[slice], None]:
    nodes = pack(trees)

    def add_chunk(rows: slice) -> None:
        leaves = np.empty((len(X[rows]), len(trees)), dtype=np.int32)
        _walk_floats(X[rows], nodes, leaves)
        _add_leaves(trees, leaves, total[rows])

    return add_chunk


def _add_leaves(trees: Sequence[TreeArrays], leaves: np.ndarray, total: np.ndarray) -> None:
    """Add the values of ``leaves`` (n, trees) to ``total`` (n, outputs), tree after tree, few rows at a time."""
    step = max(1, VALUES_PER_BLOCK // total.shape[1])
    found = np.empty((min(step, len(total)), total.shape[1]))
    for start in range(0, len(total), step):
        part = total[start : start + step]
        for tree, reached in zip(trees, leaves[start : start + step].T, strict=True):
            np.take(tree["value"], reached, axis=0, out=found[: len(part)], mode="clip")  # otherwise it is buffered
            part += found[: len(part)]


def _walk_floats(X: np.ndarray, nodes: tuple[np.ndarray, ...], leaves: np.ndarray) -> None:
    from margin.compiled.cart import walk

    reads_ahead = X.shape[1] <= COLUMNS_PER_LINE * leaves.shape[1] * np.log2(len(nodes[1]) / 2 / leaves.shape[1])
    walk(X, *nodes, leaves, np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.int64), reads_ahead)


def _way_for(trees: Sequence[TreeArrays], X: np.ndarray) -> str:
    """The way to take, by the name of its kernel: "walk_keyed", "walk" (by floats) or "walk_few" (by one)."""
    nodes = sum(len(tree["feature"]) for tree in trees)
    steps = len(trees) * np.log2(nodes / len(trees))
    way = "walk_keyed" if X.shape[1] <= COLUMNS_PER_STEP * (steps - STEPS_FOR_KEYS) else "walk"
    if len(trees) * (NODES_PER_TREE + NODES_PER_WALK * len(X)) < NODES_PER_TABLE + nodes:
        return "walk_few"
    return way


def _apply_one(tree: TreeArrays, X: np.ndarray) -> np.ndarray:
    from margin.compiled.cart import walk_few

    leaves = np.empty(len(X), dtype=np.int32)
    walk_few(
        X,
        tree["feature"],
        tree["threshold"],
        tree["left"],
        tree["missing_left"],
        tree["category_row"],
        tree["category_set"],
        leaves,
    )
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
