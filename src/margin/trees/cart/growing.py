"""From column codes and targets to a tree: the plain-Python face of the compiled grower."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import ColumnCodes, GrowthRules, NodeRows, SearchBuffers, Traits, TreeBuffers

__all__ = ["grow_tree"]

# Compiling a grower takes seconds, so the first small trees of a process are grown by Python, in the same steps and to
# the same bits, until they had so many cells (rows times columns times levels); about three microseconds each.
PYTHON_CELLS = 300_000
_cells = 0  # so far in this process

PACKED_WEIGHT = 2**31  # total weight that half of an int64 holds


def grow_tree(
    codes: ColumnCodes, target: np.ndarray, weight: np.ndarray, rules: GrowthRules, seed: int
) -> dict[str, np.ndarray]:
    """Grow a tree on the rows whose weight is positive.

    ``target`` (n,) or (n, targets) holds class numbers (of several targets numbered one after another) or responses,
    ``weight`` (n,) nonnegative weights; ``seed`` decides which columns and thresholds are drawn. The arrays are those
    of :mod:`margin.trees.cart.structure`.
    """
    from margin.trees.cart.growing_kernels import grower, interpreted_grower
    from margin.trees.cart.kernel_types import has_vectors

    rows = np.flatnonzero(weight > 0)
    target, weight = target[rows], weight[rows]
    rules, center = _rules_for(rules, weight, target)
    traits, tree = _traits(codes, rules), _tree_buffers(codes, rules, len(rows))
    given = codes, rules, _node_rows(rules, rows, weight, target - center), _buffers(codes, rules, len(rows), seed)
    if _is_interpreted(traits, rules, len(rows)):
        with np.errstate(all="ignore"):
            count = interpreted_grower(traits)(*given, tree._replace(nodes=tree.nodes.view(np.recarray)))
    else:
        count = grower(traits)(*given, tree)
    value = tree.value[:count, 1:] if has_vectors(rules.mode) else tree.value[:count]
    return _tree(tree.nodes[:count], value + center, tree.sets)


def _is_interpreted(traits: Traits, rules: GrowthRules, n: int) -> bool:
    """Whether Python itself grows the tree, because that takes less time than compiling what is not compiled yet."""
    global _cells
    from margin.core.cached_kernels import is_ready
    from margin.trees.cart.growing_kernels import grower
    from margin.trees.cart.kernel_types import ENTROPY, MULTI_ENTROPY, POISSON, has_vectors

    levels = min(rules.max_depth, n.bit_length())
    cells = n * (rules.max_features + 1) * levels * (rules.classes if has_vectors(rules.mode) else 1)
    logarithmic = traits.criterion in (ENTROPY, MULTI_ENTROPY, POISSON)
    if _cells + cells > PYTHON_CELLS or logarithmic or is_ready(grower(traits)):
        return False
    _cells += cells
    return True


def _traits(codes: ColumnCodes, rules: GrowthRules) -> Traits:
    from margin.trees.cart.kernel_types import Traits

    categories, missing = (bool(flags.any()) for flags in codes.flags)
    return Traits(rules.mode, categories, missing, rules.constrained or rules.max_leaves > 0, rules.random)


def _rules_for(rules: GrowthRules, weight: np.ndarray, target: np.ndarray) -> tuple[GrowthRules, Any]:
    """The rules with what depends on a tree's own rows: whether weights are counts; and the center of responses."""
    from margin.trees.cart.kernel_types import GINI, MULTI_SQUARED_ERROR, PACKED_GINI, has_vectors

    unit = bool(np.all(weight == 1.0))
    if has_vectors(rules.mode):
        centered = rules.mode == MULTI_SQUARED_ERROR
        return rules._replace(weight_is_count=unit), np.average(target, axis=0, weights=weight) if centered else 0.0
    if rules.classes == 1:
        return rules._replace(weight_is_count=unit), float(np.average(target, weights=weight))
    packed = rules.mode == GINI and rules.classes == 2 and (unit or _are_counts(weight))
    return rules._replace(weight_is_count=unit, mode=PACKED_GINI if packed else rules.mode), 0.0


