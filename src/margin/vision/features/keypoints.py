"""Keypoints and how those of two images are matched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Keypoints", "match_descriptors", "sample"]


class Keypoints(NamedTuple):
    """Places of an image that are found again in other images of the same thing, with what surrounds them.

    ``positions`` (n, 2) are row and column, ``scales`` the size of the blob (its standard deviation in pixels),
    ``orientations`` the direction of the gradient around it in radians, ``descriptors`` one row each.
    """

    positions: np.ndarray
    scales: np.ndarray
    orientations: np.ndarray
    descriptors: np.ndarray

    def __len__(self) -> int:
        return len(self.scales)


def sample(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Values between pixels, by bilinear interpolation; the edge continues."""
    from scipy.ndimage import map_coordinates

    return map_coordinates(image, [rows, columns], order=1, mode="nearest")


def match_descriptors(a: np.ndarray, b: np.ndarray, ratio: float = 0.8) -> np.ndarray:
    """Pairs (i, j) whose descriptors are mutually nearest and clearly nearer than the second nearest (Lowe's test).

    >>> match_descriptors(np.eye(3), np.eye(3)[::-1]).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    if len(a) == 0 or len(b) < 2:
        return np.empty((0, 2), dtype=int)
    distance = np.sqrt(np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T, 0))
    order = np.argsort(distance, axis=1)
    rows = np.arange(len(a))
    clear = distance[rows, order[:, 0]] < ratio * distance[rows, order[:, 1]]
    mutual = distance.argmin(axis=0)[order[:, 0]] == rows
    matched = clear & mutual
    return np.column_stack([rows[matched], order[matched, 0]])
