r"""Data whose truth is known: samples of any size, so that bias, variance and noise can be measured.

.. math:: Y = f(X) + \sigma(X)\,\varepsilon, \qquad\text{or}\qquad P(Y = k \mid X) = p_k(X) .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.arguments import shown

__all__ = ["ClassificationProblem", "RegressionProblem", "on_interval"]

Inputs = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class RegressionProblem:
    """Rows from ``inputs(rng, n)``, their conditional ``mean(X)``, and normal noise of standard deviation ``noise``,
    one number or a function of the rows.

    >>> problem = RegressionProblem(on_interval(0, 1), lambda X: 2 * X[:, 0], noise=0.5)
    >>> X, y = problem.sample(np.random.default_rng(0), 4)
    >>> X.shape, y.shape, problem.noise_variance(X)
    ((4, 1), (4,), array([0.25, 0.25, 0.25, 0.25]))
    """

    inputs: Inputs
    mean: Callable[[np.ndarray], np.ndarray]
    noise: float | Callable[[np.ndarray], np.ndarray] = 0.0

    def sample(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """A new data set of ``n`` rows."""
        X = self.inputs(rng, n)
        return X, self.targets(rng, X)

    def targets(self, rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
        """New responses at the same rows."""
        return np.asarray(self.mean(X)) + np.sqrt(self.noise_variance(X)) * rng.standard_normal(len(X))

    def noise_variance(self, X: np.ndarray) -> np.ndarray:
        r""":math:`\sigma^2(x)` at every row."""
        spread = np.asarray(self.noise(X) if callable(self.noise) else self.noise, dtype=np.float64)
        if np.any(spread < 0) or not np.isfinite(spread).all():
            raise ValueError(f"RegressionProblem: noise must be at least 0 and finite; got {shown(self.noise)}.")
        return np.broadcast_to(spread**2, (len(X),)).copy()


@dataclass(frozen=True)
class ClassificationProblem:
    """Rows from ``inputs(rng, n)`` and the probabilities (n, K) of the classes 0 to K - 1, ``probability(X)``."""

    inputs: Inputs
    probability: Callable[[np.ndarray], np.ndarray]

    def sample(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """A new data set of ``n`` rows."""
        X = self.inputs(rng, n)
        return X, self.targets(rng, X)

    def targets(self, rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
        """New labels at the same rows."""
        upper = np.cumsum(self.probabilities(X), axis=1)[:, :-1]
        return np.sum(rng.random((len(X), 1)) >= upper, axis=1)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """:math:`p_k(x)` at every row, (n, K)."""
        p = np.asarray(self.probability(X), dtype=np.float64)
        if p.ndim != 2 or np.any(p < 0) or np.any(np.abs(p.sum(axis=1) - 1) > 1e-9):
            raise ValueError("ClassificationProblem: probability(X) must give rows of probabilities that sum to 1.")
        return p


def on_interval(low: float, high: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Rows of one column, uniform in [low, high]."""

    def inputs(rng: np.random.Generator, n: int) -> Any:
        return rng.uniform(low, high, size=(n, 1))

    return inputs
