r"""The best split of a node.

Every column is tried in turn: its groups are summed (``grouping_kernels``), put in order (by value; categories by
their mean target, among whose cuts is the best of all subsets for two classes and for squared error),
and every cut between neighbors is scored (``sum_split_kernels``, ``class_split_kernels``, ``absolute_split_kernels``),
or one cut is drawn (``random_split_kernels``). Missing values are tried on both sides.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.cart.absolute_kernels import rank_targets
from margin.trees.cart.absolute_split_kernels import best_absolute_cut
from margin.trees.cart.candidate_kernels import INFINITE, gain_to_beat, is_allowed, midpoint
from margin.trees.cart.class_split_kernels import best_class_cut, best_row_cut
from margin.trees.cart.describing_kernels import has_channels
from margin.trees.cart.grouping_kernels import group_by_class, group_packed, group_sums, is_sorting_better, sort_keys
from margin.trees.cart.kernel_types import (
    ABSOLUTE_ERROR,
    CATEGORICAL,
    ENTROPY,
    GINI,
    MAY_MISS,
    PACKED_GINI,
    SQUARED_ERROR,
)
from margin.trees.cart.random_split_kernels import (
    draw_sides,
    draw_sides_of_categories,
    random_cut,
    random_gain,
    uniform,
)
from margin.trees.cart.records_kernels import CodedColumns, NewTrees, PlacedRows, Search, SplitRules
from margin.trees.cart.sum_split_kernels import best_sum_cut
from margin.trees.cart.vector_kernels import best_vector_cut, group_vectors, sum_vectors

__all__ = ["gather_codes", "search_split"]

# When fewer than one row in so many is in a node, rows lie so far apart in a column that each needs a cache line, while
# the line that holds a row's codes serves all columns tried in the node.
SCATTERED = 16


@inner
def search_split(
    columns: CodedColumns,
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    set_row: cython.Py_ssize_t,
) -> cython.double:
    """Find the best split of node ``at`` and write it there, a set of categories to ``sets[set_row]``; its raw gain."""
    best: cython.double = -INFINITE
    drawn: cython.Py_ssize_t = 0
    useful: cython.Py_ssize_t = 0
    low: cython.longlong
    high: cython.longlong
    absent: cython.longlong
    p = columns.offsets.shape[0] - 1
    start = tree.nodes[at].start
    n = tree.nodes[at].stop - start
    one_pass: cython.bint = rules.random and (rules.mode == PACKED_GINI or rules.mode == SQUARED_ERROR)
    _prepare(rules, rows, search, start, start + n)
    while drawn < p and (drawn < rules.max_features or useful == 0):
        if rules.max_features < p:
            other = drawn + cython.cast(cython.Py_ssize_t, uniform(search) * (p - drawn))
            j = search.features[other]
            search.features[other] = search.features[drawn]
            search.features[drawn] = j
        j = search.features[drawn]
        drawn += 1
        gather_codes(columns, rows, search, start, n, j)
        low, high, absent = _code_range(search, n, columns.missing, columns.flags[MAY_MISS, j])
        if low >= high and (absent == 0 or absent == n):
            continue  # constant
        useful += 1
        if one_pass and absent == 0 and not columns.flags[CATEGORICAL, j]:
            best = _try_random_cut(columns, rules, rows, search, tree, at, j, low, high, best)
        else:
            best = _try_column(columns, rules, rows, search, tree, at, set_row, j, low, high, absent, best)
    return best


@inner
def _prepare(
    rules: SplitRules, rows: PlacedRows, search: Search, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.void:
    """What the columns of a node share: its sums by class, or the ranks of its targets."""
    if has_channels(rules):
        sum_vectors(rules, rows, search, start, stop)
    elif rules.mode == GINI or rules.mode == ENTROPY:
        _number_classes(rules, rows, search, start, stop)
        for q in range(search.present):
            search.node_sums[q] = 0.0
        for i in range(start, stop):
            search.node_sums[search.node_classes[i - start]] += rows.weights[i]
    elif rules.mode == ABSOLUTE_ERROR:
        rank_targets(rows, search, start, stop)


@inner
def _number_classes(
    rules: SplitRules, rows: PlacedRows, search: Search, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.void:
    """Number the classes that occur, in their order: most nodes hold few of many, and the others add nothing but zeros.

    Two classes keep their numbers, also where one is missing; so do all under monotone constraints.
    """
    c: cython.Py_ssize_t
    keeps: cython.bint = rules.classes == 2 or rules.constrained
    for q in range(rules.classes):
        search.class_places[q] = 0 if keeps else -1
    for i in range(start, stop):
        c = cython.cast(cython.Py_ssize_t, rows.targets[i])
        search.node_classes[i - start] = c
        search.class_places[c] = 0
    search.present = 0
    for q in range(rules.classes):
        if search.class_places[q] == 0:
            search.class_places[q] = search.present
            search.present += 1
    if search.present < rules.classes:
        for i in range(stop - start):
            search.node_classes[i] = search.class_places[search.node_classes[i]]


@inner
def gather_codes(
    columns: CodedColumns,
    rows: PlacedRows,
    search: Search,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
) -> cython.void:
    """The codes of a node's rows in column ``j``, read along whichever way needs fewer cache lines."""
    if columns.wide:
        if n * SCATTERED < columns.codes_32.shape[1]:
            for i in range(n):
                search.node_codes[i] = columns.by_row_32[rows.row[start + i], j]
        else:
            for i in range(n):
                search.node_codes[i] = columns.codes_32[j, rows.row[start + i]]
    elif n * SCATTERED < columns.codes_8.shape[1]:
        for i in range(n):
            search.node_codes[i] = columns.by_row_8[rows.row[start + i], j]
    else:
        for i in range(n):
            search.node_codes[i] = columns.codes_8[j, rows.row[start + i]]


