r"""Mixtures :math:`f(x) = \sum_j w_j f_j(x)` of laws on the line, and the empirical law of a sample.

Textbook form on the line; :class:`~margin.mixture.GaussianMixture` fits them in any dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.probability.arguments import Array, freeze, integer, numbers, observations, positive, simplex
from margin.foundations.probability.distribution import Continuous, Discrete, Support, levels
from margin.foundations.probability.normal import Normal

__all__ = ["Empirical", "Mixture"]

# A component narrower than this fraction of the data's spread has collapsed onto a point, where the likelihood is
# unbounded and no maximum exists.
COLLAPSED = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class Mixture(Continuous):
    """Pick component j with probability ``weights[j]``, then draw from it.

    >>> law = Mixture([0.3, 0.7], [Normal(-2, 0.5), Normal(1, 0.5)])
    >>> round(law.mean, 12)
    0.1
    """

    weights: Array
    components: tuple[Continuous, ...]

    def __init__(self, weights: ArrayLike, components: Sequence[Continuous]) -> None:
        object.__setattr__(self, "weights", simplex("Mixture", "weights", weights))
        object.__setattr__(self, "components", tuple(components))
        if len(self.components) != self.weights.size:
            raise ValueError(
                f"Mixture: weights and components must be equally many; got {self.weights.size} and "
                f"{len(self.components)}."
            )
        if not all(isinstance(component, Continuous) for component in self.components):
            raise ValueError("Mixture: components must be continuous univariate distributions.")

    @property
    def support(self) -> Support:
        supports = [component.support for component in self.components]
        return Support(min(s.low for s in supports), max(s.high for s in supports))

    @property
    def mean(self) -> float:
        return float(self.weights @ [component.mean for component in self.components])

    @property
    def variance(self) -> float:
        """Mean of the variances plus variance of the means."""
        means = np.array([component.mean for component in self.components])
        return float(self.weights @ [c.variance for c in self.components] + self.weights @ (means - self.mean) ** 2)

    def log_joint(self, x: ArrayLike) -> Array:
        r""":math:`\log w_j f_j(x)` with the components in the last axis."""
        x = numbers("Mixture", "x", x)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return np.stack([component.log_prob(x) for component in self.components], axis=-1) + log_weights

    def responsibilities(self, x: ArrayLike) -> Array:
        """Posterior probability of each component given x, by Bayes' rule; last axis sums to one."""
        return special.softmax(self.log_joint(x), axis=-1)

    def _log_prob(self, x: Array) -> Array:
        return special.logsumexp(self.log_joint(x), axis=-1)

    def _cdf(self, x: Array) -> Array:
        return np.sum([w * component.cdf(x) for w, component in zip(self.weights, self.components)], axis=0)

    def _survival(self, x: Array) -> Array:
        return np.sum([w * component.survival(x) for w, component in zip(self.weights, self.components)], axis=0)

    def score(self, x: ArrayLike) -> Array:
        r""":math:`\frac{d}{dx}\log f(x)`: the components' scores averaged by responsibility (normal components)."""
        if not all(isinstance(component, Normal) for component in self.components):
            raise ValueError("Mixture.score: components must be Normal.")
        scores = np.stack([c.score(x) for c in self.components if isinstance(c, Normal)], axis=-1)
        return np.sum(self.responsibilities(x) * scores, axis=-1)

    def add_noise(self, sigma: float) -> Mixture:
        r"""The law of :math:`X + \sigma\epsilon`, :math:`\epsilon` standard normal: each normal component's variance
        grows by :math:`\sigma^2`."""
        noise = Normal(0, positive("Mixture.add_noise", "sigma", sigma))
        if not all(isinstance(component, Normal) for component in self.components):
            raise ValueError("Mixture.add_noise: components must be Normal.")
        return Mixture(self.weights, [c.add(noise) for c in self.components if isinstance(c, Normal)])

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        chosen = np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(n), side="right")
        draws = np.empty(n)
        for j, component in enumerate(self.components):
            draws[chosen == j] = component.sample(int(np.sum(chosen == j)), rng)
        return draws

    @classmethod
    def fit(cls, data: ArrayLike, n_components: int = 2, max_iter: int = 1000, tol: float = 1e-9) -> Mixture:
        """Normal components by expectation-maximization from equal slices of the sorted data, until the mean
        log-likelihood gains less than ``tol``: a local maximum."""
        data = observations("Mixture.fit", data)
        k = integer("Mixture.fit", "n_components", n_components, low=1)
        if np.unique(data).size < 2 * k:
            raise ValueError(f"Mixture.fit: {k} components need at least {2 * k} distinct values.")
        law = cls(np.full(k, 1 / k), [Normal.fit(part) for part in _slices(data, k)])
        previous = -np.inf
        for _ in range(integer("Mixture.fit", "max_iter", max_iter, low=1)):
            joint = law.log_joint(data)
            evidence = special.logsumexp(joint, axis=1)
            law = cls(*_maximize(data, np.exp(joint - evidence[:, None])))
            if evidence.mean() - previous < tol:
                break
            previous = evidence.mean()
        return law


@dataclass(frozen=True, eq=False, init=False)
class Empirical(Discrete):
    r"""A point mass 1/n at each of n observations: :math:`q(y) = \frac1n\sum_i\delta(y-y_i)`.

    Expectations are sample means, draws are bootstrap resamples.

    >>> Empirical([3, 1, 1, 5]).expectation(np.square)
    9.0
    """

    data: Array

    def __init__(self, data: ArrayLike) -> None:
        object.__setattr__(self, "data", freeze(np.sort(observations("Empirical", data))))

    @property
    def support(self) -> Support:
        return Support(self.data[0], self.data[-1], points=tuple(np.unique(self.data)))

    @property
    def mean(self) -> float:
        return float(self.data.mean())

    @property
    def variance(self) -> float:
        return float(self.data.var())

    def _log_prob(self, x: Array) -> Array:
        count = np.searchsorted(self.data, x, side="right") - np.searchsorted(self.data, x, side="left")
        return np.log(count / self.data.size)

    def _cdf(self, x: Array) -> Array:
        return np.searchsorted(self.data, x, side="right") / self.data.size

    def atoms(self) -> Array:
        return np.unique(self.data)

    def quantile(self, q: ArrayLike) -> Array:
        rank = np.ceil(levels(self, q) * self.data.size) - 1
        return self.data[np.maximum(rank, 0).astype(np.intp)][()]

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.data[rng.integers(0, self.data.size, n)]

    @classmethod
    def fit(cls, data: ArrayLike) -> Empirical:
        """The data themselves: among all laws on the line none makes them more probable."""
        return cls(observations("Empirical.fit", data))


def _slices(data: Array, k: int) -> list[Array]:
    slices = np.array_split(np.sort(data), k)
    # A slice of equal values has no width to start from; the whole sample's spread then stands in.
    return [part if part[0] < part[-1] else part.mean() + data - data.mean() for part in slices]


def _maximize(x: Array, responsibility: Array) -> tuple[Array, list[Normal]]:
    """Weighted frequencies, means and deviations: the maximization step."""
    totals = responsibility.sum(axis=0)
    means = responsibility.T @ x / totals
    deviations = np.sqrt(np.sum(responsibility * (x[:, None] - means) ** 2, axis=0) / totals)
    if np.any(deviations < COLLAPSED * x.std()):
        raise ValueError("Mixture.fit: a component collapsed onto one value; use fewer components.")
    return totals / x.size, [Normal(m, s) for m, s in zip(means, deviations)]
