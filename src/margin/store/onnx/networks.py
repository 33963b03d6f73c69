"""Perceptrons: affine layers with a function between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.store.onnx.graph import CannotExport, ModelOutput, OnnxGraph

__all__ = ["ACTIVATIONS", "mlp_classifier", "mlp_regressor"]


def _leaky(graph: OnnxGraph, x: str, slope: float) -> str:
    zero = graph.constant(np.zeros(1))
    low = graph.add("Mul", graph.add("Min", x, zero), graph.constant(np.array([slope])))
    return graph.add("Add", graph.add("Max", x, zero), low)


def _elu(graph: OnnxGraph, x: str, _: float) -> str:
    zero, one = graph.constant(np.zeros(1)), graph.constant(np.ones(1))
    low = graph.add("Sub", graph.add("Exp", graph.add("Min", x, zero)), one)
    return graph.add("Add", graph.add("Max", x, zero), low)


def _silu(graph: OnnxGraph, x: str, _: float) -> str:
    return graph.add("Mul", x, graph.add("Sigmoid", x))


#: Only operators that runtimes have in double precision.
ACTIVATIONS: dict[str, Callable[[OnnxGraph, str, float], str]] = {
    "identity": lambda _, x, __: x,
    "relu": lambda graph, x, _: graph.add("Relu", x),
    "tanh": lambda graph, x, _: graph.add("Tanh", x),
    "logistic": lambda graph, x, _: graph.add("Sigmoid", x),
    "sigmoid": lambda graph, x, _: graph.add("Sigmoid", x),
    "leaky_relu": _leaky,
    "elu": _elu,
    "silu": _silu,
}


def mlp_classifier(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """Softmax of the last layer, or a logistic function for each of several labels."""
    if model.out_activation_ != "softmax":
        return ModelOutput(graph.add("Sigmoid", _last_layer(graph, model, x)), "probabilities")
    return ModelOutput(graph.add("Softmax", _last_layer(graph, model, x), axis=1), "probabilities", model.classes_)


def mlp_regressor(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """The last layer in the unit of the target."""
    if model.network_["sizes"][-1] != len(model.target_center_):
        raise CannotExport("export_onnx: MLPRegressor with a width for every prediction cannot be exported.")
    last = _last_layer(graph, model, x)
    if model.out_activation_ == "exp":
        return ModelOutput(graph.add("Exp", last))
    return ModelOutput(graph.unshift(last, model.target_center_, model.target_scale_))


def _last_layer(graph: OnnxGraph, model: Any, x: str) -> str:
    network = model.network_
    name = network["activation"]
    if "norm" in network:
        raise CannotExport(f"export_onnx: the norm {network['norm']!r} cannot be exported; a network without one can.")
    if not isinstance(name, str) or name not in ACTIVATIONS:
        allowed = ", ".join(ACTIVATIONS)
        raise CannotExport(f"export_onnx: the activation {name!r} cannot be exported; {allowed} can.")
    h = graph.shift(x, model.center_, model.scale_)
    layers = list(zip(model.coefs_, model.intercepts_))
    if len(getattr(model, "classes_", ())) == 2 and layers[-1][0].shape[1] == 1:  # one output z for two classes: (0, z)
        matrix, bias = layers[-1]
        layers[-1] = np.hstack([np.zeros_like(matrix), matrix]), np.append(np.zeros_like(bias), bias)
    for matrix, bias in layers[:-1]:
        h = ACTIVATIONS[name](graph, graph.affine(h, *_doubles(matrix, bias)), float(network["negative_slope"]))
    return graph.affine(h, *_doubles(*layers[-1]))


def _doubles(*arrays: Any) -> list[np.ndarray]:
    return [np.asarray(array, dtype=np.float64) for array in arrays]
