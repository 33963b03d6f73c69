r"""Inverse problems: the cause from its effect. Blurring loses what deblurring must make up by a penalty.

.. math:: \hat x = \arg\min_x \|K x - y\|^2 + \lambda \|D x\|^2 = (K^T K + \lambda D^T D)^{-1} K^T y
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["blur_matrix", "deblur"]


def blur_matrix(n: int, width: float) -> np.ndarray:
    """A blur with a normal kernel of deviation ``width`` entries, rows summing to 1."""
    distance = np.arange(n)[:, None] - np.arange(n)
    kernel = np.exp(-0.5 * (distance / width) ** 2)
    return kernel / kernel.sum(axis=1, keepdims=True)


def deblur(y: Any, K: np.ndarray, penalty: float) -> np.ndarray:
    """The signal whose blur is near ``y`` and whose differences are small; without a penalty noise takes over."""
    y = np.asarray(y, dtype=np.float64)
    if K.shape[0] != len(y):
        raise ValueError(f"deblur: K must have as many rows as y has entries; got {K.shape[0]} and {len(y)}.")
    differences = np.diff(np.eye(K.shape[1]), axis=0)
    if penalty == 0:
        return np.linalg.lstsq(K, y, rcond=None)[0]
    return np.linalg.solve(K.T @ K + penalty * differences.T @ differences, K.T @ y)
