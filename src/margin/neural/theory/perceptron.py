r"""The single-layer perceptron: one weighted sum and a step, learned by Rosenblatt's rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["PerceptronRun", "perceptron_rule"]


class PerceptronRun(NamedTuple):
    """What the rule found: weights, bias, mistakes of every pass, and whether a pass made none."""

    w: np.ndarray
    b: float
    mistakes: list[int]
    converged: bool

    def predict(self, X: np.ndarray) -> np.ndarray:
        """1 on one side of the line w x + b = 0, 0 on the other."""
        return (X @ self.w + self.b > 0).astype(int)


def perceptron_rule(X: np.ndarray, y: np.ndarray, max_passes: int = 1000) -> PerceptronRun:
    r"""Visit the rows in turn; where row i (label 0 or 1) is on the wrong side, add :math:`\pm(x_i, 1)` to (w, b).

    For separable rows the number of mistakes is at most :math:`(R/\gamma)^2`, R the longest row with its 1 and
    :math:`\gamma` the widest margin; otherwise the rule never ends, and ``converged`` says so.

    >>> run = perceptron_rule(np.array([[0.0, 0.0], [2.0, 1.0]]), np.array([0, 1]))
    >>> run.converged, run.predict(np.array([[3.0, 3.0], [-1.0, 0.0]]))
    (True, array([1, 0]))
    """
    labels = np.unique(y)
    if not np.isin(labels, (0, 1)).all() or len(X) != len(y):
        raise ValueError(
            f"perceptron_rule: y must have a label 0 or 1 for each of the {len(X)} rows of X; "
            f"got {len(y)} labels with values {labels.tolist()[:5]}."
        )
    w, b, mistakes = np.zeros(X.shape[1]), 0.0, []
    for _ in range(max_passes):
        wrong = 0
        for x, sign in zip(X, np.where(y == 1, 1.0, -1.0)):
            if sign * (x @ w + b) <= 0:
                w, b, wrong = w + sign * x, b + sign, wrong + 1
        mistakes.append(wrong)
        if wrong == 0:
            return PerceptronRun(w, b, mistakes, True)
    return PerceptronRun(w, b, mistakes, False)
