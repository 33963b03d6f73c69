"""From a grown tree and the values of its leaves to the records that an ensemble stores."""

from __future__ import annotations

import numpy as np

from margin.trees.binning import Bins
from margin.trees.boosting.growing import GrownTree
from margin.trees.boosting.leaf_bounds import enforce_monotone
from margin.trees.boosting.tree_buffer import NO_SETS, STORED_NODE

__all__ = ["finished_tree"]


def finished_tree(
    grown: GrownTree, values: np.ndarray, weights: np.ndarray, bins: Bins, monotone: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Records (STORED_NODE) and category sets of a tree with these leaf ``values`` and ``weights`` of leaves."""
    from margin.compiled.boosting import node_means

    nodes = grown.nodes
    value, weight = np.zeros(len(nodes)), np.zeros(len(nodes))
    value[grown.leaves], weight[grown.leaves] = values, weights
    node_means(nodes, value, weight)
    if monotone is not None:
        enforce_monotone(nodes["left"], nodes["right"], nodes["feature"], monotone, value)
        node_means(nodes, value, weight)
    stored = np.empty(len(nodes), dtype=STORED_NODE)
    for name in ("feature", "code", "missing_left", "left", "right", "gain"):
        stored[name] = nodes[name]
    stored["value"], stored["weight"] = value, weight
    stored["n_samples"] = nodes["stop"] - nodes["start"]
    stored["threshold"] = _thresholds(nodes, bins)
    if grown.category_sets is None:
        stored["category_row"] = -1
        return stored, NO_SETS
    asked = nodes["is_category"]
    stored["category_row"] = np.where(asked, np.cumsum(asked) - 1, -1)
    return stored, grown.category_sets[asked]


def _thresholds(nodes: np.ndarray, bins: Bins) -> np.ndarray:
    """The values behind the codes: a row goes left if its value is at most this."""
    found = np.zeros(len(nodes))
    numeric = np.flatnonzero((nodes["feature"] >= 0) & ~nodes["is_category"])
    feature = nodes["feature"][numeric]
    edge = bins.offsets[feature] + nodes["code"][numeric]
    inside = edge < bins.offsets[feature + 1]
    # Past the last edge lies every known value: the question is whether the value is missing.
    found[numeric] = np.inf
    found[numeric[inside]] = bins.edges[edge[inside]]
    return found
