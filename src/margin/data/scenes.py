"""Scenes whose truth is known: objects drawn into noise, with the box, the class and the pixels of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.data.boxes import Boxes

__all__ = ["SHAPES", "Scenes", "digit_scenes", "shape_scenes"]

SHAPES = ("disc", "square", "triangle")
ATTEMPTS = 50  # draws of a position before a scene goes on with fewer objects
INK = 0.25  # gray value above which a pixel belongs to a digit


class Scenes(NamedTuple):
    """``images`` (n, h, w) from 0 to 1, ``boxes`` one per image, ``masks`` (n, h, w): 0, or 1 + the class."""

    images: np.ndarray
    boxes: list[Boxes]
    masks: np.ndarray


def shape_scenes(
    rng: np.random.Generator,
    n_samples: int = 100,
    side: int = 32,
    n_objects: tuple[int, int] = (1, 3),
    sizes: tuple[int, int] = (8, 14),
    noise: float = 0.05,
) -> Scenes:
    """Discs, squares and triangles (classes 0, 1, 2) that do not overlap, of random brightness, on a dark ground.

    >>> scenes = shape_scenes(np.random.default_rng(0), n_samples=2)
    >>> scenes.images.shape, int(scenes.masks.max()) <= 3, scenes.boxes[0].inside(32, 32)
    ((2, 32, 32), True, True)
    """

    def draw(size: int) -> tuple[np.ndarray, int]:
        label = int(rng.integers(len(SHAPES)))
        return shape_mask(label, size) * rng.uniform(0.6, 1.0), label

    return _scenes(rng, n_samples, side, n_objects, sizes, noise, draw, ink=0.0)


def digit_scenes(
    rng: np.random.Generator,
    n_samples: int = 100,
    side: int = 48,
    n_objects: tuple[int, int] = (1, 3),
    sizes: tuple[int, int] = (12, 20),
    noise: float = 0.05,
    classes: tuple[int, ...] = tuple(range(10)),
) -> Scenes:
    """Written digits of several sizes; classes are the digits, and a box is the extent of the ink."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    known = load_digits()
    chosen = np.flatnonzero(np.isin(known.target, classes))

    def draw(size: int) -> tuple[np.ndarray, int]:
        number = int(rng.choice(chosen))
        return np.clip(zoom(known.images[number] / 16, size / 8, order=1), 0, 1), int(known.target[number])

    return _scenes(rng, n_samples, side, n_objects, sizes, noise, draw, ink=INK)


def shape_mask(label: int, size: int) -> np.ndarray:
    """A filled shape that touches all four sides of a square of ``size`` pixels."""
    rows, columns = (np.mgrid[:size, :size] + 0.5) / size - 0.5  # from -1/2 to 1/2
    if label == 0:
        inside = rows**2 + columns**2 <= 0.25
    elif label == 1:
        inside = np.ones((size, size), dtype=bool)
    else:
        inside = np.abs(columns) <= (rows + 0.5) / 2 + 0.5 / size
    return inside.astype(np.float64)


def _scenes(rng, n_samples, side, n_objects, sizes, noise, draw, *, ink) -> Scenes:
    if sizes[1] > side or n_objects[0] < 1:
        raise ValueError(f"scenes: sizes must fit a side of {side} and n_objects start at 1; got {sizes}, {n_objects}.")
    images, masks = np.zeros((n_samples, side, side)), np.zeros((n_samples, side, side), dtype=np.int64)
    boxes = []
    for image, mask in zip(images, masks):
        corners, labels = [], []
        for _ in range(int(rng.integers(n_objects[0], n_objects[1] + 1))):
            patch, label = draw(int(rng.integers(sizes[0], sizes[1] + 1)))
            corner = _free_corner(rng, mask, patch.shape)
            if corner is None:
                continue
            window = np.s_[corner[0] : corner[0] + patch.shape[0], corner[1] : corner[1] + patch.shape[1]]
            image[window] = np.maximum(image[window], patch)
            mask[window][patch > ink] = 1 + label
            rows, columns = np.nonzero(patch > ink)
            top, left = corner[0] + rows.min(), corner[1] + columns.min()
            corners.append([left, top, corner[1] + columns.max() + 1, corner[0] + rows.max() + 1])
            labels.append(label)
        boxes.append(Boxes(corners, np.array(labels, dtype=np.int64)))
    images = np.clip(images + noise * rng.standard_normal(images.shape), 0, 1)
    return Scenes(images.astype(np.float32), boxes, masks)


def _free_corner(rng: np.random.Generator, mask: np.ndarray, size: tuple[int, ...]) -> tuple[int, int] | None:
    """Where a patch lies on nothing drawn before; None if no draw found such a corner."""
    for _ in range(ATTEMPTS):
        row, column = (int(rng.integers(0, side - length + 1)) for side, length in zip(mask.shape, size))
        if not mask[row : row + size[0], column : column + size[1]].any():
            return row, column
    return None
