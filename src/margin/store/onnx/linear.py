"""Affine models: numbers, log-odds, decision values."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.store.onnx.graph import OnnxGraph, Said

__all__ = ["affine_regressor", "linear_scores", "softmax_or_logistic"]


def affine_regressor(graph: OnnxGraph, model: Any, x: str) -> Said:
    r""":math:`\theta_0 + \theta^\top x`, one column per target."""
    coef = np.atleast_2d(model.coef_)
    return Said(graph.affine(x, coef.T, np.broadcast_to(model.intercept_, len(coef))))


def linear_scores(graph: OnnxGraph, model: Any, x: str) -> Said:
    """Decision values, one column for two classes."""
    coef = np.atleast_2d(model.coef_)
    scores = graph.affine(x, coef.T, np.broadcast_to(model.intercept_, len(coef)))
    return Said(scores, "decision values", model.classes_)


def softmax_or_logistic(graph: OnnxGraph, model: Any, x: str) -> Said:
    """Probabilities from linear scores."""
    scores = linear_scores(graph, model, x).values
    if len(model.classes_) > 2:
        return Said(graph.add("Softmax", scores, axis=1), "probabilities", model.classes_)
    return Said(graph.two_columns(graph.add("Sigmoid", scores)), "probabilities", model.classes_)
