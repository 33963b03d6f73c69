r"""Families of normal distributions and their mixtures, written as a vector of free parameters.

A family has K components with weights by softmax, means, and lower triangular roots with positive diagonals:

.. math:: q(z) = \sum_k w_k\, \mathcal N(z \mid m_k, L_k L_k^\top), \qquad z_{ks} = m_k + L_k \varepsilon_s .
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp, softmax

__all__ = ["FAMILIES", "NormalFamily", "NormalMixture"]

POINT_DEVIATION = 1e-3  # of the family "point": a normal distribution too narrow to hold anything but its mean


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Weights (K,), means (K, d) and roots of the covariances (K, d, d)."""

    weights: np.ndarray
    means: np.ndarray
    roots: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.weights @ self.means

    @property
    def covariance(self) -> np.ndarray:
        spread = self.means - self.mean
        within = self.roots @ self.roots.transpose(0, 2, 1)
        return np.einsum("k,kij->ij", self.weights, within + spread[:, :, None] * spread[:, None, :])

    def log_prob(self, z: np.ndarray) -> np.ndarray:
        """Log-density of the rows of ``z`` (n, d)."""
        return logsumexp(self.log_parts(z)[0], axis=0)

    def log_parts(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log of weight times density, (K, n), and the standardized rows (K, n, d)."""
        d = z.shape[1]
        u = np.stack([np.linalg.solve(root, (z - mean).T).T for mean, root in zip(self.means, self.roots)])
        log_volume = np.log(np.diagonal(self.roots, axis1=1, axis2=2)).sum(axis=1) + 0.5 * d * np.log(2 * np.pi)
        with np.errstate(divide="ignore"):
            return (np.log(self.weights) - log_volume)[:, None] - 0.5 * (u**2).sum(axis=2), u


@dataclass(frozen=True, eq=False)
class NormalFamily:
    """``shape`` of the roots: "point" (fixed and narrow), "diag" or "full"."""

    d: int
    n_components: int
    shape: str

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Standard normal components, of which several begin at different places."""
        k, d = self.n_components, self.d
        means = np.zeros((1, d)) if k == 1 else rng.standard_normal((k, d))
        rest = {"point": 0, "diag": k * d, "full": k * d * (d + 1) // 2}[self.shape]
        return np.concatenate([np.zeros(k), means.ravel(), np.zeros(rest)])

    def distribution(self, packed: np.ndarray) -> NormalMixture:
        k, d = self.n_components, self.d
        logits, means, rest = packed[:k], packed[k : k + k * d].reshape(k, d), packed[k + k * d :].reshape(k, -1)
        roots = np.zeros((k, d, d))
        diagonal = np.arange(d)
        if self.shape == "full":
            roots[:, *np.tril_indices(d)] = rest
            roots[:, diagonal, diagonal] = np.exp(roots[:, diagonal, diagonal])
        else:
            roots[:, diagonal, diagonal] = np.exp(rest) if self.shape == "diag" else POINT_DEVIATION
        return NormalMixture(softmax(logits), means, roots)

    def packed_gradient(self, q: NormalMixture, logits: np.ndarray, means: np.ndarray, roots: np.ndarray) -> np.ndarray:
        """Gradients by logits, means (K, d) and roots (K, d, d) as one by the free parameters."""
        diagonal = np.arange(self.d)
        on_diagonal = roots[:, diagonal, diagonal] * q.roots[:, diagonal, diagonal]
        if self.shape == "point":
            return np.concatenate([logits, means.ravel()])
        if self.shape == "diag":
            return np.concatenate([logits, means.ravel(), on_diagonal.ravel()])
        full = roots.copy()
        full[:, diagonal, diagonal] = on_diagonal
        return np.concatenate([logits, means.ravel(), full[:, *np.tril_indices(self.d)].ravel()])


FAMILIES: Mapping[str, partial[NormalFamily]] = {
    "point": partial(NormalFamily, shape="point"),
    "mean-field": partial(NormalFamily, shape="diag"),
    "full": partial(NormalFamily, shape="full"),
    "mixture": partial(NormalFamily, shape="full"),
}
