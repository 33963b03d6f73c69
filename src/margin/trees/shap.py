r"""Exact attributions of tree predictions: Shapley values of the columns.

Let :math:`v_x(S)` be what a tree expects when only the columns :math:`S` of the row :math:`x` are known: at a question
about another column both branches are taken, in proportion to the training weight that took them. Then

.. math:: \phi_j = \sum_{S \subseteq P \setminus j} \frac{|S|!\,(d-|S|-1)!}{d!}\,\big[v_x(S \cup j) - v_x(S)\big],
          \qquad \sum_j \phi_j = f(x) - v_x(\emptyset).

The sum over all subsets is taken leaf by leaf in polynomial time. Let a leaf of value :math:`v` be reached through
:math:`d` different columns; column :math:`k` lets the fraction :math:`z_k` of the weight pass, and the row itself
passes all its questions (:math:`o_k = 1`) or not (:math:`o_k = 0`). Alone this leaf contributes

.. math:: \phi_j = v\,(o_j - z_j) \sum_s \frac{s!\,(d-s-1)!}{d!}\,[t^s] \prod_{k \ne j} (z_k + o_k t) .
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike
from margin.core.category_encoding import encode_numbers, encode_strings
from margin.core.parallel import over_ranges
from margin.core.sparse_input import dense_rows
from margin.core.threads import threads_for
from margin.trees.cart.structure import TreeArrays
from margin.trees.cart.training_data import ROWS

__all__ = ["Attribution", "conditional_expectation", "explain", "shapley_by_enumeration", "tree_shap"]


@dataclass(frozen=True)
class Attribution:
    """``values`` (n, p, outputs) and ``expected`` (outputs,): their sum over columns is the prediction."""

    values: np.ndarray
    expected: np.ndarray

    @property
    def predictions(self) -> np.ndarray:
        """What the attributions add up to, (n, outputs)."""
        return self.values.sum(axis=1) + self.expected


def tree_shap(tree: TreeArrays, X: np.ndarray) -> Attribution:
    """The Shapley values of one tree at every row of float64 ``X`` (n, p), exact.

    >>> stump = {
    ...     "feature": np.array([1, -1, -1], dtype=np.int32), "threshold": np.array([0.5, 0, 0]),
    ...     "left": np.array([1, -1, -1], dtype=np.int32), "right": np.array([2, -1, -1], dtype=np.int32),
    ...     "missing_left": np.zeros(3, dtype=bool), "category_row": np.full(3, -1, dtype=np.int32),
    ...     "category_set": np.zeros((0, 32), dtype=np.uint8),
    ...     "value": np.array([[2.5], [1.0], [3.0]]), "weight": np.array([4.0, 1.0, 3.0]),
    ... }
    >>> tree_shap(stump, np.array([[9.0, 0.0]])).values[0, :, 0]
    array([ 0. , -1.5])
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    outputs = tree["value"].shape[1]
    values = np.zeros((len(X), X.shape[1], outputs))
    _add_tree(tree, X, 1.0, values)
    return Attribution(values, _expectation(tree))


def explain(model: Any, X: MatrixLike) -> Attribution:
    """Attributions for a fitted tree, forest or boosted ensemble of this package, in the units it adds trees up in.

    For boosting these are raw predictions (log-odds, logarithms of means), for the others values or class fractions.
    """
    from sklearn.utils.validation import check_is_fitted, validate_data

    check_is_fitted(model)
    parts = _parts(model)
    X = encode_strings(X, model.category_names_)
    X = dense_rows("explain", validate_data(model, X, reset=False, **ROWS))
    X = np.ascontiguousarray(encode_numbers(X, parts.categories))
    outputs = len(parts.start)
    values, expected = np.zeros((len(X), X.shape[1], outputs)), parts.start.astype(np.float64)
    for tree, output, scale in parts.trees():
        position = slice(None) if output is None else slice(output, output + 1)
        _add_tree(tree, X, scale, values[:, :, position])
        expected[position] += scale * _expectation(tree)
    return Attribution(values, expected)


def conditional_expectation(tree: TreeArrays, x: np.ndarray, known: Sequence[int]) -> np.ndarray:
    r"""What the tree expects of the row ``x`` (p,) when only the columns ``known`` are, :math:`v_x(S)`, (outputs,)."""
    from margin.trees.cart.structure import goes_left

    given = set(known)

    def below(node: int) -> np.ndarray:
        if tree["feature"][node] < 0:
            return tree["value"][node]
        left, right = int(tree["left"][node]), int(tree["right"][node])
        if int(tree["feature"][node]) in given:
            return below(left if goes_left(tree, np.array([node]), x[None])[0] else right)
        weight = tree["weight"]
        return (weight[left] * below(left) + weight[right] * below(right)) / weight[node]

    return below(0)


def shapley_by_enumeration(value: Callable[[tuple[int, ...]], np.ndarray], players: int) -> np.ndarray:
    """Shapley values of any game from all ``2 ** players`` coalitions, (players, ...): the definition, for small games.

    >>> shapley_by_enumeration(lambda coalition: np.float64(len(coalition) ** 2), 3)
    array([3., 3., 3.])
    """
    worth = {S: np.asarray(value(S)) for size in range(players + 1) for S in combinations(range(players), size)}
    values = np.zeros((players, *worth[()].shape))
    for j in range(players):
        for S, without in worth.items():
            if j not in S:
                chance = factorial(len(S)) * factorial(players - len(S) - 1) / factorial(players)
                values[j] += chance * (worth[tuple(sorted((*S, j)))] - without)
    return values


