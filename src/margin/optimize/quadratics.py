r"""What is known exactly: kinds of quadratic forms and critical points, and how methods contract on a quadratic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.optimize.steps import Array

__all__ = [
    "CriticalPoint",
    "best_momentum",
    "classify_critical_point",
    "classify_quadratic",
    "is_singular",
    "momentum_matrix",
    "nesterov_matrix",
    "rate_limit",
    "spectral_radius",
]

# Eigenvalues below this fraction of the largest count as zero.
ZERO = 1e-10


@dataclass(frozen=True)
class CriticalPoint:
    """The kind of a critical point; ``up`` and ``down`` are directions of most and least curvature."""

    kind: str
    eigenvalues: Array
    up: Array
    down: Array


def _signs(eigenvalues: Array) -> tuple[bool, bool, bool]:
    floor = ZERO * float(np.max(np.abs(eigenvalues), initial=0.0))
    return (
        bool(np.any(eigenvalues > floor)),
        bool(np.any(eigenvalues < -floor)),
        bool(np.any(np.abs(eigenvalues) <= floor)),
    )


def classify_quadratic(A: Any) -> str:
    """The definiteness of a symmetric matrix by the signs of its eigenvalues.

    Parameters
    ----------
    A : array-like of shape (d, d)
        A symmetric matrix.

    Examples
    --------
    >>> classify_quadratic([[1, 0], [0, 0]]), classify_quadratic(np.diag([1, -1, 0]))
    ('positive semidefinite', 'indefinite')
    """
    A = np.asarray(A, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.allclose(A, A.T):
        raise ValueError(f"classify_quadratic: A must be a symmetric matrix; got shape {A.shape}.")
    positive, negative, zero = _signs(np.linalg.eigvalsh(A))
    if positive and negative:
        return "indefinite"
    if not positive and not negative:
        return "zero"
    return f"{'positive' if positive else 'negative'} {'semidefinite' if zero else 'definite'}"


def is_singular(A: Any) -> bool:
    """Whether some eigenvalue of a symmetric matrix is zero; independent of being indefinite from 3 dimensions on."""
    return _signs(np.linalg.eigvalsh(np.asarray(A, dtype=float)))[2]


def classify_critical_point(gradient: Any, hessian: Any, *, tol: float = 1e-6) -> CriticalPoint:
    """Minimum, maximum, saddle, or degenerate (zero curvature decides nothing), from the Hessian's eigenvalues.

    Parameters
    ----------
    gradient : array-like of shape (d,)
        Gradient at the point.
    hessian : array-like of shape (d, d)
        Hessian at the point.
    tol : float
        The largest gradient norm of a critical point.
    """
    norm = float(np.linalg.norm(gradient))
    if norm > tol:
        raise ValueError(f"classify_critical_point: the gradient norm {norm:.3g} is above tol, so x is not critical.")
    values, vectors = np.linalg.eigh(np.asarray(hessian, dtype=float))
    positive, negative, zero = _signs(values)
    if positive and negative:
        kind = "saddle"
    elif zero:
        kind = "degenerate"
    else:
        kind = "minimum" if positive else "maximum"
    return CriticalPoint(kind, values, vectors[:, -1], vectors[:, 0])


def momentum_matrix(rate: float, curvature: float, gamma: float) -> Array:
    r"""One heavy-ball step on :math:`\lambda\theta^2/2` as a linear map of (theta, v):

    .. math:: v' = \gamma v + \eta\lambda\theta, \qquad \theta' = \theta - v'.

    Stable for :math:`\eta\lambda < 2(1 + \gamma)`; ``gamma=0`` is gradient descent with its limit 2.
    """
    return _velocity_map(np.array([rate * curvature, gamma]))


def nesterov_matrix(rate: float, curvature: float, gamma: float, *, sign: float = -1.0) -> Array:
    r"""The same for Nesterov: :math:`v' = \gamma v + \eta\lambda(\theta - \gamma v)`.

    Stable for :math:`\eta\lambda < 2(1+\gamma)/(1+2\gamma)`. ``sign=+1`` looks the wrong way, and diverges.
    """
    pull = rate * curvature
    return _velocity_map(np.array([pull, gamma + sign * pull * gamma]))


def _velocity_map(velocity: Array) -> Array:
    """(theta, v) -> (theta - v', v') where v' = velocity . (theta, v)."""
    return np.stack([np.array([1.0, 0.0]) - velocity, velocity])


def spectral_radius(matrix: Array) -> float:
    """The largest modulus of an eigenvalue: the factor by which errors finally shrink or grow per step."""
    return float(np.max(np.abs(np.linalg.eigvals(matrix))))


def rate_limit(method: str, curvature: float, gamma: float = 0.0) -> float:
    r"""The learning rate at which a method turns unstable on curvature L.

    ``gradient_descent`` :math:`2/L`, ``momentum`` :math:`2(1+\gamma)/L`, ``nesterov``
    :math:`2(1+\gamma)/((1+2\gamma)L)`.
    """
    limits = {
        "gradient_descent": 2.0,
        "momentum": 2 * (1 + gamma),
        "nesterov": 2 * (1 + gamma) / (1 + 2 * gamma),
    }
    if method not in limits:
        raise ValueError(f"rate_limit: method must be one of {sorted(limits)}; got {method!r}.")
    return limits[method] / curvature


def best_momentum(low: float, high: float) -> tuple[float, float]:
    r"""Rate and gamma of heavy ball that contract fastest for curvatures in [low, high]:

    .. math:: \eta = \Big(\frac{2}{\sqrt{h} + \sqrt{l}}\Big)^2, \qquad
              \gamma = \Big(\frac{\sqrt{h} - \sqrt{l}}{\sqrt{h} + \sqrt{l}}\Big)^2
    """
    if not 0 < low <= high:
        raise ValueError(f"best_momentum: needs 0 < low <= high; got {low!r} and {high!r}.")
    a, b = np.sqrt(low), np.sqrt(high)
    return float((2 / (a + b)) ** 2), float(((b - a) / (b + a)) ** 2)
