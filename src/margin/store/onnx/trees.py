"""Trees, forests and boosted trees as one tree-ensemble operator.

Thresholds stay double precision, so every row reaches the leaf that it reaches here. The operator gives single
precision, which is where predictions differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from margin.store.onnx.graph import ML, CannotExport, ModelOutput, OnnxGraph

__all__ = ["boosted_classifier", "boosted_regressor", "forest", "single_tree"]

Tree = Mapping[str, np.ndarray]


def single_tree(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """The value of a row's leaf: a number, or the fractions of the classes."""
    return _average_trees(graph, model, [model._tree], x)


def forest(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """The mean over trees."""
    return _average_trees(graph, model, model.trees_, x)


def _average_trees(graph: OnnxGraph, model: Any, trees: Sequence[Tree], x: str) -> ModelOutput:
    _refuse_categories(model, trees)
    outputs = trees[0]["value"].shape[1]
    weights = [(np.tile(np.arange(outputs), len(tree["feature"])), tree["value"] / len(trees)) for tree in trees]
    values = _ensemble(graph, trees, weights, np.zeros(outputs), x)
    if not hasattr(model, "classes_"):
        return ModelOutput(values)
    return ModelOutput(values, "probabilities", model.classes_)


def boosted_regressor(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """The sum over trees, through the exponential for losses of positive numbers."""
    raw = _sum_boosted_trees(graph, model, x)
    return ModelOutput(graph.add("Exp", raw) if model.loss in ("poisson", "gamma") else raw)


def boosted_classifier(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """Probabilities from the sums over trees."""
    raw = _sum_boosted_trees(graph, model, x)
    if len(model.classes_) > 2:
        return ModelOutput(graph.add("Softmax", raw, axis=1), "probabilities", model.classes_)
    if model.loss == "exponential":  # its raw scores are half the log-odds
        raw = graph.add("Add", raw, raw)
    return ModelOutput(graph.two_columns(graph.add("Sigmoid", raw)), "probabilities", model.classes_)


def _sum_boosted_trees(graph: OnnxGraph, model: Any, x: str) -> str:
    name = type(model).__name__
    if hasattr(model, "init_"):
        raise CannotExport(f"export_onnx: {name} with an estimator as init cannot be exported; init=None can.")
    trees, outputs = [model.tree(i) for i in range(model.n_trees_)], len(model.start_)
    _refuse_categories(model, trees)
    weights = [(np.full(len(tree["feature"]), i % outputs), tree["value"][:, :1]) for i, tree in enumerate(trees)]
    return _ensemble(graph, trees, weights, model.start_, x)


def _refuse_categories(model: Any, trees: Sequence[Tree]) -> None:
    if any((tree["category_row"] >= 0).any() for tree in trees):
        raise CannotExport(
            f"export_onnx: {type(model).__name__} has splits on categories, which the tree operator of ONNX lacks; "
            "encode the columns before the model."
        )


def _ensemble(
    graph: OnnxGraph, trees: Sequence[Tree], weights: Sequence[tuple[np.ndarray, np.ndarray]], start: np.ndarray, x: str
) -> str:
    """``start`` plus the sum of the leaves; ``weights`` are targets and values of all nodes of each tree."""
    from onnx import numpy_helper

    sizes = [len(tree["feature"]) for tree in trees]
    node, number = np.concatenate([np.arange(size) for size in sizes]), np.repeat(np.arange(len(trees)), sizes)
    joined = {
        name: np.concatenate([tree[name] for tree in trees]) for name in ("feature", "threshold", "left", "right")
    }
    is_leaf = joined["feature"] < 0
    missing = np.concatenate([tree["missing_left"] for tree in trees])
    per_node = [values.shape[1] for _, values in weights]
    leaf_rows = [np.flatnonzero(tree["feature"] < 0) for tree in trees]
    targets = [
        goal.reshape(len(tree["feature"]), -1)[rows].ravel() for (goal, _), tree, rows in zip(weights, trees, leaf_rows)
    ]
    values = [value[rows].ravel() for (_, value), rows in zip(weights, leaf_rows)]
    tensor = numpy_helper.from_array
    summed = graph.add(
        "TreeEnsembleRegressor",
        x,
        domain=ML,
        nodes_treeids=number.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_featureids=np.where(is_leaf, 0, joined["feature"]).tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_values_as_tensor=tensor(np.where(is_leaf, 0.0, joined["threshold"]), "thresholds"),
        nodes_truenodeids=np.where(is_leaf, 0, joined["left"]).tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, joined["right"]).tolist(),
        nodes_missing_value_tracks_true=(missing & ~is_leaf).astype(int).tolist(),
        target_treeids=np.repeat(np.arange(len(trees)), [len(part) for part in targets]).tolist(),
        target_nodeids=np.concatenate([np.repeat(rows, k) for rows, k in zip(leaf_rows, per_node)]).tolist(),
        target_ids=np.concatenate(targets).tolist(),
        target_weights_as_tensor=tensor(np.concatenate(values), "values"),
        n_targets=len(start),
        aggregate_function="SUM",
    )
    # The start is added in double precision: it may be much larger than what the trees add.
    return graph.add("Add", graph.as_double(summed), graph.constant(np.asarray(start, dtype=np.float64)))
