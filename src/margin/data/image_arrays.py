"""Images as estimators take them: arrays of pictures, or rows of pixels with the shape of a picture.

| X | what it is |
|---|---|
| (n, h, w) | gray pictures |
| (n, h, w, c) or (n, c, h, w) | pictures with channels, which are the axis of at most 4 entries |
| (n, p) with ``image_shape`` (h, w), (h, w, c) or (c, h, w) | the same, flattened |
| (n, p) | pictures one pixel high: any table |

Inside, pictures are (n, c, h, w), bytes as they came and all else as float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.core.domains import Choice, Integer, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.number_range import check_magnitude
from margin.core.parameters import Declared, parameter

__all__ = ["CHUNK_VALUES", "ImageParameters", "channel_scaling", "check_images", "first_channels"]

MOST_CHANNELS = 4  # gray, gray with transparency, RGB, RGB with transparency
CHUNK_VALUES = 2**23  # input values evaluated at once: bounds the memory of the feature maps


class ImageParameters(Declared):
    """What images in flat rows look like."""

    _: KW_ONLY
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1), min_length=2)),
        "(height, width) or (height, width, channels) of the image that a flat row holds; None: rows are images one "
        "pixel high.",
    )
    channels: str = parameter(
        "auto",
        Choice("auto", "first", "last", search=False),
        "Where images have their channels; 'auto': the axis with at most 4 entries.",
    )


def first_channels(owner: str, images: np.ndarray, channels: str) -> np.ndarray:
    """(n, h, w), (n, h, w, c) or (n, c, h, w) as (n, c, h, w)."""
    if images.ndim == 3:
        return images[:, None]
    if channels == "auto":
        first, last = images.shape[1] <= MOST_CHANNELS, images.shape[3] <= MOST_CHANNELS
        if first == last:
            raise ValueError(
                f"{owner}: which axis of images of shape {images.shape[1:]} has the channels is not clear; "
                "channels must be 'first' or 'last'; got 'auto'."
            )
        channels = "first" if first else "last"
    return images if channels == "first" else np.moveaxis(images, 3, 1)


def check_images(
    estimator: Any, X: Any, image_shape: Any, channels: str, *, fitted: Sequence[int | None] | None = None
) -> np.ndarray:
    """``X`` as pictures (n, c, h, w); with ``fitted`` they must have that shape (c, h, w), where None is any length."""
    from sklearn.utils.validation import check_array, validate_data

    owner = type(estimator).__name__
    dimension = X.ndim if hasattr(X, "ndim") else _array(owner, X).ndim
    if dimension <= 2:
        X = validate_data(estimator, X, dtype=_dtype(X), reset=fitted is None)
        shape = (1, X.shape[1]) if image_shape is None else tuple(int(n) for n in image_shape)
        if len(shape) not in (2, 3) or math.prod(shape) != X.shape[1]:
            raise ValueError(
                f"{owner}: image_shape must be (height, width) or (height, width, channels) with a product of "
                f"{X.shape[1]}, the columns of X; got {shape}."
            )
        X = X.reshape(len(X), *shape)
    else:
        if dimension > 4:
            raise ValueError(f"{owner}: X must have 2, 3 or 4 axes; got {dimension}.")
        X = check_array(X, dtype=_dtype(X), allow_nd=True, estimator=estimator, input_name="X")
        if not all(X.shape):
            raise ValueError(f"{owner}: X must have images with pixels; got images of shape {X.shape[1:]}.")
        if fitted is None:
            estimator.n_features_in_ = int(np.prod(X.shape[1:]))
            estimator.__dict__.pop("feature_names_in_", None)
    images = first_channels(owner, X, channels)
    if fitted is not None and any(wanted not in (None, got) for wanted, got in zip(fitted, images.shape[1:])):
        size = "" if None in fitted else f" and {fitted[1]} x {fitted[2]} pixels"
        raise ValueError(
            f"{owner}: X must have images of {fitted[0]} channels{size}, as in fit; "
            f"got {images.shape[1]} channels and {images.shape[2]} x {images.shape[3]} pixels."
        )
    check_magnitude(owner, "X", images)
    kind = np.uint8 if images.dtype == np.uint8 else np.float32
    return np.require(images, dtype=kind, requirements=["C", "W"])  # torch warns of arrays that cannot be written


def _array(owner: str, X: Any) -> np.ndarray:
    """A list of images as one array; NumPy's own error says neither which sizes differ nor what to do."""
    try:
        return np.asarray(X)
    except ValueError:
        shapes = [_shape(image) for image in X]
        other = next((k for k, shape in enumerate(shapes) if shape is None or shape != shapes[0]), 0)
        if shapes[other] is None:
            raise ValueError(
                f"{owner}: the rows of an image must all have one length; those of X[{other}] differ."
            ) from None
        raise ValueError(
            f"{owner}: images must all have one size; X[0] has shape {shapes[0]} and X[{other}] {shapes[other]}; "
            "resize them first."
        ) from None


def _shape(image: Any) -> tuple[int, ...] | None:
    """None where it has none: its rows differ in length."""
    try:
        return np.shape(image)
    except ValueError:
        return None


def _dtype(X: Any) -> Any:
    return None if getattr(X, "dtype", None) == np.uint8 else [np.float64, np.float32]


def channel_scaling(images: np.ndarray, weight: np.ndarray) -> tuple[list[float], list[float]]:
    """Weighted mean and deviation of every channel; a channel without spread keeps its unit."""
    n, c = images.shape[:2]
    total, squares = np.zeros(c), np.zeros(c)
    size = max(1, CHUNK_VALUES // max(1, math.prod(images.shape[1:])))
    for start in range(0, n, size):
        part = images[start : start + size].astype(np.float64).reshape(-1, c, math.prod(images.shape[2:]))
        total += weight[start : start + size] @ part.mean(axis=2)
        squares += weight[start : start + size] @ np.square(part).mean(axis=2)
    mean = total / weight.sum()
    deviation = np.sqrt(np.maximum(squares / weight.sum() - mean**2, 0))
    # Below the rounding of float32 a spread is none.
    deviation[deviation <= 1e-6 * np.abs(mean)] = 1.0
    return mean.tolist(), deviation.tolist()
