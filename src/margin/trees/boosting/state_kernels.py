"""What the kernels of boosting read and write: records of tables, and structures of what belongs together.

The records are those of :mod:`margin.trees.boosting.kernel_types` and ``tree_buffer``, field by field.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ByteMatrix,
    ConstByteMatrix,
    ConstIntegers,
    ConstMatrix,
    ConstVector,
    Integers,
    Integers32,
    Matrix,
    Vector,
)

__all__ = ["Candidates", "Columns", "Growth", "Limits", "Nodes", "Packing", "Round", "StoredNodes"]

Column = cython.struct(
    n_bins=cython.longlong,
    monotone=cython.longlong,
    stored=cython.longlong,
    base=cython.longlong,
    categorical=cython.uchar,
)
Node = cython.struct(
    gain=cython.double,
    start=cython.longlong,
    stop=cython.longlong,
    depth=cython.longlong,
    histogram=cython.longlong,
    total=cython.longlong,
    feature=cython.int,
    left=cython.int,
    right=cython.int,
    code=cython.uchar,
    missing_left=cython.uchar,
    is_category=cython.uchar,
    searched=cython.uchar,
)
Candidate = cython.struct(gain=cython.double, cut=cython.longlong, missing_side=cython.longlong, allowed=cython.uchar)
StoredNode = cython.struct(
    threshold=cython.double,
    value=cython.double,
    gain=cython.double,
    weight=cython.double,
    n_samples=cython.longlong,
    feature=cython.int,
    left=cython.int,
    right=cython.int,
    category_row=cython.int,
    code=cython.uchar,
    missing_left=cython.uchar,
)
Columns = cython.const[Column][::1]
Nodes = Node[::1]
ConstNodes = cython.const[Node][::1]
Candidates = Candidate[:, ::1]
StoredNodes = StoredNode[::1]


@cython.cclass
class Packing:
    """Where gradient, hessian and count of a row lie in one int64, and what their units are worth.

    The count is in the lowest bits, the hessian above it, the signed gradient on top; sums of all rows fit.
    """

    gradient_shift = cython.declare(cython.longlong, visibility="public")
    hessian_shift = cython.declare(cython.longlong, visibility="public")
    hessian_mask = cython.declare(cython.longlong, visibility="public")
    count_mask = cython.declare(cython.longlong, visibility="public")
    gradient_unit = cython.declare(cython.double, visibility="public")
    hessian_unit = cython.declare(cython.double, visibility="public")
    # The unit of the hessian, or 0 where hessians are counts and exact.
    hessian_rounding = cython.declare(cython.double, visibility="public")
    # Units are so coarse that rounding must be random to be right on average.
    dithered = cython.declare(cython.bint, visibility="public")
    # The count has bits of its own; otherwise it is estimated from the hessian.
    counted = cython.declare(cython.bint, visibility="public")
    rows_per_hessian = cython.declare(cython.double, visibility="public")  # for that estimate


@cython.dataclasses.dataclass(repr=False, eq=False)
@cython.cclass
class Limits:
    """The fields of :class:`margin.trees.boosting.kernel_types.SplitLimits`."""

    best_first: cython.bint
    max_leaves: cython.longlong
    max_depth: cython.longlong
    min_split: cython.longlong
    min_leaf: cython.longlong
    min_hessian: cython.double
    l2: cython.double
    min_gain: cython.double
    feature_fraction: cython.double
    random_ties: cython.bint
    pooled_below: cython.longlong


@cython.dataclasses.dataclass(repr=False, eq=False)
@cython.cclass
class Growth:
    """A coded table with n rows and q stored columns of p, and the tree that grows on it.

    What only some tables need may be None: ``category_sets`` without categorical columns, ``members`` without shared
    columns, ``bounds`` without monotone constraints, ``groups`` without interaction constraints.
    """

    codes: ConstByteMatrix  # (n, q)
    columns: Columns  # (p,)
    limits: Limits
    packing: Packing  # of ``packed``
    packed: Integers  # (n,) derivatives
    rows: Integers32  # those that the tree is grown on; in the end ordered by leaf
    spare: Integers32  # (n,) scratch
    nodes: Nodes  # the root first
    pool: Integers  # histograms, each of q * CODES sums
    candidates: Candidates  # (2, p), the best split of two siblings in every column
    sums: Integers  # scratch of each block of columns that is searched: CODES each
    orders: Integers
    gains: Vector
    drawn: Integers  # (p,) scratch
    goes_left: Integers  # (CODES,) 1 for every code that goes left in the split that is being made
    waiting: Integers  # nodes that could be split
    free: Integers  # histograms that were given back
    lefts: Integers  # (threads,) rows of a range that go left
    parts: Integers  # histograms of ranges of rows, one per thread; empty if threads take columns
    draws: cython.bint  # whether columns or ties are drawn, by ``seed``
    seed: cython.longlong
    category_sets: ByteMatrix  # (nodes, 32)
    bounds: Matrix  # (nodes, 2)
    members: ConstIntegers  # (p,), see ``bundling.Bundles``
    member_start: ConstIntegers
    groups: ConstByteMatrix  # (groups, p) columns that may interact
    active: ByteMatrix  # (nodes, groups)
    # How far the tree has grown.
    n_nodes: cython.longlong = 0
    n_leaves: cython.longlong = 0
    n_waiting: cython.longlong = 0
    n_free: cython.longlong = 0
    n_histograms: cython.longlong = 0  # ever in use

    def use(self, rows: Integers32, packing: Packing, seed: cython.longlong):
        """Take these for the next tree."""
        self.rows = rows
        self.packing = packing
        self.seed = seed

    def use_pool(self, pool: Integers):
        """Go on with a larger pool, which begins with what the old one held."""
        self.pool = pool

    def count_nodes(self):
        """How many nodes the tree has."""
        return self.n_nodes

    def count_waiting(self):
        """How many nodes wait to be split."""
        return self.n_waiting


@cython.dataclasses.dataclass(repr=False, eq=False)
@cython.cclass
class Round:
    """One round of boosting on a small table: a tree per output, from derivatives to stored nodes and predictions."""

    gradient: ConstMatrix  # (outputs, n)
    curvature: ConstMatrix  # by which splits are rated: (outputs, n), or (outputs, 0) where it is 1
    hessian: ConstMatrix  # by which leaves are: the same
    weight: ConstVector  # of rows: (n,) or (0,)
    gradient_bits: cython.longlong  # of sums, see ``packing.PackingBits``
    hessian_bits: cython.longlong
    row_bits: cython.longlong
    # What a leaf adds: ``leaf_factor`` times ``learning_rate`` times the Newton step, 0 where there is no curvature.
    l2: cython.double
    least_curvature: cython.double
    leaf_factor: cython.double
    learning_rate: cython.double
    offsets: ConstIntegers  # of the columns' edges
    edges: ConstVector
    stored: StoredNodes  # where the nodes go, from ``first`` on
    stored_sets: ByteMatrix  # where sets of categories go, from ``first_set`` on
    first: cython.longlong
    first_set: cython.longlong
    stops: Integers  # (outputs,) where each tree ends
    predictions: Matrix  # (outputs, n), moved
