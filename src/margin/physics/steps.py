r"""Explicit methods with a fixed step, for states that are numbers, arrays or tensors (and so differentiable).

.. math:: \frac{dy}{dt} = f(t, y), \qquad y(t_0) = y_0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.physics.tableaus import EXPLICIT, Tableau

__all__ = ["Slope", "euler", "explicit_step", "midpoint", "rk4", "rk4_slopes", "walk"]

Slope = Callable[[Any, Any], Any]  # f(t, y)


def explicit_step(f: Slope, t: Any, y: Any, h: Any, tableau: Tableau, first: Any = None) -> tuple[Any, list[Any]]:
    """The state after one step, and the slopes it was made from; ``first`` is the first of them where it is known."""
    slopes = [f(t, y) if first is None else first]
    moved = _moved_tensor if hasattr(y, "detach") and isinstance(h, float) else _move
    for node, row in zip(tableau.c[1:], tableau.a[1:]):
        slopes.append(f(t + node * h, moved(y, h, row, slopes)))
    return moved(y, h, tableau.b, slopes), slopes


def _move(y: Any, h: Any, weights: tuple[float, ...], slopes: list[Any]) -> Any:
    return y + h * _combine(weights, slopes)


def _moved_tensor(y: Any, h: float, weights: tuple[float, ...], slopes: list[Any]) -> Any:
    """The same with one operation per slope, each of which would cost a pass forward and one back."""
    for weight, slope in zip(weights, slopes):
        y = y.add(slope, alpha=h * weight) if weight else y
    return y


def _combine(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    terms = [weight * slope for weight, slope in zip(weights, slopes) if weight]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def walk(f: Slope, y0: Any, t0: float, h: float, n: int, tableau: Tableau) -> tuple[np.ndarray, Any]:
    """Times t0, t0 + h, ... and the states there, n + 1 of each, stacked along a new first axis."""
    if n < 0 or not np.isfinite(h):
        raise ValueError(f"walk: n must be at least 0 and h finite; got n={n}, h={h}.")
    times = t0 + h * np.arange(n + 1)
    y = y0 if hasattr(y0, "detach") else np.asarray(y0, dtype=np.float64)
    states = [y]
    for t in times[:-1]:
        y, _ = explicit_step(f, float(t), y, h, tableau)
        states.append(y)
    return times, stack(states)


def stack(states: list[Any]) -> Any:
    """States along a new first axis, as an array or, of tensors, a tensor."""
    if not hasattr(states[0], "detach"):
        return np.stack([np.asarray(state) for state in states])
    import torch

    return torch.stack(states)


def euler(f: Slope, y0: Any, t0: float, h: float, n: int) -> tuple[np.ndarray, Any]:
    """Follow the slope at the start of every step: :math:`y_{n+1} = y_n + h f(t_n, y_n)`, of order 1.

    >>> t, y = euler(lambda t, y: y, 1.0, 0.0, 0.5, 2)
    >>> y.tolist()
    [1.0, 1.5, 2.25]
    """
    return walk(f, y0, t0, h, n, EXPLICIT["euler"])


def midpoint(f: Slope, y0: Any, t0: float, h: float, n: int) -> tuple[np.ndarray, Any]:
    """Follow the slope in the middle of every step, found by half an Euler step: order 2."""
    return walk(f, y0, t0, h, n, EXPLICIT["midpoint"])


def rk4(f: Slope, y0: Any, t0: float, h: float, n: int) -> tuple[np.ndarray, Any]:
    r"""The classical method: :math:`y_{n+1} = y_n + \frac h6 (k_1 + 2k_2 + 2k_3 + k_4)`, of order 4."""
    return walk(f, y0, t0, h, n, EXPLICIT["rk4"])


def rk4_slopes(f: Slope, t: float, y: Any, h: float) -> tuple[Any, list[Any]]:
    """One classical step: the state after it and its slopes at the start, twice in the middle and at the end."""
    return explicit_step(f, t, y, h, EXPLICIT["rk4"])
