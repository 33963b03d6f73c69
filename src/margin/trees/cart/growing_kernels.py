"""Growing trees.

A node is described (weight, value, impurity) and searched for its best split when it is created, and split when its
turn comes: the newest first (depth-first), or, when the number of leaves is limited, the one whose split gains most.
The interpreter lock is released, so trees of a forest grow in parallel threads; each is grown by one thread. Small
trees are grown many in a call, because a call from Python takes as long as a tree over a few dozen rows.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner, kernel
from margin.trees.cart.candidate_kernels import INFINITE
from margin.trees.cart.describing_kernels import describe, has_channels
from margin.trees.cart.kernel_types import ABSOLUTE_ERROR, ENTROPY, GINI, MAY_MISS, MULTI_ENTROPY, PACKED_GINI
from margin.trees.cart.records_kernels import Columns, Rows, Rules, Search, Tree
from margin.trees.cart.search_kernels import gather_codes, search_split

__all__ = ["grow"]

LOG_2 = 0.6931471805599453


@kernel
def grow(columns: Columns, rules: Rules, rows: Rows, search: Search, tree: Tree) -> cython.void:
    """Grow trees one after another into ``tree``, each over its own part of ``rows``.

    Nodes are numbered through, and ``tree.roots`` says where those of every tree begin.
    """
    count: cython.Py_ssize_t = 0
    used_sets: cython.Py_ssize_t = 0
    trees = rows.starts.shape[0] - 1
    for number in range(trees):
        tree.roots[number] = count
        search.state = search.states[number]
        for j in range(search.features.shape[0]):  # whatever the tree before left: a tree is the same in any company
            search.features[j] = j
        count, used_sets = _grow_one(columns, rules, rows, search, tree, number, count, used_sets)
    tree.roots[trees] = count


@inner
def _grow_one(
    columns: Columns,
    rules: Rules,
    rows: Rows,
    search: Search,
    tree: Tree,
    number: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    used_sets: cython.Py_ssize_t,
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Grow one tree; how many nodes and sets of categories there are then."""
    turns: cython.Py_ssize_t = 0
    leaves: cython.longlong = 1
    node: cython.Py_ssize_t = -1
    middle: cython.Py_ssize_t
    first: cython.Py_ssize_t
    new: cython.Py_ssize_t
    while True:
        # The new nodes: the root at first, later the children of ``node``.
        first = count
        if node < 0:
            _begin(rules, rows, search, tree, first, rows.starts[number], rows.starts[number + 1])
            count += 1
        else:
            middle = _partition(columns, rules, rows, search, tree, node)
            tree.nodes[node].child = first
            leaves += 1
            _begin_child(rules, rows, search, tree, node, first, tree.nodes[node].start, middle)
            _begin_child(rules, rows, search, tree, node, first + 1, middle, tree.nodes[node].stop)
            count += 2
            if rules.constrained:
                _bound_children(rules, tree, node, first)
        for back in range(count - first):
            new = count - 1 - back
            if not _find_split(columns, rules, rows, search, tree, new, used_sets):
                continue
            if tree.nodes[new].category_row >= 0:
                tree.nodes[new].category_row = used_sets
                used_sets += 1
            tree.waiting[turns] = new
            turns += 1
            if rules.max_leaves > 0:
                _rise(tree, turns)
        if turns == 0 or 0 < rules.max_leaves <= leaves:
            return (count, used_sets)
        turns -= 1
        if rules.max_leaves > 0:
            _swap(tree, 0, turns)
            _sink(tree, turns)
        node = tree.waiting[turns]


@inner
def _begin(
    rules: Rules,
    rows: Rows,
    search: Search,
    tree: Tree,
    at: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
) -> cython.void:
    """A root over the rows ``start .. stop``."""
    tree.nodes[at].feature = -1
    tree.nodes[at].child = -1
    tree.nodes[at].missing_left = -1
    tree.nodes[at].category_row = -1
    tree.nodes[at].cut = -1
    tree.nodes[at].threshold = 0.0
    tree.nodes[at].gain = 0.0
    tree.nodes[at].start = start
    tree.nodes[at].stop = stop
    tree.nodes[at].depth = 0
    tree.nodes[at].lower = -INFINITE
    tree.nodes[at].upper = INFINITE
    describe(rules, rows, search, tree, at)