def _are_counts(weight: np.ndarray) -> bool:
    return bool(np.all(weight == np.floor(weight)) and weight.sum() < PACKED_WEIGHT)


def _node_rows(rules: GrowthRules, rows: np.ndarray, weight: np.ndarray, target: np.ndarray) -> NodeRows:
    from margin.trees.cart.kernel_types import FIRST_TARGET, PACKED_GINI, TARGETS, WEIGHTS, NodeRows, has_vectors

    n = len(rows)
    positions = np.empty((2, n), dtype=np.uint32)  # unsigned: no index counts from the end
    positions[0] = rows
    if rules.mode == PACKED_GINI:
        count = weight.astype(np.int64)
        packed = np.empty((2, n), dtype=np.int64)
        packed[0] = (count << 32) | (count * target.astype(np.int64))
        return NodeRows(row=positions, amounts=packed)
    if has_vectors(rules.mode):
        own = target.reshape(n, -1).T
        numbers = np.empty((FIRST_TARGET + len(own), n))
        numbers[WEIGHTS], numbers[TARGETS], numbers[FIRST_TARGET:] = weight, np.arange(n), own
        return NodeRows(row=positions, amounts=numbers)
    numbers = np.empty((FIRST_TARGET, n))
    numbers[WEIGHTS], numbers[TARGETS] = weight, target
    return NodeRows(row=positions, amounts=numbers)


def _buffers(codes: ColumnCodes, rules: GrowthRules, n: int, seed: int) -> SearchBuffers:
    from margin.trees.cart.kernel_types import ABSOLUTE_ERROR, SearchBuffers

    size, k = codes.missing + 3, rules.classes
    return SearchBuffers(
        node_codes=np.empty(n, dtype=codes.codes.dtype),
        keys=np.empty((2, n), dtype=np.int64),
        group_integers=np.zeros((8, size), dtype=np.int64),
        group_numbers=np.empty((7, size)),
        sums=np.zeros(size * max(2, k)),
        group_classes=np.empty(size * k),
        class_weights=np.zeros((2, k)),
        ranking=np.zeros((6, n + 1 if rules.mode == ABSOLUTE_ERROR else 0)),
        features=np.arange(len(codes.codes)),
        generator=_generator(seed),
    )


def _tree_buffers(codes: ColumnCodes, rules: GrowthRules, n: int) -> TreeBuffers:
    """Memory for the largest tree that the limits allow; pages that it does not reach are never touched."""
    from margin.trees.cart.kernel_types import NODE, TreeBuffers

    leaves = max(1, n // max(1, rules.min_leaf))
    if rules.max_leaves > 0:
        leaves = min(leaves, rules.max_leaves)
    if rules.max_depth < n.bit_length():
        leaves = min(leaves, 2**rules.max_depth)
    size = 2 * leaves - 1
    return TreeBuffers(
        nodes=np.empty(size, dtype=NODE),
        value=np.empty((size, rules.classes)),
        sets=np.empty((size + 1 if codes.flags[0].any() else 1, 32), dtype=np.uint8),
        waiting=np.empty(size, dtype=np.int64),
    )


def _generator(seed: int) -> np.ndarray:
    """The first state of the grower's generator: 64 well-mixed bits, never zero."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64) | np.uint64(1)


def _tree(nodes: np.ndarray, value: np.ndarray, sets: np.ndarray) -> dict[str, np.ndarray]:
    inner = nodes["child"] >= 0
    asked = inner & (nodes["category_row"] >= 0)
    left = nodes["child"].astype(np.int32)
    return {
        "feature": np.where(inner, nodes["feature"], -1).astype(np.int32),
        "threshold": np.where(inner, nodes["threshold"], 0.0),
        "left": left,
        "right": np.where(inner, left + 1, -1).astype(np.int32),
        "missing_left": inner & (nodes["missing_left"] != 0),
        "category_row": np.where(asked, np.cumsum(asked) - 1, -1).astype(np.int32),
        "category_set": sets[nodes["category_row"][asked]],
        "value": value,
        "n_samples": nodes["stop"] - nodes["start"],
        "weight": np.ascontiguousarray(nodes["weight"]),
        "impurity": np.ascontiguousarray(nodes["impurity"]),
    }
