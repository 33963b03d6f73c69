r"""Latent variable models: a simple prior and a simple likelihood give a complicated density.

.. math:: p(x) = \int p(x|z)\,p(z)\,dz

The integral over :math:`z \sim N(0, I)` is a weighted sum over nodes of a quadrature, or a mean over draws. A
log-likelihood is a function of rows x (n, p) and latents z (K, d) with the values (n, K).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

__all__ = [
    "BoundTerms",
    "NormalDecoder",
    "bound_terms",
    "effective_sample_size",
    "importance_log_weights",
    "log_marginal",
    "normal_nodes",
    "posterior_weights",
    "prior_draws",
    "ring",
    "through_quantiles",
]

LogLikelihood = Callable[[np.ndarray, np.ndarray], np.ndarray]


class NormalDecoder(NamedTuple):
    r""":math:`p(x|z) = N(x; f(z), \sigma^2 I)`: the mean is a function of the latent, the density is not.

    >>> decoder = NormalDecoder(lambda z: np.hstack([z, z**2]), 0.1)
    >>> decoder.sample(np.zeros((3, 1)), np.random.default_rng(0)).shape
    (3, 2)
    """

    mean: Callable[[np.ndarray], np.ndarray]
    deviation: float

    def log_likelihood(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The log-density of every row given every latent, (n, K)."""
        squared = np.square(x[:, None, :] - self.mean(z)[None]).sum(axis=-1)
        return -0.5 * squared / self.deviation**2 - x.shape[1] * np.log(self.deviation * np.sqrt(2 * np.pi))

    def sample(self, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One row for every latent."""
        mean = self.mean(z)
        return mean + self.deviation * rng.standard_normal(mean.shape)


def normal_nodes(n_nodes: int, n_latents: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n_nodes ** n_latents, n_latents) and log-weights of the Gauss-Hermite quadrature over N(0, I).

    >>> nodes, log_weights = normal_nodes(5, 2)
    >>> nodes.shape, round(float(np.exp(log_weights) @ nodes[:, 0] ** 2), 12)
    ((25, 2), 1.0)
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    log_weights = np.log(weights / weights.sum())
    indices = np.array(list(product(range(n_nodes), repeat=n_latents)))
    return nodes[indices], log_weights[indices].sum(axis=1)


def prior_draws(n_draws: int, n_latents: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Latents drawn from N(0, I), all of weight 1/n_draws: the plain Monte Carlo estimate."""
    return rng.standard_normal((n_draws, n_latents)), np.full(n_draws, -np.log(n_draws))


def importance_log_weights(z: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    r""":math:`\log\bigl(p(z)/(K q(z))\bigr)` of K draws from :math:`q = N(m, \mathrm{diag}\,s^2)`, p normal."""
    from scipy.stats import norm

    return (norm.logpdf(z) - norm.logpdf(z, mean, deviation)).sum(axis=1) - np.log(len(z))


def log_marginal(x: np.ndarray, likelihood: LogLikelihood, z: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    r""":math:`\log\sum_k w_k\,p(x|z_k)` of every row, whatever the latents and weights come from.

    >>> x = np.array([[1.3]])
    >>> decoder = NormalDecoder(lambda z: z, 1.0)
    >>> round(float(log_marginal(x, decoder.log_likelihood, *normal_nodes(60))[0]), 4)  # log N(1.3; 0, 2)
    -1.688
    """
    return logsumexp(likelihood(x, z) + log_weights, axis=1)


def posterior_weights(x: np.ndarray, likelihood: LogLikelihood, z: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    """Probability of every latent given every row, (n, K): Bayes' theorem on the nodes."""
    joint = likelihood(x, z) + log_weights
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def effective_sample_size(log_weights: np.ndarray) -> float:
    r""":math:`(\sum w)^2 / \sum w^2`: how many equal weights would be worth as much.

    >>> effective_sample_size(np.log([0.25, 0.25, 0.25, 0.25]))
    4.0
    """
    return float(np.exp(2 * logsumexp(log_weights) - logsumexp(2 * log_weights)))


class BoundTerms(NamedTuple):
    """Both sides of the bound for a finite latent: evidence - gap = reconstruction - divergence = bound."""

    evidence: float  # log p(x)
    gap: float  # KL(q || p(z|x))
    reconstruction: float  # E_q[log p(x|z)]
    divergence: float  # KL(q || p(z))
    bound: float  # E_q[log p(x, z) - log q(z)]


def bound_terms(q: np.ndarray, prior: np.ndarray, likelihood: np.ndarray) -> BoundTerms:
    """All terms of the evidence lower bound for one observation and a latent with finitely many values.

    >>> round(bound_terms(np.array([0.6, 0.4]), np.array([0.3, 0.7]), np.array([0.9, 0.2])).bound, 6)
    -0.899033
    """
    joint = prior * likelihood
    evidence = float(np.log(joint.sum()))
    posterior = joint / joint.sum()
    return BoundTerms(
        evidence,
        float(q @ np.log(q / posterior)),
        float(q @ np.log(likelihood)),
        float(q @ np.log(q / prior)),
        float(q @ (np.log(joint) - np.log(q))),
    )


def through_quantiles(z: np.ndarray, quantile: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    r""":math:`x = F^{-1}(\Phi(z))`: a standard normal variable becomes one with the distribution function F."""
    from scipy.stats import norm

    return quantile(norm.cdf(z))


def ring(z: np.ndarray, alpha: float) -> np.ndarray:
    r""":math:`g(z) = z/\alpha + z/\|z\|`: every row moves to the radius :math:`1 + \|z\|/\alpha`."""
    return z / alpha + z / np.linalg.norm(z, axis=1, keepdims=True)
