r"""From neighbors to an answer.

.. math:: P(c \mid q) = \frac{\sum_{i \in N_k(q)} w_i\,1[y_i = c]}{\sum_{i \in N_k(q)} w_i},\qquad
          \hat y(q) = \frac{\sum_{i \in N_k(q)} w_i y_i}{\sum_{i \in N_k(q)} w_i},\qquad
          w_i = 1 \;\text{ or }\; 1 / d(q, x_i) .
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["class_fractions", "neighbor_weights", "weighted_mean"]


def neighbor_weights(distances: np.ndarray, scheme: Any) -> np.ndarray:
    """Weights of the neighbors, (m, k): "uniform" or None, "distance", by which rows at distance 0 outweigh all others,
    or what a function makes of the distances.

    >>> neighbor_weights(np.array([[1.0, 2.0], [0.0, 2.0]]), "distance")
    array([[1. , 0.5],
           [1. , 0. ]])
    """
    if callable(scheme):
        weights = np.asarray(scheme(distances), dtype=np.float64)
        if weights.shape != distances.shape:
            raise ValueError(f"weights must give an array of shape {distances.shape}; got {weights.shape}.")
        if len(weights) and not weights.any(axis=1).all():
            raise ValueError("weights must not be zero for all neighbors of a row.")
        return weights
    if scheme is None or scheme == "uniform":
        return np.ones_like(distances)
    # Relative to the nearest, so that reciprocals of tiny distances stay finite.
    least = distances.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(least > 0, least / distances, distances == 0)


def class_fractions(codes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Fraction of every class in the weight of the neighbors, (m, n_classes); ``codes`` (m, k) name their classes.

    >>> class_fractions(np.array([[0, 1, 1]]), np.ones((1, 3)), 3).round(2)
    array([[0.33, 0.67, 0.  ]])
    """
    m = len(codes)
    flat = codes + n_classes * np.arange(m)[:, None]
    votes = np.bincount(flat.ravel(), weights=weights.ravel(), minlength=m * n_classes).reshape(m, n_classes)
    return votes / votes.sum(axis=1, keepdims=True)


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean of the neighbors' values (m, k, outputs) by weight, (m, outputs)."""
    return (values * weights[:, :, None]).sum(axis=1) / weights.sum(axis=1)[:, None]
