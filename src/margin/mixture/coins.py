r"""A mixture of coins: each row is a number of heads among tosses of one coin, and nobody saw which.

.. math:: \log p(h, c) = \log \pi_c + \log\tbinom{m}{h} + h \log\theta_c + (m - h)\log(1 - \theta_c)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from margin.mixture.bound import evidence, posterior

__all__ = ["Coins", "coins_em", "coins_log_joint"]


@dataclass(frozen=True)
class Coins:
    """Weights (k,), chances of heads (k,), and the log-likelihood before every EM step and after the last."""

    weights: np.ndarray
    heads: np.ndarray
    trace: list[float] = field(default_factory=list)


def coins_log_joint(heads: np.ndarray, tosses: np.ndarray, coins: Coins) -> np.ndarray:
    """log p(heads, coin) (n, k)."""
    heads, tosses = np.asarray(heads, dtype=float)[:, None], np.asarray(tosses, dtype=float)[:, None]
    ways = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    with np.errstate(divide="ignore"):
        return np.log(coins.weights) + ways + xlogy(heads, coins.heads) + xlog1py(tosses - heads, -coins.heads)


def coins_em(heads: Any, tosses: Any, start: Any, *, tol: float = 1e-10, max_iter: int = 1000) -> Coins:
    """EM from chances ``start`` (k,) and equal weights until the log-likelihood gains less than ``tol``.

    >>> found = coins_em([9, 8, 1, 2], [10] * 4, [0.6, 0.4])
    >>> found.heads.round(3), found.weights.round(3)
    (array([0.85, 0.15]), array([0.5, 0.5]))
    """
    heads, tosses, chance = (np.asarray(values, dtype=float) for values in (heads, tosses, start))
    if heads.shape != tosses.shape or heads.ndim != 1 or (heads < 0).any() or (heads > tosses).any():
        raise ValueError("coins_em: heads and tosses must be equally long, with 0 <= heads <= tosses.")
    if chance.ndim != 1 or (chance <= 0).any() or (chance >= 1).any():
        raise ValueError(f"coins_em: start must be chances strictly between 0 and 1; got {chance.tolist()}.")
    coins, trace = Coins(np.full(len(chance), 1 / len(chance)), chance), []
    for _ in range(max_iter):
        log_joint = coins_log_joint(heads, tosses, coins)
        trace.append(evidence(log_joint))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol:
            break
        resp = posterior(log_joint)  # E step
        coins = Coins(resp.mean(axis=0), resp.T @ heads / (resp.T @ tosses))  # M step
    return Coins(coins.weights, coins.heads, trace)
