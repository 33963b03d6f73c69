"""From a grown tree and the values of its leaves to the records that an ensemble stores."""

from __future__ import annotations

import math

import numpy as np

from margin.core.compiling_ahead import FirstWork
from margin.trees.binning import Bins
from margin.trees.boosting.growing import GrownTree
from margin.trees.boosting.leaf_bounds import enforce_monotone
from margin.trees.boosting.tree_buffer import NO_SETS, STORED_NODE

__all__ = ["finished_tree"]

FIRST_NODES = FirstWork(100_000)  # whose means Python takes: a tenth of a second, as long as compiling the loop


def finished_tree(
    grown: GrownTree, values: np.ndarray, weights: np.ndarray, bins: Bins, monotone: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Records (STORED_NODE) and category sets of a tree with these leaf ``values`` and ``weights`` of leaves."""
    nodes = grown.nodes
    value, weight = np.zeros(len(nodes)), np.zeros(len(nodes))
    value[grown.leaves], weight[grown.leaves] = values, weights
    _fill_means(nodes, value, weight)
    if monotone is not None:
        enforce_monotone(nodes["left"], nodes["right"], nodes["feature"], monotone, value)
        _fill_means(nodes, value, weight)
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


def _fill_means(nodes: np.ndarray, value: np.ndarray, weight: np.ndarray) -> None:
    """Weight and value of inner nodes, in place: sums and weighted means over the leaves below them."""
    from margin.trees.boosting.leaf_kernels import node_means

    if FIRST_NODES.takes(len(nodes), node_means):
        value[:], weight[:] = _means(nodes["left"].tolist(), nodes["right"].tolist(), value.tolist(), weight.tolist())
    else:
        node_means(nodes, value, weight)


def _means(
    left: list[int], right: list[int], value: list[float], weight: list[float]
) -> tuple[list[float], list[float]]:
    """What the kernel ``node_means`` computes, bit by bit."""
    for number in range(len(left) - 1, -1, -1):  # children have larger numbers
        a, b = left[number], right[number]
        if a >= 0:
            weight[number] = total = weight[a] + weight[b]
            value[number] = (weight[a] * value[a] + weight[b] * value[b]) / total if total else math.nan
    return value, weight


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
