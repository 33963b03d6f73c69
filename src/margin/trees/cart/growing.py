"""From a table of codes and targets to a tree: the plain-Python face of the compiled grower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from margin.trees.cart.structure import Tree

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import Rows, Rules, Table, Work

__all__ = ["Growth", "grow_tree"]

PACKED_WEIGHT = 2**31  # total weight that half of an int64 holds
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Growth:
    """How a tree grows. ``classes`` is the number of classes, or 0 for a regression tree.

    ``max_features`` is a count; ``min_weight`` and ``min_decrease`` are in units of the weights.
    """

    criterion: str
    classes: int
    max_features: int
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight: float = 0.0
    min_decrease: float = 0.0
    random: bool = False
    monotone: np.ndarray | None = None


def grow_tree(
    table: Table, target: np.ndarray, weight: np.ndarray, growth: Growth, seed: int, rows: np.ndarray | None = None
) -> Tree:
    """Grow a tree on the rows of ``table`` whose weight is positive.

    ``target`` (n,) holds class numbers or responses, ``weight`` (n,) nonnegative weights; ``rows`` names the
    rows of positive weight if the caller knows them. ``seed`` decides which columns and cuts are drawn.
    """
    from margin.trees.cart.growing_kernels import grow

    if rows is None:
        rows = np.flatnonzero(weight > 0)
    target, weight = target[rows], weight[rows]
    rules = _rules(growth, weight, target, table.codes.shape[0])
    nodes, numbers, value, sets = grow(
        table, rules, _rows(rules, rows, weight, target), _work(table, rules, len(rows), seed)
    )
    return _tree(nodes, numbers, value, sets, rules.center)


def _rules(growth: Growth, weight: np.ndarray, target: np.ndarray, columns: int) -> Rules:
    from margin.trees.cart.kernel_types import ABSOLUTE, ENTROPY, GINI, PACKED, SUMS, Rules

    unit = bool(np.all(weight == 1.0))
    whole = unit or bool(np.all(weight == np.floor(weight)) and weight.sum() < PACKED_WEIGHT)
    mode = {"squared_error": SUMS, "absolute_error": ABSOLUTE, "gini": GINI}.get(growth.criterion, ENTROPY)
    if mode == GINI and growth.classes == 2 and whole:
        mode = PACKED
    center = 0.0 if growth.classes else float(np.average(target, weights=weight))
    monotone = np.zeros(columns, dtype=np.int8) if growth.monotone is None else growth.monotone.astype(np.int8)
    return Rules(
        mode=mode,
        classes=max(growth.classes, 1),
        center=center,
        max_depth=NO_LIMIT if growth.max_depth is None else int(growth.max_depth),
        max_leaves=0 if growth.max_leaf_nodes is None else int(growth.max_leaf_nodes),
        min_split=int(growth.min_samples_split),
        min_leaf=int(growth.min_samples_leaf),
        min_weight=float(growth.min_weight),
        min_decrease=float(growth.min_decrease),
        max_features=int(growth.max_features),
        random=bool(growth.random),
        weight_is_count=unit,
        constrained=bool(monotone.any()),
        monotone=monotone,
    )


def _rows(rules: Rules, rows: np.ndarray, weight: np.ndarray, target: np.ndarray) -> Rows:
    from margin.trees.cart.kernel_types import PACKED, Rows

    n = len(rows)
    positions = np.empty((2, n), dtype=np.uint32)  # unsigned: no index counts from the end
    positions[0] = rows
    if rules.mode == PACKED:
        count = weight.astype(np.int64)
        packed = np.empty((2, n), dtype=np.int64)
        packed[0] = (count << 32) | (count * target.astype(np.int64))
        return Rows(row=positions, number=np.empty((4, 0)), packed=packed)
    number = np.empty((4, n))
    number[0], number[1] = weight, target
    number[1] -= rules.center
    return Rows(row=positions, number=number, packed=np.empty((2, 0), dtype=np.int64))


def _work(table: Table, rules: Rules, n: int, seed: int) -> Work:
    from margin.trees.cart.kernel_types import ABSOLUTE, Work

    size, k = table.missing + 3, rules.classes
    return Work(
        local=np.empty(n, dtype=table.codes.dtype),
        keys=np.empty((2, n), dtype=np.int64),
        whole=np.zeros((8, size), dtype=np.int64),
        real=np.empty((7, size)),
        sums=np.zeros(size * max(2, k)),
        level_classes=np.empty(size * k),
        classes=np.zeros((2, k)),
        ranked=np.zeros((6, n + 1 if rules.mode == ABSOLUTE else 0)),
        features=np.arange(len(table.codes)),
        rng=_generator(seed),
        best_code=np.zeros(4, dtype=np.int64),
        best_number=np.zeros(2),
        best_set=np.zeros(32, dtype=np.uint8),
    )


def _generator(seed: int) -> np.ndarray:
    """The first state of the grower's generator: 64 well-mixed bits, never zero."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64) | np.uint64(1)


def _tree(nodes: np.ndarray, numbers: np.ndarray, value: np.ndarray, sets: np.ndarray, center: float) -> Tree:
    inner = nodes[:, 1] >= 0
    asked = inner & (nodes[:, 3] >= 0)
    left = nodes[:, 1].astype(np.int32)
    return {
        "feature": np.where(inner, nodes[:, 0], -1).astype(np.int32),
        "threshold": np.where(inner, numbers[:, 0], 0.0),
        "left": left,
        "right": np.where(inner, left + 1, -1).astype(np.int32),
        "missing_left": inner & (nodes[:, 2] != 0),
        "category_row": np.where(asked, np.cumsum(asked) - 1, -1).astype(np.int32),
        "category_set": sets[nodes[asked, 3]],
        "value": value + center,
        "n_samples": nodes[:, 5] - nodes[:, 4],
        "weight": np.ascontiguousarray(numbers[:, 1]),
        "impurity": np.ascontiguousarray(numbers[:, 2]),
    }
