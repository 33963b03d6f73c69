"""Which problem a target poses, and the distribution, output and loss that go with it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.core.array_types import ArrayLike
from margin.data import detect_task

__all__ = ["RECIPES", "Recipe", "recipe"]


class Recipe(NamedTuple):
    """A problem type with the law of y given x, the output that gives its parameters, and the loss -log p."""

    problem: str
    distribution: str
    activation: str
    loss: str


RECIPES = (
    Recipe("univariate regression", "normal", "identity", "squared error"),
    Recipe("multivariate regression", "multivariate normal", "identity", "squared error"),
    Recipe("binary classification", "Bernoulli", "sigmoid", "binary cross-entropy"),
    Recipe("multiclass classification", "categorical", "softmax", "cross-entropy"),
    Recipe("multilabel classification", "product of Bernoulli", "sigmoid", "binary cross-entropy"),
)


def recipe(y: ArrayLike) -> Recipe:
    """The recipe for targets ``y`` (n,) or (n, q).

    >>> recipe([0.5, 1.5, 2.0]).problem, recipe([0, 1, 1]).activation, recipe(["a", "b", "c"]).loss
    ('univariate regression', 'sigmoid', 'cross-entropy')
    >>> recipe(np.array([[0.1, 2.0], [1.3, 1.0]])).problem
    'multivariate regression'
    """
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] > 1:
        if values.dtype.kind not in "biuf" or not np.isfinite(values.astype(float)).all():
            raise ValueError("recipe: several columns of y must hold finite numbers.")
        return RECIPES[4] if np.isin(values, (0, 1)).all() else RECIPES[1]
    flat = values.reshape(len(values)) if values.ndim == 2 else values
    if detect_task(flat) == "regression":
        return RECIPES[0]
    return RECIPES[2] if len(set(flat.tolist())) == 2 else RECIPES[3]
