"""Affine models: numbers, log-odds, decision values."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.store.onnx.graph import ModelOutput, OnnxGraph

__all__ = ["affine_regressor", "linear_scores", "softmax_or_logistic"]


def affine_regressor(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    r""":math:`\theta_0 + \theta^\top x`, one column per target."""
    coef = np.atleast_2d(model.coef_)
    return ModelOutput(graph.affine(x, coef.T, np.broadcast_to(model.intercept_, len(coef))))


def linear_scores(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """Decision values, one column for two classes."""
    coef = np.atleast_2d(model.coef_)
    scores = graph.affine(x, coef.T, np.broadcast_to(model.intercept_, len(coef)))
    return ModelOutput(scores, "decision values", model.classes_)


def softmax_or_logistic(graph: OnnxGraph, model: Any, x: str) -> ModelOutput:
    """Probabilities from linear scores."""
    scores = linear_scores(graph, model, x).values
    if len(model.classes_) > 2:
        return ModelOutput(graph.add("Softmax", scores, axis=1), "probabilities", model.classes_)
    return ModelOutput(graph.two_columns(graph.add("Sigmoid", scores)), "probabilities", model.classes_)
