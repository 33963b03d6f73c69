"""A convolution as the matrix of a dense layer: local (mostly zeros) and shared (every row has the same weights)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["linear_map_matrix"]


def linear_map_matrix(function: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The matrix of a linear ``function`` of arrays (N, *shape): its values at the unit arrays, as columns.

    >>> linear_map_matrix(lambda x: x[:, :, 1:] - x[:, :, :-1], (1, 3))
    array([[-1.,  1.,  0.],
           [ 0., -1.,  1.]])
    """
    size = int(np.prod(shape))
    return function(np.eye(size).reshape(size, *shape)).reshape(size, -1).T
