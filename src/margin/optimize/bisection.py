r"""Bisection: the intermediate value theorem as an algorithm.

.. math:: f \text{ continuous on } [a, b],\quad f(a)\,f(b) < 0 \quad\Longrightarrow\quad
          \exists\, x \in (a, b):\ f(x) = 0
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["bisect"]


def bisect(f: Callable[[float], float], a: float, b: float, *, tol: float = 1e-12) -> float:
    r"""A root of ``f`` between ``a`` and ``b``, where its signs must differ; halved until shorter than ``tol``.

    Every half keeps the change of sign, so :math:`\log_2((b - a)/\text{tol})` halvings are enough; the interval never
    gets shorter than the spacing of floating-point numbers. Where ``f`` jumps over 0, the jump is found.

    Parameters
    ----------
    f : callable
        A continuous function of a number.
    a : float
        One end of the interval.
    b : float
        Its other end.
    tol : float
        The length of the interval at which it ends.

    Examples
    --------
    >>> bisect(lambda x: x * x - 2, 0, 2) - 2**0.5 < 1e-12
    True
    """
    low, high = float(a), float(b)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"bisect: a must be below b, both finite; got {a!r} and {b!r}.")
    if not tol > 0:
        raise ValueError(f"bisect: tol must be above 0; got {tol!r}.")
    below, above = _value(f, low), _value(f, high)
    if below == 0 or above == 0:
        return low if below == 0 else high
    if (below < 0) == (above < 0):
        raise ValueError(f"bisect: f must have different signs at a and b; got {below:.6g} and {above:.6g}.")
    while high - low > tol:
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        value = _value(f, middle)
        if value == 0:
            return middle
        if (value < 0) == (below < 0):
            low = middle
        else:
            high = middle
    return low + (high - low) / 2


def _value(f: Callable[[float], float], x: float) -> float:
    value = float(f(x))
    if math.isnan(value):
        raise ValueError(f"bisect: f must be a number everywhere between a and b; got nan at {x:.17g}.")
    return value
