"""What can be found out about an activation by calling it: range, smoothness, and whether its derivative is right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.polynomial import Chebyshev
from torch import Tensor

__all__ = ["derivative_gap", "measured_range", "smoothness"]

Function = Callable[[Tensor], Tensor]

DEGREE = 12  # of the polynomials fitted to either side of a point
REACH = 0.5  # how far they reach
JUMP = 1e-3  # a derivative that jumps by more than this is not continuous; rounding leaves 1e-6 in the third one


def measured_range(function: Function, reach: float = 30.0, points: int = 200_001) -> tuple[float, float]:
    """Smallest and largest value on an even grid from ``-reach`` to ``reach``.

    >>> measured_range(torch.relu)
    (0.0, 30.0)
    """
    values = function(torch.linspace(-reach, reach, points, dtype=torch.float64))
    return float(values.min()), float(values.max())


def smoothness(function: Function, at: float = 0.0, order: int = 3) -> int:
    r"""How many derivatives are continuous at a point: -1 for a jump, 0 for a corner, at most ``order``.

    A polynomial is fitted to each side; their derivatives at the point are the one-sided ones.

    >>> smoothness(torch.relu), smoothness(torch.tanh)
    (0, 3)
    """
    left, right = (_one_sided(function, at, side * REACH, order) for side in (-1, 1))
    agree = np.abs(left - right) <= JUMP * np.maximum(1, np.abs(left))
    return int(np.argmin(agree)) - 1 if not agree.all() else order


def _one_sided(function: Function, at: float, reach: float, order: int) -> np.ndarray:
    """Value and derivatives at a point, from values on one side of it."""
    nodes = at + reach * (1 - np.cos(np.pi * (np.arange(4 * DEGREE) + 0.5) / (4 * DEGREE))) / 2
    fit = Chebyshev.fit(nodes, function(torch.from_numpy(nodes)).numpy(), DEGREE)
    return np.array([(fit.deriv(k) if k else fit)(at) for k in range(order + 1)])


def derivative_gap(function: Function, slope: Function, x: Tensor, step: float = 1e-5) -> Tensor:
    r"""At every entry of ``x``, how far ``slope`` is from :math:`(f(x + h) - f(x - h))/2h`.

    >>> bool(derivative_gap(torch.sin, torch.cos, torch.tensor([0.3, 2.0], dtype=torch.float64)).max() < 1e-9)
    True
    """
    return (slope(x) - (function(x + step) - function(x - step)) / (2 * step)).abs()
