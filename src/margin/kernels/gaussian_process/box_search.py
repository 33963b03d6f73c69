r"""Minimizing a smooth function in a box, one evaluation at a time.

A quasi-Newton method for few variables and costly values. The step solves :math:`B_{FF}\,d_F = -g_F` on the variables
F that are not held at a bound by the gradient, the path :math:`P(x+\alpha d)` is projected onto the box, and the
curvature B learns from every accepted step (BFGS, damped where the curvature seen is not positive).

The search is a coroutine: it yields the point it wants and is sent the value and the gradient there. Nothing else
enters it, so the list of what it was sent is its whole state: sending the list again leads to the same place.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoxSearch", "search_in_box"]

Floats = NDArray[np.float64]
Answer = tuple[float, Floats]

SUFFICIENT = 1e-4  # fraction of the promised decrease that a step must reach (Armijo)
STEEP = 0.9  # a step whose end is still this fraction as steep as its start was too short (Wolfe)
LONGEST = 3.0  # change of one variable in one step: logarithms, so a factor of twenty
PROBES = 12  # along one direction; a halving each time, they cover three orders of magnitude
DAMPING = 0.2  # fraction of the old curvature that an update keeps (Powell)


def search_in_box(
    start: Floats, low: Floats, high: Floats, *, tol: float, curvature: Floats | None = None
) -> Generator[Floats, Answer, Floats | None]:
    """Yields points, is sent (value, gradient); ends when the value can fall by no more than ``tol``.

    ``curvature`` is what is known of the Hessian; the learned one is returned. An infinite value is a point to step
    back from; the first value must be finite.
    """
    x = np.clip(start, low, high)
    value, gradient = yield x
    fell = np.inf
    while np.isfinite(value) and x.size:
        direction = _direction(x, gradient, low, high, curvature)
        promised = -0.5 * float(gradient @ direction)
        if promised <= 0 or (promised <= tol and fell <= tol):
            break
        accepted = yield from _along(x, direction, value, gradient, low, high)
        if accepted is None:
            if curvature is None:
                break
            curvature = None  # what was learned misled: start again along the gradient
            continue
        step, next_value, next_gradient = accepted
        if not step.any():  # shorter than the spacing of numbers: nothing is left to find, and nothing to learn from
            break
        curvature = _learn(curvature, step, next_gradient - gradient)
        fell = value - next_value
        x, value, gradient = np.clip(x + step, low, high), next_value, next_gradient
    return curvature


class BoxSearch:
    """An ask-and-tell search: it gives its next ``point`` and takes the value there; ``best_*`` is the least so far."""

    def __init__(
        self, start: Floats, bounds: Floats, *, tol: float, max_evaluations: int, curvature: Floats | None = None
    ):
        low, high = (bounds[:, 0], bounds[:, 1]) if len(bounds) else (np.zeros(0), np.zeros(0))
        self._steps = search_in_box(np.asarray(start, dtype=np.float64), low, high, tol=tol, curvature=curvature)
        self.point: Floats | None = next(self._steps)
        self.max_evaluations = max_evaluations
        self.curvature = curvature
        self.converged = False
        self.values: list[float] = []
        self.gradients: list[Floats] = []
        self.best_point, self.best_value = self.point.copy(), np.inf

    def tell(self, value: float, gradient: Floats) -> bool:
        """What was found at ``point``; returns whether it is the best so far."""
        assert self.point is not None
        better = value < self.best_value
        if better:
            self.best_point, self.best_value = self.point.copy(), float(value)
        self.values.append(float(value))
        self.gradients.append(np.array(gradient, dtype=np.float64))
        try:
            self.point = self._steps.send((float(value), self.gradients[-1]))
        except StopIteration as end:
            self.point, self.curvature, self.converged = None, end.value, True
        if len(self.values) >= self.max_evaluations:
            self.point = None
        return better

    def state(self) -> dict[str, Any]:
        gradients = np.array(self.gradients) if self.gradients else np.zeros((0, self.best_point.size))
        return {"values": np.array(self.values), "gradients": gradients}

    def replay(self, state: dict[str, Any]) -> BoxSearch:
        """Repeat an earlier search from the values it was given."""
        for value, gradient in zip(state["values"], state["gradients"]):
            self.tell(float(value), gradient)
        return self


def _direction(x: Floats, gradient: Floats, low: Floats, high: Floats, curvature: Floats | None) -> Floats:
    """A direction of descent that leaves no variable's bound outward."""
    free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
    direction = np.zeros_like(x)
    while free.any():
        if curvature is None:
            length = float(np.linalg.norm(gradient[free]))
            direction[free] = -gradient[free] / max(length, 1.0)
        else:
            direction[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        outward = free & (((x <= low) & (direction < 0)) | ((x >= high) & (direction > 0)))
        if not outward.any():
            break
        free &= ~outward
        direction[:] = 0.0
    longest = float(np.abs(direction).max(initial=0.0))
    return direction if longest <= LONGEST else direction * (LONGEST / longest)


def _along(
    x: Floats, direction: Floats, value: float, gradient: Floats, low: Floats, high: Floats
) -> Generator[Floats, Answer, tuple[Floats, float, Floats] | None]:
    """The step that was accepted with the value and gradient at its end, or None if none lowers the value."""
    alpha, shortest, longest = 1.0, 0.0, np.inf
    accepted = None
    for _ in range(PROBES):
        step = np.clip(x + alpha * direction, low, high) - x
        slope = float(gradient @ step)
        trial_value, trial_gradient = yield x + step
        if not trial_value <= value + SUFFICIENT * slope:  # also when it is not a number
            longest = alpha
            alpha = _between(shortest, alpha, value, slope, trial_value, accepted)
            continue
        accepted = step, trial_value, trial_gradient
        bounded = np.abs(alpha * direction).max() >= LONGEST or not np.array_equal(step, alpha * direction)
        if float(trial_gradient @ step) >= STEEP * slope or bounded or np.isfinite(longest):
            break
        shortest, alpha = alpha, min(4 * alpha, LONGEST / float(np.abs(direction).max()))
    return accepted


def _between(shortest: float, alpha: float, value: float, slope: float, trial_value: float, accepted: Any) -> float:
    """A shorter step: the least point of the parabola through both ends, kept away from them."""
    if accepted is not None or not np.isfinite(trial_value):
        return shortest + 0.3 * (alpha - shortest)
    curve = trial_value - value - slope
    fraction = -slope / (2 * curve) if curve > 0 else 0.5
    return alpha * float(np.clip(fraction, 0.1, 0.5))


def _learn(B: Floats | None, s: Floats, y: Floats) -> Floats:
    r"""The BFGS update of the curvature B from a step s along which the gradient changed by y.

    Where :math:`s^\top y < s^\top Bs`, B is first shrunk by the root of their ratio: the likelihood is exponentially
    flat in scales that do not matter, and the curvature there would otherwise stay what it was in the steepest
    direction.
    y gives way to a mean of y and Bs where :math:`s^\top y` is too small or negative (Powell).
    """
    if B is None:
        sy = float(s @ y)
        scale = float(y @ y) / sy if sy > 0 else max(float(np.linalg.norm(y)), 1e-8) / float(np.linalg.norm(s))
        B = scale * np.eye(s.size)
    Bs = B @ s
    sBs, sy = float(s @ Bs), float(s @ y)
    if 0 < sy < sBs:
        shrink = (sy / sBs) ** 0.5
        B, Bs, sBs = shrink * B, shrink * Bs, shrink * sBs
    if sy < DAMPING * sBs:
        fraction = (1 - DAMPING) * sBs / (sBs - sy)
        y = fraction * y + (1 - fraction) * Bs
        sy = float(s @ y)
    return B + np.outer(y, y) / sy - np.outer(Bs, Bs) / sBs
