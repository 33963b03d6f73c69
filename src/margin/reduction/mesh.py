r"""Repulsion between all points of a plane in n log n operations: charges on a mesh, convolved by FFT.

.. math:: F_i = \sum_j \frac{y_i - y_j}{(1 + \lVert y_i - y_j\rVert^2)^2},\qquad
          Z = \sum_{i,j} \frac1{1 + \lVert y_i - y_j\rVert^2} .

Every point is replaced by charges on the sixteen nodes around it (cubic interpolation), the fields of all nodes are two
convolutions, and the fields at a point are interpolated back with the same weights. The kernel of the force is odd, so
one forward and two inverse transforms are enough, and Z follows from the transforms themselves (Parseval).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from scipy import fft

from margin.core.parallel import over_ranges

__all__ = ["mesh_repulsion"]

FEWEST_NODES = 16  # across the points
SMALLEST_WIDTH = 1e-6  # of all points; nearer ones repel each other by less than rounding
MARGIN = 3  # nodes around the points: one before and two after the cell of a point
# Lengths of the transform: products of 2, 3 and 5 about a tenth apart, so that kernels are transformed only when the
# points have spread that far.
LENGTHS = sorted(2**a * 3**b * 5**c for a, b, c in product(range(2, 15), range(4), range(3)))


def mesh_repulsion(points: np.ndarray, spacing: float, threads: int = 1) -> tuple[np.ndarray, float]:
    """Forces (d, n) and Z (each point with itself included) of ``points`` (d, n), d at most 2, float32.

    The error of a force is about one percent of its size at a ``spacing`` of a third, and falls with its fourth power.
    """
    from margin.compiled.reduction import gather_fields, spread_charges

    d, n = points.shape
    plane = points if d == 2 else np.vstack([points, np.zeros_like(points)])
    low, high = plane.min(axis=1).astype(np.float64), plane.max(axis=1).astype(np.float64)
    while spacing * FEWEST_NODES > max(float((high - low).max()), SMALLEST_WIDTH):
        spacing /= 2  # points that lie close together are seen by a finer mesh
    origin = low - spacing
    sizes = [int(np.ceil((high[a] - low[a]) / spacing)) + MARGIN + 1 for a in range(2)]
    lengths = tuple(_length(2 * size) for size in sizes)
    mesh = np.zeros(lengths)
    spread_charges(plane, origin, spacing, mesh)
    charges = fft.rfft2(mesh.astype(np.float32), workers=threads)
    potential, rows, columns = _kernels(*lengths, spacing)
    fields = [fft.irfft2(charges * kernel, s=lengths, workers=threads) for kernel in (rows, columns)]
    force = np.empty((2, n))
    over_ranges(
        lambda low, high: gather_fields(low, high, plane, origin, spacing, fields[0], fields[1], force), n, threads
    )
    power = charges.real.astype(np.float64) ** 2 + charges.imag.astype(np.float64) ** 2
    return force[:d], float((power * potential).sum()) / mesh.size


@lru_cache(maxsize=4)
def _kernels(rows: int, columns: int, spacing: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transforms of 1 / (1 + r^2), halves counted twice as Parseval needs them, and of x and y / (1 + r^2)^2."""
    x = spacing * rows * fft.fftfreq(rows)[:, None]
    y = spacing * columns * fft.fftfreq(columns)[None, :]
    similarity = 1 / (1 + x**2 + y**2)
    potential = fft.rfft2(similarity).real
    potential[:, 1 : (columns + 1) // 2] *= 2
    # The force of the farthest node has no sign: it would be its own mirror image.
    steps = [np.where(np.abs(away) < 0.5 * size * spacing, away, 0.0) for away, size in ((x, rows), (y, columns))]
    row_force, column_force = (fft.rfft2(step * similarity**2).astype(np.complex64) for step in steps)
    return potential, row_force, column_force


def _length(least: int) -> int:
    return next(length for length in LENGTHS if length >= least)
