r"""Expected loss as noise + bias + variance, point by point: squared error, 0-1 loss, cross-entropy.

``predictions`` come from models fitted to S independent training sets, along the first axis. The parts of each loss
add up to its mean over these sets and over new targets, exactly and not only as S grows:

.. math::
    \mathbb E (Y - \hat f)^2 &= \sigma^2 + (f - \bar f)^2 + \mathbb E(\hat f - \bar f)^2 \\
    P(Y \ne \hat y) &= (1 - \max_k p_k) + (\max_k p_k - p_m) + \Bigl(p_m - \sum_k p_k q_k\Bigr),
                       \qquad q_k = P(\hat y = k),\ m = \arg\max_k q_k \\
    -\mathbb E \log \hat p_Y &= H(p) + \mathrm{KL}(p \Vert \bar p) + \mathbb E\,\mathrm{KL}(\bar p \Vert \hat p),
                       \qquad \bar p \propto \exp \mathbb E\log\hat p .

The second has the Bayes error, what the majority m of the models adds to it, and what their scatter around m adds,
the systematic and the variance effect of James (2003). Where the majority is wrong, scatter helps and its part is
negative. The third is the form of every Bregman loss, here with a geometric mean in the place of the arithmetic one.
Squared bias and variance of the first are unbiased estimates: what S models cannot know of their own mean is taken from
the bias, which may so be slightly below 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core import arguments

__all__ = ["LossParts", "cross_entropy_parts", "geometric_mean", "squared_parts", "zero_one_parts"]


@dataclass(frozen=True)
class LossParts:
    """The three parts at each of n points; ``total`` is their sum, the expected loss there."""

    bias: np.ndarray
    variance: np.ndarray
    noise: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.bias + self.variance + self.noise


def squared_parts(predictions: Any, mean: Any, noise_variance: Any = 0.0) -> LossParts:
    """Parts of the squared error of ``predictions`` (S, n) around the conditional ``mean`` (n,).

    >>> parts = squared_parts([[1.0], [3.0]], mean=[0.0], noise_variance=0.5)
    >>> parts.bias, parts.variance, parts.total
    (array([3.]), array([2.]), array([5.5]))
    """
    outputs = _sets("squared_parts", predictions, ndim=2)
    target = np.broadcast_to(arguments.finite("squared_parts", "mean", mean), outputs.shape[1:])
    variance = outputs.var(axis=0, ddof=1)
    bias = (outputs.mean(axis=0) - target) ** 2 - variance / len(outputs)
    noise = np.broadcast_to(arguments.finite("squared_parts", "noise_variance", noise_variance), bias.shape)
    return LossParts(bias, variance, noise.copy())


def zero_one_parts(predictions: Any, probability: Any) -> LossParts:
    """Parts of the 0-1 loss of predicted classes 0 to K - 1, (S, n), where the true ones have ``probability`` (n, K).

    >>> parts = zero_one_parts([[0], [1]], [[0.75, 0.25]])
    >>> float(parts.total[0])
    0.5
    """
    outputs = _sets("zero_one_parts", predictions, ndim=2).astype(np.intp)
    p = _probabilities("zero_one_parts", probability, outputs.shape[1])
    if outputs.min() < 0 or outputs.max() >= p.shape[1]:
        raise ValueError(f"zero_one_parts: predictions must be classes 0 to {p.shape[1] - 1}.")
    q = np.stack([(outputs == k).mean(axis=0) for k in range(p.shape[1])], axis=1)
    best, of_majority = p.max(axis=1), p[np.arange(len(p)), q.argmax(axis=1)]
    return LossParts(bias=best - of_majority, variance=of_majority - np.sum(p * q, axis=1), noise=1 - best)


def cross_entropy_parts(predictions: Any, probability: Any) -> LossParts:
    """Parts in nats of the cross-entropy of predicted probabilities (S, n, K) where ``probability`` (n, K) is true."""
    outputs = _sets("cross_entropy_parts", predictions, ndim=3)
    p = _probabilities("cross_entropy_parts", probability, outputs.shape[1])
    if np.any(outputs <= 0):
        raise ValueError("cross_entropy_parts: predictions must be positive; a probability of 0 costs infinity.")
    center = geometric_mean(outputs)
    variance = np.mean(np.sum(center * (np.log(center) - np.log(outputs)), axis=2), axis=0)
    safe = np.where(p > 0, p, 1.0)
    noise = -np.sum(p * np.log(safe), axis=1)
    bias = np.sum(p * (np.log(safe) - np.log(center)), axis=1)
    return LossParts(bias, variance, noise)


def geometric_mean(probabilities: np.ndarray) -> np.ndarray:
    r"""(n, K) :math:`\bar p \propto \exp\bigl(\frac1S\sum_s \log p_s\bigr)`, rows summing to one."""
    logs = np.mean(np.log(probabilities), axis=0)
    logs -= logs.max(axis=-1, keepdims=True)
    return np.exp(logs) / np.exp(logs).sum(axis=-1, keepdims=True)


def _sets(where: str, predictions: Any, ndim: int) -> np.ndarray:
    outputs = arguments.finite(where, "predictions", predictions)
    if outputs.ndim != ndim or len(outputs) < 2:
        raise ValueError(
            f"{where}: predictions must have {ndim} axes and two or more training sets; got {outputs.shape}."
        )
    return outputs


def _probabilities(where: str, probability: Any, n: int) -> np.ndarray:
    p = arguments.finite(where, "probability", probability)
    if p.ndim != 2 or len(p) != n or np.any(p < 0) or np.any(np.abs(p.sum(axis=1) - 1) > 1e-9):
        raise ValueError(f"{where}: probability must be {n} rows of probabilities that sum to 1; got shape {p.shape}.")
    return p
