"""Random changes of scenes: images are changed as for classification, and boxes move with what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from margin.neural.augment import apply_augmentation
from margin.neural.moves import move_boxes
from margin.vision.detection.backbone import Scene, image_size

__all__ = ["augment_scene"]

LEAST_PART = 0.25  # of a box must be left inside the image: nobody could tell the object from less


def augment_scene(scene: Scene, changes: Sequence[tuple[str, float]], generator: torch.Generator) -> Scene:
    """``scene`` with every augmentation (name and number) in turn; objects that leave the image are none any more.

    >>> corner = torch.tensor([[[0.0, 0.0, 1.0, 1.0]]])
    >>> scene = Scene(torch.eye(4)[None, None], corner, torch.zeros(1, 1), torch.empty(1, 0, 4))
    >>> augment_scene(scene, [("flip", 0.0)], torch.Generator().manual_seed(0)).boxes.tolist()
    [[[3.0, 0.0, 4.0, 1.0]]]
    """
    images, boxes, labels, proposals = scene
    height, width = image_size(images)
    for name, value in changes:
        images, moves = apply_augmentation(images, name, value, generator)
        if moves is None:
            continue
        boxes, part = move_boxes(boxes, moves, height, width)
        labels = labels.masked_fill(part < LEAST_PART, -1)
        proposals, part = move_boxes(proposals, moves, height, width)
        proposals = proposals.masked_fill((part < LEAST_PART)[..., None], torch.nan)
    return Scene(images, boxes, labels, proposals)
