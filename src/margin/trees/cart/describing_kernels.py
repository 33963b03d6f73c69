"""Weight, value and impurity of a node, by criterion."""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import log, log2
from margin.core.kernel_source import inner
from margin.trees.cart.absolute_kernels import weighted_median
from margin.trees.cart.grouping_kernels import POSITION
from margin.trees.cart.kernel_types import ABSOLUTE_ERROR, ENTROPY, GINI, MULTI_GINI, PACKED_GINI, POISSON
from margin.trees.cart.records_kernels import NewTrees, PlacedRows, Search, SplitRules
from margin.trees.cart.vector_kernels import sums_classes

__all__ = ["describe", "has_channels"]


@inner
def has_channels(rules: SplitRules) -> cython.bint:
    """Whether several sums are followed at once; see :mod:`margin.trees.cart.vector_kernels`."""
    return rules.mode >= MULTI_GINI


@inner
def describe(rules: SplitRules, rows: PlacedRows, search: Search, tree: NewTrees, at: cython.Py_ssize_t) -> cython.void:
    """Write value, weight, total and impurity of a node. A pure node gets the impurity zero exactly.

    The "total" of a node of several sums is its score as a whole, to which that of a split is compared.
    """
    if rules.mode == PACKED_GINI:
        _describe_packed(rows, tree, at)
    elif has_channels(rules):
        if sums_classes(rules):
            _describe_class_vectors(rules, rows, tree, at)
        else:
            _describe_number_vectors(rules, rows, tree, at)
    elif rules.mode == GINI or rules.mode == ENTROPY:
        _describe_classes(rules, rows, tree, at)
    else:
        _describe_numbers(rules, rows, search, tree, at)


@inner
def _write(
    tree: NewTrees, at: cython.Py_ssize_t, weight: cython.double, total: cython.double, impurity: cython.double
) -> cython.void:
    tree.nodes[at].weight = weight
    tree.nodes[at].total = total
    tree.nodes[at].impurity = impurity


@inner
def _describe_packed(rows: PlacedRows, tree: NewTrees, at: cython.Py_ssize_t) -> cython.void:
    both: cython.longlong = 0
    for i in range(tree.nodes[at].start, tree.nodes[at].stop):
        both += rows.packed[i]
    weight: cython.double = both >> 32
    total: cython.double = both & POSITION
    fraction = total / weight
    tree.value[at, 0] = (weight - total) / weight
    tree.value[at, 1] = fraction
    _write(tree, at, weight, total, 2.0 * fraction * (1.0 - fraction))


@inner
def _describe_classes(rules: SplitRules, rows: PlacedRows, tree: NewTrees, at: cython.Py_ssize_t) -> cython.void:
    weight: cython.double = 0.0
    impurity: cython.double = 1.0 if rules.mode == GINI else 0.0
    pure: cython.bint = False
    classes = rules.classes
    for q in range(classes):
        tree.value[at, q] = 0.0
    for i in range(tree.nodes[at].start, tree.nodes[at].stop):
        tree.value[at, cython.cast(cython.Py_ssize_t, rows.targets[i])] += rows.weights[i]
    for q in range(classes):
        weight += tree.value[at, q]
    total = tree.value[at, classes - 1]
    for q in range(classes):
        fraction = tree.value[at, q] / weight
        tree.value[at, q] = fraction
        pure = pure or fraction == 1.0
        if rules.mode == GINI:
            impurity -= fraction * fraction
        elif fraction > 0:
            impurity -= fraction * log2(fraction)
    _write(tree, at, weight, total, 0.0 if pure or impurity < 0.0 else impurity)


