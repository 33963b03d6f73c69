"""What the compiled tree grower passes around: tuples of a few arrays and numbers with names, and records.

Rows of a node lie together: a node owns the positions ``start .. stop`` of every array in :class:`NodeRows`. Within a
node, the rows with the same code of a column are a *group*; the groups are numbered by ascending code, missing values
last. Arrays that belong together are rows of one wide array, because Numba takes every array apart at every call it
compiles; a kernel names the rows it needs in its first lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "ABSOLUTE_ERROR",
    "ENTROPY",
    "GINI",
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
    "NodeState",
    "SearchBuffers",
    "Traits",
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

# Rows of NodeRows.numbers.
WEIGHTS, TARGETS, SPARE_WEIGHTS, SPARE_TARGETS = 0, 1, 2, 3
FIRST_TARGET = 4  # several targets: TARGETS says where a row's own stand in the rows from this one on, never moved

# Rows of SearchBuffers.group_integers: per group its code, its position in the order of cuts, its rows, and the rows
# left of the cut after it; per code the rows and packed sums; a second order; where each byte starts when keys are
# sorted.
GROUP_CODES, SPLIT_ORDER, GROUP_ROWS, LEFT_ROWS, ROW_COUNTS, PACKED_SUMS, BEST_ORDER, DIGIT_STARTS = range(8)

# Rows of SearchBuffers.group_numbers: per group its weight and total; per cut what lies left of it, what it gains, and
# the medians on both sides.
GROUP_WEIGHTS, GROUP_TOTALS, LEFT_WEIGHTS, LEFT_TOTALS, GAINS, LEFT_MEDIANS, RIGHT_MEDIANS = range(7)

# Rows of SearchBuffers.class_weights: of the node, and left of a cut.
NODE_CLASSES, LEFT_CLASSES = 0, 1

# Rows of SearchBuffers.ranking: Fenwick trees of weights and totals by rank, targets in order, ranks, positions in
# order of their targets, and a spare row for sorting them.
HEAP_WEIGHTS, HEAP_TOTALS, SORTED_TARGETS, RANKS, SORTED_POSITIONS, SPARE_POSITIONS = range(6)

# A node of the growing tree: its split (``child`` is -1 in a leaf, the second child follows it), its rows, what they
# amount to, and the values that monotone columns allow.
NODE = np.dtype(
    [
        *((name, np.int64) for name in ("feature", "child", "missing_left", "category_row")),
        *((name, np.int64) for name in ("start", "stop", "depth", "cut")),
        *((name, np.float64) for name in ("threshold", "weight", "impurity", "gain", "lower", "upper", "total")),
    ]
)


class Traits(NamedTuple):
    """What decides which code is compiled: compiling all that there is takes half a minute, a fit needs a part."""

    criterion: int  # SQUARED_ERROR ... POISSON
    categories: bool  # some column is categorical
    missing: bool  # some column has missing values
    bounded: bool  # some column is monotone, or the number of leaves is limited
    random: bool  # one random split per column in place of the best


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
    constrained: bool
    monotone: np.ndarray  # (p,) int8


class NodeRows(NamedTuple):
    """The rows of trees in the order of their nodes, one tree after another."""

    starts: np.ndarray  # (trees + 1,) int64: where the rows of every tree begin
    row: np.ndarray  # (2, n) uint32: position in the table; a spare row for parting a node
    # (4, n) float64: WEIGHTS ... SPARE_TARGETS, targets being centered responses or class numbers; or, for PACKED_GINI,
    # (2, n) int64: weight << 32 | weight of class 1; spare; or, for several targets, (4 + targets, n) float64.
    amounts: np.ndarray


class NodeState(NamedTuple):
    """What the search sees of a node: its rows, its totals and the values that monotone columns allow it."""

    start: int
    stop: int
    weight: float
    total: float  # of weight times target
    lower: float
    upper: float


class SearchBuffers(NamedTuple):
    """Buffers, allocated once per call; sums and counts are zero between uses."""

    node_codes: np.ndarray  # (n,) codes of one column in one node
    keys: np.ndarray  # (2, n) int64: code and position, to be sorted; spare
    group_integers: np.ndarray  # (8, codes) int64: GROUP_CODES ... DIGIT_STARTS
    group_numbers: np.ndarray  # (7, codes) float64: GROUP_WEIGHTS ... RIGHT_MEDIANS
    sums: np.ndarray  # (codes * channels,) float64 per code
    group_classes: np.ndarray  # (codes * classes,) float64
    class_weights: np.ndarray  # (2, classes) float64: NODE_CLASSES, LEFT_CLASSES
    ranking: np.ndarray  # (6, n + 1) float64 for absolute error: HEAP_WEIGHTS ... SPARE_POSITIONS
    features: np.ndarray  # (p,) int64, permuted as columns are drawn
    states: np.ndarray  # (trees,) uint64: the generator's state at the root of every tree
    generator: np.ndarray  # (1,) uint64: its state at the moment


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
