r"""Quasi-Newton methods: the Hessian is learned from how the gradient changed along the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy

from margin.core.docstrings import with_parameters
from margin.optimize.line_searches import Probe, strong_wolfe
from margin.optimize.objective import Function, Gradient, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.steps import Array, StepOutcome, Steps, length

__all__ = ["Pair", "bfgs", "bfgs_hessian_update", "bfgs_inverse_update", "lbfgs", "stored_numbers", "two_loop"]

# y.s must exceed this fraction of |y||s|: below it the curvature seen is rounding, and definiteness could be lost.
CURVATURE_FLOOR = 1e-10


class Pair(NamedTuple):
    """A step s, the change y of the gradient along it, and 1/(y.s)."""

    s: Array
    y: Array
    rho: float


def bfgs_hessian_update(B: Array, s: Array, y: Array) -> Array:
    r"""The update of the Hessian approximation; needs :math:`y^\top s > 0` to stay positive definite.

    .. math:: B_+ = B + \frac{y y^\top}{y^\top s} - \frac{B s s^\top B}{s^\top B s}, \qquad B_+ s = y
    """
    Bs = B @ s
    return B + np.outer(y, y) / (y @ s) - np.outer(Bs, Bs) / (s @ Bs)


def bfgs_inverse_update(H: Array, s: Array, y: Array) -> Array:
    r"""The same update of the inverse: :math:`H_+ = (I - \rho s y^\top) H (I - \rho y s^\top) + \rho s s^\top`."""
    rho = 1 / (y @ s)
    Hy = H @ y
    cross = np.outer(s, Hy)
    return H - rho * (cross + cross.T) + rho * (1 + rho * (y @ Hy)) * np.outer(s, s)


def two_loop(gradient: Array, pairs: deque[Pair]) -> Array:
    """H gradient for the L-BFGS inverse Hessian of the stored pairs, newest last, in 4 m d operations."""
    q = gradient.copy()
    weights = []
    for s, y, rho in reversed(pairs):
        weight = rho * (s @ q)
        q = daxpy(y, q, a=-weight)  # q - weight y without a temporary: a third of the time of the loop
        weights.append(weight)
    if pairs:
        newest = pairs[-1]
        q /= newest.rho * (newest.y @ newest.y)  # scale of the newest curvature: (s.y)/(y.y)
    for (s, y, rho), weight in zip(pairs, reversed(weights)):
        q = daxpy(s, q, a=weight - rho * (y @ q))
    return q


def stored_numbers(method: str, d: int, memory: int = 15) -> int:
    """How many floats a method keeps between steps: d^2 for ``bfgs``, 2 m d for ``lbfgs``."""
    if method not in ("bfgs", "lbfgs"):
        raise ValueError(f"stored_numbers: method must be bfgs or lbfgs; got {method!r}.")
    return d * d if method == "bfgs" else 2 * memory * d


@with_parameters(MINIMIZING)
def bfgs(f: Function, grad: Gradient, x0: Any, *, max_iter: int = 1000, tol: float = 1e-6) -> Steps:
    """BFGS with a strong Wolfe search; keeps a d x d inverse Hessian."""
    objective = Objective("bfgs", f, grad, x0, max_iter=max_iter)
    inverse: list[Array] = []  # empty until the first pair sets its scale

    def direction(gradient: Array) -> Array:
        return -gradient if not inverse else -(inverse[0] @ gradient)

    def learn(s: Array, y: Array) -> None:
        H = inverse[0] if inverse else (s @ y) / (y @ y) * np.eye(s.size)
        inverse[:] = [bfgs_inverse_update(H, s, y)]

    return (yield from _quasi_newton(objective, direction, learn, inverse.clear, max_iter, tol))


@with_parameters(MINIMIZING)
def lbfgs(f: Function, grad: Gradient, x0: Any, *, memory: int = 15, max_iter: int = 1000, tol: float = 1e-6) -> Steps:
    """Limited-memory BFGS: the last ``memory`` pairs stand for the Hessian, 2 m d numbers in place of d^2.

    Parameters
    ----------
    memory : int
        Pairs of steps and gradient changes that are kept, m.

    Examples
    --------
    >>> from margin.optimize.landscapes import ROSENBROCK
    >>> *_, last = lbfgs(ROSENBROCK.f, ROSENBROCK.grad, ROSENBROCK.start)
    >>> last.x.round(6)
    array([1., 1.])
    """
    if memory < 1:
        raise ValueError(f"lbfgs: memory must be at least 1; got {memory!r}.")
    objective = Objective("lbfgs", f, grad, x0, max_iter=max_iter)
    pairs: deque[Pair] = deque(maxlen=memory)

    def learn(s: Array, y: Array) -> None:
        pairs.append(Pair(s, y, 1 / float(y @ s)))

    return (yield from _quasi_newton(objective, lambda g: -two_loop(g, pairs), learn, pairs.clear, max_iter, tol))


def _quasi_newton(
    objective: Objective,
    direction: Callable[[Array], Array],
    learn: Callable[[Array, Array], None],
    forget: Callable[[], None],
    max_iter: int,
    tol: float,
) -> Steps:
    """Direction, Wolfe step, learn from the pair; a search that fails is tried once more along the gradient."""
    name, x = objective.name, objective.x
    value, gradient = objective.both(x)
    norm = length(gradient)
    yield objective.record(0, x, value, norm, 0.0)
    fresh = True
    for t in range(1, max_iter + 1):
        if norm <= tol:
            return StepOutcome(True, f"{name}: gradient norm {norm:.3g} at step {t - 1}.")
        p = direction(gradient)
        accepted = _search(objective, x, p, value, gradient, fresh)
        if accepted is None and not fresh:
            forget()
            fresh, p = True, -gradient
            accepted = _search(objective, x, p, value, gradient, fresh)
        if accepted is None:
            return StepOutcome(
                False, f"{name}: no step along the gradient lowers the value at step {t}; norm {norm:.3g}."
            )
        s, y = accepted.alpha * p, accepted.gradient - gradient
        if s @ y > CURVATURE_FLOOR * np.linalg.norm(s) * np.linalg.norm(y):
            learn(s, y)
            fresh = False
        x, value, gradient = x + s, accepted.value, accepted.gradient
        norm = length(gradient)
        yield objective.record(t, x, value, norm, length(s))
    return StepOutcome(norm <= tol, f"{name}: gradient norm {norm:.3g} after {max_iter} steps.")


def _search(objective: Objective, x: Array, p: Array, value: float, gradient: Array, fresh: bool) -> Probe | None:
    slope = float(gradient @ p)
    if not slope < 0:
        return None

    def probe(alpha: float) -> Probe:
        value, gradient = objective.both(x + alpha * p)
        return Probe(alpha, value, float(gradient @ p), gradient)

    # Nothing is known of the scale at first: move a unit at most. Afterwards the natural step is 1.
    first = min(1.0, 1 / length(p)) if fresh else 1.0
    return strong_wolfe(probe, Probe(0.0, value, slope, gradient), first=first)