@inner
def _describe_numbers(
    rules: SplitRules, rows: PlacedRows, search: Search, tree: NewTrees, at: cython.Py_ssize_t
) -> cython.void:
    start = tree.nodes[at].start
    stop = tree.nodes[at].stop
    weight: cython.double = 0.0
    total: cython.double = 0.0
    loss: cython.double = 0.0
    low: cython.double = rows.targets[start]
    high: cython.double = low
    center: cython.double
    for i in range(start, stop):
        t = rows.targets[i]
        w = rows.weights[i]
        weight += w
        total += w * t
        low = t if t < low else low
        high = t if t > high else high
    if rules.mode == ABSOLUTE_ERROR:
        center = weighted_median(rows, search, start, stop, weight)
    else:
        center = min(max(total / weight, low), high)
    if low < high:
        if rules.mode == ABSOLUTE_ERROR:
            for i in range(start, stop):
                loss += rows.weights[i] * abs(rows.targets[i] - center)
        else:
            for i in range(start, stop):
                off = rows.targets[i] - center
                loss += rows.weights[i] * (off * off)
    tree.value[at, 0] = center
    _write(tree, at, weight, total, loss / weight)


@inner
def _describe_class_vectors(rules: SplitRules, rows: PlacedRows, tree: NewTrees, at: cython.Py_ssize_t) -> cython.void:
    total: cython.double = 0.0
    impurity: cython.double = 0.0
    pure: cython.Py_ssize_t = 0
    targets = rows.several.shape[0]
    for q in range(rules.classes):
        tree.value[at, q] = 0.0
    for i in range(tree.nodes[at].start, tree.nodes[at].stop):
        row = cython.cast(cython.Py_ssize_t, rows.targets[i])
        tree.value[at, 0] += rows.weights[i]
        for target in range(targets):
            tree.value[at, 1 + cython.cast(cython.Py_ssize_t, rows.several[target, row])] += rows.weights[i]
    weight = tree.value[at, 0]
    for q in range(1, rules.classes):
        fraction = tree.value[at, q] / weight
        tree.value[at, q] = fraction
        pure += fraction == 1.0
        if rules.mode == MULTI_GINI:
            total += weight * fraction * fraction
            impurity += fraction * (1.0 - fraction)
        elif fraction > 0:
            total += weight * fraction * log(fraction)
            impurity -= fraction * log2(fraction)
    _write(tree, at, weight, total, 0.0 if pure == targets else impurity / targets)


@inner
def _describe_number_vectors(rules: SplitRules, rows: PlacedRows, tree: NewTrees, at: cython.Py_ssize_t) -> cython.void:
    start = tree.nodes[at].start
    stop = tree.nodes[at].stop
    weight: cython.double = 0.0
    total: cython.double = 0.0
    loss: cython.double = 0.0
    low: cython.double
    high: cython.double
    mean: cython.double
    for i in range(start, stop):
        weight += rows.weights[i]
    for target in range(rows.several.shape[0]):
        low = rows.several[target, cython.cast(cython.Py_ssize_t, rows.targets[start])]
        high = low
        mean = 0.0
        for i in range(start, stop):
            t = rows.several[target, cython.cast(cython.Py_ssize_t, rows.targets[i])]
            mean += rows.weights[i] * t
            low = t if t < low else low
            high = t if t > high else high
        if rules.mode == POISSON:
            total += mean * log(mean / weight) if mean > 0 else 0.0
        else:
            total += mean * mean / weight
        mean = min(max(mean / weight, low), high)
        if low < high:
            loss = _loss_around(rules, rows, start, stop, target, mean, loss)
        tree.value[at, 1 + target] = mean
    tree.value[at, 0] = weight
    loss /= weight * rows.several.shape[0]
    _write(tree, at, weight, total, loss if loss > 0.0 else 0.0)


@inner
def _loss_around(
    rules: SplitRules,
    rows: PlacedRows,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    target: cython.Py_ssize_t,
    mean: cython.double,
    loss: cython.double,
) -> cython.double:
    """``loss`` and that of one target of the rows against ``mean``."""
    for i in range(start, stop):
        t = rows.several[target, cython.cast(cython.Py_ssize_t, rows.targets[i])]
        if rules.mode != POISSON:
            loss += rows.weights[i] * (t - mean) * (t - mean)
        elif t > 0:
            loss += rows.weights[i] * t * log(t / mean)
    return loss
