"""Contracting the derivatives of a kernel matrix with respect to all length scales, in one pass over a triangle."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstMatrix, ConstVector, Matrix, Vector, kernel
from margin.kernels.gaussian_process.radial import TILE

__all__ = ["contract_triangle"]


@kernel
def contract_triangle(
    inverse: ConstMatrix,
    slope: ConstMatrix,
    columns: ConstMatrix,
    left: ConstVector,
    right: ConstVector,
    scale: ConstVector,
    sums: Matrix,
    result: Vector,
) -> cython.void:
    r"""Sum over i > j of (l_i r_j + r_i l_j - s_i s_j A_ij) G_ij (x_ik - x_jk)^2 for every column k, into ``result``.

    A is read from the lower triangle of ``inverse`` (n, n), G from the upper one of ``slope`` (n, n; both may be
    one array); ``columns`` is X^T (d, n). The sums run over the rows of a tile side by side, so the inner loops need
    no reordering of a sum to be vectorized: ``sums`` (d, TILE), which are zeros before, as ``result`` (d,) is.
    """
    weights = cython.declare(cython.double[TILE])
    d = columns.shape[0]
    n = columns.shape[1]
    for row in range((n + TILE - 1) // TILE):
        top = row * TILE
        for column in range(row + 1):
            first = column * TILE
            for i in range(top, min(top + TILE, n)):
                count = min(TILE, i - first)
                for t in range(count):
                    j = first + t
                    pull = left[i] * right[j] + right[i] * left[j] - scale[i] * scale[j] * inverse[i, j]
                    weights[t] = pull * slope[j, i]
                for k in range(d):
                    here = columns[k, i]
                    for t in range(count):
                        away = here - columns[k, first + t]
                        sums[k, t] += weights[t] * away * away
    for k in range(d):
        for t in range(TILE):
            result[k] += sums[k, t]
