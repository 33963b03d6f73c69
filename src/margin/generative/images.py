"""Rows of pixels as images: what the generative estimators for images share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.neural.scaling import Scaling

__all__ = ["check_image_shape", "pixel_scaling"]


def pixel_scaling(X: np.ndarray) -> Scaling:
    """All pixels from their common range to that from -1 to 1: an image keeps its contrast."""
    low, high = float(X.min()), float(X.max())
    return Scaling(np.full(X.shape[1], (low + high) / 2), np.full(X.shape[1], (high - low) / 2 or 1.0))


def check_image_shape(estimator: Any, n_columns: int) -> tuple[int, int, int]:
    """Channels, height and width of the image in a row, from ``image_shape``; a missing or wrong one is refused.

    Pixels of several channels are stored channel after channel, as (channels, height, width).
    """
    owner, shape = type(estimator).__name__, estimator.image_shape
    if shape is None:
        raise ValueError(f"{owner}: image_shape must be (height, width) for a network that sees images; got None.")
    shape = tuple(int(n) for n in shape)
    if len(shape) not in (2, 3) or math.prod(shape) != n_columns:
        raise ValueError(
            f"{owner}: image_shape must be (height, width) or (channels, height, width) with a product of {n_columns}, "
            f"the columns of X; got {shape}."
        )
    return (1, *shape) if len(shape) == 2 else shape