@dataclass(frozen=True)
class _Parts:
    """A model as a sum: a constant per output, and trees each with its output (None: all of them) and its factor."""

    start: np.ndarray
    trees: Callable[[], Any]
    categories: Mapping[int, np.ndarray]


def _parts(model: Any) -> _Parts:
    if hasattr(model, "bins_") and hasattr(model, "start_"):  # boosting
        outputs = len(model.start_)
        offsets, categorical = model.bins_["offsets"], model.bins_["categorical"]
        known = {int(j): model.bins_["edges"][offsets[j] : offsets[j + 1]] for j in np.flatnonzero(categorical)}
        return _Parts(model.start_, lambda: ((model.tree(i), i % outputs, 1.0) for i in range(model.n_trees_)), known)
    if hasattr(model, "tree_"):
        outputs = model.tree_["value"].shape[1]
        return _Parts(np.zeros(outputs), lambda: [(model.tree_, None, 1.0)], model.categories_)
    if isinstance(getattr(model, "trees_", None), list):  # a forest averages
        weight, outputs = 1.0 / len(model.trees_), model.trees_[0]["value"].shape[1]
        return _Parts(np.zeros(outputs), lambda: ((tree, None, weight) for tree in model.trees_), model.categories_)
    raise TypeError(f"explain: model must be a tree, a forest or boosted trees; got {type(model).__name__}.")


def _expectation(tree: TreeArrays) -> np.ndarray:
    leaves = tree["feature"] < 0
    return tree["weight"][leaves] @ tree["value"][leaves] / tree["weight"][0]


def _add_tree(tree: TreeArrays, X: np.ndarray, scale: float, values: np.ndarray) -> None:
    """Add ``scale`` times the attributions of one tree to ``values`` (n, p, outputs), in place."""
    from margin.compiled import trees as kernels

    paths, questions = _leaf_paths(tree), kernels.Questions()
    for name in ("feature", "threshold", "missing_left", "category_row", "category_set"):
        array = np.ascontiguousarray(tree[name])
        setattr(questions, name, array.view(np.uint8) if array.dtype == bool else array)
    attributions = np.zeros((len(X), values.shape[1], values.shape[2]))
    value, chances = np.ascontiguousarray(tree["value"]), _chances(np.asarray(paths.column_start))
    nodes, columns = len(tree["feature"]), len(chances)

    def add_rows(low: int, high: int) -> None:
        scratch = kernels.ShapScratch()
        scratch.answers, scratch.passes = np.empty(nodes, dtype=np.uint8), np.empty(columns, dtype=np.uint8)
        scratch.polynomial, scratch.contribution = np.empty(columns + 1), np.empty(columns)
        kernels.add_attributions(low, high, X, questions, value, paths, chances, scratch, attributions)

    over_ranges(add_rows, len(X), threads_for(50.0 * len(X) * nodes))
    values += scale * attributions


def _leaf_paths(tree: TreeArrays) -> Any:
    """Every leaf's questions and, per different column among them, the fraction of the weight that it lets pass."""
    from margin.compiled.trees import LeafPaths

    leaves, node_start, column_start = [], [0], [0]
    nodes: list[int] = []
    sides: list[bool] = []
    positions: list[int] = []
    columns: list[int] = []
    fractions: list[float] = []
    waiting: list[tuple[int, list[tuple[int, bool]]]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if tree["feature"][node] >= 0:
            waiting.append((int(tree["left"][node]), [*path, (node, True)]))
            waiting.append((int(tree["right"][node]), [*path, (node, False)]))
            continue
        passed: dict[int, float] = {}
        for above, left in path:
            child = tree["left" if left else "right"][above]
            column = int(tree["feature"][above])
            passed[column] = passed.get(column, 1.0) * tree["weight"][child] / tree["weight"][above]
        order = {column: position for position, column in enumerate(passed)}
        leaves.append(node)
        nodes += [above for above, _ in path]
        sides += [left for _, left in path]
        positions += [order[int(tree["feature"][above])] for above, _ in path]
        columns += list(passed)
        fractions += list(passed.values())
        node_start.append(len(nodes))
        column_start.append(len(columns))
    paths = LeafPaths()
    paths.leaf, paths.node = np.array(leaves, dtype=np.int64), np.array(nodes, dtype=np.int64)
    paths.node_start, paths.column_start = np.array(node_start, dtype=np.int64), np.array(column_start, dtype=np.int64)
    paths.goes_left, paths.position = np.array(sides, dtype=np.uint8), np.array(positions, dtype=np.int64)
    paths.column, paths.fraction = np.array(columns, dtype=np.int64), np.array(fractions, dtype=np.float64)
    return paths


def _chances(column_start: np.ndarray) -> np.ndarray:
    """``chances[d, s]`` = s! (d - s - 1)! / d!: how likely a column comes after exactly s given others of d."""
    most = int(np.diff(column_start).max(initial=1))
    chances = np.zeros((most + 1, most + 1))
    for d in range(1, most + 1):
        chances[d, 0] = 1.0 / d
        for s in range(1, d):
            chances[d, s] = chances[d, s - 1] * s / (d - s)
    return chances
