r"""Partial differential equations of second order: their residual, their kind, and finite differences for one of each.

.. math:: A u_{xx} + 2 B u_{xy} + C u_{yy} + D u_x + E u_y + F u + G = 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import diags_array, eye_array, kron
from scipy.sparse.linalg import spsolve
from torch import Tensor

from margin.physics.derivatives import derivative, gradient

__all__ = [
    "DifferentialEquation",
    "SecondOrder",
    "kind_of",
    "pde_residual",
    "solve_heat",
    "solve_poisson",
    "solve_wave",
]


@dataclass(frozen=True)
class SecondOrder:
    """Coefficients of an equation of second order in two variables, with 2B before the mixed derivative."""

    A: float = 0.0
    B: float = 0.0
    C: float = 0.0
    D: float = 0.0
    E: float = 0.0
    F: float = 0.0
    G: float = 0.0

    @property
    def kind(self) -> str:
        r"""By the sign of :math:`B^2 - AC`: negative of an ellipse, zero of a parabola, positive of a hyperbola.

        >>> SecondOrder(A=1, C=1).kind, SecondOrder(A=1, E=-1).kind, SecondOrder(A=1, C=-4).kind
        ('elliptic', 'parabolic', 'hyperbolic')
        """
        discriminant = self.B**2 - self.A * self.C
        if discriminant == 0:
            return "parabolic"
        return "elliptic" if discriminant < 0 else "hyperbolic"


def pde_residual(u: Callable[[Tensor], Tensor], form: SecondOrder, x: Tensor) -> Tensor:
    """What the equation leaves of the function ``u`` at points (n, 2): 0 where it is a solution."""
    x = x.detach().requires_grad_()
    value = u(x).reshape(-1)
    first = gradient(value, x)
    mixed, second = derivative(first[:, 0], x, 1), [derivative(first[:, i], x, i) for i in range(2)]
    terms = form.A * second[0] + 2 * form.B * mixed + form.C * second[1] + form.D * first[:, 0] + form.E * first[:, 1]
    return terms + form.F * value + form.G


@dataclass(frozen=True)
class DifferentialEquation:
    """A residual of a function and its points, and the names of the coordinates it may be differentiated by."""

    residual: Callable[[Tensor, Tensor], Tensor]
    coordinates: tuple[str, ...]


def kind_of(equation: DifferentialEquation) -> str:
    """'ODE' or 'PDE': by how many coordinates the unknown is differentiated, found by watching the residual.

    Coordinates that are only looked at, never differentiated by, are parameters.
    """
    used = set()
    for axis in range(len(equation.coordinates)):
        others = [k for k in range(len(equation.coordinates)) if k != axis]
        if _changes(equation, axis, others):
            used.add(axis)
    return "PDE" if len(used) > 1 else "ODE"


def _changes(equation: DifferentialEquation, axis: int, others: list[int]) -> bool:
    """Whether the residual sees the slope along ``axis``: two functions equal at the points but not in that slope."""
    n = 5
    x = torch.linspace(0.2, 0.9, n * len(equation.coordinates), dtype=torch.float64).reshape(n, -1).requires_grad_()
    base = torch.sin(x @ torch.arange(1.0, 1 + x.shape[1], dtype=torch.float64)) + 2
    along = x[:, axis] - x[:, axis].detach()  # 0 at the points, of slope 1 along the axis
    uneven = torch.exp(x[:, others].sum(dim=1))  # so that a mixed derivative, such as u_xy, sees it too
    different = base + (along + 0.7 * along**2) * uneven
    return not torch.allclose(equation.residual(base, x), equation.residual(different, x))


def solve_poisson(f: np.ndarray, boundary: np.ndarray, h: float) -> np.ndarray:
    """Values of u with u_xx + u_yy = f on a square grid of spacing ``h``, by the five-point formula (order 2).

    ``boundary`` has the size of the grid; only its outer frame counts.
    """
    f, u = np.asarray(f, dtype=np.float64), np.array(boundary, dtype=np.float64)
    if f.shape != u.shape or f.ndim != 2 or min(f.shape) < 3:
        raise ValueError(f"solve_poisson: f and boundary must be grids of one size; got {f.shape} and {u.shape}.")
    rows, columns = (size - 2 for size in f.shape)
    second = [diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in (rows, columns)]
    matrix = kron(second[0], eye_array(columns)) + kron(eye_array(rows), second[1])
    right = h**2 * f[1:-1, 1:-1]
    right[0] -= u[0, 1:-1]
    right[-1] -= u[-1, 1:-1]
    right[:, 0] -= u[1:-1, 0]
    right[:, -1] -= u[1:-1, -1]
    u[1:-1, 1:-1] = spsolve(matrix.tocsc(), right.ravel()).reshape(rows, columns)
    return u


def solve_heat(u0: Any, diffusivity: float, h: float, dt: float, steps: int) -> np.ndarray:
    """u_t = a u_xx with fixed ends, by Crank and Nicolson's implicit formula: stable whatever the step."""
    u = np.array(u0, dtype=np.float64)
    n = len(u) - 2
    second = diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)) * (diffusivity / h**2)
    ends = np.zeros(n)
    ends[0], ends[-1] = u[0], u[-1]
    ends *= diffusivity / h**2
    left, right = (eye_array(n) - dt / 2 * second).tocsc(), (eye_array(n) + dt / 2 * second).tocsr()
    history = [u.copy()]
    for _ in range(steps):
        u[1:-1] = spsolve(left, right @ u[1:-1] + dt * ends)
        history.append(u.copy())
    return np.stack(history)


def solve_wave(u0: Any, velocity: Any, speed: float, h: float, dt: float, steps: int) -> np.ndarray:
    """u_tt = c^2 u_xx with fixed ends, by the leapfrog formula, which needs c dt <= h."""
    if speed * dt > h * (1 + 1e-12):
        raise ValueError(f"solve_wave: speed * dt must be at most h for stability; got {speed * dt:g} and {h:g}.")
    u, ratio = np.array(u0, dtype=np.float64), (speed * dt / h) ** 2

    def bend(w: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], w[:-2] - 2 * w[1:-1] + w[2:], [0.0]])

    after = u + dt * np.asarray(velocity, dtype=np.float64) + 0.5 * ratio * bend(u)
    after[0], after[-1] = u[0], u[-1]
    history = [u, after]
    for _ in range(steps - 1):
        history.append(2 * history[-1] - history[-2] + ratio * bend(history[-1]))
    return np.stack(history[: steps + 1])