@inner
def _code_range(
    search: Search, n: cython.Py_ssize_t, missing: cython.longlong, may_miss: cython.bint
) -> tuple[cython.longlong, cython.longlong, cython.longlong]:
    """The smallest and the largest known code, and how many are missing; the smallest exceeds the largest if all."""
    low: cython.int
    high: cython.int
    c: cython.int
    absent: cython.longlong = 0
    if may_miss:
        most = cython.cast(cython.int, missing)  # the code of missing values is above all others
        low, high = most, -1
        for i in range(n):
            c = search.node_codes[i]
            absent += c == most
            low = c if c < low else low
            c = -1 if c == most else c
            high = c if c > high else high
    else:
        low = search.node_codes[0]
        high = low
        for i in range(1, n):
            c = search.node_codes[i]
            low = c if c < low else low
            high = c if c > high else high
    return (low, high, absent)


@inner
def _try_random_cut(
    columns: CodedColumns,
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
    best: cython.double,
) -> cython.double:
    """Draw a cut of a numeric column without missing values, score it without groups and take it if it is better."""
    cut: cython.longlong
    threshold: cython.double
    gain: cython.double
    weight_left: cython.double
    total_left: cython.double
    rows_left: cython.double
    cut, threshold = random_cut(columns, search, j, low, high)
    n = tree.nodes[at].stop - tree.nodes[at].start
    gain, weight_left, total_left, rows_left = random_gain(rules, rows, search, tree, at, n, cut)
    if gain > gain_to_beat(best):
        mean_right = (tree.nodes[at].total - total_left) / (tree.nodes[at].weight - weight_left)
        if is_allowed(rules, tree, at, j, weight_left, rows_left, total_left / weight_left, mean_right):
            tree.nodes[at].feature = j
            tree.nodes[at].cut = cut
            tree.nodes[at].threshold = threshold
            tree.nodes[at].category_row = -1
            tree.nodes[at].missing_left = weight_left > 0.5 * tree.nodes[at].weight
            return gain
    return best


@inner
def _try_column(
    columns: CodedColumns,
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    set_row: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
    absent: cython.longlong,
    best: cython.double,
) -> cython.double:
    """Group the rows of a node, score the cuts and take the best if it is better than what was found before."""
    gain: cython.double
    position: cython.Py_ssize_t
    missing_left: cython.bint
    groups: cython.Py_ssize_t
    drawn_cut: cython.longlong = -1
    threshold: cython.double = INFINITE
    highest = high
    n = tree.nodes[at].stop - tree.nodes[at].start
    categorical: cython.bint = columns.flags[CATEGORICAL, j] != 0
    if rules.random and categorical:
        low, high = draw_sides_of_categories(search, n, columns.missing)
        absent = 0
        if low == high:
            return best  # all categories were sent to one side
    elif rules.random:
        drawn_cut, threshold = draw_sides(columns, search, j, n, low, high)
        if low < high:
            low, high = 0, 1
    if _scans_rows(rules, search, n, low, high) and not categorical:
        groups = 0  # unused
        sort_keys(search, n, low, columns.missing if absent else high)
        gain, position, missing_left = best_row_cut(rules, rows, search, tree, at, j, absent, best)
    else:
        groups = _group(columns, rules, rows, search, tree, at, low, high, absent)
        gain, position, missing_left = _best_cut(
            rules, rows, search, tree, at, j, groups, absent, categorical and not rules.random, best
        )
    if gain > best:
        tree.nodes[at].feature = j
        tree.nodes[at].missing_left = missing_left
        tree.nodes[at].category_row = -1
        if categorical:
            tree.nodes[at].category_row = 0
            tree.nodes[at].threshold = 0.0
            tree.nodes[at].missing_left = _record_set(
                columns, rules, search, tree, set_row, groups, position, missing_left
            )
        elif rules.random:  # the groups are left, right and missing: the second cut parts off the missing
            tree.nodes[at].cut = highest if position == 1 else drawn_cut
            tree.nodes[at].threshold = INFINITE if position == 1 else threshold
        else:
            _record_threshold(columns, search, tree, at, j, position)
        return gain
    return best


