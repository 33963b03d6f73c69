r"""Least squares when the model is not linear in its parameters: Levenberg and Marquardt's method.

With residuals :math:`r = y - f(X, \theta)` and Jacobian :math:`J = \partial f / \partial\theta` each step solves

.. math:: (J^\top J + \lambda \operatorname{diag}(J^\top J))\, \delta = J^\top r .

:math:`\lambda \to 0` is Gauss and Newton's step, exact for linear models; a large one is a short step downhill.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike

__all__ = ["NonlinearFit", "nonlinear_least_squares"]

Model = Callable[[Any, np.ndarray], np.ndarray]

FIRST_DAMPING, LARGEST_DAMPING = 1e-3, 1e12
NEVER_ZERO = 1e-30  # a parameter without influence keeps its damping equation solvable


@dataclass(frozen=True)
class NonlinearFit:
    """Parameters, residual sums of squares at the start and after every accepted step, and whether it settled."""

    theta: np.ndarray
    sums: list[float]
    converged: bool


def nonlinear_least_squares(
    f: Model,
    theta0: Any,
    X: MatrixLike,
    y: ArrayLike,
    *,
    jacobian: Model | None = None,
    tol: float = 1e-10,
    max_iter: int = 200,
) -> NonlinearFit:
    """Minimize the sum of squares of ``y - f(X, theta)`` from ``theta0``; derivatives by differences if not given.

    >>> x = np.linspace(0, 2, 30)
    >>> fit = nonlinear_least_squares(lambda x, t: t[0] * np.exp(t[1] * x), [1.0, 0.0], x, 2 * np.exp(-1.5 * x))
    >>> fit.theta.round(8), fit.converged
    (array([ 2. , -1.5]), True)
    """
    theta, y = np.array(theta0, dtype=np.float64), np.asarray(y, dtype=np.float64)
    residual = y - f(X, theta)
    if residual.shape != y.shape or not np.isfinite(residual).all():
        raise ValueError("nonlinear_least_squares: y and f(X, theta0) must be finite and of the same shape.")
    slope = jacobian or (lambda X, t: _differences(f, X, t))
    sums, damping = [float(residual @ residual)], FIRST_DAMPING
    for _ in range(max_iter):
        J = slope(X, theta)
        gradient, curvature = J.T @ residual, J.T @ J
        while True:
            diagonal = np.diag(damping * np.maximum(curvature.diagonal(), NEVER_ZERO))
            step = np.linalg.solve(curvature + diagonal, gradient)
            trial = y - f(X, theta + step)
            total = float(trial @ trial)
            if total < sums[-1]:
                break
            damping *= 10
            if damping > LARGEST_DAMPING:  # no step goes down any more
                return NonlinearFit(theta, sums, True)
        theta, residual, damping = theta + step, trial, damping / 10
        sums.append(total)
        if np.linalg.norm(step) <= tol * (np.linalg.norm(theta) + tol):
            return NonlinearFit(theta, sums, True)
    return NonlinearFit(theta, sums, False)


def _differences(f: Model, X: Any, theta: np.ndarray) -> np.ndarray:
    """Jacobian (n, m) by central differences with steps of the cube root of the rounding unit."""
    columns = []
    for j, value in enumerate(theta):
        h = np.cbrt(np.finfo(float).eps) * max(abs(value), 1.0)
        shift = np.zeros_like(theta)
        shift[j] = h
        columns.append((f(X, theta + shift) - f(X, theta - shift)) / (2 * h))
    return np.column_stack(columns)
