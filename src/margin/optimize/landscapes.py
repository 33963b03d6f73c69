"""Landscapes over the plane with analytic gradients and Hessians: ravine, Rosenbrock, saddle, Beale, Himmelblau."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from margin.optimize.steps import Array

__all__ = [
    "BEALE",
    "HIMMELBLAU",
    "LANDSCAPES",
    "RASTRIGIN",
    "RAVINE",
    "ROSENBROCK",
    "SADDLE",
    "Landscape",
    "quadratic",
    "ravine",
]


@dataclass(frozen=True)
class Landscape:
    """A function of (2,) vectors, its derivatives, its minima, a customary start and a window to draw.

    ``f`` also takes (2, ...) stacks, so that a whole grid is one call.
    """

    name: str
    f: Callable[[Array], Array]
    grad: Callable[[Array], Array]
    hess: Callable[[Array], Array]
    minima: tuple[tuple[float, ...], ...]
    start: tuple[float, ...]
    window: tuple[float, float, float, float]


def quadratic(
    A: Array, b: Array | None = None
) -> tuple[Callable[[Array], float], Callable[[Array], Array], Callable[[Array], Array]]:
    r""":math:`f(x) = \tfrac12 x^\top A x - b^\top x` for a symmetric A, with gradient and Hessian."""
    A = np.asarray(A, dtype=float)
    shift = np.zeros(len(A)) if b is None else np.asarray(b, dtype=float)
    return (
        lambda x: float(0.5 * x @ A @ x - shift @ x),
        lambda x: A @ x - shift,
        lambda x: A,  # noqa: ARG005
    )


def ravine(steepness: float = 30.0) -> Landscape:
    r""":math:`f = \tfrac12 (x^2 + \kappa y^2)`: one flat and one steep direction, condition number kappa."""
    return Landscape(
        "ravine",
        lambda p: 0.5 * (p[0] ** 2 + steepness * p[1] ** 2),
        lambda p: np.array([p[0], steepness * p[1]]),
        lambda p: np.diag([1.0, steepness]),  # noqa: ARG005
        minima=((0.0, 0.0),),
        start=(-4.0, 0.8),
        window=(-4.6, 1.6, -1.3, 1.3),
    )


def _rosenbrock_gradient(p: Array) -> Array:
    x, y = p
    return np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])


def _rosenbrock_hessian(p: Array) -> Array:
    x, y = p
    return np.array([[2 - 400 * (y - 3 * x**2), -400 * x], [-400 * x, 200.0]])


def _saddle(p: Array) -> Array:
    # x^2 - y^2 near the origin, bounded below by a quartic: saddle at 0, minima at (0, +-sqrt 2).
    return p[0] ** 2 - p[1] ** 2 + 0.25 * p[1] ** 4


def _beale_terms(p: Array) -> tuple[Array, Array, Array]:
    """Residuals (3,), their Jacobian (3, 2), and the curvatures (3,) of y^k times x, k = 1, 2, 3."""
    x, y = p
    powers = np.array([1.0, 2.0, 3.0])
    residual = np.array([1.5, 2.25, 2.625]) - x * (1 - y**powers)
    jacobian = np.stack([-(1 - y**powers), x * powers * y ** (powers - 1)], axis=1)
    return residual, jacobian, powers


def _beale(p: Array) -> Array:
    x, y = p
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


def _beale_gradient(p: Array) -> Array:
    residual, jacobian, _ = _beale_terms(p)
    return 2 * residual @ jacobian


def _beale_hessian(p: Array) -> Array:
    x, y = p
    residual, jacobian, k = _beale_terms(p)
    mixed = 2 * residual @ (k * y ** (k - 1))
    vertical = 2 * residual @ np.array([0.0, 2 * x, 6 * x * y])
    return 2 * jacobian.T @ jacobian + np.array([[0.0, mixed], [mixed, vertical]])


def _himmelblau_gradient(p: Array) -> Array:
    x, y = p
    u, v = x**2 + y - 11, x + y**2 - 7
    return np.array([4 * x * u + 2 * v, 2 * u + 4 * y * v])


def _himmelblau_hessian(p: Array) -> Array:
    x, y = p
    mixed = 4 * (x + y)
    return np.array([[12 * x**2 + 4 * y - 42, mixed], [mixed, 12 * y**2 + 4 * x - 26]])


RAVINE = ravine()
ROSENBROCK = Landscape(
    "Rosenbrock",
    lambda p: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2,
    _rosenbrock_gradient,
    _rosenbrock_hessian,
    minima=((1.0, 1.0),),
    start=(-1.2, 1.0),
    window=(-1.8, 1.6, -0.7, 2.2),
)
SADDLE = Landscape(
    "saddle",
    _saddle,
    lambda p: np.array([2 * p[0], -2 * p[1] + p[1] ** 3]),
    lambda p: np.diag([2.0, -2.0 + 3 * p[1] ** 2]),
    minima=((0.0, np.sqrt(2)), (0.0, -np.sqrt(2))),
    start=(-1.6, 1e-3),
    window=(-2.0, 1.4, -1.9, 1.9),
)
BEALE = Landscape(
    "Beale",
    _beale,
    _beale_gradient,
    _beale_hessian,
    minima=((3.0, 0.5),),
    start=(1.0, 1.2),
    window=(-0.4, 4.2, -1.2, 1.7),
)
HIMMELBLAU = Landscape(
    "Himmelblau",
    lambda p: (p[0] ** 2 + p[1] - 11) ** 2 + (p[0] + p[1] ** 2 - 7) ** 2,
    _himmelblau_gradient,
    _himmelblau_hessian,
    # Three of the four minima have no short closed form; these are roots of the gradient to double precision.
    minima=(
        (3.0, 2.0),
        (-2.805118086952745, 3.131312518250573),
        (-3.779310253377747, -3.283185991286170),
        (3.584428340330492, -1.848126526964404),
    ),
    start=(-0.4, -0.8),
    window=(-5.0, 5.0, -5.0, 5.0),
)
RASTRIGIN = Landscape(
    "Rastrigin",
    lambda p: 20 + p[0] ** 2 + p[1] ** 2 - 10 * (np.cos(2 * np.pi * p[0]) + np.cos(2 * np.pi * p[1])),
    lambda p: 2 * p + 20 * np.pi * np.sin(2 * np.pi * p),
    lambda p: np.diag(2 + 40 * np.pi**2 * np.cos(2 * np.pi * p)),
    minima=((0.0, 0.0),),
    start=(2.2, -1.8),
    window=(-4.0, 4.0, -4.0, 4.0),
)
LANDSCAPES = {item.name: item for item in (RAVINE, ROSENBROCK, SADDLE, BEALE, HIMMELBLAU, RASTRIGIN)}
