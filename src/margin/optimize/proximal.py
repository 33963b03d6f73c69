r"""Proximal gradient and FISTA: a smooth part by its gradient, a simple rough part by its proximal map.

.. math:: \min_x f(x) + g(x), \qquad \operatorname{prox}_{tg}(v) = \arg\min_x g(x) + \tfrac1{2t}\|x - v\|^2
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.objective import Function, Gradient, Objective
from margin.optimize.parameter_texts import PROXIMAL
from margin.optimize.steps import Array, StepOutcome, Steps, length

__all__ = ["fista", "project_box", "proximal_gradient", "soft_threshold"]

Prox = Callable[[Array, float], Array]


def soft_threshold(v: Any, threshold: float) -> Any:
    r"""The proximal map of :math:`\tau\|\cdot\|_1`: :math:`\operatorname{sign}(v)\max(|v| - \tau, 0)`.

    Parameters
    ----------
    v : array-like
        The values.
    threshold : float
        How far they are moved towards 0, :math:`\tau`.

    Examples
    --------
    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2., -0., -1.])
    """
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


def project_box(v: Array, low: float, high: float) -> Array:
    """The proximal map of "inside the box": its nearest point."""
    return np.clip(v, low, high)


@with_parameters(PROXIMAL)
def proximal_gradient(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    g: Function,
    prox: Prox,
    step: float = 1.0,
    max_iter: int = 5000,
    tol: float = 1e-8,
) -> Steps:
    r""":math:`x \leftarrow \operatorname{prox}_{tg}(x - t\nabla f(x))`, t halved until the quadratic bound holds.

    Values are of f + g; the recorded gradient norm is that of the gradient map (x - x_new)/t.
    """
    return _composite("proximal_gradient", f, grad, x0, g, prox, step, False, max_iter, tol)


@with_parameters(PROXIMAL)
def fista(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    g: Function,
    prox: Prox,
    step: float = 1.0,
    max_iter: int = 5000,
    tol: float = 1e-8,
) -> Steps:
    r"""Accelerated proximal gradient: error O(1/k^2), restarted whenever momentum points uphill.

    .. math:: y_{k+1} = x_{k+1} + \frac{t_k - 1}{t_{k+1}} (x_{k+1} - x_k),
              \quad t_{k+1} = \tfrac12(1 + \sqrt{1 + 4t_k^2})
    """
    return _composite("fista", f, grad, x0, g, prox, step, True, max_iter, tol)


def _composite(
    name: str,
    f: Function,
    grad: Gradient,
    x0: Any,
    g: Function,
    prox: Prox,
    step: float,
    accelerate: bool,
    max_iter: int,
    tol: float,
) -> Steps:
    objective = Objective(name, f, grad, x0, max_iter=max_iter)
    x = y = objective.x
    weight = 1.0
    for t in range(max_iter + 1):
        value, gradient = objective.both(y)
        new, smooth, step = _backtrack(objective, prox, y, value, gradient, step)
        norm = float(np.linalg.norm(y - new) / step)
        if t == 0:
            yield objective.record(0, x, value + float(g(x.reshape(objective.shape))), norm, 0.0)
            if norm <= tol:
                return StepOutcome(True, f"{name}: gradient map {norm:.3g} at the start.")
            continue
        move = new - x
        if accelerate:
            weight, y = _extrapolate(weight, x, y, new)
        else:
            y = new
        x = new
        total = smooth + float(g(x.reshape(objective.shape)))
        yield objective.record(t, x, total, norm, length(move))
        if norm <= tol:
            return StepOutcome(True, f"{name}: gradient map {norm:.3g} at step {t}.")
    return StepOutcome(False, f"{name}: gradient map {norm:.3g} after {max_iter} steps.")


def _backtrack(
    objective: Objective, prox: Prox, y: Array, value: float, gradient: Array, step: float
) -> tuple[Array, float, float]:
    """The proximal point with f below its quadratic bound of curvature 1/step: (point, f there, step)."""
    shape = objective.shape
    slack = 1e-12 * (1 + abs(value))  # near the minimum both sides agree to rounding
    for _ in range(100):
        new = objective.flat(prox((y - step * gradient).reshape(shape), step), "proximal point")
        smooth = objective.value(new)
        move = new - y
        if smooth <= value + gradient @ move + move @ move / (2 * step) + slack:
            return new, smooth, step
        step /= 2
    return new, smooth, step


def _extrapolate(weight: float, x: Array, y: Array, new: Array) -> tuple[float, Array]:
    if (y - new) @ (new - x) > 0:  # the gradient map opposes the motion: forget it (O'Donoghue and Candes)
        return 1.0, new
    grown = (1 + np.sqrt(1 + 4 * weight**2)) / 2
    return float(grown), new + (weight - 1) / grown * (new - x)
