"""Trees and bins of a state that a fit goes on from: they must be what a model file may hold, for its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Sizes, Stored, Violation
from margin.trees.stored import BINS, BOOSTED_TREES, CLASS_TREE, MULTIWAY_TREE, NODES_AND_SETS, SETS

__all__ = ["check_bins", "check_boosted_trees", "check_forest_trees", "check_growing_tree"]


def check_bins(bins: Any, n_features: int) -> None:
    _check(BINS, bins, "bins", Sizes({"n_features": n_features}))


def check_boosted_trees(trees: Any, n_features: int, n_outputs: int) -> None:
    """Every round has one tree per output."""
    _check(BOOSTED_TREES, trees, "trees", Sizes({"n_features": n_features}, may_be_empty=NODES_AND_SETS))
    if (len(trees["start"]) - 1) % n_outputs:
        raise Violation(f"trees must be {n_outputs} per round; got {len(trees['start']) - 1}")


def check_forest_trees(trees: Any, n_features: int, n_values: int, categorical: np.ndarray) -> None:
    """A node that asks about categories reads codes, so its column must be one that is coded."""
    if not isinstance(trees, list):
        raise Violation(f"trees must be a list; got {type(trees).__name__}")
    for number, tree in enumerate(trees):
        sizes = Sizes({"n_features": n_features, "n_values": n_values}, may_be_empty=SETS)
        _check(CLASS_TREE, tree, f"trees[{number}]", sizes)
        asked = tree["feature"][(tree["category_row"] >= 0) & (tree["feature"] >= 0)]
        if not np.all(categorical[asked]):
            raise Violation(f"trees[{number}]: a node asks about categories of a column that has none")


def check_growing_tree(state: Mapping[str, Any], n_features: int, n_classes: int, n_rows: int) -> None:
    """Every node has an interval of the rows, which are all there once."""
    known = {"n_features": n_features, "n_classes": n_classes}
    tree, rows = state["tree"], state["rows"]
    _check(MULTIWAY_TREE, tree, "tree", Sizes(known))
    if not isinstance(rows, np.ndarray) or not np.array_equal(np.sort(rows), np.arange(n_rows)):
        raise Violation(f"rows must be the numbers of {n_rows} rows")
    start, stop, depth = (np.asarray(state[name]) for name in ("start", "stop", "depth"))
    if not len(start) == len(stop) == len(depth) == len(tree["feature"]):
        raise Violation("start, stop and depth must have one entry per node")
    if not np.all((start >= 0) & (start <= stop) & (stop <= n_rows)):
        raise Violation("start and stop must be intervals of the rows")


def _check(stored: Stored, value: Any, where: str, sizes: Sizes) -> None:
    stored.check(value, where, sizes)
    for check in sizes.later:
        check(sizes)