@inner
def _begin_child(
    rules: Rules,
    rows: Rows,
    search: Search,
    tree: Tree,
    above: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
) -> cython.void:
    _begin(rules, rows, search, tree, at, start, stop)
    tree.nodes[at].depth = tree.nodes[above].depth + 1
    tree.nodes[at].lower = tree.nodes[above].lower
    tree.nodes[at].upper = tree.nodes[above].upper


@inner
def _find_split(
    columns: Columns,
    rules: Rules,
    rows: Rows,
    search: Search,
    tree: Tree,
    at: cython.Py_ssize_t,
    set_row: cython.Py_ssize_t,
) -> cython.bint:
    """Whether node ``at`` is to be split; its split and what that gains are written."""
    gain: cython.double
    n = tree.nodes[at].stop - tree.nodes[at].start
    weight = tree.nodes[at].weight
    if n < rules.min_split or n < 2 * rules.min_leaf or weight < 2 * rules.min_weight:
        return False
    if tree.nodes[at].depth >= rules.max_depth or tree.nodes[at].impurity <= 0.0:
        return False
    gain = search_split(columns, rules, rows, search, tree, at, set_row)
    if gain == -INFINITE:
        return False
    gain = _decrease(rules, rows, tree, at, gain)
    if gain < rules.min_decrease:
        return False
    tree.nodes[at].gain = gain
    return True


@inner
def _decrease(rules: Rules, rows: Rows, tree: Tree, at: cython.Py_ssize_t, gain: cython.double) -> cython.double:
    """What a split with this raw ``gain`` takes from the impurity times the weight, at least zero."""
    weight = tree.nodes[at].weight
    impurity = tree.nodes[at].impurity
    total = tree.nodes[at].total
    if rules.mode == ABSOLUTE_ERROR:
        gain += impurity * weight
    elif rules.mode == ENTROPY:
        gain = gain / LOG_2 + impurity * weight
    elif rules.mode == GINI:
        gain -= (1.0 - impurity) * weight
    elif has_channels(rules):
        scale = 1.0 / LOG_2 if rules.mode == MULTI_ENTROPY else 1.0
        gain = scale * (gain - total) / rows.several.shape[0]
    else:
        gain = (2.0 if rules.mode == PACKED_GINI else 1.0) * (gain - total * total / weight)
    return gain if gain > 0.0 else 0.0  # whatever rounding says


