"""Objectives of metric learning against sums over pairs and derivatives by differences."""

from __future__ import annotations

import numpy as np

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.representation.metric_learning import nca_objective


@oracle("margin.representation.metric_learning.nca_objective")
def neighbors_of_the_same_class(seed: int) -> Verdict:
    """The expected number of rows whose random neighbor has their class, one pair at a time."""
    rng = np.random.default_rng(seed)
    X, y, A = rng.normal(size=(9, 3)), np.arange(9) % 3, rng.normal(size=(2, 3))

    def value(matrix: np.ndarray) -> float:
        total = 0.0
        for i in range(9):
            weight = [0.0 if j == i else np.exp(-np.sum((matrix @ (X[i] - X[j])) ** 2)) for j in range(9)]
            total += sum(w for w, label in zip(weight, y) if label == y[i]) / sum(weight)
        return total

    found, slope = nca_objective(A, X, y)
    steps = [
        [np.where((np.arange(2)[:, None] == i) & (np.arange(3) == j), 1e-5, 0.0) for j in range(3)] for i in range(2)
    ]
    wanted = [[(value(A + h) - value(A - h)) / 2e-5 for h in row] for row in steps]
    return every(value=near(found, value(A), tolerance=1e-9), slope=near(slope, wanted, tolerance=1e-6))
