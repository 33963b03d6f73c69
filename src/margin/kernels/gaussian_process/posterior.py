r"""Predictions of a Gaussian process from its dual weights and Cholesky factor.

.. math::
    \mu(x) = k(x,X)\,w,\qquad k'(x,x') = k(x,x') - v(x)^\top v(x'),\qquad v(x) = L^{-1}k(X,x) .
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from margin.kernels.kernel import Kernel

__all__ = ["draw_normal", "posterior_covariance", "posterior_mean", "posterior_variance"]

Floats = NDArray[np.float64]

ROWS = 512  # of a block of predictions, so that only (ROWS, n) numbers exist at once


def posterior_mean(kernel: Kernel, X: Floats, at: Floats, weights: Floats) -> Floats:
    """k(at, X) weights, block by block."""
    return np.concatenate([kernel(at[s : s + ROWS], X) @ weights for s in range(0, len(at), ROWS)])


def posterior_variance(kernel: Kernel, X: Floats, at: Floats, L: Floats, scale: Floats | float = 1.0) -> Floats:
    """k(x, x) - |L^{-1} (scale k(X, x))|^2, never negative."""
    parts = []
    for start in range(0, len(at), ROWS):
        block = at[start : start + ROWS]
        half = solve_triangular(L, (kernel(block, X) * scale).T, lower=True, check_finite=False)
        parts.append(kernel.diag(block) - np.einsum("ij,ij->j", half, half))
    return np.maximum(np.concatenate(parts), 0.0)


def posterior_covariance(kernel: Kernel, X: Floats, at: Floats, L: Floats) -> Floats:
    """The covariance of all pairs of rows of ``at``; its diagonal is never negative."""
    half = solve_triangular(L, kernel(at, X).T, lower=True, check_finite=False)
    covariance = kernel(at) - half.T @ half
    np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), 0.0))
    return covariance


def draw_normal(mean: Floats, covariance: Floats, n: int, rng: np.random.Generator) -> Floats:
    """``n`` draws (len(mean), n), by eigenvectors: a covariance that is singular, or negative by rounding, is fine."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return mean[:, None] + root @ rng.normal(size=(len(mean), n))
