r"""Newton's method: for roots, for stationary points as the formula stands, and damped for minima."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.core.records import Record
from margin.optimize.line_searches import backtracking
from margin.optimize.objective import Function, Gradient, Hessian, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.steps import Array, OptimizationError, StepOutcome, Steps, length

__all__ = ["damped_newton", "escape_direction", "newton", "newton_root", "newton_step"]

# An eigenvalue below this fraction of the largest is treated as zero: its direction carries only rounding.
SINGULAR = 1e-12
# Where the gradient vanishes, curvature below minus this fraction of the largest shows a saddle or a maximum.
NEGATIVE = 1e-8


@with_parameters(MINIMIZING)
def newton_root(
    f: Callable[[float], float], df: Callable[[float], float], x0: float, *, tol: float = 1e-12, max_iter: int = 50
) -> Generator[Record, None, float]:
    r"""Roots in one dimension from tangents, :math:`x \leftarrow x - f(x)/f'(x)`: records x, value and slope.

    Parameters
    ----------
    f : callable
        A function of a number.
    df : callable
        Its derivative.
    x0 : float
        The starting point.
    tol : float
        The absolute value of ``f`` at which it ends.

    Examples
    --------
    >>> *_, last = newton_root(lambda x: x * x - 2, lambda x: 2 * x, 1.0)
    >>> last["x"] == 2**0.5, last.iteration
    (True, 5)
    """
    x = float(x0)
    for t in range(max_iter + 1):
        value, slope = float(f(x)), float(df(x))
        if not (np.isfinite(value) and np.isfinite(slope)):
            raise OptimizationError(f"newton_root: value {value:.6g} at step {t}, x = {x:.6g}.", np.array(x), t)
        yield Record(t, {"x": x, "value": value, "slope": slope}, max_iter)
        if abs(value) <= tol:
            return x
        if slope == 0:
            raise OptimizationError(f"newton_root: the tangent is flat at step {t}, x = {x:.6g}.", np.array(x), t)
        x -= value / slope
    raise OptimizationError(f"newton_root: no root within {max_iter} steps; last x = {x:.6g}.", np.array(x), max_iter)


def newton_step(gradient: Array, hessian: Array) -> Array:
    r"""The step :math:`-H^{-1}\nabla f` to the stationary point of the second-order model, of whatever kind it is.

    Solved, not inverted; a singular Hessian raises ``numpy.linalg.LinAlgError``.
    """
    values = np.linalg.eigvalsh(hessian)
    if np.min(np.abs(values)) <= SINGULAR * np.max(np.abs(values)):
        raise np.linalg.LinAlgError(
            f"newton_step: the Hessian is singular (smallest |eigenvalue| {np.min(np.abs(values)):.3g})."
        )
    return np.asarray(-np.linalg.solve(hessian, gradient), dtype=float)


@with_parameters(MINIMIZING)
def newton(
    f: Function, grad: Gradient, x0: Any, *, hess: Hessian = None, max_iter: int = 100, tol: float = 1e-8
) -> Steps:
    """Newton's method as the formula stands: quadratic near any stationary point, be it a maximum or a saddle.

    The outcome's message says which kind was reached. To find minima use ``damped_newton`` or ``trust_region``.
    """
    objective = Objective("newton", f, grad, x0, hess=hess, max_iter=max_iter)
    x = objective.x
    value, gradient = objective.both(x)
    norm = length(gradient)
    yield objective.record(0, x, value, norm, 0.0)
    for t in range(1, max_iter + 1):
        if norm <= tol:
            break
        try:
            move = newton_step(gradient, objective.hessian(x))
        except np.linalg.LinAlgError as error:
            return StepOutcome(False, f"newton: {error} Stopped at step {t}; damped_newton regularizes it.")
        x = x + move
        value, gradient = objective.both(x)
        norm = length(gradient)
        yield objective.record(t, x, value, norm, length(move))
    if norm > tol:
        return StepOutcome(False, f"newton: gradient norm {norm:.3g} after {max_iter} steps.")
    if escape_direction(objective.hessian(x)) is None:
        return StepOutcome(True, f"newton: gradient norm {norm:.3g}, no negative curvature.")
    return StepOutcome(False, f"newton: gradient norm {norm:.3g}, but at a saddle or maximum, not a minimum.")


def escape_direction(hessian: Array) -> Array | None:
    """A unit vector of most negative curvature, or None where there is none worth the name."""
    values, vectors = np.linalg.eigh(hessian)
    if values[0] >= -NEGATIVE * max(float(np.max(np.abs(values))), np.finfo(float).tiny):
        return None
    return vectors[:, 0]


@with_parameters(MINIMIZING)
def damped_newton(
    f: Function, grad: Gradient, x0: Any, *, hess: Hessian = None, max_iter: int = 200, tol: float = 1e-8
) -> Steps:
    r"""Newton for minima: :math:`p = -|H|^{-1}\nabla f` with backtracking, |H| having the absolute eigenvalues.

    Directions of negative curvature are followed downhill instead of up; where the gradient vanishes on a
    saddle, the direction of most negative curvature is taken. Eigenvalues near zero are floored.
    """
    objective = Objective("damped_newton", f, grad, x0, hess=hess, max_iter=max_iter)
    x = objective.x
    value, gradient = objective.both(x)
    norm = length(gradient)
    yield objective.record(0, x, value, norm, 0.0)
    for t in range(1, max_iter + 1):
        hessian = objective.hessian(x)
        away = escape_direction(hessian) if norm <= tol else None
        if norm <= tol and away is None:
            return StepOutcome(True, f"damped_newton: gradient norm {norm:.3g} at a minimum, step {t - 1}.")
        direction = _saddle_free(gradient, hessian) if away is None else away

        def phi(alpha: float, origin: Array = x, p: Array = direction) -> float:
            return objective.value(origin + alpha * p)

        # Along an escape direction the slope is zero, so any decrease counts.
        accepted = backtracking(phi, value, float(gradient @ direction) if away is None else 0.0)
        if accepted is None:
            return StepOutcome(
                norm <= tol, f"damped_newton: no lower value from step {t - 1}; gradient norm {norm:.3g}."
            )
        move = accepted[0] * direction
        x = x + move
        value, gradient = objective.both(x)
        norm = length(gradient)
        yield objective.record(t, x, value, norm, length(move))
    return StepOutcome(norm <= tol, f"damped_newton: gradient norm {norm:.3g} after {max_iter} steps.")


def _saddle_free(gradient: Array, hessian: Array) -> Array:
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    size = np.maximum(size, SINGULAR * max(float(size.max()), 1.0))
    return -vectors @ ((vectors.T @ gradient) / size)
