"""From a fitted model to a file that any ONNX runtime reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from margin.store.container import write_atomically
from margin.store.onnx import linear, networks, trees
from margin.store.onnx.columns import Columns, prepare, table_inputs
from margin.store.onnx.graph import CannotExport, ModelOutput, OnnxGraph
from margin.store.onnx.torch_networks import TORCH_NETWORKS, export

__all__ = ["MODELS", "export_onnx"]

#: How a model becomes nodes of a graph, by the name of its class.
MODELS: dict[str, Callable[[OnnxGraph, Any, str], ModelOutput]] = {
    "LinearRegression": linear.affine_regressor,
    "Ridge": linear.affine_regressor,
    "Lasso": linear.affine_regressor,
    "ElasticNet": linear.affine_regressor,
    "LogisticRegression": linear.softmax_or_logistic,
    "LinearDiscriminantAnalysis": linear.softmax_or_logistic,
    "LinearSVC": linear.linear_scores,
    "DecisionTreeClassifier": trees.single_tree,
    "DecisionTreeRegressor": trees.single_tree,
    "RandomForestClassifier": trees.forest,
    "RandomForestRegressor": trees.forest,
    "ExtraTreesClassifier": trees.forest,
    "ExtraTreesRegressor": trees.forest,
    "GradientBoostingClassifier": trees.boosted_classifier,
    "GradientBoostingRegressor": trees.boosted_regressor,
    "HistGradientBoostingClassifier": trees.boosted_classifier,
    "HistGradientBoostingRegressor": trees.boosted_regressor,
    "MLPClassifier": networks.mlp_classifier,
    "MLPRegressor": networks.mlp_regressor,
}
PIPELINES = ("Pipeline", "BoundedPipeline")


def export_onnx(model: BaseEstimator, path: str | Path) -> Path:
    """Write a fitted model, alone or behind the preparation of its columns, as an ONNX file.

    A model fitted to an array takes ``X`` (n, p). One that was fitted to a table takes an input (n, 1) per column, by
    name: numbers in double precision, labels as strings; NaN, null and the empty string are missing, as the description
    of each input says. Classifiers give ``label`` and ``probabilities`` (or
    ``scores`` where they have no probabilities), regressors ``prediction``. Networks on pictures take ``images``
    (n, channels, height, width) of the type of the fit, those on texts ``ids`` (n, longest) of
    ``TextClassifier.token_ids``; a language model takes ``ids`` (n, new) and ``past``, the keys and values of tokens
    before, and gives ``scores`` and ``present``. Networks need the package ``onnxscript`` too. What ONNX cannot express
    is refused with a sentence. Needs the package ``onnx``.

    Parameters
    ----------
    model : estimator
        A fitted model or pipeline.
    path : str or Path
        The file to write.
    """
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise CannotExport("export_onnx: the package onnx is not installed; margin[onnx] brings it.") from None
    if not hasattr(model, "get_params"):
        raise CannotExport(f"export_onnx: model must be a fitted estimator; got {_name(model)}.")
    check_is_fitted(model)
    if _name(model) in TORCH_NETWORKS:
        return write_atomically(path, export(model))
    graph = OnnxGraph()
    output = _convert(graph, model, _inputs(graph, model))
    made = graph.finish(_outputs(graph, output), f"{_name(model)}, exported by margin")
    return write_atomically(path, made.SerializeToString())


def _inputs(graph: OnnxGraph, model: Any) -> Columns:
    """What the first step of a model takes: the columns of a table, or a matrix."""
    reader = _first(model)
    if type(reader).__name__ == "ColumnReader":
        return table_inputs(graph, reader.kinds)
    if not hasattr(reader, "n_features_in_"):
        raise CannotExport(f"export_onnx: {_name(reader)} takes no table of numbers and cannot be exported.")
    return graph.input_numbers("X", int(reader.n_features_in_))


def _first(model: Any) -> Any:
    """The step that sees the rows first; the members of a blend all see the same."""
    for inside in ("regressor_", "best_"):
        if hasattr(model, inside):
            return _first(getattr(model, inside))
    if _name(model) in PIPELINES:
        return _first(model.steps[0][1])
    return _first(model.estimators_[0]) if _name(model).startswith("Blend") else model


def _convert(graph: OnnxGraph, model: Any, columns: Columns) -> ModelOutput:
    name = _name(model)
    if name in PIPELINES:
        for _, step in model.steps[:-1]:
            columns = prepare(graph, step, columns)
        output = _convert(graph, model.steps[-1][1], columns)
        return output if name == "Pipeline" else _bind_outputs(graph, model.bounds, output)
    if name == "TransformedTargetRegressor":
        return _in_unit_of_target(graph, model, _convert(graph, model.regressor_, columns))
    if name.startswith("Blend"):
        return _blend(graph, model, [_convert(graph, member, columns) for member in model.estimators_])
    if name not in MODELS:
        raise CannotExport(
            f"export_onnx: {name} cannot be exported; these can: {', '.join((*MODELS, *TORCH_NETWORKS))}."
        )
    if isinstance(columns, Mapping):
        raise CannotExport(f"export_onnx: {name} was fitted to a table without preparation; fit it to an array.")
    return MODELS[name](graph, model, columns)


def _bind_outputs(graph: OnnxGraph, bounds: tuple[float, float], output: ModelOutput) -> ModelOutput:
    low, high = (graph.constant(np.array([end])) for end in bounds)
    return ModelOutput(graph.add("Min", graph.add("Max", output.values, low), high))


def _in_unit_of_target(graph: OnnxGraph, model: Any, output: ModelOutput) -> ModelOutput:
    scaler = model.transformer_
    if _name(scaler) == "LogTarget":
        ends = (graph.constant(np.float64(end)) for end in scaler.range)
        return ModelOutput(graph.add("Exp", graph.add("Clip", output.values, *ends)))
    if _name(scaler) != "StandardScaler":
        raise CannotExport(f"export_onnx: a target transformed by {_name(scaler)} cannot be exported.")
    return ModelOutput(graph.unshift(output.values, scaler.mean_, scaler.scale_))


def _blend(graph: OnnxGraph, model: Any, members: list[ModelOutput]) -> ModelOutput:
    """The weighted mean of the outputs of the members."""
    weights = np.ones(len(members)) if model.weights is None else np.asarray(model.weights, dtype=np.float64)
    parts = [
        graph.add("Mul", output.values, graph.constant(np.array([weight])))
        for output, weight in zip(members, weights / weights.sum())
    ]
    return ModelOutput(graph.add("Sum", *parts), members[0].kind, getattr(model, "classes_", None))


def _outputs(graph: OnnxGraph, output: ModelOutput) -> list[tuple[str, str, Any]]:
    """The results by name; the label is the class with the largest score, the first of equals."""
    if output.classes is None:
        name = "probabilities" if output.kind == "probabilities" else "prediction"
        return [(name, output.values, np.float64)]
    classes = np.asarray(output.classes)
    if classes.dtype.kind not in "biuUO":
        raise CannotExport("export_onnx: classes must be integers or strings.")
    scores = output.values
    if output.kind == "decision values" and len(classes) == 2:
        scores = graph.beside([graph.add("Neg", output.values), output.values])
    place = graph.add("ArgMax", scores, axis=1, keepdims=0)
    label = graph.add("Gather", graph.constant(classes if classes.dtype.kind in "biu" else classes.astype(str)), place)
    name = "probabilities" if output.kind == "probabilities" else "scores"
    kind = {"b": np.bool_, "i": np.int64, "u": np.int64}.get(classes.dtype.kind, np.object_)
    return [("label", label, kind), (name, output.values, np.float64)]


def _name(model: Any) -> str:
    return type(model).__name__
