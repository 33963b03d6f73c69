"""What the compiled tree grower passes around: tuples of a few arrays and numbers with names.

Few and wide arrays, because Numba takes each of them apart at every call it compiles. Rows of a node lie together:
a node owns the positions ``start .. stop`` of every array in :class:`Rows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["ABSOLUTE", "ENTROPY", "GINI", "PACKED", "SUMS", "Node", "Rows", "Rules", "Table", "Work"]

# What is summed per level of a column, and so which criterion is followed.
SUMS = 0  # weight and weight times target: squared error
PACKED = 1  # the same for whole-numbered weights and targets 0 and 1, both in one int64 (Gini impurity of two classes)
GINI = 2  # weight of every class
ENTROPY = 3  # weight of every class
ABSOLUTE = 4  # medians from sorted rows

# Rows of Rows.number and of the other tables below.
WEIGHT, TARGET, SPARE_WEIGHT, SPARE_TARGET = 0, 1, 2, 3
LEVEL, ORDER, LEVEL_ROWS, ROWS_LEFT, COUNTS, PACKED_SUMS, BEST_ORDER, PLACES = 0, 1, 2, 3, 4, 5, 6, 7
LEVEL_WEIGHT, LEVEL_TOTAL, WEIGHT_LEFT, TOTAL_LEFT, GAIN, MEDIAN_LEFT, MEDIAN_RIGHT = 0, 1, 2, 3, 4, 5, 6
TOTAL, LEFT = 0, 1
HEAP_WEIGHT, HEAP_TOTAL, SORTED_TARGET, RANK, SORTED, SPARE = 0, 1, 2, 3, 4, 5


class Table(NamedTuple):
    """The training table as codes; column ``j`` has levels ``offsets[j] .. offsets[j + 1]``."""

    codes: np.ndarray  # (p, n) uint8 (bins) or int32 (one code per distinct value)
    by_row: np.ndarray  # (n, p): the same, rows together
    ranges: np.ndarray  # (2, levels): smallest and largest value with this code
    offsets: np.ndarray  # (p + 1,) int64
    flags: np.ndarray  # (2, p) bool: whether the column is categorical, whether it has missing values
    missing: int  # the code of a missing value, larger than any other


class Rules(NamedTuple):
    """When and how a node may be split."""

    mode: int
    classes: int
    center: float  # what was taken from the targets before
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


class Rows(NamedTuple):
    """The rows of a tree in the order of its nodes; a mode needs ``number`` or ``packed``, the other is empty."""

    row: np.ndarray  # (2, n) uint32: place in the table; a spare row for parting a node
    number: np.ndarray  # (4, n) float64: weight, centered target or class number; the same, spare
    packed: np.ndarray  # (2, n) int64: weight << 32 | weight of class 1; spare


class Node(NamedTuple):
    """What the search sees of a node: its rows, its totals and the values that monotone columns allow it."""

    start: int
    stop: int
    weight: float
    total: float  # of weight times target
    lower: float
    upper: float


class Work(NamedTuple):
    """Buffers, allocated once per tree; sums and counts are zero between uses."""

    local: np.ndarray  # (n,) codes of one column in one node
    keys: np.ndarray  # (2, n) int64: code and position, to be sorted; spare
    whole: np.ndarray  # (8, levels) int64: LEVEL ... PLACES
    real: np.ndarray  # (7, levels) float64: LEVEL_WEIGHT ... MEDIAN_RIGHT
    sums: np.ndarray  # (levels * channels,) float64 per code
    level_classes: np.ndarray  # (levels * classes,) float64
    classes: np.ndarray  # (2, classes) float64: TOTAL, LEFT
    ranked: np.ndarray  # (6, n + 1) float64 for absolute error: HEAP_WEIGHT ... SPARE
    features: np.ndarray  # (p,) int64, permuted as columns are drawn
    rng: np.ndarray  # (1,) uint64
    best_code: np.ndarray  # (4,) int64: column, last code on the left, missing goes left, is categorical
    best_number: np.ndarray  # (2,) float64: gain, threshold
    best_set: np.ndarray  # (32,) uint8: categories on the left
