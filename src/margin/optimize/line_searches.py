r"""Line searches: how far to go along a direction p, that is, the minimum of :math:`\phi(\alpha) = f(x + \alpha p)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.objective import Function, Gradient, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.steps import Array

__all__ = [
    "LineSearch",
    "Probe",
    "backtracking",
    "bracket",
    "golden_section",
    "line_search",
    "strong_wolfe",
]

ARMIJO = 1e-4  # c1: the fraction of the promised decrease a step must deliver
CURVATURE = 0.9  # c2: the fraction of the starting slope that may remain, loose as quasi-Newton methods like it
GOLDEN = (5**0.5 - 1) / 2


class Probe(NamedTuple):
    """What is known at one step size: value, slope along the direction, and the full gradient."""

    alpha: float
    value: float
    slope: float
    gradient: Array


def bracket(phi: Callable[[float], float], first: float = 1.0, max_iter: int = 100) -> tuple[float, float, float]:
    """Three step sizes a < b < c with phi(b) no higher than both ends: shrink until it falls, grow until it rises."""
    start, b = phi(0.0), first
    value = phi(b)
    if not value < start:
        for _ in range(max_iter):
            c, b = b, b * (1 - GOLDEN)
            value = phi(b)
            if value < start:
                return 0.0, b, c
        raise ValueError(f"bracket: no step down to {b:.3g} lowers the function, so this is no descent direction.")
    a = 0.0
    for _ in range(max_iter):
        c = b + (b - a) * (1 + GOLDEN)
        grown = phi(c)
        if not grown < value:
            return a, b, c
        a, b, value = b, c, grown
    raise ValueError(f"bracket: the function still falls at step {b:.3g}; it has no minimum along this direction.")


def golden_section(phi: Callable[[float], float], a: float, c: float, *, tol: float = 1e-8) -> float:
    r"""Narrow [a, c] around a minimum by the factor :math:`(\sqrt5-1)/2` per evaluation.

    ``tol`` is relative to the width of the interval; below about 1e-8 values no longer tell points apart.

    >>> round(golden_section(lambda t: (t - 2) ** 2, 0.0, 5.0), 6)
    2.0
    """
    goal = tol * (c - a)
    left, right = c - GOLDEN * (c - a), a + GOLDEN * (c - a)
    at_left, at_right = phi(left), phi(right)
    while c - a > goal:
        if at_left <= at_right:
            c, right, at_right = right, left, at_left
            left = c - GOLDEN * (c - a)
            at_left = phi(left)
        else:
            a, left, at_left = left, right, at_right
            right = a + GOLDEN * (c - a)
            at_right = phi(right)
    return (a + c) / 2


def backtracking(
    phi: Callable[[float], float], value: float, slope: float, *, first: float = 1.0, max_iter: int = 60
) -> tuple[float, float] | None:
    r"""Halve until Armijo's condition :math:`\phi(\alpha) \le \phi(0) + c_1 \alpha \phi'(0)` holds.

    Returns (alpha, phi(alpha)), or None if no step down to rounding satisfies it.
    """
    alpha = first
    for _ in range(max_iter):
        reached = phi(alpha)
        if reached <= value + ARMIJO * alpha * slope and reached < value:
            return alpha, reached
        alpha /= 2
    return None


def strong_wolfe(
    probe: Callable[[float], Probe],
    start: Probe,
    *,
    first: float = 1.0,
    c1: float = ARMIJO,
    c2: float = CURVATURE,
    max_iter: int = 30,
) -> Probe | None:
    r"""A step with enough decrease and a flat enough slope.

    .. math:: \phi(\alpha) \le \phi(0) + c_1 \alpha \phi'(0), \qquad |\phi'(\alpha)| \le c_2 |\phi'(0)|

    Grow until an interval must contain such a step, then narrow it by safeguarded cubic interpolation
    (Nocedal and Wright, algorithms 3.5 and 3.6). None if ``max_iter`` probes do not find one.
    """
    low, alpha = start, first
    for i in range(max_iter):
        new = probe(alpha)
        if (
            not np.isfinite(new.value)
            or new.value > start.value + c1 * alpha * start.slope
            or (i and new.value >= low.value)
        ):
            return _zoom(probe, start, low, new, c1, c2, max_iter - i)
        if abs(new.slope) <= -c2 * start.slope:
            return new
        if new.slope >= 0:
            return _zoom(probe, start, new, low, c1, c2, max_iter - i)
        low, alpha = new, _extrapolate(low, new)
    return None


def _zoom(
    probe: Callable[[float], Probe], start: Probe, low: Probe, high: Probe, c1: float, c2: float, max_iter: int
) -> Probe | None:
    for _ in range(max_iter):
        alpha = _interpolate(low, high)
        if alpha in (low.alpha, high.alpha):  # the interval is as narrow as numbers are
            break
        new = probe(alpha)
        if (
            not np.isfinite(new.value)
            or new.value > start.value + c1 * new.alpha * start.slope
            or new.value >= low.value
        ):
            high = new
            continue
        if abs(new.slope) <= -c2 * start.slope:
            return new
        if new.slope * (high.alpha - low.alpha) >= 0:
            high = low
        low = new
    # Rounding can leave no point that is flat enough; a point that is lower is still progress.
    return low if low.value < start.value else None


def _interpolate(low: Probe, high: Probe) -> float:
    """The minimum of the cubic through both ends, kept a tenth of the interval away from them."""
    a, b = sorted((low.alpha, high.alpha))
    guess = _cubic_minimum(low, high)
    if guess is None:
        return (a + b) / 2
    margin = 0.1 * (b - a)
    return float(np.clip(guess, a + margin, b - margin))


def _extrapolate(low: Probe, new: Probe) -> float:
    """Beyond ``new``: the cubic's minimum, between 1.1 and 4 times as far as the last stretch."""
    stretch = new.alpha - low.alpha
    guess = _cubic_minimum(low, new)
    if guess is None or guess <= new.alpha:
        return new.alpha + 4 * stretch
    return float(np.clip(guess, new.alpha + 0.1 * stretch, new.alpha + 4 * stretch))


def _cubic_minimum(p: Probe, q: Probe) -> float | None:
    if not (np.isfinite(q.value) and np.isfinite(q.slope)):
        return None
    width = q.alpha - p.alpha
    d1 = p.slope + q.slope - 3 * (p.value - q.value) / (p.alpha - q.alpha)
    inside = d1**2 - p.slope * q.slope
    if not inside >= 0:
        return None
    d2 = np.copysign(np.sqrt(inside), width)
    bottom = q.slope - p.slope + 2 * d2
    return None if bottom == 0 else float(q.alpha - width * (q.slope + d2 - d1) / bottom)


@dataclass(frozen=True)
class LineSearch:
    """A step size with what it cost, and both Wolfe conditions as they stand at it."""

    alpha: float
    value: float
    evaluations: int
    gradient_evaluations: int
    sufficient_decrease: bool
    flat_enough: bool


@with_parameters(MINIMIZING)
def line_search(
    f: Function, grad: Gradient, x: Any, direction: Any, *, method: str = "wolfe", first: float = 1.0
) -> LineSearch:
    """How far to go from ``x`` along ``direction``.

    ``bracket`` takes the middle of a bracketing triple, ``golden`` narrows it to the minimum (the exact
    search), ``armijo`` backtracks, ``wolfe`` searches for the strong Wolfe conditions.

    Parameters
    ----------
    x : array-like
        Where to start.
    direction : array-like
        Where to go; it must lead downhill.
    method : {"wolfe", "armijo", "golden", "bracket"}
        What is searched for.
    first : float
        The first step size to try.

    Examples
    --------
    >>> f, g = lambda x: x @ x, lambda x: 2 * x
    >>> round(line_search(f, g, [1.0, 2.0], [-2.0, -4.0], method="golden").alpha, 6)
    0.5
    """
    objective = Objective("line_search", f, grad, x)
    p = objective.flat(direction, "direction")
    value, gradient = objective.both(objective.x)
    slope = float(gradient @ p)
    if not slope < 0:
        raise ValueError(f"line_search: direction must go downhill; its slope is {slope:.6g}.")

    def phi(alpha: float) -> float:
        return objective.value(objective.x + alpha * p)

    def probe(alpha: float) -> Probe:
        at, gradient = objective.both(objective.x + alpha * p)
        return Probe(alpha, at, float(gradient @ p), gradient)

    alpha: float | None
    if method == "bracket":
        alpha = bracket(phi, first)[1]
    elif method == "golden":
        a, _, c = bracket(phi, first)
        alpha = golden_section(phi, a, c)
    elif method == "armijo":
        pair = backtracking(phi, value, slope, first=first)
        alpha = None if pair is None else pair[0]
    elif method == "wolfe":
        point = strong_wolfe(probe, Probe(0.0, value, slope, gradient), first=first)
        alpha = None if point is None else point.alpha
    else:
        raise ValueError(f"line_search: method must be bracket, golden, armijo or wolfe; got {method!r}.")
    if alpha is None:
        raise ValueError(f"line_search: {method} found no step that lowers the function enough.")
    cost = objective.evaluations, objective.gradient_evaluations
    end = probe(alpha)
    decrease = end.value <= value + ARMIJO * alpha * slope
    return LineSearch(alpha, end.value, *cost, decrease, abs(end.slope) <= CURVATURE * abs(slope))
