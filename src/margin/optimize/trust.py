r"""Trust regions: minimize the second-order model only where it is trusted, so negative curvature is no danger.

.. math:: \min_p\ g^\top p + \tfrac12 p^\top H p \quad\text{subject to}\quad \|p\| \le \Delta
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.objective import Function, Gradient, Hessian, HessianProduct, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.second_order import NEGATIVE, escape_direction
from margin.optimize.steps import Array, StepOutcome, Steps, length

__all__ = ["boundary_step", "newton_cg", "solve_subproblem", "steihaug", "trust_region"]

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # fractions of the predicted decrease: accept a step, shrink, grow
FIRST_RADIUS = 2.0  # in units of the Cauchy step: far enough not to bind where the model is good
# To look for negative curvature where the gradient vanishes: every direction of a small problem, and for a large one
# a twelfth of the products already spent, between these bounds.
LANCZOS_ALL, LANCZOS_LOW, LANCZOS_HIGH = 12, 3, 30


def solve_subproblem(gradient: Array, hessian: Array, radius: float) -> Array:
    r"""The global minimum of the model in the ball, from one eigendecomposition.

    The solution satisfies :math:`(H + \lambda I) p = -g` with :math:`\lambda \ge 0,\ H + \lambda I \succeq 0`
    and :math:`\lambda(\Delta - \|p\|) = 0`; lambda is found by bisection on the decreasing
    :math:`\|p(\lambda)\|`. Where g has no part along the lowest eigenvector (the hard case), that vector is added.
    """
    values, vectors = np.linalg.eigh(hessian)
    pull = vectors.T @ gradient

    def solution(shift: float) -> Array:
        bottom = values + shift
        return np.where(np.abs(pull) > 0, -pull / np.where(bottom > 0, bottom, np.inf), 0.0)

    if values[0] > 0:
        inside = solution(0.0)
        if np.linalg.norm(inside) <= radius:
            return vectors @ inside
    size = length(gradient)
    scale = max(float(np.abs(values).max()), size / radius, float(np.finfo(float).tiny))
    low = float(max(0.0, -values[0]) + 1e-14 * scale)
    if np.linalg.norm(solution(low)) < radius:  # the hard case: go on along the lowest eigenvector to the edge
        p = solution(low)
        if values[0] <= 0:
            p[0] = np.copysign(np.sqrt(radius**2 - float(p[1:] @ p[1:])), -pull[0])
        return vectors @ p
    high = low + size / radius + scale
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if np.linalg.norm(solution(middle)) > radius:
            low = middle
        else:
            high = middle
    return vectors @ solution(high)


def boundary_step(p: Array, d: Array, radius: float) -> float:
    """The positive tau with |p + tau d| = radius, for p inside the ball."""
    a, b, c = float(d @ d), float(p @ d), float(p @ p) - radius**2
    root = np.sqrt(max(b * b - a * c, 0.0))
    # The two forms avoid cancellation on either side of b = 0.
    return -c / (b + root) if b > 0 else (root - b) / a


def steihaug(
    product: Callable[[Array], Array],
    gradient: Array,
    radius: float,
    tolerance: float,
    max_products: int,
    gradient_product: Array | None = None,
) -> tuple[Array, float]:
    """Conjugate gradients inside the ball: (step, decrease that the model predicts for it).

    Stops at the edge, at negative curvature (then goes to the edge along it), or when the residual is small.
    ``gradient_product`` is H gradient where it is known already, which saves the first product.
    """
    p, residual = np.zeros_like(gradient), gradient
    d, rr = -gradient, float(gradient @ gradient)
    decrease = 0.0
    for k in range(max_products):
        Hd = product(d) if k or gradient_product is None else -gradient_product
        curvature = float(d @ Hd)
        alpha = rr / curvature if curvature > 0 else np.inf
        if curvature <= 0 or np.linalg.norm(p + alpha * d) >= radius:
            tau = boundary_step(p, d, radius)
            return p + tau * d, decrease + tau * rr - 0.5 * tau**2 * curvature
        p = p + alpha * d
        decrease += 0.5 * alpha * rr
        residual = residual + alpha * Hd
        new = float(residual @ residual)
        if np.sqrt(new) <= tolerance:
            break
        d, rr = new / rr * d - residual, new
    return p, decrease


@with_parameters(MINIMIZING)
def trust_region(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    hess: Hessian = None,
    radius: float = 1.0,
    max_iter: int = 500,
    tol: float = 1e-8,
) -> Steps:
    """Trust region with the exact subproblem: for up to some hundred variables; never stops at a strict saddle.

    Parameters
    ----------
    radius : float
        The first radius.
    """
    objective = Objective("trust_region", f, grad, x0, hess=hess, max_iter=max_iter)
    known: dict[str, Array] = {}  # the Hessian of the current iterate: a rejected step does not change it

    def propose(x: Array, gradient: Array, radius: float) -> tuple[Array, float]:
        if known.get("x") is not x:
            known.update(x=x, hessian=objective.hessian(x))
        hessian = known["hessian"]
        p = solve_subproblem(gradient, hessian, radius)
        return p, -float(gradient @ p + 0.5 * p @ hessian @ p)

    def escape(x: Array, _: Array) -> Array | None:
        return escape_direction(objective.hessian(x))

    return (yield from _trust(objective, propose, escape, lambda *_: radius, max_iter, tol))


@with_parameters(MINIMIZING)
def newton_cg(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    hessp: HessianProduct = None,
    hess: Hessian = None,
    radius: float | None = None,
    max_iter: int = 500,
    tol: float = 1e-6,
    escape_saddles: bool = True,
) -> Steps:
    """Trust-region Newton from Hessian-vector products only (Steihaug's conjugate gradients): for many variables.

    ``hessp(x, v)`` gives H(x) v; without it, ``hess`` or one more gradient per product serves.
    ``escape_saddles`` spends a few more products at the end to look for negative curvature. ``radius`` None
    starts with the length of the model's minimum along the gradient, or of the gradient where there is none.

    Parameters
    ----------
    hessp : callable, optional
        ``hessp(x, v)``, the product of the Hessian at ``x`` with ``v``.
    hess : callable, optional
        The Hessian, where there is no ``hessp``.
    radius : float, optional
        The first radius.
    escape_saddles : bool
        Whether to look for negative curvature before it ends.
    """
    objective = Objective("newton_cg", f, grad, x0, hess=hess, hessp=hessp, max_iter=max_iter)
    start: dict[str, Any] = {}  # the gradient norm there, and the product that set the radius until it is used

    def first_radius(x: Array, gradient: Array) -> float:
        if radius is not None:
            return radius
        start["product"] = objective.hessian_product(x, gradient, gradient)
        return _cauchy_length(gradient, start["product"])

    def propose(x: Array, gradient: Array, radius: float) -> tuple[Array, float]:
        norm = length(gradient)
        start.setdefault("norm", norm)
        # Superlinear convergence (Dembo, Eisenstat and Steihaug), and no more digits than tol asks for.
        residual = max(0.5 * np.sqrt(min(norm / start["norm"], 1.0)) * norm, tol / 2)
        known = start.pop("product", None)
        product = lambda d: objective.hessian_product(x, d, gradient)  # noqa: E731
        return steihaug(product, gradient, radius, residual, 10 * x.size, known)

    def escape(x: Array, gradient: Array) -> Array | None:
        if not escape_saddles:
            return None
        steps = int(np.clip(objective.hessian_products // 12, LANCZOS_LOW, LANCZOS_HIGH))
        steps = x.size if x.size <= LANCZOS_ALL else steps
        return _lanczos_escape(lambda d: objective.hessian_product(x, d, gradient), x.size, steps)

    return (yield from _trust(objective, propose, escape, first_radius, max_iter, tol))


def _trust(
    objective: Objective,
    propose: Callable[[Array, Array, float], tuple[Array, float]],
    escape: Callable[[Array, Array], Array | None],
    first_radius: Callable[[Array, Array], float],
    max_iter: int,
    tol: float,
) -> Steps:
    name, x = objective.name, objective.x
    value, gradient = objective.both(x)
    norm = length(gradient)
    yield objective.record(0, x, value, norm, 0.0)
    radius = first_radius(x, gradient)
    t = 0
    for _ in range(20 * max_iter):  # rejected steps do not count as iterations, but are bounded too
        if t >= max_iter:
            break
        away = escape(x, gradient) if norm <= tol else None
        if norm <= tol and away is None:
            return StepOutcome(True, f"{name}: gradient norm {norm:.3g} at a minimum, step {t}.")
        if away is not None:
            p, predicted = radius * (away if gradient @ away <= 0 else -away), 0.0
        else:
            p, predicted = propose(x, gradient, radius)
        size = length(p)
        trial, slope = objective.both(x + p)
        actual = value - trial
        ratio = _agreement(actual, predicted, value)
        if ratio < POOR:
            radius = 0.25 * size
        elif ratio > GOOD and size > 0.99 * radius:
            radius = 2 * radius if np.isfinite(2 * radius) else radius
        if not ratio > ACCEPT:
            if size <= np.finfo(float).eps * (1 + length(x)):
                return StepOutcome(norm <= tol, f"{name}: no lower value from step {t}; gradient norm {norm:.3g}.")
            continue
        t += 1
        x, value, gradient = x + p, trial, slope
        norm = length(gradient)
        yield objective.record(t, x, value, norm, size)
    return StepOutcome(norm <= tol, f"{name}: gradient norm {norm:.3g} after {t} steps.")


def _agreement(actual: float, predicted: float, value: float) -> float:
    """Actual over predicted decrease; below rounding of the value both mean nothing, and the model is trusted."""
    if not np.isfinite(actual):
        return -np.inf
    rounding = 10 * np.finfo(float).eps * (1 + abs(value))
    if predicted == 0.0:  # an escape along negative curvature: any real decrease is agreement enough
        return 0.5 if actual > 0 else -np.inf
    if predicted < rounding and abs(actual) < rounding:
        return 1.0
    return actual / predicted


def _cauchy_length(gradient: Array, product: Array) -> float:
    """FIRST_RADIUS times the distance to the model's minimum along the gradient, or the gradient's own length."""
    squared, curvature = float(gradient @ gradient), float(gradient @ product)
    steps = squared / curvature if curvature > 0 else 1.0
    return max(FIRST_RADIUS * steps * float(np.sqrt(squared)), 1e-3)


def _lanczos_escape(product: Callable[[Array], Array], d: int, steps: int) -> Array | None:
    """A direction of negative curvature found by a few Lanczos steps from a fixed random start, or None."""
    basis = np.zeros((steps, d))
    vector = np.random.default_rng(0).standard_normal(d)
    basis[0] = vector / np.linalg.norm(vector)
    products = np.zeros((steps, d))
    count = steps
    for k in range(steps):
        products[k] = product(basis[k])
        if k + 1 == steps:
            break
        new = products[k] - basis[: k + 1].T @ (basis[: k + 1] @ products[k])
        new -= basis[: k + 1].T @ (basis[: k + 1] @ new)  # once more: one pass leaves rounding along the basis
        norm = length(new)
        if norm <= NEGATIVE * length(products[k]):
            count = k + 1
            break
        basis[k + 1] = new / norm
    small = basis[:count] @ products[:count].T
    direction = escape_direction((small + small.T) / 2)
    return None if direction is None else basis[:count].T @ direction
