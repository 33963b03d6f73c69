"""Least squares: the squared error, its gradient, the normal equations, and what to do when they are singular.

Textbook form of least squares; :class:`~margin.linear.LinearRegression` and :class:`~margin.linear.Ridge` use the
blocked solvers of :mod:`margin.linear.least_squares` and :mod:`margin.linear.penalized_least_squares`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.foundations.linalg.arguments import Array, as_matrix, as_vector
from margin.foundations.linalg.solving import solve

__all__ = ["loaded_least_squares", "normal_equations", "squared_error", "squared_error_gradient"]


def squared_error(X: MatrixLike, y: ArrayLike, theta: Any) -> float:
    r""":math:`\|y - X\theta\|^2`; X is (n, d), y is (n,), theta is (d,)."""
    X, y, theta = _arguments("squared_error", X, y, theta)
    return float(np.sum((y - X @ theta) ** 2))


def squared_error_gradient(X: MatrixLike, y: ArrayLike, theta: Any) -> Array:
    r""":math:`\nabla_\theta\|y - X\theta\|^2 = 2X^\top X\theta - 2X^\top y`, by way of the residual."""
    X, y, theta = _arguments("squared_error_gradient", X, y, theta)
    return 2 * X.T @ (X @ theta - y)


def normal_equations(X: MatrixLike, y: ArrayLike) -> Array:
    r"""The :math:`\theta^*` at which the gradient vanishes: :math:`X^\top X\theta^* = X^\top y`, solved by Cholesky.

    nd^2 + d^3/3 operations. Forming :math:`X^\top X` squares the condition number of X. If its columns are dependent
    the equations are singular and a ``LinAlgError`` says so; see :func:`loaded_least_squares`.

    >>> normal_equations([[1, 0], [1, 1], [1, 2]], [1, 3, 5]).round(12)
    array([1., 2.])
    """
    X, y, _ = _arguments("normal_equations", X, y)
    return solve(X.T @ X, X.T @ y, method="cholesky")


def loaded_least_squares(X: MatrixLike, y: ArrayLike, delta: float) -> Array:
    r"""Diagonal loading: :math:`(X^\top X + \delta I)\theta = X^\top y` with :math:`\delta > 0`.

    The smallest eigenvalue of the matrix is at least :math:`\delta`, so there is always one solution; as
    :math:`\delta \to 0^+` it tends to :math:`X^+y`, the shortest least-squares solution. A negative :math:`\delta` can
    cancel an eigenvalue or turn its sign and is refused.

    It is computed as least squares on X with :math:`\sqrt\delta I` appended, from the singular values
    (:math:`\theta = V\,\mathrm{diag}(\sigma/(\sigma^2 + \delta))\,U^\top y`), which loses no digits for tiny
    :math:`\delta`.
    """
    X, y, _ = _arguments("loaded_least_squares", X, y)
    if not (np.isfinite(delta) and delta > 0):
        raise ValueError(f"loaded_least_squares: delta must be positive and finite; got {delta}.")
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return Vt.T @ (s / (s**2 + delta) * (U.T @ y))


def _arguments(function: str, X: Any, y: Any, theta: Any = None) -> tuple[Array, Array, Array]:
    X = as_matrix(function, "X", X, real=True)
    y = as_vector(function, "y", y, size=X.shape[0], real=True)
    theta = np.zeros(X.shape[1]) if theta is None else as_vector(function, "theta", theta, size=X.shape[1], real=True)
    return X, y, theta
