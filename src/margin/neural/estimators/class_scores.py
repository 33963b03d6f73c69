"""From the scores of classes to their probabilities."""

from __future__ import annotations

import numpy as np

__all__ = ["log_probabilities"]


def log_probabilities(scores: np.ndarray) -> np.ndarray:
    r""":math:`z_k - \log\sum_j e^{z_j}` for the scores z of every row, (n, classes).

    >>> log_probabilities(np.array([[0.0, 0.0], [1000.0, 0.0]])).round(4)
    array([[-6.931e-01, -6.931e-01],
           [ 0.000e+00, -1.000e+03]])
    """
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
