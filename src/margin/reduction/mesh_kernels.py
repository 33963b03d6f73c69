"""Charges of points onto the nodes of a mesh, and fields from the nodes back to the points."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstMatrix32, ConstVector, Matrix, inner, kernel

__all__ = ["gather_fields", "spread_charges"]


@inner
def _weights(t: cython.double, w: cython.p_double) -> cython.void:
    """Cubic Lagrange weights of the nodes -1, 0, 1, 2 at a point t from 0 to 1."""
    w[0] = -t * (t - 1.0) * (t - 2.0) / 6.0
    w[1] = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0
    w[2] = -(t + 1.0) * t * (t - 2.0) / 2.0
    w[3] = (t + 1.0) * t * (t - 1.0) / 6.0


@kernel
def spread_charges(points: ConstMatrix32, origin: ConstVector, spacing: cython.double, mesh: Matrix) -> cython.void:
    """Add a unit charge of every point (2, n) to the sixteen nodes around it; one thread, so the order is fixed."""
    a = cython.declare(cython.double[4])
    b = cython.declare(cython.double[4])
    u: cython.double
    v: cython.double
    row: cython.Py_ssize_t
    column: cython.Py_ssize_t
    for i in range(points.shape[1]):
        u = (points[0, i] - origin[0]) / spacing
        v = (points[1, i] - origin[1]) / spacing
        row = int(u)
        column = int(v)
        row = row if row > 1 else 1  # rounding may leave the first point a hair before node 1
        column = column if column > 1 else 1
        _weights(u - row, a)
        _weights(v - column, b)
        for k in range(4):
            for m in range(4):
                mesh[row - 1 + k, column - 1 + m] += a[k] * b[m]


@kernel
def gather_fields(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    points: ConstMatrix32,
    origin: ConstVector,
    spacing: cython.double,
    first: ConstMatrix32,
    second: ConstMatrix32,
    out: Matrix,
) -> cython.void:
    """The two fields at the points ``low`` to ``high`` of ``points`` (2, n), into ``out`` (2, n)."""
    a = cython.declare(cython.double[4])
    b = cython.declare(cython.double[4])
    u: cython.double
    v: cython.double
    row: cython.Py_ssize_t
    column: cython.Py_ssize_t
    x: cython.double
    y: cython.double
    for i in range(low, high):
        u = (points[0, i] - origin[0]) / spacing
        v = (points[1, i] - origin[1]) / spacing
        row = int(u)
        column = int(v)
        row = row if row > 1 else 1  # rounding may leave the first point a hair before node 1
        column = column if column > 1 else 1
        _weights(u - row, a)
        _weights(v - column, b)
        x = 0.0
        y = 0.0
        for k in range(4):
            for m in range(4):
                w = a[k] * b[m]
                x += w * first[row - 1 + k, column - 1 + m]
                y += w * second[row - 1 + k, column - 1 + m]
        out[0, i] = x
        out[1, i] = y
