"""What every search of a cut shares: the order of groups, and when a cut may be taken."""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.cart.records_kernels import Rules, Search, Tree

__all__ = ["gain_to_beat", "is_allowed", "midpoint", "order_by_mean", "order_by_score"]

# A split must beat an earlier one by more than rounding, or the order in which rows were added up would choose.
TIE = 1e-12
INFINITE = float("inf")


@inner
def midpoint(low: cython.double, high: cython.double) -> cython.double:
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle


@inner
def gain_to_beat(best: cython.double) -> cython.double:
    """What a gain must exceed to replace ``best``."""
    return best + TIE * abs(best) if best > -INFINITE else best


@inner
def order_by_score(search: Search, groups: cython.Py_ssize_t) -> cython.void:
    """Write the groups by ascending ``gains``, equal ones by code, to ``split_order``."""
    j: cython.Py_ssize_t
    for i in range(groups):
        score = search.gains[i]
        j = i
        while j > 0 and search.gains[search.split_order[j - 1]] > score:
            search.split_order[j] = search.split_order[j - 1]
            j -= 1
        search.split_order[j] = i


@inner
def order_by_mean(search: Search, groups: cython.Py_ssize_t) -> cython.void:
    for i in range(groups):
        search.gains[i] = search.group_totals[i] / search.group_weights[i]
    order_by_score(search, groups)


@inner
def is_allowed(
    rules: Rules,
    tree: Tree,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    weight_left: cython.double,
    rows_left: cython.double,
    value_left: cython.double,
    value_right: cython.double,
) -> cython.bint:
    """Whether both sides of node ``at`` are large enough and their values keep the order that column ``j`` asks for."""
    if rules.min_leaf > 1:
        rows_right = tree.nodes[at].stop - tree.nodes[at].start - rows_left
        if rows_left < rules.min_leaf or rows_right < rules.min_leaf:
            return False
    if weight_left < rules.min_weight or tree.nodes[at].weight - weight_left < rules.min_weight:
        return False
    if rules.constrained:
        if min(value_left, value_right) < tree.nodes[at].lower or max(value_left, value_right) > tree.nodes[at].upper:
            return False
        return (value_right - value_left) * rules.monotone[j] >= 0
    return True
