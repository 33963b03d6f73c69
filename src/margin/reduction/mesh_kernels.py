"""Charges of points onto the nodes of a mesh and fields from the nodes back to the points, compiled."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["gather_fields", "spread_charges"]


@njit(cache=True, inline="always")
def _weights(t, w):
    """Cubic Lagrange weights of the nodes -1, 0, 1, 2 at a point t from 0 to 1."""
    w[0] = -t * (t - 1.0) * (t - 2.0) / 6.0
    w[1] = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0
    w[2] = -(t + 1.0) * t * (t - 2.0) / 2.0
    w[3] = (t + 1.0) * t * (t - 1.0) / 6.0


@njit(cache=True, nogil=True)
def spread_charges(points, origin, spacing, mesh):
    """Add a unit charge of every point (2, n) to the sixteen nodes around it; one thread, so the order is fixed."""
    a, b = np.empty(4), np.empty(4)
    for i in range(points.shape[1]):
        u, v = (points[0, i] - origin[0]) / spacing, (points[1, i] - origin[1]) / spacing
        row, column = int(u), int(v)
        _weights(u - row, a)
        _weights(v - column, b)
        for k in range(4):
            for m in range(4):
                mesh[row - 1 + k, column - 1 + m] += a[k] * b[m]


@njit(cache=True, nogil=True)
def gather_fields(low, high, points, origin, spacing, first, second, out):
    """The two fields at the points ``low`` to ``high`` of ``points`` (2, n), into ``out`` (2, n)."""
    a, b = np.empty(4), np.empty(4)
    for i in range(low, high):
        u, v = (points[0, i] - origin[0]) / spacing, (points[1, i] - origin[1]) / spacing
        row, column = int(u), int(v)
        _weights(u - row, a)
        _weights(v - column, b)
        x, y = 0.0, 0.0
        for k in range(4):
            for m in range(4):
                w = a[k] * b[m]
                x += w * first[row - 1 + k, column - 1 + m]
                y += w * second[row - 1 + k, column - 1 + m]
        out[0, i], out[1, i] = x, y
