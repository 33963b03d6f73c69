r"""Gradient boosting as the equations say it, for any loss and any learner.

.. math::

    F_0 = \arg\min_\gamma \sum_i L(y_i, \gamma), \qquad
    r_{im} = -\frac{\partial L(y_i, F_{m-1}(x_i))}{\partial F_{m-1}(x_i)}, \qquad
    h_m \text{ fitted to } (x_i, r_{im}),

    \gamma_m = \arg\min_\gamma \sum_i L(y_i, F_{m-1}(x_i) + \gamma h_m(x_i)), \qquad
    F_m = F_{m-1} + \eta \gamma_m h_m .

The multiplier :math:`\gamma_m` of the line search and the learning rate :math:`\eta` are the scaling, and
:math:`h_m` is the weak learner. Since :math:`\gamma = 0` is among the candidates and the loss is convex, no step with
:math:`0 \le \eta \le 1` increases the training loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from margin.trees.boosting.losses import Loss, pseudo_residuals

__all__ = ["AdditiveModel", "gradient_boosting", "line_search"]


@dataclass(frozen=True)
class AdditiveModel:
    """The sum that was built: a constant, then learners with their multipliers (learning rate included)."""

    start: float
    learners: list[Any]
    multipliers: list[float]
    losses: list[float]  # mean training loss of F_0, F_1, ...

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The sum at the rows of ``X``."""
        F = np.full(len(X), self.start)
        for learner, multiplier in zip(self.learners, self.multipliers, strict=True):
            F += multiplier * learner.predict(X)
        return F


def gradient_boosting(
    X: np.ndarray, y: np.ndarray, loss: Loss, learner: Any, n_rounds: int, learning_rate: float = 1.0
) -> AdditiveModel:
    """Descend ``n_rounds`` steps with copies of ``learner``, any regressor with fit and predict.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from margin.trees.boosting import SquaredLoss
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 4.0, 5.0])
    >>> found = gradient_boosting(X, y, SquaredLoss(), DecisionTreeRegressor(max_depth=1), n_rounds=1)
    >>> found.start, found.predict(X)
    (3.0, array([1.5, 1.5, 4.5, 4.5]))
    """
    start = float(loss.start(y, np.ones(len(y)))[0])
    F = np.full(len(y), start)
    learners, multipliers, losses = [], [], [float(loss.evaluate(y, F)[0].mean())]
    for _ in range(n_rounds):
        h = clone(learner).fit(X, pseudo_residuals(loss, y, F))
        direction = np.asarray(h.predict(X), dtype=np.float64)
        multiplier = learning_rate * line_search(loss, y, F, direction)
        F = F + multiplier * direction
        learners.append(h)
        multipliers.append(multiplier)
        losses.append(float(loss.evaluate(y, F)[0].mean()))
    return AdditiveModel(start, learners, multipliers, losses)


def line_search(loss: Loss, y: np.ndarray, F: np.ndarray, direction: np.ndarray) -> float:
    r"""The multiplier :math:`\gamma \ge 0` that lowers :math:`\sum_i L(y_i, F_i + \gamma d_i)` most, 0 if none does."""

    from scipy.optimize import minimize_scalar

    def along(gamma: float) -> float:
        return float(loss.evaluate(y, F + gamma * direction)[0].sum())

    bound = 1.0
    while along(2 * bound) < along(bound) and bound < 2.0**60:
        bound *= 2.0
    best = minimize_scalar(along, bounds=(0.0, 2 * bound), method="bounded", options={"xatol": 1e-10 * bound})
    return float(best.x) if best.fun <= along(0.0) else 0.0
