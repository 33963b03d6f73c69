r"""Cost-complexity pruning of a tree just grown, before its leaves get their values.

With :math:`R(T)` the mean squared error of the derivatives and :math:`|T|` the number of leaves, the pruned tree
minimizes :math:`R(T) + \alpha |T|`. A split lowers :math:`R` by twice its gain over the weight of all rows, so the
weakest link is found from the gains alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from margin.trees.boosting.growing import GrownTree

__all__ = ["prune_grown"]


def prune_grown(grown: GrownTree, alpha: float, weight: float) -> GrownTree:
    """The tree without splits that lower the error by at most ``alpha`` per leaf; ``weight`` is that of its rows."""
    nodes = grown.nodes
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    gain, leaves, cut = 2.0 * nodes["gain"] / weight, np.ones(len(nodes)), nodes["feature"] < 0
    for number in range(len(nodes) - 1, -1, -1):  # children have larger numbers: they are decided first
        if cut[number]:
            gain[number] = 0.0
            continue
        a, b = left[number], right[number]
        gain[number] += gain[a] + gain[b]
        leaves[number] = leaves[a] + leaves[b]
        if gain[number] <= alpha * (leaves[number] - 1):
            cut[number], gain[number], leaves[number] = True, 0.0, 1.0
    return _with_leaves(grown, cut)


def _with_leaves(grown: GrownTree, cut: np.ndarray) -> GrownTree:
    """The tree in which every node of ``cut`` is a leaf and what was below it is gone."""
    nodes = grown.nodes
    kept = np.zeros(len(nodes), dtype=bool)
    kept[0] = True
    for number in range(len(nodes)):
        if kept[number] and not cut[number]:
            kept[[nodes["left"][number], nodes["right"][number]]] = True
    number = np.cumsum(kept) - 1
    pruned = nodes[kept].copy()
    closed = cut[kept]
    for side in ("left", "right"):
        pruned[side] = np.where(closed, -1, number[pruned[side]])
    for name, nothing in (("feature", -1), ("code", 0), ("missing_left", False), ("is_category", False), ("gain", 0.0)):
        pruned[name][closed] = nothing
    leaves = np.flatnonzero(closed)
    return replace(
        grown,
        nodes=pruned,
        category_sets=None if grown.category_sets is None else grown.category_sets[kept],
        leaves=leaves,
        starts=pruned["start"][leaves],
        stops=pruned["stop"][leaves],
    )
