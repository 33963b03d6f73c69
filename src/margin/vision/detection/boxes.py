r"""Boxes as numbers: overlap, and the offsets by which a network moves one box to another.

A box is (x_min, y_min, x_max, y_max). Every function takes NumPy arrays or torch tensors and returns the same kind.

.. math:: \mathrm{IoU} = \frac{|A \cap B|}{|A \cup B|}, \qquad
          \mathrm{GIoU} = \mathrm{IoU} - \frac{|C \setminus (A \cup B)|}{|C|},

where C is the smallest box around both (Rezatofighi et al. 2019). The offsets of a box from an anchor
:math:`(x_a, y_a, w_a, h_a)`, given by center and sides, are

.. math:: t_x = \frac{x - x_a}{w_a},\quad t_y = \frac{y - y_a}{h_a},\quad
          t_w = \log\frac{w}{w_a},\quad t_h = \log\frac{h}{h_a}.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import torch

__all__ = [
    "LONGEST_STEP",
    "areas",
    "box_decode",
    "box_encode",
    "clip_boxes",
    "paired_giou",
    "pairwise_giou",
    "pairwise_iou",
    "to_centers",
    "to_corners",
]

LONGEST_STEP = float(np.log(1000 / 16))  # largest t_w and t_h that are decoded, so that exp cannot overflow


def _library(boxes: Any) -> ModuleType:
    return torch if isinstance(boxes, torch.Tensor) else np


def areas(boxes: Any) -> Any:
    """Area of every box (..., 4)."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def to_centers(boxes: Any) -> Any:
    """Corners (x_min, y_min, x_max, y_max) as (x, y, width, height) with the center (x, y).

    >>> to_centers(np.array([[0.0, 0.0, 4.0, 2.0]]))
    array([[2., 1., 4., 2.]])
    """
    low, high = boxes[..., :2], boxes[..., 2:]
    return _library(boxes).concatenate([(low + high) / 2, high - low], -1)


def to_corners(boxes: Any) -> Any:
    """The inverse of :func:`to_centers`."""
    center, half = boxes[..., :2], boxes[..., 2:] / 2
    return _library(boxes).concatenate([center - half, center + half], -1)


def _parts(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Area of intersection, of union and of the smallest box around both, of boxes that broadcast."""
    library = _library(a)
    shared = library.minimum(a[..., 2:], b[..., 2:]) - library.maximum(a[..., :2], b[..., :2])
    shared = shared.clip(min=0)
    around = library.maximum(a[..., 2:], b[..., 2:]) - library.minimum(a[..., :2], b[..., :2])
    intersection = shared[..., 0] * shared[..., 1]
    return intersection, areas(a) + areas(b) - intersection, around[..., 0] * around[..., 1]


def pairwise_iou(a: Any, b: Any) -> Any:
    """IoU (n, m) of every box of ``a`` (n, 4) with every box of ``b`` (m, 4).

    >>> pairwise_iou(np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([[0.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 2.0]]))
    array([[1.        , 0.33333333]])
    """
    intersection, union, _ = _parts(a[:, None], b[None])
    return intersection / union


def _giou(a: Any, b: Any) -> Any:
    intersection, union, around = _parts(a, b)
    return intersection / union - (around - union) / around


def pairwise_giou(a: Any, b: Any) -> Any:
    """GIoU (n, m), from -1 (far apart) to 1 (equal)."""
    return _giou(a[:, None], b[None])


def paired_giou(a: Any, b: Any) -> Any:
    """GIoU of the first box of ``a`` with the first of ``b``, and so on; 1 minus it is a loss for boxes."""
    return _giou(a, b)


def box_encode(boxes: Any, anchors: Any) -> Any:
    """Offsets (t_x, t_y, t_w, t_h) that move ``anchors`` onto ``boxes``."""
    box, anchor = to_centers(boxes), to_centers(anchors)
    library = _library(boxes)
    shift = (box[..., :2] - anchor[..., :2]) / anchor[..., 2:]
    return library.concatenate([shift, library.log(box[..., 2:] / anchor[..., 2:])], -1)


def box_decode(offsets: Any, anchors: Any) -> Any:
    """Boxes that ``offsets`` make of ``anchors``: the inverse of :func:`box_encode`.

    >>> anchors = np.array([[0.0, 0.0, 4.0, 2.0]])
    >>> box_decode(np.array([[0.5, 0.0, np.log(2.0), 0.0]]), anchors)
    array([[0., 0., 8., 2.]])
    """
    anchor = to_centers(anchors)
    center = anchor[..., :2] + offsets[..., :2] * anchor[..., 2:]
    library = _library(offsets)
    sides = anchor[..., 2:] * library.exp(offsets[..., 2:].clip(max=LONGEST_STEP))
    return to_corners(library.concatenate([center, sides], -1))


def clip_boxes(boxes: Any, height: int, width: int) -> Any:
    """Boxes cut to an image; one that lies outside gets sides of 0."""
    x, y = boxes[..., 0::2].clip(0, width), boxes[..., 1::2].clip(0, height)
    return _library(boxes).stack([x[..., 0], y[..., 0], x[..., 1], y[..., 1]], -1)
