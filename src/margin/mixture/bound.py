r"""The evidence lower bound of a model with discrete hidden states, from the table :math:`\log p(x_i, z)` (n, states).

.. math::
    \mathrm{ELBO}(q) = \sum_i \mathbb{E}_{q_i}[\log p(x_i, Z)] + H(q_i)
    = \sum_i \log p(x_i) - \mathrm{KL}\bigl(q_i \,\Vert\, p(\cdot \mid x_i)\bigr) \le \log p(X)

with equality exactly for the posterior. EM raises it in q (E step), then in the parameters (M step).
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr, logsumexp

__all__ = ["elbo", "evidence", "posterior"]


def evidence(log_joint: np.ndarray) -> float:
    """log p(X), the sum over rows of log-sum-exp over states."""
    return float(logsumexp(log_joint, axis=1).sum())


def posterior(log_joint: np.ndarray) -> np.ndarray:
    """p(z | x) for every row, (n, states)."""
    return np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))


def elbo(log_joint: np.ndarray, q: np.ndarray) -> float:
    """The bound for distributions ``q`` (n, states) over the hidden states.

    >>> table = np.log([[0.1, 0.3]])
    >>> bool(np.isclose(elbo(table, posterior(table)), evidence(table)))
    True
    """
    expected = np.where(q > 0, q * np.where(q > 0, log_joint, 0.0), 0.0)
    return float(expected.sum() + entr(q).sum())
