"""Coded rows through many trees: sums of leaf values, numbers of leaves; chunks of rows are shared out over threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from margin.core.threads import threads_for
from margin.trees.boosting.tree_buffer import PackedTrees

__all__ = ["add_trees", "leaves_of"]

WORK_PER_WALK = 30.0  # basic operations per row and tree


def add_trees(codes: np.ndarray, trees: PackedTrees, low: int, high: int, predictions: np.ndarray) -> None:
    """Add trees ``low`` to ``high`` to the predictions (outputs, n), in place."""
    from margin.trees.boosting.prediction_kernels import add_predictions

    kernel: Any = add_predictions
    start, split, row, category_set, value = trees

    def add(begin: int, end: int) -> None:
        kernel(codes, begin, end, start, split, row, category_set, value, low, high, predictions)

    _over_rows(add, len(codes), WORK_PER_WALK * len(codes) * (high - low))


def leaves_of(codes: np.ndarray, trees: PackedTrees) -> np.ndarray:
    """The leaf in which every row ends in every tree, counted from the start of the tree, int32 (n, trees)."""
    from margin.trees.boosting.prediction_kernels import find_leaves

    kernel: Any = find_leaves
    start, split, row, category_set, _ = trees
    leaves = np.empty((len(codes), len(start) - 1), dtype=np.int32)

    def find(begin: int, end: int) -> None:
        kernel(codes, begin, end, start, split, row, category_set, leaves)

    _over_rows(find, len(codes), WORK_PER_WALK * leaves.size)
    return leaves


def _over_rows(walk: Callable[[int, int], None], n: int, work: float) -> None:
    threads = min(threads_for(work), n)
    if threads <= 1:
        walk(0, n)
        return
    cuts = [n * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda i: walk(cuts[i], cuts[i + 1]), range(threads)))
