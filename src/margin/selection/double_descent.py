r"""Least squares on ever more features, through the interpolation threshold and far beyond it.

With p features of n rows the solution is the shortest of all that fit best, :math:`\hat\theta = \Phi_p^+ y`, or that of
ridge regression. From p = n on it fits every row; there the test error peaks, because :math:`\Phi_n` is almost singular
and one solution must follow all the noise, and beyond it falls again, because there are ever shorter ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.arguments import finite, integer
from margin.core.array_types import ArrayLike
from margin.linear.interpolation import minimum_norm_solution

__all__ = ["WidthSweep", "legendre_features", "random_relu_features", "width_sweep"]

# A training error below this fraction of the targets' mean square is rounding: the rows are interpolated.
FITTED = 1e-14


@dataclass(frozen=True)
class WidthSweep:
    """Mean squared errors and the length of the coefficients by number of features."""

    widths: np.ndarray
    train: np.ndarray
    test: np.ndarray
    norm: np.ndarray
    scale: float

    @property
    def threshold(self) -> int | None:
        """The first width that fits all training rows; None if none does."""
        fitted = np.flatnonzero(self.train < FITTED * self.scale)
        return int(self.widths[fitted[0]]) if len(fitted) else None


def width_sweep(Phi: Any, y: ArrayLike, Phi_test: Any, y_test: Any, widths: Any, alpha: float = 0.0) -> WidthSweep:
    """Fit on the first p columns of ``Phi`` (n, P), for every p in ``widths``; targets (n,) or, for several outputs
    that share the features, (n, q)."""
    where = "width_sweep"
    Phi, y, Phi_test, y_test = (
        finite(where, name, value)
        for name, value in (("Phi", Phi), ("y", y), ("Phi_test", Phi_test), ("y_test", y_test))
    )
    counts = np.array([integer(where, "widths", p, low=1, high=Phi.shape[1]) for p in widths])
    train, test, norm = [], [], []
    for p in counts:
        theta = _fit(Phi[:, :p], y, alpha)
        train.append(float(np.mean((Phi[:, :p] @ theta - y) ** 2)))
        test.append(float(np.mean((Phi_test[:, :p] @ theta - y_test) ** 2)))
        norm.append(float(np.linalg.norm(theta)))
    return WidthSweep(counts, np.array(train), np.array(test), np.array(norm), float(np.mean(y**2)))


def random_relu_features(rng: np.random.Generator, X: np.ndarray, X_test: np.ndarray, n_features: int) -> Any:
    r"""(n, P) and (m, P): :math:`\max(0, w_j^\top x)` for P random directions :math:`w_j` of unit length."""
    W = rng.standard_normal((X.shape[1], integer("random_relu_features", "n_features", n_features, low=1)))
    W /= np.linalg.norm(W, axis=0)
    return np.maximum(X @ W, 0), np.maximum(X_test @ W, 0)


def legendre_features(x: np.ndarray, n_features: int, decay: float = 0.0) -> np.ndarray:
    r"""(n, P): Legendre polynomials of degree 0 to P - 1 of x in [-1, 1], orthonormal there, times
    :math:`(1 + k)^{-\text{decay}}`: with a decay, the shortest solution prefers low degrees."""
    degree = np.arange(integer("legendre_features", "n_features", n_features, low=1))
    values = np.polynomial.legendre.legvander(np.asarray(x, dtype=np.float64), len(degree) - 1)
    return values * np.sqrt(degree + 0.5) * (1.0 + degree) ** -decay


def _fit(Phi: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    if alpha == 0:
        return minimum_norm_solution(Phi, y)
    if alpha < 0 or not np.isfinite(alpha):
        raise ValueError(f"width_sweep: alpha must be at least 0 and finite; got {alpha!r}.")
    n, p = Phi.shape
    if p <= n:
        return np.linalg.solve(Phi.T @ Phi + alpha * np.eye(p), Phi.T @ y)
    return Phi.T @ np.linalg.solve(Phi @ Phi.T + alpha * np.eye(n), y)
