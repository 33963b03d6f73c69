"""Laws with exponential tails on the line: Laplace and logistic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from margin.foundations.probability.arguments import Array, observations, positive, real
from margin.foundations.probability.distribution import Continuous, Support

__all__ = ["Laplace", "Logistic"]


@dataclass(frozen=True)
class Laplace(Continuous):
    r"""Two exponentials back to back: :math:`f(x) = \frac1{2b} e^{-|x-\mu|/b}`; mean mu, variance :math:`2b^2`.

    With rate :math:`\lambda = 1/b` and mu = 0 it is the prior :math:`\frac\lambda2 e^{-\lambda|x|}` behind the L1
    penalty; its variance is :math:`2/\lambda^2` and its peak :math:`\lambda/2`.

    >>> Laplace(0, 1 / 3).pdf(0).round(12).tolist()
    1.5
    """

    mu: float = 0.0
    b: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", real("Laplace", "mu", self.mu))
        object.__setattr__(self, "b", positive("Laplace", "b", self.b))

    @property
    def support(self) -> Support:
        return Support(-np.inf, np.inf)

    @property
    def mean(self) -> float:
        return self.mu

    @property
    def variance(self) -> float:
        return 2 * self.b**2

    def _log_prob(self, x: Array) -> Array:
        return -np.abs(x - self.mu) / self.b - np.log(2 * self.b)

    def _cdf(self, x: Array) -> Array:
        half = 0.5 * np.exp(-np.abs(x - self.mu) / self.b)
        return np.where(x < self.mu, half, 1 - half)

    def _survival(self, x: Array) -> Array:
        return self._cdf(2 * self.mu - x)

    def _log_survival(self, x: Array) -> Array:
        z = (x - self.mu) / self.b
        return np.where(z > 0, -np.log(2) - z, np.log1p(-0.5 * np.exp(np.minimum(z, 0))))

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return self.mu - self.b * np.sign(q - 0.5) * np.log(1 - 2 * np.abs(q - 0.5))

    def entropy(self) -> float:
        return 1 + float(np.log(2 * self.b))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.laplace(self.mu, self.b, n)

    @classmethod
    def fit(cls, data: ArrayLike) -> Laplace:
        """The sample median and the mean absolute deviation from it."""
        data = observations("Laplace.fit", data)
        if data.min() == data.max():
            raise ValueError(f"Laplace.fit: data must not all be equal; got {data.size} times {data[0]:g}.")
        median = float(np.median(data))
        return cls(median, float(np.abs(data - median).mean()))


@dataclass(frozen=True)
class Logistic(Continuous):
    r"""The law whose CDF is a sigmoid: :math:`F(x) = 1/(1 + e^{-(x-\mu)/s})`.

    >>> Logistic().quantile(0.5).tolist()
    0.0
    """

    mu: float = 0.0
    s: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", real("Logistic", "mu", self.mu))
        object.__setattr__(self, "s", positive("Logistic", "s", self.s))

    @property
    def support(self) -> Support:
        return Support(-np.inf, np.inf)

    @property
    def mean(self) -> float:
        return self.mu

    @property
    def variance(self) -> float:
        return float(np.pi * self.s) ** 2 / 3

    def _log_prob(self, x: Array) -> Array:
        z = (x - self.mu) / self.s
        return special.log_expit(z) + special.log_expit(-z) - np.log(self.s)

    def _cdf(self, x: Array) -> Array:
        return special.expit((x - self.mu) / self.s)

    def _survival(self, x: Array) -> Array:
        return special.expit((self.mu - x) / self.s)

    def _log_survival(self, x: Array) -> Array:
        return special.log_expit((self.mu - x) / self.s)

    def _quantile(self, q: Array) -> Array:
        return self.mu + self.s * special.logit(q)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.logistic(self.mu, self.s, n)

    @classmethod
    def fit(cls, data: ArrayLike) -> Logistic:
        """Solves the two score equations by SciPy's hybrid root finder (tolerance 1e-12)."""
        data = observations("Logistic.fit", data)
        if data.min() == data.max():
            raise ValueError(f"Logistic.fit: data must not all be equal; got {data.size} times {data[0]:g}.")

        def score(parameters: Array) -> list[float]:
            z = (data - parameters[0]) * np.exp(-parameters[1])
            pull = np.tanh(z / 2)  # 2 sigmoid(z) - 1
            return [float(pull.mean()), float((z * pull).mean()) - 1]

        start = [float(np.median(data)), float(np.log(data.std() * np.sqrt(3) / np.pi))]
        solution = optimize.root(score, start, tol=1e-12)
        return cls(float(solution.x[0]), float(np.exp(solution.x[1])))
