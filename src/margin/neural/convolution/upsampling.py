r"""Larger images from smaller ones: repeat, interpolate, unpool, or weigh copies of a filter."""

from __future__ import annotations

import math

import numpy as np

from margin.neural.convolution.pooling import max_unpool
from margin.neural.convolution.transposed import conv_transpose

__all__ = ["UPSAMPLINGS", "interpolation_matrix", "resize", "upsample"]

UPSAMPLINGS = ("nearest", "bilinear", "unpool", "transposed")


def interpolation_matrix(n: int, scale: float, mode: str) -> np.ndarray:
    r"""How each of :math:`\lfloor n\,s\rfloor` entries follows from the n given ones.

    An entry is a pixel with a width, and i of the result has its middle at :math:`(i + \tfrac12)/s - \tfrac12`: the
    nearest entry is :math:`\lfloor i/s\rfloor`, and two neighbors count by their distance. Beyond the last middle
    there is nothing to interpolate, and the edge continues.

    >>> interpolation_matrix(2, 2, "bilinear")
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75],
           [0.  , 1.  ]])
    """
    m = math.floor(n * scale)
    i, matrix = np.arange(m), np.zeros((m, n))
    if mode == "nearest":
        matrix[i, np.minimum(np.floor(i / scale).astype(int), n - 1)] = 1
        return matrix
    if mode != "bilinear":
        raise ValueError(f"resize: mode must be 'nearest' or 'bilinear'; got {mode!r}.")
    middle = np.maximum((i + 0.5) / scale - 0.5, 0)
    left = np.minimum(np.floor(middle).astype(int), n - 1)
    part = middle - left
    np.add.at(matrix, (i, left), 1 - part)
    np.add.at(matrix, (i, np.minimum(left + 1, n - 1)), part)
    return matrix


def resize(x: np.ndarray, scale: float, mode: str = "bilinear") -> np.ndarray:
    """The last two axes ``scale`` times as long, both by the same rule one after the other."""
    rows, columns = (interpolation_matrix(n, scale, mode) for n in x.shape[-2:])
    return rows @ x @ columns.T


def upsample(
    x: np.ndarray,
    method: str,
    step: int,
    *,
    indices: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Images (N, C, H, W) with sides ``step`` times as long.

    'unpool' needs the ``indices`` of the pooling it goes back over; 'transposed' a ``weight`` (C, O, step, step), which
    is what a network learns.

    >>> upsample(np.array([[[[1, 2], [3, 4]]]]), "nearest", 2)[0, 0]
    array([[1., 1., 2., 2.],
           [1., 1., 2., 2.],
           [3., 3., 4., 4.],
           [3., 3., 4., 4.]])
    """
    if method in ("nearest", "bilinear"):
        return resize(x, step, method)
    if method == "unpool" and indices is not None:
        return max_unpool(x, indices, (x.shape[2] * step, x.shape[3] * step))
    if method == "transposed" and weight is not None and weight.shape[2:] == (step, step):
        return conv_transpose(x, weight, stride=step)
    raise ValueError(
        f"upsample: method must be one of {', '.join(UPSAMPLINGS)}, with indices for 'unpool' and a weight of "
        f"shape (C, O, {step}, {step}) for 'transposed'; got {method!r}."
    )
