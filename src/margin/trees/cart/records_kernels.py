"""What the kernels that grow trees pass around: arrays and numbers by name, of :mod:`margin.trees.cart.kernel_types`.

Rows of a node lie together: a node owns the positions ``start .. stop`` of every array in :class:`PlacedRows`. Within
a node, the rows with the same code of a column are a *group*; the groups are numbered by ascending code, missing
values last.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ByteMatrix,
    ConstByteMatrix,
    ConstIntegerMatrix32,
    ConstIntegers,
    ConstMatrix,
    Integers,
    Integers32,
    Matrix,
    Vector,
)

__all__ = ["CodedColumns", "NewTrees", "Node", "PlacedRows", "Search", "SplitRules"]

Positions = cython.uint[::1]
States = cython.const[cython.ulonglong][::1]
Signs = cython.const[cython.schar][::1]

# A node of the growing tree: its split (``child`` is -1 in a leaf, the second child follows it), its rows, what they
# amount to, and the values that monotone columns allow. NODE of kernel_types is the same as a dtype.
Node = cython.struct(
    feature=cython.longlong,
    child=cython.longlong,
    missing_left=cython.longlong,
    category_row=cython.longlong,
    start=cython.longlong,
    stop=cython.longlong,
    depth=cython.longlong,
    cut=cython.longlong,
    threshold=cython.double,
    weight=cython.double,
    impurity=cython.double,
    gain=cython.double,
    lower=cython.double,
    upper=cython.double,
    total=cython.double,
)


@cython.cclass
class CodedColumns:
    """A table as codes (``ColumnCodes``), of one byte or of four: the other arrays are None."""

    wide = cython.declare(cython.bint, visibility="public")
    codes_8 = cython.declare(ConstByteMatrix, visibility="public")
    by_row_8 = cython.declare(ConstByteMatrix, visibility="public")
    codes_32 = cython.declare(ConstIntegerMatrix32, visibility="public")
    by_row_32 = cython.declare(ConstIntegerMatrix32, visibility="public")
    ranges = cython.declare(ConstMatrix, visibility="public")
    offsets = cython.declare(ConstIntegers, visibility="public")
    flags = cython.declare(ConstByteMatrix, visibility="public")
    missing = cython.declare(cython.longlong, visibility="public")


@cython.cclass
class SplitRules:
    """When and how a node may be split (``GrowthRules``)."""

    mode = cython.declare(cython.longlong, visibility="public")
    classes = cython.declare(cython.Py_ssize_t, visibility="public")
    max_depth = cython.declare(cython.longlong, visibility="public")
    max_leaves = cython.declare(cython.longlong, visibility="public")
    min_split = cython.declare(cython.longlong, visibility="public")
    min_leaf = cython.declare(cython.longlong, visibility="public")
    min_weight = cython.declare(cython.double, visibility="public")
    min_decrease = cython.declare(cython.double, visibility="public")
    max_features = cython.declare(cython.longlong, visibility="public")
    random = cython.declare(cython.bint, visibility="public")
    weight_is_count = cython.declare(cython.bint, visibility="public")
    exact = cython.declare(cython.bint, visibility="public")
    constrained = cython.declare(cython.bint, visibility="public")
    monotone = cython.declare(Signs, visibility="public")


@cython.cclass
class PlacedRows:
    """The rows of trees in the order of their nodes (``NodeRows``)."""

    starts = cython.declare(ConstIntegers, visibility="public")
    row = cython.declare(Positions, visibility="public")
    spare_row = cython.declare(Positions, visibility="public")
    packed = cython.declare(Integers, visibility="public")
    spare_packed = cython.declare(Integers, visibility="public")
    weights = cython.declare(Vector, visibility="public")
    spare_weights = cython.declare(Vector, visibility="public")
    targets = cython.declare(Vector, visibility="public")
    spare_targets = cython.declare(Vector, visibility="public")
    several = cython.declare(ConstMatrix, visibility="public")


@cython.cclass
class Search:
    """Memory for searching splits (``SearchBuffers``)."""

    node_codes = cython.declare(Integers32, visibility="public")
    node_classes = cython.declare(Integers32, visibility="public")
    class_places = cython.declare(Integers, visibility="public")
    present = cython.declare(cython.Py_ssize_t, visibility="public")
    keys = cython.declare(Integers, visibility="public")
    spare_keys = cython.declare(Integers, visibility="public")
    digit_starts = cython.declare(Integers, visibility="public")
    group_codes = cython.declare(Integers, visibility="public")
    group_rows = cython.declare(Integers, visibility="public")
    left_rows = cython.declare(Integers, visibility="public")
    split_order = cython.declare(Integers, visibility="public")
    best_order = cython.declare(Integers, visibility="public")
    row_counts = cython.declare(Integers, visibility="public")
    packed_sums = cython.declare(Integers, visibility="public")
    group_weights = cython.declare(Vector, visibility="public")
    group_totals = cython.declare(Vector, visibility="public")
    left_weights = cython.declare(Vector, visibility="public")
    left_totals = cython.declare(Vector, visibility="public")
    gains = cython.declare(Vector, visibility="public")
    left_medians = cython.declare(Vector, visibility="public")
    right_medians = cython.declare(Vector, visibility="public")
    sums = cython.declare(Vector, visibility="public")
    group_sums = cython.declare(Vector, visibility="public")
    node_sums = cython.declare(Vector, visibility="public")
    left_sums = cython.declare(Vector, visibility="public")
    heap_weights = cython.declare(Vector, visibility="public")
    heap_totals = cython.declare(Vector, visibility="public")
    sorted_targets = cython.declare(Vector, visibility="public")
    ranks = cython.declare(Integers32, visibility="public")
    sorted_positions = cython.declare(Integers32, visibility="public")
    spare_positions = cython.declare(Integers32, visibility="public")
    features = cython.declare(Integers, visibility="public")
    states = cython.declare(States, visibility="public")
    state = cython.declare(cython.ulonglong, visibility="public")


@cython.cclass
class NewTrees:
    """Where trees are written (``TreeBuffers``)."""

    nodes: Node[::1]
    roots = cython.declare(Integers, visibility="public")
    value = cython.declare(Matrix, visibility="public")
    sets = cython.declare(ByteMatrix, visibility="public")
    waiting = cython.declare(Integers, visibility="public")

    def __init__(self, nodes: Node[::1]):
        self.nodes = nodes  # what `declare` does not take, uncompiled
