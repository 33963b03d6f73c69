"""What the compiled grower passes around: tuples of arrays and numbers with names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "CATEGORY_SHIFT",
    "CODES",
    "CODE_SHIFT",
    "FEATURE_SHIFT",
    "MISSING_SHIFT",
    "Bundles",
    "Nodes",
    "Packing",
    "Rules",
    "Table",
    "Trees",
]

# Where the parts of a question lie in a word of Trees.
CODE_SHIFT, MISSING_SHIFT, CATEGORY_SHIFT, FEATURE_SHIFT = 32, 40, 41, 42

CODES = 256  # places per column in a histogram: 255 bins and the missing one


class Bundles(NamedTuple):
    """Which of the q stored columns holds each of the p columns of a table."""

    place: np.ndarray  # (p,) int64, the stored column
    base: np.ndarray  # (p,) int64: code k > 0 is stored as base + k; -1 for a column that has a place of its own
    members: np.ndarray  # (p,) int64, columns in the order of their places
    first: np.ndarray  # (q + 1,) int64: place s holds members[first[s]:first[s + 1]]


class Table(NamedTuple):
    """The training table as codes, rows together."""

    codes: np.ndarray  # (n, q) uint8 as stored, 255 is missing
    n_bins: np.ndarray  # (p,) int64, the missing one not counted
    categorical: np.ndarray  # (p,) bool
    monotone: np.ndarray  # (p,) int64: 1 increasing, -1 decreasing, 0 free
    place: np.ndarray  # as in Bundles
    base: np.ndarray
    members: np.ndarray
    first: np.ndarray


class Packing(NamedTuple):
    """Where gradient, hessian and count of a row lie in one int64, and what their units are worth.

    The count is in the lowest bits, the hessian above it, the signed gradient on top; sums of all rows fit.
    """

    gradient_shift: int
    hessian_shift: int
    hessian_mask: int
    count_mask: int
    gradient_unit: float
    hessian_unit: float
    hessian_rounding: float  # its unit, or 0 where hessians are counts and exact
    dithered: bool  # units are so coarse that rounding must be random to be right on average
    counted: bool  # the count has bits of its own; otherwise it is estimated from the hessian
    rows_per_hessian: float  # for that estimate


class Rules(NamedTuple):
    """When a node may be split, and what a split is worth."""

    max_leaves: int  # 0: no limit, and nodes are split depth first
    max_depth: int
    min_leaf: int  # rows
    min_hessian: float
    l2: float
    min_gain: float
    max_features: int
    constrained: bool
    pooled_below: int  # categories with fewer rows in a node share one place


class Nodes(NamedTuple):
    """A growing tree; inner nodes hold the split they made, open ones the best they could make."""

    feature: np.ndarray  # int32, -1 in a leaf
    code: np.ndarray  # uint8, the last code that goes left
    missing_left: np.ndarray  # bool
    is_category: np.ndarray  # bool
    category_set: np.ndarray  # (nodes, 32) uint8; one row if no column is categorical
    left: np.ndarray  # int32
    right: np.ndarray  # int32
    gain: np.ndarray  # float64
    depth: np.ndarray  # int64
    start: np.ndarray  # int64, the node owns rows[start:stop]
    stop: np.ndarray  # int64
    lower: np.ndarray  # float64, what monotone columns allow
    upper: np.ndarray  # float64
    slot: np.ndarray  # int64, where its histogram is
    total: np.ndarray  # int64, the sum of its cells


class Trees(NamedTuple):
    """Finished trees one after the other, as prediction reads them; children are counted from the start of their tree.

    A word holds all of a question: the left child in the lowest 32 bits (0 in a leaf: the root is nobody's child), then
    the last code that goes left (8 bits), whether missing values go left, whether the question is about categories, and
    the column. The right child follows the left one.
    """

    start: np.ndarray  # (trees + 1,) int64
    word: np.ndarray  # (nodes,) int64
    category_row: np.ndarray  # int32, row of category_set, -1 for a threshold
    category_set: np.ndarray  # (questions about categories, 32) uint8
    value: np.ndarray  # float64
