r"""Stochastic average gradients: one row at a time, with the memory of every row's last gradient.

.. math:: \min_\Theta \; \frac1n \sum_i w_i\,\ell_i(\Theta^\top x_i) + \lambda_1 \lVert\Theta\rVert_1
          + \tfrac{\lambda_2}2 \lVert\Theta\rVert_2^2

The memory makes the variance of the steps vanish, so a constant step converges linearly. Steps have length 1/L for SAG
and 1/(3 L) for SAGA, with L the largest curvature of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax

from margin.core.randomness import generator_from_state, generator_state
from margin.core.restoring import restore

__all__ = ["AverageGradients"]

CURVATURE = {"squared": 1.0, "logistic": 0.25, "softmax": 0.5}  # the largest second derivative by a score
CODES = {"squared": 0, "logistic": 1, "softmax": 2}
PREDICTED: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of scores (n, k)
    "squared": lambda scores: scores,
    "logistic": expit,
    "softmax": partial(softmax, axis=1),
}


class AverageGradients:
    """``theta`` (p + 1, k; the last row intercepts) on its way to the minimum; ``epoch`` visits n random rows.

    ``targets`` are numbers (n, k) for "squared", 0 or 1 for "logistic" (n, 1) and "softmax" (n, K).
    """

    def __init__(
        self,
        X: Any,
        targets: np.ndarray,
        weights: np.ndarray | None,
        rng: np.random.Generator,
        *,
        loss: str,
        saga: bool,
        intercept: bool,
        l1: float = 0.0,
        l2: float = 0.0,
    ):
        n, p = X.shape
        rows = sp.csr_array(X, dtype=np.float64)
        rows.sum_duplicates()
        self.rows = rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        self.targets = np.ascontiguousarray(targets, dtype=np.float64)
        self.weights = np.ones(n) if weights is None else weights * (n / weights.sum())  # mean 1
        self.rng, self.saga, self.intercept, self.l1, self.l2 = rng, saga, intercept, l1, l2
        self.name, self.loss = loss, CODES[loss]
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        # The intercept goes on as if it belonged to a column as long as a row is: with one of ones, beside rows of a
        # hundred columns, it would need a hundred times as many visits.
        self.pace = float(squares.mean()) or 1.0 if intercept else 0.0
        squares = squares + self.pace
        largest = CURVATURE[loss] * float((self.weights * squares).max(initial=0.0)) + l2
        self.step = 1.0 / ((3.0 if saga else 1.0) * max(largest, np.finfo(float).tiny))
        k = self.targets.shape[1]
        self.theta, self.sums = np.zeros((p + 1, k)), np.zeros((p + 1, k))
        self.memory, self.seen = np.zeros((n, k)), np.zeros(n, dtype=np.int8)
        self.change = np.inf

    def begin_at(self, theta: np.ndarray) -> None:
        """Go on from ``theta`` with the gradients of all rows there; without them the first visits would lead away."""
        self.theta = np.ascontiguousarray(theta, dtype=np.float64)
        data, indices, indptr = self.rows
        X = sp.csr_array((data, indices, indptr), shape=(len(self.seen), len(theta) - 1))
        scores = X @ self.theta[:-1] + self.theta[-1]
        self.memory = self.weights[:, None] * (PREDICTED[self.name](scores) - self.targets)
        self.sums = np.vstack([X.T @ self.memory, self.pace * self.memory.sum(axis=0)])
        self.seen = np.ones_like(self.seen)

    def epoch(self) -> None:
        """Visit n rows drawn with replacement; ``change`` is then the largest move relative to the largest entry.

        An intercept may be much larger than coefficients and is compared with itself then.
        """
        from margin.compiled.linear import sweep_rows

        n = len(self.seen)
        before = self.theta.copy()
        sweep_rows(
            *self.rows,
            self.targets,
            self.weights,
            self.rng.integers(n, size=n),
            self.loss,
            self.saga,
            self.pace,
            (self.step, self.l1, self.l2),
            self.theta,
            self.memory,
            self.sums,
            self.seen,
            np.empty(self.targets.shape[1]),
        )
        moved, size = np.abs(self.theta - before), float(np.abs(self.theta[:-1]).max(initial=0.0))
        parts = [(moved[:-1], size), (moved[-1:], max(size, float(np.abs(self.theta[-1]).max())))]
        self.change = max(_relative(float(part.max(initial=0.0)), largest) for part, largest in parts)

    def state(self) -> dict[str, Any]:
        names = ("theta", "sums", "memory", "seen")
        arrays = {name: getattr(self, name).copy() for name in names}
        return arrays | {"rng": generator_state(self.rng), "change": float(min(self.change, np.finfo(float).max))}

    def restore(self, state: dict[str, Any]) -> None:
        for name in ("theta", "sums", "memory", "seen"):
            setattr(self, name, restore(state, name, getattr(self, name)))
        self.rng, self.change = generator_from_state(state["rng"]), float(state["change"])


def _relative(moved: float, size: float) -> float:
    return moved / size if size > 0 else float(moved > 0)
