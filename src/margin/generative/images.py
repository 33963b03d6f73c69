"""Rows of pixels as images: what the generative estimators for images share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.data.image_arrays import order_of_pixels, row_layout
from margin.neural.scaling import Scaling

__all__ = ["check_image_shape", "common_scaling", "flat", "pixel_scaling", "shape_images"]


def pixel_scaling(X: np.ndarray) -> Scaling:
    """All pixels from their common range to that from -1 to 1: an image keeps its contrast."""
    low, high = float(X.min()), float(X.max())
    middle, half = low / 2 + high / 2, high / 2 - low / 2  # their sum or difference may be out of range
    return Scaling(np.full(X.shape[1], middle), np.full(X.shape[1], half or 1.0))


def common_scaling(X: np.ndarray) -> Scaling:
    """All pixels by one mean and one deviation."""
    deviation = float(X.std(dtype=np.float64)) or 1.0
    return Scaling(np.full(X.shape[1], X.mean(dtype=np.float64)), np.full(X.shape[1], deviation))


def check_image_shape(estimator: Any, n_columns: int, picture: Sequence[int] | None) -> tuple[int, int, int]:
    """Channels, height and width of the ``picture`` in a row, for a network that needs one."""
    owner = type(estimator).__name__
    if picture is None:
        raise ValueError(f"{owner}: image_shape must be (height, width) for a network that sees images; got None.")
    return row_layout(owner, picture, n_columns)[0]


def shape_images(estimator: Any, rows: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Rows as (n, channels, height, width), whichever order their pixels have."""
    if not len(shape):
        return rows
    c, h, w = shape
    if _channels_last(estimator, rows.shape[1]):
        return np.ascontiguousarray(rows.reshape(len(rows), h, w, c).transpose(0, 3, 1, 2))
    return rows.reshape(len(rows), c, h, w)


def flat(estimator: Any, images: np.ndarray) -> np.ndarray:
    """The inverse of :func:`shape_images`."""
    if images.ndim == 4 and _channels_last(estimator, int(np.prod(images.shape[1:]))):
        images = images.transpose(0, 2, 3, 1)
    return images.reshape(len(images), -1)


def _channels_last(estimator: Any, n_columns: int) -> bool:
    shape = order_of_pixels(estimator)
    return shape is not None and row_layout(type(estimator).__name__, shape, n_columns)[1]
