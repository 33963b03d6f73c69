"""The preparation of columns: filling, scaling, labels as zeros and ones.

A graph has one input per column of a table: numbers and flags as double precision with NaN for what is missing, labels
as strings, of which the empty one, "NaN", "None" and the other marks that files have for it are missing (a runtime
makes these of null and NaN). The file says so. How a table spells numbers is not its business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from margin.data.column_reader import MISSING_LABEL
from margin.data.dialect import MISSING
from margin.store.onnx.graph import ML, CannotExport, Labels, OnnxGraph

__all__ = ["Columns", "prepare", "table_inputs"]

#: A matrix of numbers, or the columns of a table by name.
Columns = str | Mapping[str, "str | Labels"]

NUMBERS, LABELS = ("number", "flag"), ("category",)
LABEL_DESCRIPTION = "A label; null, NaN, the empty string and these are missing: " + ", ".join(filter(None, MISSING))


def table_inputs(graph: OnnxGraph, kinds: Mapping[str, str]) -> Columns:
    """One input for each column that is used."""
    strange = {name: kind for name, kind in kinds.items() if kind not in NUMBERS + LABELS}
    if strange:
        name, kind = next(iter(strange.items()))
        raise CannotExport(f"export_onnx: the column {name!r} is a {kind}, whose preparation ONNX cannot express.")
    return {
        name: (
            graph.input_numbers(name, 1, "A number; NaN is missing.")
            if kind in NUMBERS
            else graph.input_labels(name, LABEL_DESCRIPTION)
        )
        for name, kind in kinds.items()
    }


def prepare(graph: OnnxGraph, step: Any, columns: Columns) -> str:
    """What a fitted transformer makes of the columns, as a matrix."""
    name = type(step).__name__
    if name not in STEPS:
        raise CannotExport(f"export_onnx: {name} cannot be exported; of transformers {', '.join(STEPS)} can.")
    return STEPS[name](graph, step, columns)


def _pipeline(graph: OnnxGraph, pipeline: Any, columns: Columns) -> str:
    for _, step in pipeline.steps:
        columns = prepare(graph, step, columns)
    return _matrix(graph, columns)


def _column_transformer(graph: OnnxGraph, transformer: Any, columns: Columns) -> str:
    parts = []
    if isinstance(columns, str) and not all(_are_positions(chosen) for _, _, chosen in transformer.transformers_):
        raise CannotExport(
            "export_onnx: a ColumnTransformer that chooses columns by name is exported only behind a ColumnReader, as "
            "margin.data.preprocessor makes it; fit it to an array and choose by position."
        )
    for _, step, chosen in transformer.transformers_:
        if isinstance(step, str):
            if step == "drop":
                continue
            raise CannotExport("export_onnx: a ColumnTransformer that passes columns through cannot be exported.")
        if isinstance(columns, str):
            positions = np.arange(transformer.n_features_in_)[chosen]
            parts.append(prepare(graph, step, graph.pick(columns, positions.tolist())))
        else:
            parts.append(prepare(graph, step, {str(name): columns[str(name)] for name in chosen}))
    return graph.beside(parts)


def _are_positions(chosen: Any) -> bool:
    ends = [chosen.start, chosen.stop] if isinstance(chosen, slice) else np.asarray(chosen).tolist()
    return all(isinstance(end, int | None) for end in (ends if isinstance(ends, list) else [ends]))


def _imputer(graph: OnnxGraph, step: Any, columns: Columns) -> str:
    if step.indicator_ is not None:
        raise CannotExport("export_onnx: a SimpleImputer that adds columns for what is missing cannot be exported.")
    x = _matrix(graph, columns)
    filled = np.where(np.isnan(np.asarray(step.statistics_, dtype=np.float64)), 0.0, step.statistics_)
    return graph.add("Where", graph.add("IsNaN", x), graph.constant(filled.astype(np.float64)), x)


def _standard(graph: OnnxGraph, step: Any, columns: Columns) -> str:
    center = np.zeros(step.n_features_in_) if step.mean_ is None else step.mean_
    scale = np.ones(step.n_features_in_) if step.scale_ is None else step.scale_
    return graph.shift(_matrix(graph, columns), center, scale)


def _min_max(graph: OnnxGraph, step: Any, columns: Columns) -> str:
    scaled = graph.unshift(_matrix(graph, columns), step.min_, step.scale_)
    if not step.clip:
        return scaled
    low, high = (graph.constant(np.array([float(end)])) for end in step.feature_range)
    return graph.add("Min", graph.add("Max", scaled, low), high)


def _bins(graph: OnnxGraph, step: Any, columns: Columns) -> str:
    """The number of inner edges at or below the value."""
    if step.encode != "ordinal":
        raise CannotExport("export_onnx: KBinsDiscretizer cannot be exported unless it encodes as ordinal.")
    x, parts = _matrix(graph, columns), []
    for j, edges in enumerate(step.bin_edges_):
        reached = graph.add("GreaterOrEqual", graph.pick(x, [j]), graph.constant(np.asarray(edges[1:-1])[None, :]))
        parts.append(graph.add("ReduceSum", graph.as_double(reached), graph.constant(np.array([1])), keepdims=1))
    return graph.beside(parts)


def _category_columns(graph: OnnxGraph, step: Any, columns: Columns) -> str:
    """The position of a label among the known ones, or a one in its place."""
    if isinstance(columns, str):
        raise CannotExport("export_onnx: labels are exported only as columns of a table with names.")
    parts = []
    for column, labels, merged in zip(columns.values(), step.labels_, step.merged_):
        if not isinstance(column, Labels):
            raise CannotExport("export_onnx: a column of labels was prepared as numbers before; that is not exported.")
        other = len(labels) if merged else -1
        codes = {str(label): code for code, label in enumerate(labels)}
        if MISSING_LABEL in codes:
            codes |= {mark: codes[MISSING_LABEL] for mark in MISSING if mark not in codes}
        code = graph.add(
            "LabelEncoder",
            column.name,
            domain=ML,
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=other,
        )
        if step.encode == "ordinal":
            parts.append(graph.as_double(code))
            continue
        width = len(labels) + int(merged)
        parts.append(graph.as_double(graph.add("Equal", code, graph.constant(np.arange(width)[None, :]))))
    return graph.beside(parts)


def _reader(_graph: OnnxGraph, _step: Any, columns: Columns) -> Columns:
    """The inputs of the graph are what a reader makes of a table."""
    return columns


def _matrix(graph: OnnxGraph, columns: Columns) -> str:
    if isinstance(columns, str):
        return columns
    if any(isinstance(column, Labels) for column in columns.values()):
        raise CannotExport("export_onnx: a column of labels reaches a step for numbers.")
    return graph.beside([str(column) for column in columns.values()])


STEPS: dict[str, Callable[[OnnxGraph, Any, Columns], Any]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "ColumnReader": _reader,
    "SimpleImputer": _imputer,
    "StandardScaler": _standard,
    "StandardColumns": _standard,
    "MinMaxScaler": _min_max,
    "KBinsDiscretizer": _bins,
    "CategoryColumns": _category_columns,
}
