"""Anchors: reference boxes of several sizes and shapes around every position of a feature map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from margin.vision.detection.boxes import pairwise_iou

__all__ = ["anchor_targets", "make_anchors", "sample_anchors"]


def make_anchors(
    height: int, width: int, stride: float, scales: Sequence[float], ratios: Sequence[float] = (0.5, 1.0, 2.0)
) -> np.ndarray:
    """Boxes (height * width * k, 4), k = len(scales) * len(ratios), centered on the cells, row by row.

    A scale is the root of the area in pixels; a ratio is height / width.

    >>> make_anchors(40, 60, 16, scales=(128, 256, 512)).shape
    (21600, 4)
    """
    scale, ratio = (grid.ravel() for grid in np.meshgrid(scales, ratios, indexing="ij"))
    half = np.stack([scale / np.sqrt(ratio), scale * np.sqrt(ratio)], axis=1) / 2  # (k, 2): half width, half height
    y, x = ((np.mgrid[:height, :width] + 0.5) * stride).reshape(2, -1, 1)
    center = np.concatenate([x, y], axis=1)[:, None]  # (height * width, 1, 2)
    return np.concatenate([center - half, center + half], axis=2).reshape(-1, 4)


def anchor_targets(anchors: Tensor, objects: Tensor, positive: float = 0.7, negative: float = 0.3) -> Tensor:
    """For every anchor the number of its object, -1 for background, -2 if it is neither and not trained on.

    An anchor belongs to the object it overlaps most if their IoU is at least ``positive``, and the best anchors of an
    object belong to it whatever their IoU, so that no object is left without (Ren et al. 2015).
    """
    target = torch.full((len(anchors),), -1, dtype=torch.int64, device=anchors.device)
    if not len(objects):
        return target
    overlap = pairwise_iou(anchors, objects)
    best, number = overlap.max(dim=1)
    target[best >= negative] = -2
    target[best >= positive] = number[best >= positive]
    rows, columns = torch.nonzero((overlap == overlap.max(dim=0).values) & (overlap > 0), as_tuple=True)
    target[rows] = columns
    return target


def sample_anchors(target: Tensor, size: int, generator: Any = None, positive_fraction: float = 0.5) -> Tensor:
    """Numbers of ``size`` anchors, at most a fraction of them with an object; background fills what is missing."""
    positive, negative = torch.nonzero(target >= 0)[:, 0], torch.nonzero(target == -1)[:, 0]
    n_positive = min(len(positive), int(size * positive_fraction))
    n_negative = min(len(negative), size - n_positive)
    chosen = [
        part[torch.randperm(len(part), generator=generator, device=part.device)[:n]]
        for part, n in ((positive, n_positive), (negative, n_negative))
    ]
    return torch.cat(chosen)