@inner
def _partition(
    columns: Columns, rules: Rules, rows: Rows, search: Search, tree: Tree, at: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Bring the rows that go left to the front, both sides keeping their order; returns where the right begins."""
    start = tree.nodes[at].start
    n = tree.nodes[at].stop - start
    feature = tree.nodes[at].feature
    missing = cython.cast(cython.int, columns.missing)
    last: cython.int = cython.cast(cython.int, tree.nodes[at].cut)
    gather_codes(columns, rows, search, start, n, feature)
    set_row = tree.nodes[at].category_row
    if set_row >= 0:
        last = 0
        for i in range(n):
            c = search.node_codes[i]
            if c == missing:
                search.node_codes[i] = not tree.nodes[at].missing_left
            else:
                search.node_codes[i] = not ((tree.sets[set_row, c >> 3] >> (c & 7)) & 1)
    elif columns.flags[MAY_MISS, feature] and tree.nodes[at].missing_left:  # else the largest code goes right
        for i in range(n):
            c = search.node_codes[i]
            search.node_codes[i] = last if c == missing else c
    if rules.mode == PACKED_GINI:
        return _part_packed(rows, search, start, n, last)
    return _part_numbers(rows, search, start, n, last)


@inner
def _part_packed(
    rows: Rows, search: Search, start: cython.Py_ssize_t, n: cython.Py_ssize_t, last: cython.int
) -> cython.Py_ssize_t:
    """Bring rows whose code is at most ``last`` to the front."""
    left: cython.Py_ssize_t = start
    right: cython.Py_ssize_t = 0
    goes_left: cython.bint
    for i in range(n):
        # Both sides are written and one count moves: a branch here would be mispredicted every other time.
        goes_left = search.node_codes[i] <= last
        row = rows.row[start + i]
        both = rows.packed[start + i]
        rows.row[left] = row
        rows.packed[left] = both
        rows.spare_row[right] = row
        rows.spare_packed[right] = both
        left += goes_left
        right += not goes_left
    for i in range(right):
        rows.row[left + i] = rows.spare_row[i]
        rows.packed[left + i] = rows.spare_packed[i]
    return left


@inner
def _part_numbers(
    rows: Rows, search: Search, start: cython.Py_ssize_t, n: cython.Py_ssize_t, last: cython.int
) -> cython.Py_ssize_t:
    """:func:`_part_packed` for rows with weights and targets."""
    left: cython.Py_ssize_t = start
    right: cython.Py_ssize_t = 0
    goes_left: cython.bint
    for i in range(n):
        goes_left = search.node_codes[i] <= last
        row = rows.row[start + i]
        w = rows.weights[start + i]
        t = rows.targets[start + i]
        rows.row[left] = row
        rows.weights[left] = w
        rows.targets[left] = t
        rows.spare_row[right] = row
        rows.spare_weights[right] = w
        rows.spare_targets[right] = t
        left += goes_left
        right += not goes_left
    for i in range(right):
        rows.row[left + i] = rows.spare_row[i]
        rows.weights[left + i] = rows.spare_weights[i]
        rows.targets[left + i] = rows.spare_targets[i]
    return left


@inner
def _bound_children(rules: Rules, tree: Tree, node: cython.Py_ssize_t, first: cython.Py_ssize_t) -> cython.void:
    """Keep the values of the children ``first`` and ``first + 1`` within their bounds, and bound what is below them."""
    low_side: cython.Py_ssize_t
    lower = tree.nodes[node].lower
    upper = tree.nodes[node].upper
    last = tree.value.shape[1] - 1
    for child in range(first, first + 2):  # the search kept them inside, up to rounding
        tree.value[child, last] = min(max(tree.value[child, last], lower), upper)
        if last == 1:
            tree.value[child, 0] = 1.0 - tree.value[child, 1]
    sign = rules.monotone[tree.nodes[node].feature]
    if sign != 0:
        between = 0.5 * (tree.value[first, last] + tree.value[first + 1, last])
        low_side = first if sign > 0 else first + 1
        tree.nodes[low_side].upper = between
        tree.nodes[2 * first + 1 - low_side].lower = between


@inner
def _is_before(tree: Tree, a: cython.longlong, b: cython.longlong) -> cython.bint:
    """Whether node ``a`` has its turn before ``b``: the larger gain, then the older node."""
    if tree.nodes[a].gain == tree.nodes[b].gain:
        return a < b
    return tree.nodes[a].gain > tree.nodes[b].gain


@inner
def _swap(tree: Tree, one: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.void:
    node = tree.waiting[one]
    tree.waiting[one] = tree.waiting[other]
    tree.waiting[other] = node


@inner
def _rise(tree: Tree, size: cython.Py_ssize_t) -> cython.void:
    """Bring the last of the waiting nodes to its place in the heap."""
    at: cython.Py_ssize_t = size - 1
    while at > 0 and _is_before(tree, tree.waiting[at], tree.waiting[(at - 1) // 2]):
        _swap(tree, at, (at - 1) // 2)
        at = (at - 1) // 2


@inner
def _sink(tree: Tree, size: cython.Py_ssize_t) -> cython.void:
    """Bring the first of the waiting nodes to its place in the heap."""
    at: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_before(tree, tree.waiting[child + 1], tree.waiting[child]):
            child += 1
        if not _is_before(tree, tree.waiting[child], tree.waiting[at]):
            return
        _swap(tree, at, child)
        at = child
