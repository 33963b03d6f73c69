r"""Distance from points to a hyperplane :math:`\{x : \theta_+^\top x + \theta_0 = 0\}`."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.foundations.linalg.arguments import Array, as_array, as_vector

__all__ = ["project_to_hyperplane", "signed_distance"]


def signed_distance(x: Any, weights: Any, intercept: float, labels: Any = None) -> Array:
    r""":math:`d_i = y_i(\theta_+^\top x_i + \theta_0) / \|\theta_+\|`, positive on the side that the label names.

    x is (n, d) or one point (d,); ``weights`` is :math:`\theta_+`; labels are -1 or 1. Without labels the distance is
    positive on the side that the weights point to.

    >>> float(signed_distance([3.0, 4.0], [3.0, 4.0], -5.0))
    4.0
    """
    x, weights = _arguments("signed_distance", x, weights)
    distance = (x @ weights + intercept) / np.linalg.norm(weights)
    if labels is None:
        return distance
    labels = as_array("signed_distance", "labels", labels, real=True)
    if labels.shape != distance.shape or not np.isin(labels, (-1, 1)).all():
        raise ValueError(f"signed_distance: labels must be -1 or 1, one per point; got shape {labels.shape}.")
    return labels * distance


def project_to_hyperplane(x: Any, weights: Any, intercept: float) -> Array:
    r"""The nearest point of the plane: :math:`p = x - d\,\theta_+/\|\theta_+\|`, d the unlabeled signed distance."""
    x, weights = _arguments("project_to_hyperplane", x, weights)
    distance = signed_distance(x, weights, intercept)
    return x - distance[..., None] * (weights / np.linalg.norm(weights))


def _arguments(function: str, x: Any, weights: Any) -> tuple[Array, Array]:
    weights = as_vector(function, "weights", weights, real=True)
    if not weights.any():
        raise ValueError(f"{function}: weights must not be zero; a plane needs a normal.")
    x = as_array(function, "x", x, real=True)
    if x.ndim not in (1, 2) or x.shape[-1] != len(weights):
        raise ValueError(f"{function}: x must hold points of {len(weights)} coordinates; got shape {x.shape}.")
    return x, weights
