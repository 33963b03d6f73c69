"""Random tables of kinds on which solvers go wrong: columns that depend, are constant, far from zero, rare, huge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["KINDS", "RandomTable", "random_table"]

KINDS = (
    "plain", "correlated", "other units", "far from zero", "repeated columns", "constant column", "rare indicators",
    "integers", "heavy tails", "tiny numbers",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class RandomTable:
    """Rows ``X`` (n, p), further rows ``Q``, responses ``y``, classes, and weights of rows (None: none)."""

    seed: int
    kind: str
    X: np.ndarray
    Q: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    weights: np.ndarray | None

    @property
    def weighted(self) -> dict[str, np.ndarray]:
        """What ``fit`` takes besides."""
        return {} if self.weights is None else {"sample_weight": self.weights}

    @property
    def share(self) -> np.ndarray:
        """The weight of every row."""
        return np.ones(len(self.X)) if self.weights is None else self.weights


def random_table(seed: int) -> RandomTable:
    """Table ``seed``; kinds take turns."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    n, p = int(rng.choice([12, 30, 120, 300])), int(rng.choice([1, 3, 10, 40]))
    units, shift = np.exp(rng.uniform(-12, 12, size=p)), 1e4 * rng.normal(size=p)
    X, Q = (_rows(rng, kind, rows, p, units, shift) for rows in (n, 30))
    deviation = X.std(axis=0)
    score = X @ (rng.normal(size=p) * (rng.random(p) < 0.6) / np.where(deviation > 1e-10, deviation, 1.0))
    y = score + rng.choice([0.1, 1.0]) * rng.normal(size=n) + rng.choice([0.0, 50.0])
    count = int(rng.choice([2, 3]))
    classes = np.argsort(np.argsort(score + rng.normal(size=n))) * count // n
    weights = rng.random(n) + 1e-3 if rng.random() < 0.5 else None
    return RandomTable(seed, kind, X, Q, y, classes, weights)


def _rows(rng: np.random.Generator, kind: str, n: int, p: int, units: np.ndarray, shift: np.ndarray) -> np.ndarray:
    X = rng.normal(size=(n, p))
    if kind == "correlated":
        for j in range(1, p):
            X[:, j] = 0.95 * X[:, j - 1] + 0.3 * X[:, j]
    elif kind == "other units":
        X *= units
    elif kind == "far from zero":
        X += shift
    elif kind == "repeated columns":
        X[:, p // 2 :] = X[:, : p - p // 2]
    elif kind == "constant column":
        X[:, 0] = 3.0
    elif kind == "rare indicators":
        X = (rng.random((n, p)) < 0.05).astype(float)
    elif kind == "integers":
        X = rng.integers(-3, 4, size=(n, p)).astype(float)
    elif kind == "heavy tails":
        X = rng.standard_t(1.2, size=(n, p))
    elif kind == "tiny numbers":
        X *= 1e-8
    return X
