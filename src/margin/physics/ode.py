r"""Ordinary differential equations: one way in for all methods, linear equations of any order, integral curves.

.. math:: F(x, y, y', \ldots, y^{(n)}) = 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from margin.physics.adaptive import dormand_prince
from margin.physics.implicit import implicit_walk, solve_stiff
from margin.physics.steps import Slope, walk
from margin.physics.tableaus import EXPLICIT, IMPLICIT

__all__ = ["integral_curve", "linear_system", "observed_order", "solve_ode"]


def solve_ode(
    f: Slope,
    y0: Any,
    t: Any,
    *,
    method: str = "dopri5",
    steps: int | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> np.ndarray:
    """States of dy/dt = f(t, y) at the times ``t``, the first of which is where ``y0`` holds: (len(t), d).

    ``steps`` equal steps between two times make the method one of fixed step; without it 'dopri5' and the implicit
    methods choose their own.

    >>> y = solve_ode(lambda t, y: [y[1], -y[0]], [0.0, 1.0], [0.0, np.pi / 2, np.pi])
    >>> np.abs(y[:, 0] - [0, 1, 0]).max() < 1e-7
    np.True_
    """
    times = np.asarray(t, dtype=np.float64)
    if times.ndim != 1 or len(times) < 2 or len({*np.sign(np.diff(times))} - {0.0}) != 1 or 0 in np.diff(times):
        raise ValueError("solve_ode: t must be at least two times that only rise or only fall.")
    if method not in (*EXPLICIT, *IMPLICIT):
        raise ValueError(f"solve_ode: method must be one of {', '.join((*EXPLICIT, *IMPLICIT))}; got {method!r}.")

    def slope(time: float, y: np.ndarray) -> np.ndarray:
        return np.asarray(f(time, y), dtype=np.float64)

    span = (float(times[0]), float(times[-1]))
    if steps is None and method == "dopri5":
        return dormand_prince(slope, y0, span, rtol=rtol, atol=atol)(times)
    y = np.atleast_1d(np.array(y0, dtype=np.float64))
    states = [y]
    for start, end in pairwise(times):
        if steps is None and method in IMPLICIT:
            y = solve_stiff(slope, y, (start, end), method=method, rtol=rtol, atol=atol).y[-1]
        elif steps is None:
            raise ValueError(f"solve_ode: method {method!r} has no error estimate of its own; steps must be given.")
        elif method in IMPLICIT:
            y = implicit_walk(slope, y, start, (end - start) / steps, steps, method)[1][-1]
        else:
            y = walk(slope, y, start, (end - start) / steps, steps, EXPLICIT[method])[1][-1]
        states.append(y)
    return np.stack(states)


def linear_system(coefficients: Sequence[Callable[[float], float]], b: Callable[[float], float] | None = None) -> Slope:
    r"""The system behind :math:`a_0(x) y + a_1(x) y' + \dots + a_n(x) y^{(n)} + b(x) = 0`.

    Its state is :math:`(y, y', \ldots, y^{(n-1)})`; the last one changes by
    :math:`y^{(n)} = -(b + \sum_{k<n} a_k y^{(k)}) / a_n`.
    """
    if len(coefficients) < 2:
        raise ValueError(f"linear_system: needs a_0 to a_n with n at least 1; got {len(coefficients)} coefficients.")

    def slope(x: float, state: Any) -> np.ndarray:
        state = np.asarray(state, dtype=np.float64)
        *lower, highest = (float(a(x)) for a in coefficients)
        if highest == 0:
            raise ZeroDivisionError(f"linear_system: the highest coefficient vanishes at x = {x:g}.")
        return np.append(state[1:], -((0.0 if b is None else b(x)) + np.dot(lower, state)) / highest)

    return slope


def integral_curve(field: Callable[[np.ndarray], Any], start: Any, t: Any) -> np.ndarray:
    """Points at the times ``t`` of the curve from ``start`` whose tangent is everywhere the ``field`` of points."""
    return solve_ode(lambda _, y: field(y), start, t)


def observed_order(error: Callable[[float], float], h: float) -> float:
    """The power of the step with which an error falls, from two steps: log2 of error(h) / error(h / 2)."""
    return float(np.log2(error(h) / error(h / 2)))
