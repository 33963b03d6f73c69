r"""Binary factors: rows are sums of the columns of W that hidden switches turn on, plus noise.

.. math:: z_j \sim \mathrm{Bernoulli}(\pi_j),\qquad x \mid z \sim \mathcal{N}(b + W z, \sigma^2 I)

Given x the switches explain the same rows and so depend on each other, unless the columns of W are orthogonal. Exact EM
uses the posterior over all :math:`2^m` states. Variational EM restricts q to products :math:`\prod_j q_j(z_j)`, whose
best member is found by coordinate ascent, and maximizes a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from margin.core.array_types import MatrixLike
from margin.core.records import Record
from margin.mixture.bound import elbo, posterior

__all__ = ["Factors", "factorized_posterior", "factors_em", "states_of"]

SETTLED = 1e-12  # largest change of a switch's probability at which coordinate ascent stops
MOST_SWEEPS = 1000
SMALLEST_VARIANCE = 1e-12  # noise-free data would drive the density to infinity


@dataclass(frozen=True)
class Factors:
    """Loadings W (d, m), offset b (d,), noise variance, and chances (m,) that a switch is on."""

    loadings: np.ndarray
    offset: np.ndarray
    variance: float
    chances: np.ndarray

    def log_joint(self, X: np.ndarray) -> np.ndarray:
        """log p(x, z) for all states, (n, 2^m)."""
        states = states_of(len(self.chances))
        means = self.offset + states @ self.loadings.T  # (states, d)
        squares = ((X[:, None] - means) ** 2).sum(axis=2)
        prior = states @ np.log(self.chances) + (1 - states) @ np.log1p(-self.chances)
        return prior - 0.5 * (squares / self.variance + X.shape[1] * np.log(2 * np.pi * self.variance))


def states_of(m: int) -> np.ndarray:
    """All settings of ``m`` switches, (2^m, m).

    >>> states_of(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return ((np.arange(2**m)[:, None] >> np.arange(m)[::-1]) & 1).astype(float)


def factorized_posterior(log_joint: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    r"""The product distribution with the highest bound that coordinate ascent finds, as a table (n, 2^m).

    Each switch in turn gets :math:`q_j(z_j) \propto \exp \mathbb{E}_{q_{-j}}[\log p(x, z)]`: the bound never falls.
    That is a local maximum, so the ascent starts at the true marginals, at the most probable state, and at the product
    ``before`` if there is one: every row keeps the best end, which is no lower than ``before`` itself.
    """
    states = states_of(int(np.log2(log_joint.shape[1])))
    starts = [posterior(log_joint) @ states, states[log_joint.argmax(axis=1)]]
    starts += [before @ states] if before is not None else []
    ends = np.stack([_ascend(log_joint, start, states) for start in starts])  # (starts, n, 2^m)
    best = (ends * log_joint + entr(ends)).sum(axis=2).argmax(axis=0)
    return np.asarray(ends[best, np.arange(len(log_joint))])


def _ascend(log_joint: np.ndarray, on: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The product that coordinate ascent reaches from chances ``on`` (n, m), as a table."""
    for _ in range(MOST_SWEEPS):
        before = on.copy()
        for j in range(on.shape[1]):
            others = _product(np.delete(on, j, axis=1), np.delete(states, j, axis=1))
            score = others * log_joint
            gap = score[:, states[:, j] == 1].sum(axis=1) - score[:, states[:, j] == 0].sum(axis=1)
            on[:, j] = 1 / (1 + np.exp(-np.clip(gap, -700, 700)))
        if np.abs(on - before).max() < SETTLED:
            break
    return _product(on, states)


def factors_em(
    X: MatrixLike, start: Factors, *, family: str = "exact", max_iter: int = 100
) -> Iterator[tuple[Record, Factors]]:
    """EM with ``family`` "exact" or "factorized"; every record carries the bound after the E step of its parameters.

    The bound of the exact family is the log-likelihood itself. With either family it never falls: a factorized E step
    also starts from the one before, as a fresh start alone may end in a lower maximum.
    """
    if family not in {"exact", "factorized"}:
        raise ValueError(f"factors_em: family must be 'exact' or 'factorized'; got {family!r}.")
    X = np.asarray(X, dtype=float)
    model, q = start, None
    for iteration in range(1, max_iter + 1):
        log_joint = model.log_joint(X)
        q = posterior(log_joint) if family == "exact" else factorized_posterior(log_joint, q)
        yield Record(iteration, {"bound": elbo(log_joint, q)}, total=max_iter), model
        model = _maximize(X, q, len(start.chances))


def _product(on: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Probability of every state (n, states) when switch j is on with probability ``on[:, j]``, independently."""
    on = on[:, None, :]
    return np.where(states == 1, on, 1 - on).prod(axis=2)


def _maximize(X: np.ndarray, q: np.ndarray, m: int) -> Factors:
    """M step: regression of x on the expected switches, weighted by q."""
    (n, d), states = X.shape, states_of(m)
    inputs = np.column_stack([np.ones(len(states)), states])  # (states, m + 1)
    weight = q.sum(axis=0)
    gram = (inputs * weight[:, None]).T @ inputs
    cross = inputs.T @ (q.T @ X)
    theta = np.linalg.lstsq(gram, cross, rcond=None)[0]  # (m + 1, d)
    squares = ((X[:, None] - inputs @ theta) ** 2).sum(axis=2)
    variance = max(float((q * squares).sum()) / (n * d), SMALLEST_VARIANCE)
    chances = np.clip(q @ states, 0, 1).mean(axis=0)
    return Factors(theta[1:].T, theta[0], variance, np.clip(chances, 1e-12, 1 - 1e-12))
