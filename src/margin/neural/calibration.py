r"""Temperature: one number that makes the probabilities of a classifier as sure as they deserve to be.

.. math:: p_T(c \mid x) = \mathrm{softmax}(z(x) / T)_c

Smoothed targets and early stopping leave scores too small for rows that are easy. The temperature of the least
log-loss on rows that were not learned from sets them right; the order of the classes stays (Guo et al. 2017).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

__all__ = ["best_temperature"]

COLDEST, WARMEST = 0.05, 20.0


def best_temperature(scores: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None) -> float:
    r"""The T of the least log-loss of ``scores`` (n, classes) for class numbers ``labels``.

    Targets keep :math:`1/(n+2)` for being wrong, as Platt's do, so that n rows that are all right do not make it
    certain of the next.

    >>> scores = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0], [0.0, 2.0]])
    >>> round(best_temperature(scores, np.array([0, 1, 0, 0])), 2)  # right three times of four, sure of 88 %
    2.25
    """
    scores = np.asarray(scores, dtype=np.float64)
    n, n_classes = scores.shape
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    doubt = 1.0 / (n + 2.0)
    targets = np.full((n, n_classes), doubt / n_classes)
    targets[np.arange(n), labels] += 1 - doubt

    def log_loss(log_temperature: float) -> float:
        z = scores / np.exp(log_temperature)
        return float(weight @ (np.logaddexp.reduce(z, axis=1) - (targets * z).sum(axis=1)))

    optimum = minimize_scalar(log_loss, bounds=(np.log(COLDEST), np.log(WARMEST)), method="bounded")
    return float(np.exp(optimum.x))
