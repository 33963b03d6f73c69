"""From the scores of classes to their probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from margin.core.notices import warn_user

__all__ = ["log_probabilities", "tell_of_nothing_learned"]

ENOUGH_EPOCHS = 5  # a training that was cut shorter has not failed
GAIN = 0.01  # of the entropy of the classes: what a loss that learned anything falls below it


def log_probabilities(scores: np.ndarray) -> np.ndarray:
    r""":math:`z_k - \log\sum_j e^{z_j}` for the scores z of every row, (n, classes).

    >>> log_probabilities(np.array([[0.0, 0.0], [1000.0, 0.0]])).round(4)
    array([[-6.931e-01, -6.931e-01],
           [ 0.000e+00, -1.000e+03]])
    """
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def tell_of_nothing_learned(owner: str, losses: Sequence[float], labels: np.ndarray, weight: np.ndarray) -> None:
    """Warn where no epoch had a mean cross-entropy below that of the class frequencies, which a constant reaches."""
    shares = np.bincount(labels, weights=weight) / weight.sum()
    constant = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    if len(losses) >= ENOUGH_EPOCHS and min(losses) > (1 - GAIN) * constant:
        warn_user(
            f"{owner}: the training ended no better than the class frequencies: its loss is {losses[-1]:.3g}, theirs "
            f"{constant:.3g}; another learning_rate_init (a smaller one for deep networks) or a norm may let it learn."
        )
