r"""Keypoints after Lowe (2004): extrema of differences of Gaussians, described by histograms of gradients.

.. math:: D(x, \sigma) = (G_{k\sigma} - G_\sigma) * I

A point is kept where D is larger or smaller than all its 26 neighbors in space and scale, differs enough from 0 and is
not part of an edge. Its orientation is the peak of the histogram of the gradients around it; the descriptor is taken in
a grid turned and scaled accordingly, so that it stays the same when the image is.
"""

from __future__ import annotations

import numpy as np

from margin.vision.features.keypoints import Keypoints, sample

__all__ = ["describe_sift", "sift"]

SCALES_PER_OCTAVE = 3
FIRST_SIGMA = 1.6
CAMERA_BLUR = 0.5  # what an image is assumed to have
SMALLEST_SIDE = 12  # an octave with a shorter side is not searched
EDGE_RATIO = 10.0  # largest ratio of principal curvatures
ORIENTATION_BINS, PEAK = 36, 0.8
GRID, CELLS, BINS = 16, 4, 8  # samples across a descriptor, cells across it, orientations in a cell
CELL_WIDTH = 3.0  # in units of the keypoint's scale
CLIP = 0.2


def sift(image: np.ndarray, contrast: float = 0.02) -> Keypoints:
    """Keypoints of a gray image with values from 0 to 1, with descriptors of 128 numbers.

    >>> y, x = np.mgrid[:48, :48]
    >>> blob = np.exp(-((x - 20) ** 2 + (y - 26) ** 2) / (2 * 4.0**2))
    >>> found = sift(blob)
    >>> np.abs(found.positions - [26, 20]).max() < 1, found.descriptors.shape[1]
    (np.True_, 128)
    """
    image = np.asarray(image, dtype=np.float64)
    if image.ndim != 2:
        raise ValueError(f"sift: image must be gray, with 2 axes; got shape {image.shape}.")
    octaves = [_octave(blurred, step, contrast) for blurred, step in _octaves(image)]
    points = np.concatenate([np.empty((0, 3)), *octaves])
    return describe_sift(image, points[:, :2], points[:, 2])


