r"""The linear pieces of a rectifier network with one hidden layer, exactly.

.. math:: y(x) = \sum_d \phi_d\,\mathrm{relu}(w_d^\top x + b_d) + \phi_0

In one dimension each unit bends the line at its joint :math:`-b_d/w_d`. In two, each unit cuts the plane along a line;
in a cell between the lines y is affine, so the boundary y = 0 crosses it in one segment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Box", "Cell", "boundary_segments", "clip_polygon", "joints", "linear_regions"]

Array = np.ndarray
Box = tuple[float, float, float, float]  # left, right, bottom, top


class Cell(NamedTuple):
    """A convex polygon, and the gradient and constant of the affine function that y is in it."""

    corners: Array  # (k, 2)
    gradient: Array  # (2,)
    constant: float


def joints(w: Array, b: Array, phi: Array) -> Array:
    """Where a one-dimensional network bends, in order: one place for every unit with non-zero weights.

    >>> joints(np.array([1.0, 2.0, 0.0]), np.array([0.0, -1.0, 3.0]), np.array([1.0, 1.0, 1.0]))
    array([-0. ,  0.5])
    """
    acts = (w != 0) & (phi != 0)
    return np.unique(-b[acts] / w[acts])


def linear_regions(w: Array, b: Array, phi: Array, phi_0: float, box: Box) -> list[Cell]:
    """The cells into which the lines of the hidden units, ``w`` of shape (D, 2), cut the box.

    >>> len(linear_regions(np.eye(2), np.zeros(2), np.ones(2), 0.0, (-1, 1, -1, 1)))
    4
    """
    left, right, bottom, top = box
    polygons = [np.array([[left, bottom], [right, bottom], [right, top], [left, top]], dtype=float)]
    for direction, offset in zip(w, b):
        halves = (clip_polygon(polygon, sign * direction, sign * offset) for polygon in polygons for sign in (1, -1))
        polygons = [half for half in halves if len(half) > 2]
    cells = []
    for polygon in polygons:
        active = phi * (w @ polygon.mean(axis=0) + b > 0)
        cells.append(Cell(polygon, active @ w, float(active @ b + phi_0)))
    return cells


def boundary_segments(cells: list[Cell]) -> list[Array]:
    """The boundary y = 0 as straight segments, (2, 2) each: at most one in every cell.

    >>> cells = linear_regions(np.eye(2), np.zeros(2), np.ones(2), -0.5, (-1, 1, -1, 1))
    >>> len(boundary_segments(cells))
    3
    """
    segments = []
    for corners, gradient, constant in cells:
        y = corners @ gradient + constant
        after, y_after = np.roll(corners, -1, axis=0), np.roll(y, -1)
        crossed = (y > 0) != (y_after > 0)
        t = y[crossed] / (y[crossed] - y_after[crossed])
        points = corners[crossed] + t[:, None] * (after[crossed] - corners[crossed])
        if len(points) == 2 and not np.allclose(*points):
            segments.append(points)
    return segments


def clip_polygon(polygon: Array, direction: Array, offset: float) -> Array:
    """The part of a convex polygon where ``direction @ x + offset >= 0``."""
    side = polygon @ direction + offset
    kept: list[Array] = []
    for a, b, u, v in zip(polygon, np.roll(polygon, -1, axis=0), side, np.roll(side, -1)):
        if u >= 0:
            kept.append(a)
        if (u > 0 > v) or (u < 0 < v):
            kept.append(a + u / (u - v) * (b - a))
    return np.array(kept).reshape(-1, 2)
