"""What the compiled tree grower reads and writes, as Python sees it: tables of records with named fields, and numbers.

Kernels have the same records field by field (``state_kernels``); one that differs is refused when it is passed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "CANDIDATE",
    "CODES",
    "COLUMN",
    "COMPLETE",
    "MISSING",
    "NODE",
    "NOT_FINITE",
    "POOL_FULL",
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

# What a call of ``grow`` ends with: the tree is complete, or the pool of histograms is too small to go on.
COMPLETE, POOL_FULL = 0, 1
NOT_FINITE = -1  # the sum of the gradients of a round is not


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
