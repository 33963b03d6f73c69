"""What the tree grower is given: arrays and numbers with names; :mod:`margin.trees.cart.records_kernels` has them in C.

Rows of a node lie together: a node owns the positions ``start .. stop`` of every array in :class:`NodeRows`. Within a
node, the rows with the same code of a column are a *group*; the groups are numbered by ascending code, missing values
last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "ABSOLUTE_ERROR",
    "CATEGORICAL",
    "ENTROPY",
    "GINI",
    "MAY_MISS",
    "MULTI_ENTROPY",
    "MULTI_GINI",
    "MULTI_SQUARED_ERROR",
    "NODE",
    "PACKED_GINI",
    "POISSON",
    "SQUARED_ERROR",
    "ColumnCodes",
    "GrowthRules",
    "NodeRows",
    "SearchBuffers",
    "TreeBuffers",
    "has_vectors",
]

# What is summed per group, and so which criterion is followed.
SQUARED_ERROR = 0  # weight and weight times target
PACKED_GINI = 1  # the same for integer weights and targets 0 and 1, both in one int64 (two classes)
GINI = 2  # weight of every class
ENTROPY = 3  # weight of every class
ABSOLUTE_ERROR = 4  # medians from sorted rows
MULTI_GINI, MULTI_ENTROPY = 5, 6  # weight, and weight of every class of several targets
MULTI_SQUARED_ERROR = 7  # weight, and weight times target for several targets
POISSON = 8  # the same for one target or several

# Rows of ColumnCodes.flags.
CATEGORICAL, MAY_MISS = 0, 1

# A node of the growing tree: its split (``child`` is -1 in a leaf, the second child follows it), its rows, what they
# amount to, and the values that monotone columns allow.
NODE = np.dtype(
    [
        *((name, np.int64) for name in ("feature", "child", "missing_left", "category_row")),
        *((name, np.int64) for name in ("start", "stop", "depth", "cut")),
        *((name, np.float64) for name in ("threshold", "weight", "impurity", "gain", "lower", "upper", "total")),
    ]
)


class ColumnCodes(NamedTuple):
    """The training table as codes; column ``j`` has the codes ``0 .. offsets[j + 1] - offsets[j]``."""

    codes: np.ndarray  # (p, n) uint8 (bins) or int32 (one code per distinct value)
    by_row: np.ndarray  # (n, p): the same, rows together
    ranges: np.ndarray  # (2, all codes): smallest and largest value with this code
    offsets: np.ndarray  # (p + 1,) int64
    flags: np.ndarray  # (2, p) bool: whether the column is categorical, whether it has missing values
    missing: int  # the code of a missing value, larger than any other


class GrowthRules(NamedTuple):
    """When and how a node may be split."""

    mode: int
    classes: int  # or channels of several targets, one for the weight among them
    max_depth: int
    max_leaves: int  # 0: no limit, and depth-first growth
    min_split: int  # rows
    min_leaf: int  # rows
    min_weight: float
    min_decrease: float  # of impurity times weight
    max_features: int
    random: bool  # one random split per column in place of the best
    weight_is_count: bool  # every weight is one
    exact: bool  # weights are integers whose sums and squares are exact, so that no order of adding changes them
    constrained: bool
    monotone: np.ndarray  # (p,) int8


class NodeRows(NamedTuple):
    """The rows of trees in the order of their nodes, one tree after another; what a criterion does not use is None."""

    starts: np.ndarray  # (trees + 1,) int64: where the rows of every tree begin
    row: np.ndarray  # (n,) uint32: position in the table
    spare_row: np.ndarray  # for parting a node, as all that is spare
    packed: np.ndarray | None = None  # (n,) int64 for PACKED_GINI: weight << 32 | weight of class 1
    spare_packed: np.ndarray | None = None
    weights: np.ndarray | None = None  # (n,) float64
    spare_weights: np.ndarray | None = None
    targets: np.ndarray | None = None  # (n,) float64: centered responses or class numbers; of several, their column
    spare_targets: np.ndarray | None = None
    several: np.ndarray | None = None  # (targets, n) float64: several targets, never moved


class SearchBuffers(NamedTuple):
    """Memory for the search of splits, allocated once per call; what the criterion does not use is None."""

    node_codes: np.ndarray  # (n,) int32: codes of one column in one node
    # Classes are numbered anew in every node, those without rows left out: (n,) int32, the number of each of its rows;
    # (classes,), that of each class, -1 for one without rows.
    node_classes: np.ndarray
    class_places: np.ndarray
    keys: np.ndarray  # (n,) int64: code and position, to be sorted
    spare_keys: np.ndarray
    digit_starts: np.ndarray  # (256,) int64: where each byte starts when keys are sorted
    # (codes,) int64 per group: its code, its rows, the rows left of the cut after it; positions in the order of cuts
    group_codes: np.ndarray
    group_rows: np.ndarray
    left_rows: np.ndarray
    split_order: np.ndarray
    best_order: np.ndarray
    # (codes,) int64 per code, zero between uses
    row_counts: np.ndarray
    packed_sums: np.ndarray
    # (codes,) float64 per group, and per cut what lies left of it, what it gains, and the medians on both sides
    group_weights: np.ndarray
    group_totals: np.ndarray
    left_weights: np.ndarray
    left_totals: np.ndarray
    gains: np.ndarray
    left_medians: np.ndarray
    right_medians: np.ndarray
    sums: np.ndarray  # (codes * channels,) float64 per code, zero between uses
    group_sums: np.ndarray  # (codes * channels,) float64
    node_sums: np.ndarray  # (channels,) float64
    left_sums: np.ndarray
    features: np.ndarray  # (p,) int64, permuted as columns are drawn
    states: np.ndarray  # (trees,) uint64: the generator's state at the root of every tree
    # (n + 1,) for ABSOLUTE_ERROR: Fenwick trees of weights and totals by rank, and targets in order, float64; ranks,
    # positions in the order of their targets and memory for sorting them, int32
    heap_weights: np.ndarray | None = None
    heap_totals: np.ndarray | None = None
    sorted_targets: np.ndarray | None = None
    ranks: np.ndarray | None = None
    sorted_positions: np.ndarray | None = None
    spare_positions: np.ndarray | None = None


class TreeBuffers(NamedTuple):
    """Where trees are written, as long as they can become at most."""

    roots: np.ndarray  # (trees + 1,) int64: where the nodes of every tree begin
    nodes: np.ndarray  # (nodes,) NODE
    value: np.ndarray  # (nodes, classes) float64
    sets: np.ndarray  # (inner nodes + 1, 32) uint8: bit c says that category c goes left; one row if there are none
    waiting: np.ndarray  # (nodes,) int64: nodes that can be split


def has_vectors(criterion: int) -> bool:
    """Whether several sums are followed at once; see :mod:`margin.trees.cart.vector_kernels`."""
    return criterion >= MULTI_GINI
