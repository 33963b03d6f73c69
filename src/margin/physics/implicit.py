r"""Implicit Runge-Kutta methods: every step solves for its slopes, and in return stays stable on stiff problems.

With :math:`z_i = h \sum_j a_{ij} f(t + c_j h, y + z_j)` the stages are found by Newton's method with one Jacobian of
:math:`f` per step,

.. math:: (I - h A \otimes J)\,\Delta z = h (A \otimes I) F(y + z) - z .
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.physics.adaptive import CountedSlope, first_guess, follow, initial_state
from margin.physics.solution import ODESolution
from margin.physics.steps import Slope
from margin.physics.tableaus import IMPLICIT, Tableau

__all__ = ["finite_difference_jacobian", "implicit_step", "implicit_walk", "solve_stiff"]

NEWTON_STEPS = 12
NEWTON_TOLERANCE = 1e-12  # relative to the size of the state; below it rounding rules

Jacobian = Callable[[float, np.ndarray], Any]


class NoConvergence(RuntimeError):
    """Newton's method did not find the stages: the step is too long."""


def finite_difference_jacobian(f: Slope, t: float, y: np.ndarray) -> np.ndarray:
    """Slopes of f in every state, by forward differences of about half the digits."""
    base = np.asarray(f(t, y))
    steps = np.sqrt(np.finfo(float).eps) * np.maximum(1e-5, np.abs(y))
    columns = []
    for j, step in enumerate(steps):
        moved = y.copy()
        moved[j] += step
        columns.append((np.asarray(f(t, moved)) - base) / (moved[j] - y[j]))
    return np.stack(columns, axis=1)


def implicit_step(
    f: Slope, t: float, y: np.ndarray, h: float, tableau: Tableau, jacobian: Jacobian | None = None
) -> np.ndarray:
    """The state after one step."""
    a, d = tableau.matrix, len(y)
    stages = len(tableau.b)
    J = finite_difference_jacobian(f, t, y) if jacobian is None else np.asarray(jacobian(t, y), dtype=np.float64)
    newton = np.eye(stages * d) - h * np.kron(a, J)
    z = np.zeros((stages, d))
    size = 1 + float(np.abs(y).max())
    for _ in range(NEWTON_STEPS):
        slopes = np.stack([f(t + node * h, y + part) for node, part in zip(tableau.c, z)])
        change = np.linalg.solve(newton, (h * a @ slopes - z).ravel()).reshape(stages, d)
        z = z + change
        if not np.isfinite(z).all():
            break
        if np.abs(change).max() <= NEWTON_TOLERANCE * size:
            return y + _weights(tableau) @ z
    raise NoConvergence(f"implicit_step: Newton's method does not converge at t = {t:g} with a step of {h:g}.")


def _weights(tableau: Tableau) -> np.ndarray:
    """Weights d with y_new = y + d z, which spare the slopes, whose errors a stiff problem would magnify."""
    if tuple(tableau.matrix[-1]) == tableau.b:
        return np.eye(len(tableau.b))[-1]
    return np.linalg.solve(tableau.matrix.T, np.array(tableau.b))


def implicit_walk(
    f: Slope, y0: Any, t0: float, h: float, n: int, method: str = "backward-euler", jacobian: Jacobian | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """``n`` equal steps of an implicit method: times and states.

    >>> t, y = implicit_walk(lambda t, y: -1000 * y, [1.0], 0.0, 0.1, 1)  # where Euler's method explodes
    >>> bool(abs(y[1, 0] - 1 / 101) < 1e-12)
    True
    """
    tableau = _method("implicit_walk", method)
    y = initial_state("implicit_walk", y0)
    times, states = t0 + h * np.arange(n + 1), [y]
    for t in times[:-1]:
        y = implicit_step(f, float(t), y, h, tableau, jacobian)
        states.append(y)
    return times, np.stack(states)


def solve_stiff(
    f: Slope,
    y0: Any,
    span: tuple[float, float],
    *,
    method: str = "radau5",
    rtol: float = 1e-6,
    atol: float = 1e-9,
    jacobian: Jacobian | None = None,
    max_steps: int = 100_000,
) -> ODESolution:
    r"""An implicit method with steps that follow the error, seen by doing every step once whole and once in halves.

    .. math:: e = \frac{y_{h/2} - y_h}{2^p - 1}

    Between the steps the solution is the cubic through states and slopes.
    """
    tableau = _method("solve_stiff", method)
    counted = CountedSlope(f)

    def step(t: float, y: np.ndarray, h: float, slope: np.ndarray) -> tuple[Any, ...]:
        try:
            one_step = implicit_step(counted, t, y, h, tableau, jacobian)
            half = implicit_step(counted, t, y, h / 2, tableau, jacobian)
            new = implicit_step(counted, t + h / 2, half, h / 2, tableau, jacobian)
        except NoConvergence:
            return y, np.full(len(y), np.inf), lambda fraction: fraction, slope
        end = counted(t + h, new)
        return new, (new - one_step) / (2**tableau.order - 1), _hermite(y, new, h * slope, h * end), end

    y = initial_state("solve_stiff", y0)
    slope = counted(span[0], y)
    h = first_guess(counted, span, y, slope, tableau.order, rtol, atol)
    return follow(step, counted, y, span, slope, h, tableau.order + 1, rtol, atol, (), max_steps)


def _hermite(y: np.ndarray, new: np.ndarray, start: np.ndarray, end: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def piece(fraction: np.ndarray) -> np.ndarray:
        s = np.asarray(fraction)[:, None]
        cubic = (1 - 2 * s) * (new - y) + (s - 1) * start + s * end
        return (1 - s) * y + s * new + s * (s - 1) * cubic

    return piece


def _method(name: str, method: str) -> Tableau:
    if method not in IMPLICIT:
        raise ValueError(f"{name}: method must be one of {', '.join(IMPLICIT)}; got {method!r}.")
    return IMPLICIT[method]
