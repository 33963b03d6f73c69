"""How far samples are from data: two numbers that are near 0 for two samples of one law."""

from __future__ import annotations

import numpy as np

__all__ = ["frechet", "squared_mmd"]


def squared_mmd(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    r"""Unbiased estimate of the squared maximum mean discrepancy with the kernel :math:`e^{-\|x-y\|^2/2h^2}`."""
    from scipy.spatial.distance import cdist

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-cdist(a, b, "sqeuclidean") / (2 * bandwidth**2))

    def within(a: np.ndarray) -> float:
        return float((kernel(a, a).sum() - len(a)) / (len(a) * (len(a) - 1)))

    return within(x) + within(y) - 2 * float(kernel(x, y).mean())


def frechet(x: np.ndarray, y: np.ndarray) -> float:
    r""":math:`\|\mu - \mu'\|^2 + \mathrm{tr}(\Sigma + \Sigma' - 2(\Sigma\Sigma')^{1/2})` of means and covariances.

    The eigenvalues of :math:`\Sigma\Sigma'` are those of a product of positive matrices, real and not negative.
    """
    one, other = np.cov(x.T), np.cov(y.T)
    roots = np.sqrt(np.maximum(np.linalg.eigvals(one @ other).real, 0))
    return float(((x.mean(axis=0) - y.mean(axis=0)) ** 2).sum() + np.trace(one) + np.trace(other) - 2 * roots.sum())
