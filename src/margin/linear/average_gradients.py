r"""Stochastic average gradients: one row at a time, with the memory of every row's last gradient.

.. math:: \min_\Theta \; \frac1n \sum_i w_i\,\ell_i(\Theta^\top x_i) + \lambda_1 \lVert\Theta\rVert_1
          + \tfrac{\lambda_2}2 \lVert\Theta\rVert_2^2

The memory makes the variance of the steps vanish, so a constant step converges linearly. Steps have length 1/L for SAG
and 1/(3 L) for SAGA, with L the largest curvature of a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.randomness import generator_from_state, generator_state

__all__ = ["AverageGradients"]

CURVATURE = {"squared": 1.0, "logistic": 0.25, "softmax": 0.5}  # the largest second derivative by a score
CODES = {"squared": 0, "logistic": 1, "softmax": 2}


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
        self.loss = CODES[loss]
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() + intercept
        largest = CURVATURE[loss] * float((self.weights * squares).max(initial=0.0)) + l2
        self.step = 1.0 / ((3.0 if saga else 1.0) * max(largest, np.finfo(float).tiny))
        k = self.targets.shape[1]
        self.theta, self.sums = np.zeros((p + 1, k)), np.zeros((p + 1, k))
        self.memory, self.seen = np.zeros((n, k)), np.zeros(n, dtype=np.int8)
        self.change = np.inf

    def epoch(self) -> None:
        """Visit n rows drawn with replacement; ``change`` is then the largest move relative to the largest entry."""
        from margin.linear.average_kernels import sweep_rows

        n = len(self.seen)
        before = self.theta.copy()
        sweep_rows(
            *self.rows,
            self.targets,
            self.weights,
            self.rng.integers(n, size=n),
            self.loss,
            self.saga,
            float(self.intercept),
            (self.step, self.l1, self.l2),
            self.theta,
            self.memory,
            self.sums,
            self.seen,
            np.empty(self.targets.shape[1]),
        )
        size = float(np.abs(self.theta[:-1]).max(initial=0.0))
        moved = float(np.abs(self.theta - before)[:-1].max(initial=0.0))
        self.change = moved / size if size > 0 else float(moved > 0)

    def state(self) -> dict[str, Any]:
        names = ("theta", "sums", "memory", "seen")
        arrays = {name: getattr(self, name).copy() for name in names}
        return arrays | {"rng": generator_state(self.rng), "change": float(min(self.change, np.finfo(float).max))}

    def restore(self, state: dict[str, Any]) -> None:
        for name in ("theta", "sums", "memory", "seen"):
            setattr(self, name, np.array(state[name]))
        self.rng, self.change = generator_from_state(state["rng"]), float(state["change"])
