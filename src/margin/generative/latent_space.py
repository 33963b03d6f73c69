"""Working with codes: paths between rows, directions of attributes, and how regular and how sharp decodings are."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.spatial import cKDTree

from margin.core.array_types import MatrixLike

__all__ = ["attribute_direction", "interpolate", "nearest_distances", "path_roughness", "sharpness"]


class Coder(Protocol):
    """An autoencoder, variational or not."""

    def transform(self, X: MatrixLike) -> np.ndarray: ...

    def decode(self, Z: Any) -> np.ndarray: ...


def interpolate(model: Coder, first: np.ndarray, second: np.ndarray, steps: int) -> np.ndarray:
    r"""Decodings of :math:`(1 - t)\,f(x_1) + t\,f(x_2)` at ``steps`` equal distances from 0 to 1, (steps, columns)."""
    start, end = model.transform(np.stack([first, second]))
    t = np.linspace(0, 1, steps)[:, None]
    return model.decode((1 - t) * start + t * end)


def attribute_direction(model: Coder, having: np.ndarray, lacking: np.ndarray) -> np.ndarray:
    """Difference of the mean codes of rows with and without an attribute."""
    return model.transform(having).mean(axis=0) - model.transform(lacking).mean(axis=0)


def path_roughness(path: np.ndarray) -> float:
    r""":math:`T\sum_t\|x_{t+1} - x_t\|^2 / (\sum_t \|x_{t+1} - x_t\|)^2`: 1 for equal steps, T for one jump.

    >>> path_roughness(np.array([[0.0], [1.0], [2.0]])), path_roughness(np.array([[0.0], [0.0], [2.0]]))
    (1.0, 2.0)
    """
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    return float(len(lengths) * np.square(lengths).sum() / max(lengths.sum() ** 2, 1e-300))


def nearest_distances(rows: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Distance of every row from the nearest row of ``reference``."""
    return cKDTree(np.asarray(reference, dtype=float)).query(np.asarray(rows, dtype=float))[0]


def sharpness(rows: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Mean squared difference of neighboring pixels of every image."""
    images = np.asarray(rows, dtype=float).reshape(-1, *shape)
    down, right = np.diff(images, axis=1), np.diff(images, axis=2)
    return np.square(down).mean(axis=(1, 2)) + np.square(right).mean(axis=(1, 2))
