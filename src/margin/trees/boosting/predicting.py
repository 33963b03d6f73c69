"""Coded rows through many trees: sums of leaf values, numbers of leaves; chunks of rows are shared out over threads."""

from __future__ import annotations

import numpy as np

from margin.core.parallel import over_ranges
from margin.core.threads import threads_for
from margin.trees.boosting.tree_buffer import PackedTrees

__all__ = ["add_trees", "leaves_of"]

WORK_PER_WALK = 30.0  # basic operations per row and tree
BLOCK = 128  # rows that go down one tree before the next is looked at


def add_trees(codes: np.ndarray, trees: PackedTrees, low: int, high: int, predictions: np.ndarray) -> None:
    """Add trees ``low`` to ``high`` to the predictions (outputs, n), in place."""
    from margin.compiled.boosting import add_predictions

    start, split, row, category_set, value = trees

    def add(begin: int, end: int) -> None:
        add_predictions(codes, begin, end, start, split, row, category_set, value, low, high, predictions, _block())

    over_ranges(add, len(codes), threads_for(WORK_PER_WALK * len(codes) * (high - low)))


def leaves_of(codes: np.ndarray, trees: PackedTrees) -> np.ndarray:
    """The leaf in which every row ends in every tree, counted from the start of the tree, int32 (n, trees)."""
    from margin.compiled.boosting import find_leaves

    start, split, row, category_set, _ = trees
    leaves = np.empty((len(codes), len(start) - 1), dtype=np.int32)

    def find(begin: int, end: int) -> None:
        find_leaves(codes, begin, end, start, split, row, category_set, leaves, _block())

    over_ranges(find, len(codes), threads_for(WORK_PER_WALK * leaves.size))
    return leaves


def _block() -> np.ndarray:
    """Memory for the rows that step together: their nodes, those that walk on, what these are asked."""
    return np.empty((3, BLOCK), dtype=np.int64)
