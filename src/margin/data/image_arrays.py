"""Images as estimators take them: arrays of pictures, or rows of pixels with the shape of a picture.

| X | what it is |
|---|---|
| (n, h, w) | gray pictures |
| (n, h, w, c) or (n, c, h, w) | pictures with channels, which are the axis of at most 4 entries |
| (n, p) with ``image_shape`` (h, w), (h, w, c) or (c, h, w) | the same, flattened |
| (n, p) | pictures one pixel high: any table, unless p is the size of a square picture from 16 x 16 on |
| a torch Dataset | its items, stacked |
| a list of pictures of several sizes | each resized to ``image_shape``, to the size of the fit, or to the median size |

Inside, pictures are (n, c, h, w), bytes as they came and all else as float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.core.domains import Choice, Integer, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.notices import warn_user
from margin.core.number_range import check_magnitude
from margin.core.parameters import Declared, parameter
from margin.core.row_files import is_mapped
from margin.core.torch_datasets import dataset_arrays
from margin.data.mixed_images import are_mixed, to_one_size

__all__ = [
    "CHUNK_VALUES",
    "ROW_SHAPE",
    "ImageParameters",
    "channel_scaling",
    "check_images",
    "first_channels",
    "flat_pictures",
    "order_of_pixels",
    "row_layout",
]

MOST_CHANNELS = 4  # gray, gray with transparency, RGB, RGB with transparency
SMALLEST_PICTURE = 16  # sides from which as many columns as a square has are taken for a picture
LEAST_SPREAD, MOST_SPREAD = 0.05, 200.0  # ranges of pixels, in deviations of the fit, that mean other units
ROW_SHAPE = "Shape of the picture that a row holds, in the order of its pixels; None: rows are no pictures."
CHUNK_VALUES = 2**23  # input values evaluated at once: bounds the memory of the feature maps


class ImageParameters(Declared):
    """What images in flat rows look like."""

    _: KW_ONLY
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1), min_length=2)),
        "(height, width), (height, width, channels) or (channels, height, width) of the image that a flat row holds, "
        "and the size that images of several sizes are brought to; None: rows are images one pixel high, and images of "
        "several sizes get the median one.",
    )
    channels: str = parameter(
        "auto",
        Choice("auto", "first", "last", search=False),
        "Where images have their channels; 'auto': the axis of at most 4 entries, of two such the one beside a square.",
    )


def first_channels(owner: str, images: np.ndarray, channels: str) -> np.ndarray:
    """(n, h, w), (n, h, w, c) or (n, c, h, w) as (n, c, h, w).

    >>> first_channels("Model", np.zeros((5, 4, 4, 3)), "auto").shape  # two short axes: pictures are square
    (5, 3, 4, 4)
    """
    if images.ndim == 3:
        return images[:, None]
    if channels == "auto":
        a, b, c = images.shape[1:]
        first, last = a <= MOST_CHANNELS, c <= MOST_CHANNELS
        if first and last:
            first, last = b == c, a == b and not a == b == c == 1  # one pixel with one channel: the same either way
        if first == last:
            raise ValueError(
                f"{owner}: which axis of images of shape {images.shape[1:]} has the channels is not clear; "
                "channels must be 'first' or 'last'; got 'auto'."
            )
        channels = "first" if first else "last"
    return images if channels == "first" else np.moveaxis(images, 3, 1)


def check_images(
    estimator: Any,
    X: Any,
    image_shape: Any,
    channels: str,
    *,
    fitted: Sequence[int | None] | None = None,
    read_only: bool = False,
) -> np.ndarray:
    """``X`` as pictures (n, c, h, w); with ``fitted`` they must have that shape (c, h, w), where None is any length.

    An array that may not be written to, such as a memory map, is copied, unless ``read_only`` ones will do; of one in a
    file the axes may then lie in another order.
    """
    from sklearn.utils.validation import check_array, validate_data

    owner = type(estimator).__name__
    X, _ = dataset_arrays(owner, X)
    if are_mixed(X):
        X = to_one_size(owner, X, _size_for_all(image_shape, channels, fitted), channels)
    dimension = X.ndim if hasattr(X, "ndim") else _array(owner, X).ndim
    if dimension <= 2:
        X = validate_data(estimator, X, dtype=_dtype(X), reset=fitted is None)
        shape = _row_shape(owner, image_shape, X.shape[1], known=fitted is not None)
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
    if fitted is not None:
        tell_of_other_units(owner, images, getattr(estimator, "network_", {}))
    kind = np.uint8 if images.dtype == np.uint8 else np.float32
    if read_only:
        return np.asarray(images, dtype=kind) if is_mapped(X) else np.require(images, dtype=kind, requirements=["C"])
    return np.require(images, dtype=kind, requirements=["C", "W"])  # torch warns of arrays that cannot be written


def _size_for_all(image_shape: Any, channels: str, fitted: Sequence[int | None] | None) -> tuple[int, int] | None:
    """Height and width of the fit, or else those that a user says."""
    if fitted is not None:
        _, height, width = fitted
        return None if height is None or width is None else (height, width)
    if image_shape is None:
        return None
    shape = tuple(int(n) for n in image_shape)
    first = len(shape) == 3 and (channels == "first" or (channels == "auto" and shape[2] > MOST_CHANNELS))
    return shape[1:] if first else shape[:2]  # type: ignore[return-value]


def flat_pictures(owner: str, X: Any, image_shape: Sequence[int] | None = None) -> tuple[Any, tuple[int, ...] | None]:
    """Pictures (n, h, w), (n, h, w, c) or (n, c, h, w) as rows, and the shape of one; a table as it is.

    Values stand in the order of ``image_shape``, or without in that of the pictures.

    >>> rows, shape = flat_pictures("Model", np.zeros((5, 8, 8)))
    >>> rows.shape, shape
    ((5, 64), (8, 8))
    >>> flat_pictures("Model", np.arange(8).reshape(1, 2, 2, 2), (2, 2, 2))[0]
    array([[0, 1, 2, 3, 4, 5, 6, 7]])
    """
    X, _ = dataset_arrays(owner, X)
    shape = None if image_shape is None else tuple(int(n) for n in image_shape)
    if getattr(X, "ndim", 2) not in (3, 4):
        return X, shape
    seen = tuple(int(n) for n in X.shape[1:])
    if shape not in (None, seen) and math.prod(shape) == math.prod(seen):
        X = _in_order_of(owner, X, shape)
    return np.reshape(X, (len(X), -1)), seen if shape is None else shape


def _in_order_of(owner: str, X: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    images = first_channels(owner, np.asarray(X), "auto")
    layout, last = row_layout(owner, shape, math.prod(shape))
    if images.shape[1:] != layout:
        raise ValueError(f"{owner}: X must have pictures of shape {shape}; got {X.shape[1:]}.")
    return np.moveaxis(images, 1, 3) if last else images


def order_of_pixels(estimator: Any) -> Sequence[int] | None:
    """The shape of the pictures that a fitted model has as rows; models stored before it was learned name it."""
    return getattr(estimator, "row_shape_", estimator.image_shape)


def row_layout(
    owner: str, image_shape: Any, n_columns: int, channels: str = "auto"
) -> tuple[tuple[int, int, int], bool]:
    """(channels, height, width) of the picture that a flat row holds, and whether its channels come last.

    >>> row_layout("Model", (8, 8), 64), row_layout("Model", (8, 8, 3), 192), row_layout("Model", (3, 8, 8), 192)
    (((1, 8, 8), False), ((3, 8, 8), True), ((3, 8, 8), False))
    """
    shape = _row_shape(owner, image_shape, n_columns)
    if len(shape) == 2:
        return (1, *shape), False
    c, h, w = first_channels(owner, np.empty((0, *shape)), channels).shape[1:]
    return (c, h, w), (c, h, w) != shape


def _row_shape(owner: str, image_shape: Any, n_columns: int, known: bool = True) -> tuple[int, ...]:
    """The shape of the picture in a row; rows that look like pictures must say so, unless they are ``known``."""
    if image_shape is None:
        if not known and (side := _square_side(n_columns)) is not None:
            raise ValueError(
                f"{owner}: X has {n_columns} columns, which look like pictures of {side}; image_shape={side} says so, "
                f"and image_shape=(1, {n_columns}) that rows are no pictures."
            )
        return 1, n_columns
    shape = tuple(int(n) for n in image_shape)
    if len(shape) not in (2, 3) or math.prod(shape) != n_columns:
        raise ValueError(
            f"{owner}: image_shape must be (height, width), (height, width, channels) or (channels, height, width) "
            f"with a product of {n_columns}; got {shape}."
        )
    return shape


def _square_side(n_columns: int) -> tuple[int, ...] | None:
    """The shape of a square picture, gray or of three colors, with so many values, from 16 x 16 on."""
    for channels in (1, 3):
        side = math.isqrt(n_columns // channels)
        if side >= SMALLEST_PICTURE and channels * side * side == n_columns:
            return (side, side) if channels == 1 else (side, side, channels)
    return None


def tell_of_other_units(owner: str, images: np.ndarray, network: Mapping[str, Any]) -> None:
    """Warn of pictures that vary far less, or far more, than those of the fit: bytes and numbers from 0 to 1 differ by
    255. One without contrast says nothing, nor do tables, which are one pixel high."""
    if "scale" not in network or not images.size or min(images.shape[2:]) == 1:
        return
    center, scale = float(np.mean(network["center"])), float(np.mean(network["scale"]))
    if (center, scale) == (0.0, 1.0):  # of a fit that did not standardize
        return
    low, high = float(images.min()), float(images.max())
    spread = (high - low) / scale
    small = 0 < spread < LEAST_SPREAD or (low >= 0 and LEAST_SPREAD < high <= 1 < center)
    if small or spread > MOST_SPREAD:
        warn_user(
            f"{owner}: pixels of X lie between {low:g} and {high:g}, but those of the fit had the mean {center:.3g} "
            f"and the deviation {scale:.3g}; are they in other units, such as bytes and numbers from 0 to 1?"
        )


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
            f"{owner}: images must all have one size, or be arrays with 2 or 3 axes; X[0] has shape {shapes[0]} and "
            f"X[{other}] {shapes[other]}."
        ) from None


def _shape(image: Any) -> tuple[int, ...] | None:
    """None where it has none: its rows differ in length."""
    try:
        return np.shape(image)
    except ValueError:
        return None


def _dtype(X: Any) -> Any:
    return None if getattr(X, "dtype", None) == np.uint8 else [np.float64, np.float32]


def channel_scaling(
    images: np.ndarray, weight: np.ndarray, rows: np.ndarray | None = None
) -> tuple[list[float], list[float]]:
    """Weighted mean and deviation of every channel, over the numbered ``rows`` (None: all); a channel without spread
    keeps its unit."""
    rows = np.arange(len(images)) if rows is None else rows
    c = images.shape[1]
    total, squares = np.zeros(c), np.zeros(c)
    size = max(1, CHUNK_VALUES // max(1, math.prod(images.shape[1:])))
    for start in range(0, len(rows), size):
        few = rows[start : start + size]
        part = images[few].astype(np.float64, order="C").reshape(-1, c, math.prod(images.shape[2:]))
        total += weight[few] @ part.mean(axis=2)
        squares += weight[few] @ np.square(part).mean(axis=2)
    weights = weight[rows].sum()
    mean = total / weights
    deviation = np.sqrt(np.maximum(squares / weights - mean**2, 0))
    # Below the rounding of float32 a spread is none.
    deviation[deviation <= 1e-6 * np.abs(mean)] = 1.0
    return mean.tolist(), deviation.tolist()
