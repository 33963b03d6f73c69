"""What the compiled tree grower reads and writes: tables of records with named fields, and tuples of numbers.

A kernel that takes one table of records compiles several times faster than one that takes an array per field.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "CANDIDATE",
    "CODES",
    "COLUMN",
    "COMPLETE",
    "IDLE",
    "MISSING",
    "NODE",
    "POOL_FULL",
    "PROGRESS",
    "Packing",
    "SplitLimits",
]

CODES = 256  # histogram bins per stored column: 255 codes and the missing one
MISSING = 255  # the code of a missing value

# A column of the training table.
COLUMN = np.dtype(
    [
        ("n_bins", np.int64),  # the missing one not counted
        ("monotone", np.int64),  # 1 increasing, -1 decreasing, 0 free
        ("stored", np.int64),  # the stored column that holds its codes (several exclusive columns may share one)
        ("base", np.int64),  # code k > 0 is stored as base + k; -1 for a column that is stored alone
        ("categorical", np.bool_),
    ],
    align=True,
)

# A node of a growing tree: an inner node holds the split it made, an open one the best that it could make.
NODE = np.dtype(
    [
        ("gain", np.float64),
        ("start", np.int64),  # the node owns rows[start:stop]
        ("stop", np.int64),
        ("depth", np.int64),
        ("histogram", np.int64),  # number of its histogram in the pool
        ("total", np.int64),  # sum of its packed rows
        ("feature", np.int32),  # -1 in a leaf
        ("left", np.int32),
        ("right", np.int32),
        ("code", np.uint8),  # the last code that goes left
        ("missing_left", np.bool_),
        ("is_category", np.bool_),
        ("searched", np.bool_),  # whether it may be split, so that its best split is looked for
    ],
    align=True,
)

# The best split of a node in one column.
CANDIDATE = np.dtype(
    [
        ("gain", np.float64),
        ("cut", np.int64),  # the number of the last code on the left among those that the node has, see code_of_cut
        ("missing_side", np.int64),  # 1 left, 0 right, UNDECIDED if the node has no missing value
        ("allowed", np.bool_),
    ],
    align=True,
)

# How far a tree has grown.
PROGRESS = np.dtype(
    [
        ("n_nodes", np.int64),
        ("n_leaves", np.int64),
        ("n_waiting", np.int64),  # nodes that could be split
        ("n_free", np.int64),  # histograms that were given back
        ("n_histograms", np.int64),  # histograms ever in use
    ]
)

# What a call of ``grow`` ends with: the tree is complete, the pool of histograms is too small to go on, or there was
# nothing to assist with for a while.
COMPLETE, POOL_FULL, IDLE = 0, 1, 2


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


class SplitLimits(NamedTuple):
    """When a node may be split, and what a split is worth."""

    best_first: bool  # split the node that gains most next; otherwise depth first, which needs fewer histograms
    max_leaves: int
    max_depth: int
    min_split: int  # rows of a node; at least 2 * min_leaf
    min_leaf: int  # rows of a leaf
    min_hessian: float  # of a leaf
    l2: float
    min_gain: float
    feature_fraction: float  # of the columns, drawn for every node
    random_ties: bool  # of columns that gain the same any may be asked; otherwise the first
    pooled_below: int  # categories with fewer rows in a node are treated as one