def _octaves(image: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Stacks of blurred images, each half as large as the one before, with the size of its pixels."""
    from scipy.ndimage import gaussian_filter

    octaves, step = [], 1
    k = 2 ** (1 / SCALES_PER_OCTAVE)
    base = gaussian_filter(image, np.sqrt(FIRST_SIGMA**2 - CAMERA_BLUR**2), mode="nearest")
    while min(base.shape) >= SMALLEST_SIDE:
        stack = [base]
        for i in range(1, SCALES_PER_OCTAVE + 3):
            added = FIRST_SIGMA * k ** (i - 1) * np.sqrt(k**2 - 1)
            stack.append(gaussian_filter(stack[-1], added, mode="nearest"))
        octaves.append((np.array(stack), step))
        base, step = stack[SCALES_PER_OCTAVE][::2, ::2], step * 2
    return octaves


def _octave(blurred: np.ndarray, step: int, contrast: float) -> np.ndarray:
    """Row, column and scale of the keypoints of one octave, in pixels of the image."""
    from scipy.ndimage import maximum_filter, minimum_filter

    D = np.diff(blurred, axis=0)
    threshold = contrast / SCALES_PER_OCTAVE
    largest = np.equal(D, maximum_filter(D, 3)) & np.greater(D, threshold)
    smallest = np.equal(D, minimum_filter(D, 3)) & np.less(D, -threshold)
    inner = np.zeros(D.shape, dtype=bool)
    inner[1:-1, 1:-1, 1:-1] = True
    points = []
    for s, r, c in np.argwhere((largest | smallest) & inner):
        offset = _refine(D[s - 1 : s + 2, r - 1 : r + 2, c - 1 : c + 2])
        if offset is not None:
            sigma = FIRST_SIGMA * 2 ** ((s + offset[0]) / SCALES_PER_OCTAVE)
            points.append([(r + offset[1]) * step, (c + offset[2]) * step, sigma * step])
    return np.array(points).reshape(-1, 3)


def _refine(cube: np.ndarray) -> np.ndarray | None:
    """Where the quadratic through 27 values has its extremum; None for an edge."""
    gradient = np.array([cube[2, 1, 1] - cube[0, 1, 1], cube[1, 2, 1] - cube[1, 0, 1], cube[1, 1, 2] - cube[1, 1, 0]])
    H = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            e, f = np.eye(3, dtype=int)[i], np.eye(3, dtype=int)[j]
            if i == j:
                H[i, i] = cube[tuple(1 + e)] - 2 * cube[1, 1, 1] + cube[tuple(1 - e)]
            else:
                corners = cube[tuple(1 + e + f)] - cube[tuple(1 + e - f)] - cube[tuple(1 - e + f)]
                H[i, j] = (corners + cube[tuple(1 - e - f)]) / 4
    trace, determinant = H[1, 1] + H[2, 2], H[1, 1] * H[2, 2] - H[1, 2] * H[2, 1]
    if determinant <= 0 or trace**2 * EDGE_RATIO >= (EDGE_RATIO + 1) ** 2 * determinant:
        return None
    try:
        offset = -np.linalg.solve(H, gradient / 2)
    except np.linalg.LinAlgError:
        return None
    return np.clip(offset, -0.5, 0.5)


def describe_sift(image: np.ndarray, positions: np.ndarray, scales: np.ndarray) -> Keypoints:
    """Orientations and descriptors at given places; a place with two clear orientations is there twice."""
    from scipy.ndimage import gaussian_filter

    rows: list[list[float]] = []
    descriptors: list[np.ndarray] = []
    for sigma in np.unique(np.round(np.log2(np.maximum(scales, 0.5)) * 3)):  # one blurred image for alike scales
        chosen = np.round(np.log2(np.maximum(scales, 0.5)) * 3) == sigma
        blur = np.sqrt(max(2 ** (2 * sigma / 3) - CAMERA_BLUR**2, 0.01))
        slopes = np.gradient(np.pad(gaussian_filter(np.asarray(image, float), blur, mode="nearest"), 1, mode="edge"))
        slopes = [slope[1:-1, 1:-1] for slope in slopes]
        for (row, column), scale in zip(positions[chosen], scales[chosen]):
            for angle in _orientations(slopes, row, column, scale):
                rows.append([row, column, scale, angle])
                descriptors.append(_descriptor(slopes, row, column, scale, angle))
    table = np.array(rows).reshape(-1, 4)
    return Keypoints(table[:, :2], table[:, 2], table[:, 3], np.array(descriptors).reshape(-1, CELLS * CELLS * BINS))


def _orientations(slopes: list[np.ndarray], row: float, column: float, scale: float) -> np.ndarray:
    """Directions of the peaks of the weighted histogram of gradients around a point."""
    reach = np.linspace(-3, 3, 13) * 1.5 * scale
    dr, dc = (grid.ravel() for grid in np.meshgrid(reach, reach, indexing="ij"))
    gr, gc = (sample(slope, row + dr, column + dc) for slope in slopes)
    weight = np.hypot(gr, gc) * np.exp(-(dr**2 + dc**2) / (2 * (1.5 * scale) ** 2))
    position = np.arctan2(gr, gc) % (2 * np.pi) / (2 * np.pi) * ORIENTATION_BINS
    low = np.floor(position).astype(int)
    histogram = np.zeros(ORIENTATION_BINS)
    np.add.at(histogram, low % ORIENTATION_BINS, weight * (1 - (position - low)))
    np.add.at(histogram, (low + 1) % ORIENTATION_BINS, weight * (position - low))
    for _ in range(2):
        histogram = (np.roll(histogram, 1) + histogram + np.roll(histogram, -1)) / 3
    before, after = np.roll(histogram, 1), np.roll(histogram, -1)
    peaks = np.flatnonzero((histogram > before) & (histogram >= after) & (histogram >= PEAK * histogram.max()))
    curve = before[peaks] - 2 * histogram[peaks] + after[peaks]
    exact = peaks + 0.5 * (before[peaks] - after[peaks]) / np.where(curve == 0, 1, curve)
    return exact / ORIENTATION_BINS * 2 * np.pi if len(peaks) else np.zeros(1)


def _descriptor(slopes: list[np.ndarray], row: float, column: float, scale: float, angle: float) -> np.ndarray:
    """4 x 4 cells of 8 orientations each, in axes turned by ``angle``; votes go to neighboring cells and bins too."""
    u = (np.arange(GRID) + 0.5) / GRID * CELLS - CELLS / 2  # in cells
    along, across = (grid.ravel() for grid in np.meshgrid(u, u))
    cos, sin = np.cos(angle), np.sin(angle)
    dc, dr = ((cos * along - sin * across), (sin * along + cos * across))
    gr, gc = (sample(slope, row + dr * CELL_WIDTH * scale, column + dc * CELL_WIDTH * scale) for slope in slopes)
    weight = np.hypot(gr, gc) * np.exp(-(along**2 + across**2) / (2 * (CELLS / 2) ** 2))
    orientation = (np.arctan2(gr, gc) - angle) % (2 * np.pi) / (2 * np.pi) * BINS
    histogram = np.zeros((CELLS + 2, CELLS + 2, BINS))  # a frame of cells takes the votes that fall outside
    places = [across + CELLS / 2 + 0.5, along + CELLS / 2 + 0.5, orientation]
    low = [np.floor(place).astype(int) for place in places]
    for corner in np.ndindex(2, 2, 2):
        part = weight.copy()
        for place, base, step in zip(places, low, corner):
            part *= (place - base) if step else 1 - (place - base)
        r, c, o = (base + step for base, step in zip(low, corner))
        np.add.at(histogram, (r, c, o % BINS), part)
    v = histogram[1:-1, 1:-1].ravel()
    v = np.minimum(v / max(float(np.linalg.norm(v)), 1e-12), CLIP)
    return v / max(float(np.linalg.norm(v)), 1e-12)
