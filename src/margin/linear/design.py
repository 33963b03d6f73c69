r"""The matrix behind every linear model, and a test of what "linear" means.

A model is linear in its parameters when :math:`f(x; a\beta + b\beta') = a f(x; \beta) + b f(x; \beta')`; then
:math:`f(X; \beta) = \Phi\beta` with one column of :math:`\Phi` per parameter, whatever the functions of x are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike

__all__ = ["design_matrix", "is_linear_in_parameters"]

# Two sides of the definition may differ by rounding, relative to their size.
ROUNDING = 1e-9


def design_matrix(
    X: MatrixLike, *, intercept: bool = True, basis: Sequence[Callable[[np.ndarray], np.ndarray]] | None = None
) -> np.ndarray:
    """The matrix (n, m + 1) whose rows are [1, x], or [1, phi_1(x), ...] for functions ``basis`` of the columns (n, p).

    >>> design_matrix([[2.0], [3.0]], basis=[lambda x: x[:, 0], lambda x: x[:, 0] ** 2])
    array([[1., 2., 4.],
           [1., 3., 9.]])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not len(X):
        raise ValueError(f"design_matrix: X must have two dimensions and at least one row; got shape {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError("design_matrix: X must hold finite numbers; got NaN or infinity.")
    columns = list(X.T) if basis is None else [np.asarray(phi(X), dtype=np.float64) for phi in basis]
    for i, column in enumerate(columns):
        if column.shape != (len(X),):
            raise ValueError(
                f"design_matrix: basis[{i}] must give one number per row, ({len(X)},); got {column.shape}."
            )
    ones = [np.ones(len(X))] if intercept else []
    return np.column_stack([*ones, *columns]) if ones or columns else np.empty((len(X), 0))


def is_linear_in_parameters(
    f: Callable[[Any, np.ndarray], Any], X: MatrixLike, n_parameters: int, rng: np.random.Generator, trials: int = 20
) -> bool:
    """Whether ``f(X, beta)`` obeys the definition at random parameters and factors.

    >>> x, rng = np.linspace(0, 1, 5), np.random.default_rng(0)
    >>> is_linear_in_parameters(lambda x, b: b[0] + b[1] * np.exp(x), x, 2, rng)
    True
    >>> is_linear_in_parameters(lambda x, b: b[0] + np.exp(b[1]) * x, x, 2, rng)
    False
    """
    if n_parameters < 1:
        raise ValueError(f"is_linear_in_parameters: n_parameters must be at least 1; got {n_parameters}.")
    for _ in range(trials):
        a, b = rng.normal(size=2)
        first, second = rng.normal(size=(2, n_parameters))
        mixed = np.asarray(f(X, a * first + b * second))
        parts = a * np.asarray(f(X, first)), b * np.asarray(f(X, second))
        size = max(np.abs(mixed).max(), *(np.abs(part).max() for part in parts))
        if np.abs(mixed - sum(parts)).max() > ROUNDING * size:
            return False
    return True
