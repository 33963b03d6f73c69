r"""What a ridge penalty does to the error of the coefficients, exactly.

For :math:`y = X\beta + \varepsilon`, :math:`\operatorname{Var}\varepsilon = \sigma^2 I`, and singular values
:math:`s_j` of X with right singular vectors :math:`v_j`,

.. math::
    \lVert\mathbb E\hat\beta_\lambda - \beta\rVert^2 = \sum_j \Bigl(\frac{\lambda}{s_j^2 + \lambda}\Bigr)^2
    (v_j^\top\beta)^2, \qquad
    \operatorname{tr}\operatorname{Var}\hat\beta_\lambda = \sigma^2\sum_j \frac{s_j^2}{(s_j^2 + \lambda)^2} .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.arguments import finite, real

__all__ = ["RidgeTradeoff", "ridge_tradeoff"]


@dataclass(frozen=True)
class RidgeTradeoff:
    """Squared bias, variance and mean squared error of the coefficients, one of each per penalty."""

    alphas: np.ndarray
    bias: np.ndarray
    variance: np.ndarray

    @property
    def mse(self) -> np.ndarray:
        return self.bias + self.variance


def ridge_tradeoff(X: Any, beta: Any, noise: float, alphas: Any) -> RidgeTradeoff:
    """The parts for every penalty in ``alphas``; ``noise`` is the standard deviation of the errors, no intercept.

    >>> found = ridge_tradeoff(np.eye(2), [1.0, 1.0], noise=1.0, alphas=[0.0, 1.0])
    >>> found.bias, found.variance
    (array([0. , 0.5]), array([2. , 0.5]))
    """
    design, weights = finite("ridge_tradeoff", "X", X), finite("ridge_tradeoff", "beta", beta)
    penalties = np.atleast_1d(finite("ridge_tradeoff", "alphas", alphas))
    if design.ndim != 2 or weights.shape != design.shape[1:]:
        raise ValueError(f"ridge_tradeoff: X must be (n, p) and beta (p,); got {design.shape} and {weights.shape}.")
    if np.any(penalties < 0):
        raise ValueError("ridge_tradeoff: alphas must not be negative.")
    _, s, Vt = np.linalg.svd(design, full_matrices=True)
    squares = np.zeros(design.shape[1])
    squares[: len(s)] = s**2
    if squares.min() <= np.finfo(float).eps * squares.max() * len(design) and penalties.min() == 0:
        raise ValueError("ridge_tradeoff: X must have independent columns for a penalty of 0.")
    weight = penalties[:, None] + squares  # (k, p)
    bias = np.sum((penalties[:, None] / weight) ** 2 * (Vt @ weights) ** 2, axis=1)
    variance = real("ridge_tradeoff", "noise", noise) ** 2 * np.sum(squares / weight**2, axis=1)
    return RidgeTradeoff(penalties, bias, variance)
