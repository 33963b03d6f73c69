"""From column codes and targets to trees: the plain-Python face of the compiled grower."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from margin.trees.cart.growth_buffers import node_rows, search_buffers, tree_buffers

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import ColumnCodes, GrowthRules, NodeRows, SearchBuffers, TreeBuffers

__all__ = ["GrownTrees", "first_state", "grow_tree", "grow_trees", "weighted_rules"]

PACKED_WEIGHT = 2**31  # total weight that half of an int64 holds
EXACT_WEIGHT = 2**26  # total weight whose square a float64 holds


class GrownTrees(NamedTuple):
    """Trees as in :mod:`margin.trees.cart.structure` and what their growth knows of them."""

    trees: list[dict[str, np.ndarray]]
    roots: np.ndarray  # (trees + 1,): where the nodes of every tree begin
    nodes: np.ndarray  # NODE
    rows: np.ndarray  # rows of positive weight, tree by tree, those of a leaf together

    def depths(self) -> list[int]:
        """The most questions between the root and a leaf of every tree."""
        found: list[int] = np.maximum.reduceat(self.nodes["depth"], self.roots[:-1]).tolist()
        return found

    def leaves(self) -> list[int]:
        """How many leaves every tree has."""
        return (np.diff(self.roots) // 2 + 1).tolist()

    def leaf_of_rows(self) -> np.ndarray:
        """The node of all in which each of ``rows`` ended."""
        ends = np.flatnonzero(self.nodes["child"] < 0)
        starts = self.nodes["start"][ends]
        order = np.argsort(starts)
        return np.repeat(ends[order], self.nodes["stop"][ends][order] - starts[order])


def grow_tree(
    codes: ColumnCodes, target: np.ndarray, weight: np.ndarray, rules: GrowthRules, seed: int
) -> dict[str, np.ndarray]:
    """Grow a tree on the rows whose weight is positive.

    ``target`` (n,) or (n, targets) holds class numbers (of several targets numbered one after another) or responses,
    ``weight`` (n,) nonnegative weights; ``seed`` decides which columns and thresholds are drawn.
    """
    rules = weighted_rules(rules, weight)
    return grow_trees(codes, target, weight[None], rules, first_state(seed)).trees[0]


def weighted_rules(rules: GrowthRules, weight: np.ndarray, drawn: int = 0) -> GrowthRules:
    """``rules`` with what depends on the weights: whether they are all one, and whether they are counts.

    If rows are ``drawn`` with replacement, a row's weight is times how often it is.
    """
    from margin.trees.cart.kernel_types import GINI, PACKED_GINI

    unit = not drawn and bool(np.all(weight[weight > 0] == 1.0))
    packed = rules.mode == GINI and rules.classes == 2 and (unit or _are_counts(weight, drawn, PACKED_WEIGHT))
    exact = rules.mode == GINI and not packed and _are_counts(weight, drawn, EXACT_WEIGHT)
    return rules._replace(weight_is_count=unit, exact=exact, mode=PACKED_GINI if packed else rules.mode)


def _are_counts(weight: np.ndarray, drawn: int, most: float) -> bool:
    total = drawn * weight.max() if drawn else weight.sum()
    return bool(np.all(weight == np.floor(weight)) and total < most)


def grow_trees(
    codes: ColumnCodes, target: np.ndarray, weights: np.ndarray, rules: GrowthRules, states: np.ndarray
) -> GrownTrees:
    """Grow a tree for each row of ``weights`` (trees, n), whose generator begins with its number of ``states``.

    A tree does not depend on those grown in the same call. ``rules`` are those of :func:`weighted_rules`.
    """
    from margin.compiled import cart
    from margin.trees.cart.kernel_types import has_vectors

    number, rows = np.nonzero(weights > 0) if len(weights) > 1 else (None, np.flatnonzero(weights[0] > 0))
    counts = np.array([len(rows)]) if number is None else np.bincount(number, minlength=len(weights))
    starts = np.concatenate([[0], np.cumsum(counts)])
    weight = weights[0, rows] if number is None else weights[number, rows]
    target, centers = _center(rules, starts, target[rows], weight)
    placed, tree = node_rows(rules, starts, rows, weight, target), tree_buffers(codes, rules, counts)
    buffers = search_buffers(codes, rules, int(counts.max()), states)
    grow_into(cart, codes, rules, placed, buffers, tree)
    count = int(tree.roots[-1])
    value = tree.value[:count, 1:] if has_vectors(rules.mode) else tree.value[:count]
    value = value.copy() if centers is None else value + np.repeat(centers, np.diff(tree.roots), axis=0)
    return _cut_trees(tree, value, placed.row)


def _center(
    rules: GrowthRules, starts: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Responses minus the mean of their tree, and these means (trees, targets); nothing is taken from classes."""
    from margin.trees.cart.kernel_types import MULTI_SQUARED_ERROR, has_vectors

    if not (rules.mode == MULTI_SQUARED_ERROR if has_vectors(rules.mode) else rules.classes == 1):
        return target, None
    parts = [slice(start, stop) for start, stop in pairwise(starts)]
    centers = np.array([np.average(target[part], axis=0, weights=weight[part]) for part in parts])
    return target - np.repeat(centers, np.diff(starts), axis=0), centers.reshape(len(parts), -1)


