"""Three finite sums with gradients by hand: least squares, regularized logistic regression, a small tanh network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from margin.optimize.finite_sum import FiniteSum, Rows
from margin.optimize.steps import Array

__all__ = ["LogisticProblem", "least_squares", "network_size", "tanh_network"]


def least_squares(X: Array, y: Array) -> FiniteSum:
    r""":math:`\ell_i(\theta) = (x_i^\top\theta - y_i)^2` with gradient :math:`2 (x_i^\top\theta - y_i)\, x_i`."""

    def residuals(theta: Array, rows: Rows) -> Array:
        return X[rows] @ theta - y[rows]

    return FiniteSum(
        len(y),
        losses=lambda theta, rows: residuals(theta, rows) ** 2,
        gradients=lambda theta, rows: 2 * residuals(theta, rows)[:, None] * X[rows],
        mean_gradient=lambda theta, rows: 2 / len(rows) * (residuals(theta, rows) @ X[rows]),
    )


@dataclass(frozen=True)
class LogisticProblem:
    r"""Ridge-penalized logistic loss for labels in {-1, 1}.

    .. math:: f(w) = \frac1n \sum_i \log(1 + e^{-y_i x_i^\top w}) + \frac\alpha2 \|w\|^2
    """

    X: Array
    y: Array
    alpha: float = 1e-3

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        margin = self.y * (self.X @ w)
        pull = -self.y * expit(-margin) / len(self.y)
        value = np.mean(np.logaddexp(0, -margin)) + self.alpha / 2 * (w @ w)
        return float(value), pull @ self.X + self.alpha * w

    def hessian_weights(self, w: Array) -> Array:
        """(n,) the curvature of each example's loss along its own row."""
        p = expit(self.X @ w)
        return p * (1 - p) / len(self.y)

    def hessian_product(self, w: Array, direction: Array) -> Array:
        return (self.hessian_weights(w) * (self.X @ direction)) @ self.X + self.alpha * direction

    def hessian(self, w: Array) -> Array:
        return self.X.T @ (self.hessian_weights(w)[:, None] * self.X) + self.alpha * np.eye(self.X.shape[1])


def network_size(n_features: int, hidden: int) -> int:
    """Parameters of :func:`tanh_network`: input weights, hidden biases, output weights, output bias."""
    return hidden * n_features + hidden + hidden + 1


def tanh_network(X: Array, y: Array, hidden: int) -> FiniteSum:
    r"""Squared error of :math:`a^\top\tanh(W x + b) + c` over the flat parameters (W, b, a, c), by hand."""
    n_features = X.shape[1]
    cut = np.cumsum([hidden * n_features, hidden, hidden])

    def forward(theta: Array, rows: Rows) -> tuple[Array, Array, Array]:
        W, b, a, c = np.split(theta, cut)
        H = np.tanh(X[rows] @ W.reshape(hidden, n_features).T + b)  # (m, hidden)
        return H @ a + c[0] - y[rows], H, a

    def gradients(theta: Array, rows: Rows) -> Array:
        residual, H, a = forward(theta, rows)
        into_output = 2 * residual  # (m,)
        into_hidden = into_output[:, None] * a * (1 - H**2)  # (m, hidden)
        into_W = into_hidden[:, :, None] * X[rows][:, None, :]  # (m, hidden, features)
        return np.hstack([into_W.reshape(len(rows), -1), into_hidden, into_output[:, None] * H, into_output[:, None]])

    losses: Callable[[Array, Rows], Array] = lambda theta, rows: forward(theta, rows)[0] ** 2  # noqa: E731
    return FiniteSum(len(y), losses, gradients)
