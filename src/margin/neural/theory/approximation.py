r"""Networks that are built, not trained: universal approximation step by step.

A steep sigmoid is nearly a step, two steps are a bump, bumps of the right heights follow any continuous function on a
compact set. Rectifiers interpolate. Each construction says how many units it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import comb

from margin.neural.theory.network import DenseNetwork

__all__ = [
    "bernstein", "finite_set_network", "interpolation_network", "interval_network", "lipschitz_estimate",
    "random_feature_fit", "step_network", "walls_network",
]  # fmt: skip

Array = np.ndarray
Function = Callable[[Array], Array]
STEEP = 40.0  # sigmoid(-40 / 2) is 2e-9: half a unit away from its threshold a step is flat to that


def finite_set_network(
    values: Sequence[float] | Array, merged: bool = False, *, shift: float = 0.5, slope: float = STEEP
) -> DenseNetwork:
    r"""A sigmoid network with the given values at 1, 2, ..., S: :math:`\sum_s f(s)\,(1[x \ge s] - 1[x \ge s+1])`.

    Steps stand ``shift`` before the points: at a point itself a sigmoid is 1/2, however steep. There are 2S units;
    ``merged`` joins those of one threshold and leaves out the last, whose step comes after all points: S units.

    >>> finite_set_network([3.0, -1.0, 2.0])(np.array([1.0, 2.0, 3.0])).ravel().round(6)
    array([ 3., -1.,  2.])
    """
    f = np.asarray(values, dtype=float)
    points = np.arange(1, len(f) + 1)
    return _steps(points - shift, points + 1 - shift, f, slope=slope, merged=merged)


def step_network(
    f: Function, a: float, b: float, n_pieces: int, *, steepness: float = STEEP, merged: bool = False
) -> DenseNetwork:
    """Bumps on ``n_pieces`` equal parts of [a, b], each as high as ``f`` in its middle; 2 units each, or 1 ``merged``.

    ``steepness`` is the slope of the sigmoids times the width of a part.
    """
    edges = np.linspace(a, b, n_pieces + 1)
    heights = np.asarray(f((edges[1:] + edges[:-1]) / 2), dtype=float)
    width = (b - a) / n_pieces
    # The outermost steps stand before a and behind b, so that the ends have full height.
    starts, ends = edges[:-1].copy(), edges[1:].copy()
    starts[0] -= width
    ends[-1] += width
    return _steps(starts, ends, heights, slope=steepness / width, merged=merged)


def interval_network(
    f: Function, a: float, b: float, lipschitz: float, eps: float, *, merged: bool = False, tight: bool = False
) -> DenseNetwork:
    r"""Within ``eps`` of ``f`` on [a, b]: :math:`N = \lceil L(b-a)/\varepsilon\rceil` parts, 2N units.

    From the middle of a part no point is further than half its width, so ``tight`` takes half as many parts.

    >>> net = interval_network(np.sin, 0.0, 6.0, lipschitz=1.0, eps=0.1)
    >>> x = np.linspace(0, 6, 5000)
    >>> bool(np.abs(net(x)[:, 0] - np.sin(x)).max() < 0.1), net.n_hidden
    (True, 120)
    """
    n_pieces = max(1, math.ceil(lipschitz * (b - a) / (2 * eps if tight else eps) - 1e-9))
    return step_network(f, a, b, n_pieces, merged=merged)


def _steps(starts: Array, ends: Array, heights: Array, *, slope: float, merged: bool) -> DenseNetwork:
    """A step up to every height at its start and down from it at its end."""
    if merged:
        thresholds, weights = starts, np.diff(heights, prepend=0.0)
    else:
        thresholds, weights = np.ravel(np.c_[starts, ends]), np.ravel(np.c_[heights, -heights])
    hidden = np.full((len(thresholds), 1), slope)
    return DenseNetwork([hidden, weights[None]], [-slope * thresholds, np.zeros(1)], "sigmoid")


def walls_network(f: Function, low: float, high: float, n_cells: int, *, steepness: float = 60.0) -> DenseNetwork:
    r"""A function of two variables on a square, cell by cell, with two hidden layers.

    The first layer has the walls :math:`1[x_i \ge t]`. A point is in a cell if it is behind two walls and not behind
    the next two: :math:`1[x_1 \ge s] - 1[x_1 \ge s'] + 1[x_2 \ge t] - 1[x_2 \ge t'] > 1.5`. This threshold is the
    second layer, one unit per cell; without it the sum is 1 in the whole row and column of the cell.
    """
    edges = np.linspace(low, high, n_cells + 1)
    width = (high - low) / n_cells
    walls = edges + np.where(edges == low, -width, 0) + np.where(edges == high, width, 0)
    slope, m = steepness / width, n_cells + 1
    W1 = slope * np.kron(np.eye(2), np.ones((m, 1)))  # (2m, 2): walls of the first input, then of the second
    i, j = (part.ravel() for part in np.meshgrid(np.arange(n_cells), np.arange(n_cells), indexing="ij"))
    W2 = np.zeros((n_cells**2, 2 * m))
    cells = np.arange(n_cells**2)
    W2[cells, i], W2[cells, i + 1], W2[cells, m + j], W2[cells, m + j + 1] = 1.0, -1.0, 1.0, -1.0
    middle = (edges[1:] + edges[:-1]) / 2
    heights = np.asarray(f(np.c_[middle[i], middle[j]]), dtype=float)
    biases = [-slope * np.tile(walls, 2), np.full(n_cells**2, -1.5 * steepness), np.zeros(1)]
    return DenseNetwork([W1, steepness * W2, heights[None]], biases, "sigmoid")


def interpolation_network(f: Function, a: float, b: float, n_units: int) -> DenseNetwork:
    """D rectifiers that join ``f`` at D + 1 equally spaced points by straight lines.

    >>> net = interpolation_network(np.sin, 0.0, 2 * np.pi, 4)
    >>> x = np.linspace(0, 2 * np.pi, 4001)
    >>> float(np.abs(net(x)[:, 0] - np.sin(x)).max().round(4))
    0.2105
    """
    knots = np.linspace(a, b, n_units + 1)
    heights = np.asarray(f(knots), dtype=float)
    phi = np.diff(np.diff(heights) / np.diff(knots), prepend=0.0)  # the change of slope at every knot
    return DenseNetwork([np.ones((n_units, 1)), phi[None]], [-knots[:-1], heights[:1]])


def random_feature_fit(
    x: Array, y: Array, n_units: int, activation: Function, rng: np.random.Generator
) -> tuple[Array, int]:
    """Least squares on randomly drawn hidden units: the fitted values, and the rank of the units on ``x``."""
    w, b = rng.normal(scale=4.0, size=n_units), rng.uniform(-4, 4, n_units)
    hidden = np.c_[activation(x[:, None] * w + b), np.ones(len(x))]
    solution, _, rank, _ = np.linalg.lstsq(hidden, y, rcond=1e-13)
    return hidden @ solution, int(rank)


def bernstein(f: Function, degree: int) -> Function:
    r"""The polynomial :math:`\sum_k f(k/n)\binom{n}{k}x^k(1-x)^{n-k}`, which tends to f on [0, 1] everywhere at once.

    >>> float(bernstein(lambda x: x, 5)(np.array([0.3]))[0].round(12))
    0.3
    """
    k = np.arange(degree + 1)
    coefficients = np.asarray(f(k / degree), dtype=float) * comb(degree, k)

    def polynomial(x: Any) -> Array:
        x = np.asarray(x, dtype=float)[..., None]
        return (coefficients * x**k * (1 - x) ** (degree - k)).sum(axis=-1)

    return polynomial


def lipschitz_estimate(f: Function, a: float, b: float, n_points: int = 2001) -> float:
    """The steepest slope between neighbors of a grid: never above the Lipschitz constant.

    >>> round(lipschitz_estimate(np.sin, 0.0, 7.0), 5)
    1.0
    """
    x = np.linspace(a, b, n_points)
    return float(np.abs(np.diff(f(x)) / np.diff(x)).max())
