r"""Morphing: a path from one image to another along which points of the first move to points of the second.

At time t the points are :math:`p_t = (1-t)p_a + t p_b`. Both images are warped so that their points lie there, by the
thin-plate spline through them, and mixed with weights :math:`1-t` and :math:`t`.
"""

from __future__ import annotations

import numpy as np

from margin.vision.features.keypoints import sample

__all__ = ["morph", "warp"]


def warp(image: np.ndarray, points: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """The gray ``image`` bent so that what was at ``points`` (rows of row, column) is at ``moved``.

    The corners of the image stay. Every pixel of the result looks up where it comes from.
    """
    from scipy.interpolate import RBFInterpolator

    h, w = image.shape
    corners = np.array([[0, 0], [0, w - 1], [h - 1, 0], [h - 1, w - 1]], dtype=float)
    source, target = (np.concatenate([np.asarray(p, dtype=float), corners]) for p in (points, moved))
    displacement = RBFInterpolator(target, source - target, kernel="thin_plate_spline")
    grid = np.stack(np.meshgrid(np.arange(h), np.arange(w), indexing="ij"), axis=-1).reshape(-1, 2).astype(float)
    places = grid + displacement(grid)
    return sample(np.asarray(image, dtype=float), places[:, 0], places[:, 1]).reshape(h, w)


def morph(a: np.ndarray, b: np.ndarray, points_a: np.ndarray, points_b: np.ndarray, t: float) -> np.ndarray:
    """The image at time ``t`` of the way from ``a`` (0) to ``b`` (1); the points correspond row by row.

    >>> a, b = np.zeros((4, 4)), np.ones((4, 4))
    >>> float(morph(a, b, np.array([[1, 1]]), np.array([[2, 2]]), 0.25).mean())
    0.25
    """
    points_a, points_b = np.asarray(points_a, dtype=float), np.asarray(points_b, dtype=float)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"morph: both images must be gray and of one shape; got {a.shape} and {b.shape}.")
    if points_a.shape != points_b.shape or points_a.ndim != 2 or points_a.shape[1] != 2:
        raise ValueError(
            f"morph: points_a and points_b must be equally many rows of row and column; "
            f"got {points_a.shape} and {points_b.shape}."
        )
    if not 0 <= t <= 1:
        raise ValueError(f"morph: t must lie in [0, 1]; got {t!r}.")
    between = (1 - t) * points_a + t * points_b
    return (1 - t) * warp(a, points_a, between) + t * warp(b, points_b, between)
