r"""Keypoints after Bay et al. (2006): determinants of the Hessian by box filters on an integral image.

.. math:: \det H \approx D_{xx}D_{yy} - (0.9\,D_{xy})^2

A box of any size costs four additions, so that coarse scales cost no more than fine ones.
"""

from __future__ import annotations

import numpy as np

from margin.vision.features.keypoints import Keypoints

__all__ = ["box_sum", "describe_surf", "hessian_determinant", "integral_image", "surf"]

FILTER_SIZES = ((9, 15, 21, 27), (15, 27, 39, 51), (27, 51, 75, 99))
SIGMA_PER_SIZE = 1.2 / 9  # a filter of 9 pixels stands for a Gaussian of deviation 1.2
BALANCE = 0.9  # between the boxes of Dxy and those of Dxx and Dyy


def integral_image(image: np.ndarray) -> np.ndarray:
    """Sums over all pixels above and to the left, with a first row and column of zeros.

    >>> integral_image(np.ones((2, 3)))[-1, -1]
    np.float64(6.0)
    """
    return np.pad(np.cumsum(np.cumsum(np.asarray(image, dtype=np.float64), axis=0), axis=1), ((1, 0), (1, 0)))


def box_sum(integral: np.ndarray, top: np.ndarray, left: np.ndarray, height: int, width: int) -> np.ndarray:
    """Sums over boxes with their first pixel at (top, left), from four entries each; outside the image are zeros."""
    h, w = integral.shape[0] - 1, integral.shape[1] - 1
    r0, r1 = np.clip(top, 0, h), np.clip(top + height, 0, h)
    c0, c1 = np.clip(left, 0, w), np.clip(left + width, 0, w)
    return integral[r1, c1] - integral[r0, c1] - integral[r1, c0] + integral[r0, c0]


def hessian_determinant(integral: np.ndarray, size: int) -> np.ndarray:
    """At every pixel, from filters ``size`` wide (an odd multiple of 3), per unit of area."""
    rows, columns = np.ogrid[: integral.shape[0] - 1, : integral.shape[1] - 1]
    lobe, half = size // 3, size // 2
    wide = 2 * lobe - 1

    def box(dr: int, dc: int, height: int, width: int) -> np.ndarray:
        return box_sum(integral, rows + dr, columns + dc, height, width)

    dyy = box(-half, -(lobe - 1), size, wide) - 3 * box(-(lobe // 2), -(lobe - 1), lobe, wide)
    dxx = box(-(lobe - 1), -half, wide, size) - 3 * box(-(lobe - 1), -(lobe // 2), wide, lobe)
    dxy = box(-lobe, 1, lobe, lobe) + box(1, -lobe, lobe, lobe) - box(-lobe, -lobe, lobe, lobe) - box(1, 1, lobe, lobe)
    area = float(size**2)
    return (dxx * dyy - (BALANCE * dxy) ** 2) / area**2


def surf(image: np.ndarray, threshold: float = 1e-4) -> Keypoints:
    """Keypoints of a gray image with values from 0 to 1, with descriptors of 64 numbers.

    >>> y, x = np.mgrid[:64, :64]
    >>> found = surf(np.exp(-((x - 30) ** 2 + (y - 34) ** 2) / (2 * 4.0**2)))
    >>> np.abs(found.positions[0] - [34, 30]).max() <= 1, found.descriptors.shape[1]
    (np.True_, 64)
    """
    from scipy.ndimage import maximum_filter

    image = np.asarray(image, dtype=np.float64)
    if image.ndim != 2:
        raise ValueError(f"surf: image must be gray, with 2 axes; got shape {image.shape}.")
    integral = integral_image(image)
    responses: dict[tuple[int, int, int], float] = {}
    for sizes in FILTER_SIZES:
        if sizes[-1] > 2 * min(image.shape):
            break
        stack = np.array([hessian_determinant(integral, size) for size in sizes])
        peaks = (stack == maximum_filter(stack, 3)) & (stack > threshold)
        responses |= {(int(r), int(c), sizes[k]): stack[k, r, c] for k, r, c in np.argwhere(peaks) if k in (1, 2)}
    strongest = sorted(responses, key=lambda key: (-responses[key], key))
    points = np.array(strongest, dtype=float).reshape(-1, 3)
    return describe_surf(image, points[:, :2], points[:, 2] * SIGMA_PER_SIZE)


def describe_surf(image: np.ndarray, positions: np.ndarray, scales: np.ndarray) -> Keypoints:
    """Orientations and descriptors at given places."""
    integral = integral_image(image)
    angles = np.array([_orientation(integral, place[0], place[1], scale) for place, scale in zip(positions, scales)])
    rows = [_descriptor(integral, place[0], place[1], s, a) for place, s, a in zip(positions, scales, angles)]
    return Keypoints(positions, scales, angles.reshape(-1), np.array(rows).reshape(-1, 64))


def _haar(integral: np.ndarray, rows: np.ndarray, columns: np.ndarray, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the two halves of a square of side 2 ``half`` around each place, down and across."""
    r, c = np.round(rows).astype(int), np.round(columns).astype(int)
    down = box_sum(integral, r, c - half, half, 2 * half) - box_sum(integral, r - half, c - half, half, 2 * half)
    across = box_sum(integral, r - half, c, 2 * half, half) - box_sum(integral, r - half, c - half, 2 * half, half)
    return down, across


def _orientation(integral: np.ndarray, row: float, column: float, scale: float) -> float:
    """Direction of the largest sum of Haar responses within a sixth of the circle."""
    steps = np.arange(-6, 7)
    dr, dc = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    near = dr**2 + dc**2 <= 36
    dr, dc = dr[near], dc[near]
    down, across = _haar(integral, row + dr * scale, column + dc * scale, max(1, round(2 * scale)))
    weight = np.exp(-(dr**2 + dc**2) / (2 * 2.5**2))
    down, across = down * weight, across * weight
    angle = np.arctan2(down, across)
    starts = np.linspace(-np.pi, np.pi, 73)[:-1]
    inside = (angle - starts[:, None]) % (2 * np.pi) < np.pi / 3
    sums = np.column_stack([inside @ across, inside @ down])
    best = sums[(sums**2).sum(axis=1).argmax()]
    return float(np.arctan2(best[1], best[0]))


def _descriptor(integral: np.ndarray, row: float, column: float, scale: float, angle: float) -> np.ndarray:
    """4 x 4 squares of 5 x 5 samples; of each the sums of both responses and of their absolute values."""
    u = np.arange(20) - 9.5
    across_axis, down_axis = np.meshgrid(u, u)
    cos, sin = np.cos(angle), np.sin(angle)
    columns = column + (cos * across_axis - sin * down_axis) * scale
    rows = row + (sin * across_axis + cos * down_axis) * scale
    gr, gc = _haar(integral, rows, columns, max(1, round(scale)))
    weight = np.exp(-(across_axis**2 + down_axis**2) / (2 * 3.3**2))
    across, down = weight * (cos * gc + sin * gr), weight * (cos * gr - sin * gc)
    parts = [across, np.abs(across), down, np.abs(down)]
    sums = [part.reshape(4, 5, 4, 5).sum(axis=(1, 3)) for part in parts]
    v = np.stack(sums, axis=-1).ravel()
    return v / max(float(np.linalg.norm(v)), 1e-12)