@inner
def _scans_rows(
    rules: SplitRules, search: Search, n: cython.Py_ssize_t, low: cython.longlong, high: cython.longlong
) -> cython.bint:
    """Whether the rows, in order, are fewer than the sums of every class in every group."""
    if rules.random or not rules.exact or rules.mode != GINI:
        return False
    return is_sorting_better(n, high - low, (high - low + 1) * search.present)


@inner
def _group(
    columns: CodedColumns,
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
    absent: cython.longlong,
) -> cython.Py_ssize_t:
    """Sum the groups of a node by what the criterion needs; how many there are."""
    start = tree.nodes[at].start
    n = tree.nodes[at].stop - start
    if has_channels(rules):
        return group_vectors(rules, rows, search, start, n, low, high, absent, columns.missing)
    if rules.mode == GINI or rules.mode == ENTROPY:
        return group_by_class(rows, search, start, n, low, high, absent, columns.missing, rules.random)
    if rules.mode == PACKED_GINI:
        return group_packed(rows, search, start, n, low, high, absent, columns.missing, _counts_rows(rules))
    return group_sums(rows, search, start, n, low, high, absent, columns.missing, _counts_rows(rules))


@inner
def _counts_rows(rules: SplitRules) -> cython.bint:
    """Whether the rows of sums are needed, which weights do not tell."""
    return rules.mode == ABSOLUTE_ERROR or (rules.min_leaf > 1 and not rules.weight_is_count)


@inner
def _best_cut(
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    groups: cython.Py_ssize_t,
    absent: cython.longlong,
    ordered: cython.bint,
    best: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.bint]:
    if has_channels(rules):
        return best_vector_cut(rules, search, tree, at, j, groups, absent, ordered, best)
    if rules.mode == GINI or rules.mode == ENTROPY:
        return best_class_cut(rules, search, tree, at, j, groups, absent, ordered, best)
    if rules.mode == ABSOLUTE_ERROR:
        return best_absolute_cut(rules, rows, search, tree, at, j, groups, absent, ordered, best)
    return best_sum_cut(rules, search, tree, at, j, groups, absent, ordered, _counts_rows(rules), best)


@inner
def _record_threshold(
    columns: CodedColumns,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    position: cython.Py_ssize_t,
) -> cython.void:
    """Cut after the group at ``position``, halfway to the next one that occurs."""
    last = search.group_codes[position]
    following = search.group_codes[position + 1]
    tree.nodes[at].cut = last
    tree.nodes[at].threshold = INFINITE
    if following != columns.missing:
        first = columns.offsets[j]
        tree.nodes[at].threshold = midpoint(columns.ranges[1, first + last], columns.ranges[0, first + following])


@inner
def _record_set(
    columns: CodedColumns,
    rules: SplitRules,
    search: Search,
    tree: NewTrees,
    set_row: cython.Py_ssize_t,
    groups: cython.Py_ssize_t,
    position: cython.Py_ssize_t,
    missing_left: cython.bint,
) -> cython.bint:
    """Categories on the left as bits; those without rows in the node go where missing values go, which is returned."""
    for byte in range(32):
        tree.sets[set_row, byte] = 0
    if rules.random:
        for c in range(256):
            if search.split_order[c] == 0:
                tree.sets[set_row, c >> 3] |= 1 << (c & 7)
        return search.split_order[255] == 0
    for b in range(groups):
        if search.group_codes[search.split_order[b]] == columns.missing:
            missing_left = b <= position
    if missing_left:
        for byte in range(32):
            tree.sets[set_row, byte] = 255
    for b in range(groups):
        code = search.group_codes[search.split_order[b]]
        if code != columns.missing:
            if b <= position:
                tree.sets[set_row, code >> 3] |= 1 << (code & 7)
            else:
                tree.sets[set_row, code >> 3] &= 255 - (1 << (code & 7))
    return missing_left
