r"""Quadratics :math:`\tfrac12 x^\top A x - b^\top x` by steepest descent and conjugation; others by nonlinear CG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.line_searches import Probe, strong_wolfe
from margin.optimize.objective import Function, Gradient, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.steps import Array, OptimizationError, StepOutcome, Steps, length

__all__ = ["conjugate_gradient", "nonlinear_cg", "steepest_descent"]

Operator = Array | Callable[[Array], Array]


@with_parameters(MINIMIZING)
def steepest_descent(A: Operator, b: Any, x0: Any = None, *, max_iter: int = 10_000, tol: float = 1e-8) -> Steps:
    r"""Steepest descent with the exact step :math:`\alpha = r^\top r / r^\top A r`, r = b - A x.

    Works for a positive (semi)definite A; curvature that is not positive along a residual is an error.

    Parameters
    ----------
    A : array-like of shape (d, d) or callable
        Symmetric positive definite matrix, or a function v -> A v.
    b : array-like of shape (d,)
        Right-hand side.
    x0 : array-like of shape (d,), optional
        The starting point; zero by default.
    tol : float
        The residual norm at which it ends.
    """
    return _quadratic_descent("steepest_descent", A, b, x0, False, max_iter, tol)


def conjugate_gradient(A: Operator, b: Any, x0: Any = None, *, max_iter: int | None = None, tol: float = 1e-8) -> Steps:
    """Conjugate gradients for A x = b, A symmetric positive definite (a matrix or a function v -> A v).

    At most d steps in exact arithmetic; negative curvature is an error that says where.

    Parameters
    ----------
    A : array-like of shape (d, d) or callable
        Symmetric positive definite matrix, or a function v -> A v.
    b : array-like of shape (d,)
        Right-hand side.
    x0 : array-like of shape (d,), optional
        The starting point; zero by default.
    max_iter : int, optional
        Most iterations; by default ten times the number of unknowns.
    tol : float
        The residual norm at which it ends.

    Examples
    --------
    >>> *_, last = conjugate_gradient(np.diag([1.0, 2.0, 4.0]), [1.0, 1.0, 1.0])
    >>> last.x.round(6), last.iteration
    (array([1.  , 0.5 , 0.25]), 3)
    """
    limit = 10 * np.size(b) if max_iter is None else max_iter
    return _quadratic_descent("conjugate_gradient", A, b, x0, True, limit, tol)


def _quadratic_descent(name: str, A: Operator, b: Any, x0: Any, conjugate: bool, max_iter: int, tol: float) -> Steps:
    b = np.asarray(b, dtype=float)
    product = _product(name, A, b.size)
    objective = Objective(name, lambda x: 0.0, None, np.zeros_like(b) if x0 is None else x0)  # noqa: ARG005
    x = objective.x
    residual = b - product(x)
    d, rr = residual, float(residual @ residual)
    value = float(-0.5 * x @ (residual + b))
    yield objective.record(0, x, value, np.sqrt(rr), 0.0)
    for t in range(1, max_iter + 1):
        if np.sqrt(rr) <= tol:
            return StepOutcome(True, f"{name}: residual norm {np.sqrt(rr):.3g} at step {t - 1}.")
        Ad = product(d)
        curvature = float(d @ Ad)
        if not curvature > 0:
            raise OptimizationError(
                f"{name}: curvature {curvature:.3g} at step {t} is not positive, so the form has no minimum there.",
                x,
                t - 1,
            )
        alpha = float(residual @ d) / curvature
        size = alpha * length(d)
        x = x + alpha * d
        residual = residual - alpha * Ad
        new = float(residual @ residual)
        d, rr = (residual + new / rr * d if conjugate else residual), new
        value = float(-0.5 * x @ (residual + b))
        yield objective.record(t, x, value, np.sqrt(rr), size)
    return StepOutcome(np.sqrt(rr) <= tol, f"{name}: residual norm {np.sqrt(rr):.3g} after {max_iter} steps.")


def _product(name: str, A: Operator, d: int) -> Callable[[Array], Array]:
    if callable(A):
        return A
    matrix = np.asarray(A, dtype=float)
    if matrix.shape != (d, d) or not np.allclose(matrix, matrix.T):
        raise ValueError(f"{name}: A must be a symmetric {d} x {d} matrix; got shape {matrix.shape}.")
    return lambda v: matrix @ v


@with_parameters(MINIMIZING)
def nonlinear_cg(f: Function, grad: Gradient, x0: Any, *, max_iter: int = 1000, tol: float = 1e-6) -> Steps:
    r"""Polak and Ribière's conjugate gradients with a strong Wolfe search.

    .. math:: d \leftarrow -g_+ + \max\Big(0, \frac{g_+^\top (g_+ - g)}{g^\top g}\Big) d
    """
    objective = Objective("nonlinear_cg", f, grad, x0, max_iter=max_iter)
    x = objective.x
    value, gradient = objective.both(x)
    norm, d = length(gradient), -gradient
    yield objective.record(0, x, value, norm, 0.0)
    first = min(1.0, 1 / norm) if norm > 0 else 1.0
    for t in range(1, max_iter + 1):
        if norm <= tol:
            return StepOutcome(True, f"nonlinear_cg: gradient norm {norm:.3g} at step {t - 1}.")
        slope = float(gradient @ d)
        if not slope < 0:
            d, slope = -gradient, -(norm**2)

        def probe(alpha: float, origin: Array = x, p: Array = d) -> Probe:
            at, g = objective.both(origin + alpha * p)
            return Probe(alpha, at, float(g @ p), g)

        # c2 = 0.1 keeps the next direction downhill, which a loose search does not.
        accepted = strong_wolfe(probe, Probe(0.0, value, slope, gradient), first=first, c2=0.1)
        if accepted is None:
            return StepOutcome(False, f"nonlinear_cg: no lower value from step {t - 1}; gradient norm {norm:.3g}.")
        move = accepted.alpha * d
        beta = max(0.0, float(accepted.gradient @ (accepted.gradient - gradient)) / norm**2)
        x, value, gradient = x + move, accepted.value, accepted.gradient
        d = -gradient + beta * d
        first = accepted.alpha * slope / float(gradient @ d) if gradient @ d < 0 else 1.0
        norm = length(gradient)
        yield objective.record(t, x, value, norm, length(move))
    return StepOutcome(norm <= tol, f"nonlinear_cg: gradient norm {norm:.3g} after {max_iter} steps.")
