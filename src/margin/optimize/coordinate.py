r"""Coordinate descent: minimize along one axis at a time.

Textbook form; :class:`~margin.linear.Lasso` has compiled coordinate descent with screening.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.line_searches import bracket, golden_section
from margin.optimize.objective import Function, Gradient, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.proximal import soft_threshold
from margin.optimize.steps import Array, StepOutcome, Steps, length

__all__ = ["coordinate_descent", "lasso_coordinate_descent"]


@with_parameters(MINIMIZING)
def coordinate_descent(f: Function, grad: Gradient, x0: Any, *, max_iter: int = 1000, tol: float = 1e-6) -> Steps:
    """Cyclic exact minimization along each axis (bracket, then golden section); one record per sweep.

    Parameters
    ----------
    max_iter : int
        Most sweeps over all axes.
    """
    objective = Objective("coordinate_descent", f, grad, x0, max_iter=max_iter)
    x = objective.x.copy()
    value, gradient = objective.both(x)
    norm = length(gradient)
    yield objective.record(0, x, value, norm, 0.0)
    reach = np.ones_like(x)  # the last step along each axis: the first guess of the next
    for t in range(1, max_iter + 1):
        if norm <= tol:
            return StepOutcome(True, f"coordinate_descent: gradient norm {norm:.3g} at sweep {t - 1}.")
        before = x.copy()
        for i in range(x.size):
            slope = objective.gradient(x)[i]
            if abs(slope) > tol / np.sqrt(x.size):
                x, moved = _along_axis(objective, x, i, -float(np.sign(slope)), float(reach[i]))
                reach[i] = max(moved, tol)
        value, gradient = objective.both(x)
        norm = length(gradient)
        yield objective.record(t, x, value, norm, length(x - before))
        if np.array_equal(x, before):
            return StepOutcome(norm <= tol, f"coordinate_descent: no axis lowers the value; gradient norm {norm:.3g}.")
    return StepOutcome(norm <= tol, f"coordinate_descent: gradient norm {norm:.3g} after {max_iter} sweeps.")


def _along_axis(objective: Objective, x: Array, i: int, sign: float, first: float) -> tuple[Array, float]:
    def phi(alpha: float) -> float:
        return objective.value(move(alpha))

    def move(alpha: float) -> Array:
        point = x.copy()
        point[i] += sign * alpha
        return point

    try:
        a, _, c = bracket(phi, first)
    except ValueError:  # nothing lower at the resolution of the values: this axis is done
        return x, 0.0
    alpha = golden_section(phi, a, c, tol=1e-10)
    return move(alpha), alpha


def lasso_coordinate_descent(X: Any, y: Any, alpha: float, *, max_iter: int = 1000, tol: float = 1e-8) -> Steps:
    r"""The lasso :math:`\frac1{2n}\|y - Xw\|^2 + \alpha\|w\|_1`: each axis has a closed form.

    .. math:: w_j \leftarrow S_\alpha\big(\tfrac1n x_j^\top (r + x_j w_j)\big) \big/ \tfrac1n x_j^\top x_j

    The recorded gradient norm is the duality-free optimality residual: the norm of w - S(w - gradient).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Their targets.
    alpha : float
        Strength of the L1 penalty.
    max_iter : int
        Most sweeps over all columns.
    tol : float
        The optimality residual at which it ends.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or y.shape != (len(X),):
        raise ValueError(f"lasso_coordinate_descent: X must be (n, d) and y (n,); got {X.shape} and {y.shape}.")
    n = len(y)
    objective = Objective("lasso_coordinate_descent", lambda w: 0.0, None, np.zeros(X.shape[1]), max_iter=max_iter)  # noqa: ARG005
    w, residual, curvature = objective.x.copy(), y.copy(), np.sum(X**2, axis=0) / n
    for t in range(max_iter + 1):
        before = w.copy()
        for j in range(w.size if t else 0):
            if curvature[j] == 0:
                continue
            new = soft_threshold(X[:, j] @ residual / n + curvature[j] * w[j], alpha) / curvature[j]
            residual -= X[:, j] * (new - w[j])
            w[j] = new
        value = float(residual @ residual / (2 * n) + alpha * np.abs(w).sum())
        gap = length(w - soft_threshold(w + X.T @ residual / n, alpha))
        yield objective.record(t, w, value, gap, length(w - before))
        if gap <= tol:
            return StepOutcome(True, f"lasso_coordinate_descent: residual {gap:.3g} at sweep {t}.")
    return StepOutcome(False, f"lasso_coordinate_descent: residual {gap:.3g} after {max_iter} sweeps.")
