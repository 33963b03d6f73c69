r"""Images of several sizes in one array: brought to one size, or laid on one canvas.

A network for whole images has one size of input, so each image is resized, by a triangle as wide as a pixel of the
coarser of both grids:

.. math:: y_i = \frac{\sum_j w_{ij} x_j}{\sum_j w_{ij}},\qquad
          w_{ij} = \max\left(0, 1 - \frac{|j + \frac12 - (i + \frac12) s|}{\max(s, 1)}\right)

with :math:`s = n_{in} / n_{out}`.

Networks for pixels and boxes take any size, so each image is laid in the corner of a canvas as large as the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Canvas", "are_mixed", "on_one_canvas", "resized", "to_one_size"]

MOST_CHANNELS = 4


class Canvas(NamedTuple):
    """Images (n, h, w) or (n, h, w, c) on one canvas, and which of its pixels belong to them, (n, h, w)."""

    images: np.ndarray
    inside: np.ndarray

    def spread(self, masks: Sequence[Any]) -> np.ndarray:
        """One array for every image, each of its size, on the canvas; outside stands its first entry."""
        arrays = [np.asarray(mask) for mask in masks]
        if len(arrays) != len(self.inside):
            raise ValueError(f"y must have a mask for each of {len(self.inside)} images; got {len(arrays)}.")
        out = np.empty(self.inside.shape, dtype=np.result_type(*arrays))
        for k, mask in enumerate(arrays):
            height, width = int(self.inside[k, :, 0].sum()), int(self.inside[k, 0].sum())
            if mask.shape != (height, width):
                raise ValueError(f"y[{k}] must have {height} x {width} pixels like its image; got {mask.shape}.")
            out[k] = mask.flat[0]
            out[k, :height, :width] = mask
        return out


def are_mixed(X: Any) -> bool:
    """Whether ``X`` is a list of images whose heights or widths differ.

    >>> are_mixed([np.zeros((4, 4)), np.zeros((5, 4))]), are_mixed([np.zeros((4, 4))] * 2), are_mixed(np.zeros((2, 3)))
    (True, False, False)
    """
    if not isinstance(X, list | tuple) and str(getattr(X, "dtype", "")) != "object":
        return False
    shapes = {np.asarray(image).shape if _is_image(image) else None for image in X}
    return len(shapes) > 1 and None not in shapes and {len(shape or ()) for shape in shapes} <= {2, 3}


def _is_image(image: Any) -> bool:
    """Whether it is an array, or a picture of Pillow; nested lists are not."""
    return hasattr(image, "shape") or hasattr(image, "__array_interface__")


def resized(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """An image (h, w) or (h, w, c) of another size; bytes stay bytes.

    >>> resized(np.array([[0.0, 2.0, 4.0, 6.0]]), 1, 2)
    array([[1.42857143, 4.57142857]])
    """
    rows, columns = _weights(image.shape[0], height), _weights(image.shape[1], width)
    out = np.einsum("ih,hw...,jw->ij...", rows, image.astype(np.float64), columns, optimize=True)
    if image.dtype == np.uint8:
        return np.clip(np.rint(out), 0, 255).astype(np.uint8)
    return out.astype(image.dtype if image.dtype.kind == "f" else np.float64)


def to_one_size(owner: str, X: Sequence[Any], size: tuple[int, int] | None, channels: str = "auto") -> np.ndarray:
    """Images of several sizes as one array (n, h, w) or (n, h, w, c), or (n, c, h, w) with ``channels`` "first".

    ``size`` None is the median height and the median width.
    """
    images = _channels_last(owner, X, channels)
    height, width = size or (int(np.median([image.shape[axis] for image in images])) for axis in (0, 1))
    out = np.stack([resized(image, height, width) for image in images])
    return np.moveaxis(out, 3, 1) if channels == "first" and out.ndim == 4 else out


def on_one_canvas(owner: str, X: Sequence[Any], channels: str = "auto") -> Canvas:
    """Images of several sizes, each in the upper left corner of a canvas of its mean color."""
    images = _channels_last(owner, X, channels)
    height, width = (max(image.shape[axis] for image in images) for axis in (0, 1))
    canvas = np.empty((len(images), height, width, *images[0].shape[2:]), dtype=np.result_type(*images))
    inside = np.zeros((len(images), height, width), dtype=bool)
    for k, image in enumerate(images):
        canvas[k] = image.mean(axis=(0, 1)).astype(canvas.dtype)
        canvas[k, : image.shape[0], : image.shape[1]] = image
        inside[k, : image.shape[0], : image.shape[1]] = True
    return Canvas(np.moveaxis(canvas, 3, 1) if channels == "first" and canvas.ndim == 4 else canvas, inside)


def _channels_last(owner: str, X: Sequence[Any], channels: str) -> list[np.ndarray]:
    """Images (h, w) or (h, w, c), all with equally many channels."""
    images = [np.asarray(image) for image in X]
    if images[0].ndim == 3:
        last = all(image.ndim == 3 and image.shape[2] <= MOST_CHANNELS for image in images)
        if channels == "first" or (channels == "auto" and not last):
            images = [np.moveaxis(image, 0, -1) if image.ndim == 3 else image for image in images]
    kinds = {image.shape[2:] for image in images}
    if len(kinds) > 1 or not all(math.prod(image.shape) for image in images):
        first = images[0].shape
        k = next((k for k, one in enumerate(images) if one.shape[2:] != first[2:] or not math.prod(one.shape)), 0)
        raise ValueError(
            f"{owner}: images of several sizes must have pixels and equally many channels; "
            f"X[0] has shape {np.shape(X[0])} and X[{k}] {np.shape(X[k])}."
        )
    return images


def _weights(before: int, after: int) -> np.ndarray:
    """What every new pixel takes of the old ones, (after, before), rows of sum 1."""
    step = before / after
    distance = np.abs(np.arange(before) + 0.5 - (np.arange(after)[:, None] + 0.5) * step)
    weights = np.maximum(0.0, 1 - distance / max(step, 1.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