def grow_into(
    kernels: Any, codes: ColumnCodes, rules: GrowthRules, rows: NodeRows, buffers: SearchBuffers, tree: TreeBuffers
) -> None:
    """Call the grower of ``kernels``, the compiled module or the files it is made of, on records of these."""
    size = "32" if codes.codes.dtype == np.int32 else "8"
    columns = {
        "wide": size == "32",
        f"codes_{size}": codes.codes,
        f"by_row_{size}": codes.by_row,
        "ranges": codes.ranges,
        "offsets": codes.offsets,
        "flags": codes.flags.view(np.uint8),
        "missing": codes.missing,
    }
    trees = {name: value for name, value in tree._asdict().items() if name != "nodes"}
    kernels.grow(
        _fill(kernels.CodedColumns(), columns),
        _fill(kernels.SplitRules(), rules._asdict()),
        _fill(kernels.PlacedRows(), rows._asdict()),
        _fill(kernels.Search(), buffers._asdict()),
        _fill(kernels.NewTrees(tree.nodes), trees),
    )


def _fill(record: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        setattr(record, name, value)
    return record


def first_state(seed: int) -> np.ndarray:
    """The first state of the grower's generator: 64 well-mixed bits, never zero."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64) | np.uint64(1)


def _cut_trees(tree: TreeBuffers, value: np.ndarray, rows: np.ndarray) -> GrownTrees:
    """The trees of a finished call, each a part of arrays that they share."""
    roots, nodes = tree.roots, tree.nodes[: len(value)]
    inner, sizes = nodes["child"] >= 0, np.diff(roots)
    root = np.repeat(roots[:-1], sizes)
    left = np.where(inner, nodes["child"] - root, -1).astype(np.int32)
    shared: dict[str, Any] = {
        "feature": np.where(inner, nodes["feature"], -1).astype(np.int32),
        "threshold": np.where(inner, nodes["threshold"], 0.0),
        "left": left,
        "right": np.where(inner, left + 1, -1).astype(np.int32),
        "missing_left": inner & (nodes["missing_left"] != 0),
        "category_row": np.full(len(nodes), -1, dtype=np.int32),
        "value": value,
        "n_samples": nodes["stop"] - nodes["start"],
        "weight": nodes["weight"].copy(),
        "impurity": nodes["impurity"].copy(),
    }
    sets, first_set = _category_sets(tree, inner, root, shared["category_row"])
    bounds = [*zip(roots[:-1].tolist(), roots[1:].tolist(), first_set[:-1], first_set[1:])]
    trees = [
        {name: array[first:last] for name, array in shared.items()} | {"category_set": sets[low:high]}
        for first, last, low, high in bounds
    ]
    return GrownTrees(trees, roots, nodes, rows)


def _category_sets(
    tree: TreeBuffers, inner: np.ndarray, root: np.ndarray, category_row: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """Sets of categories, tree by tree, and where those of every tree begin; fills their numbers within the tree."""
    number = tree.nodes["category_row"][: len(inner)]
    asked = inner & (number >= 0)
    if len(tree.sets) == 1 or not asked.any():
        return np.empty((0, 32), dtype=np.uint8), [0] * len(tree.roots)
    before = np.concatenate([[0], np.cumsum(asked)])
    category_row[asked] = (before[:-1] - before[root])[asked]
    return tree.sets[number[asked]], before[tree.roots].tolist()
