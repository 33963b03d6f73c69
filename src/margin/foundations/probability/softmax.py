"""Probabilities from scores."""

from __future__ import annotations

import numpy as np

__all__ = ["softmax_rows"]


def softmax_rows(scores: np.ndarray) -> np.ndarray:
    r"""Row by row :math:`p_k = e^{s_k} / \sum_j e^{s_j}` of scores (n, K); the largest is subtracted first.

    >>> softmax_rows(np.array([[1000.0, 1000.0], [0.0, np.log(3.0)]])).round(12).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)
