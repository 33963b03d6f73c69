r"""A detector from before convolutional networks: oriented gradients in a sliding window (Dalal and Triggs 2005).

The image is seen at several sizes. In each, every place of a window of fixed size is a candidate: its descriptor are
the blocks of oriented gradients inside (:mod:`margin.vision.features.hog`), and a linear support vector machine per
class says :math:`f(x) = w^T x + b`. Nothing but the machines is learned, from windows that cover an object and from
those that are wrong by most: the search for hard negatives, which the paper does once, is made at every step.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.losses.margins import hinge_loss
from margin.vision.detection.backbone import Detected, DetectorNetwork, Scene, image_size
from margin.vision.detection.boxes import clip_boxes, pairwise_iou
from margin.vision.features.hog import cell_histograms, normalized_blocks

__all__ = ["HOGWindows"]

CELL, BINS, BLOCK = 4, 9, 2
OBJECT_CELLS, MARGIN_CELLS = 4, 1  # a window is an object with a margin, since contours lie at the edge of a box
WINDOW_BLOCKS = OBJECT_CELLS + 2 * MARGIN_CELLS - BLOCK + 1
SIZES = (0.65, 0.8, 1.0, 1.25, 1.55)  # of objects, relative to the usual one
FOREGROUND, BACKGROUND = 0.6, 0.4  # IoU with an object from which a window is one, below which it is none
SMALLEST_OBJECT = 2.0  # pixels: the largest image of the pyramid is eight times the given one
HARD_NEGATIVES = 3  # for each window with an object; at least so many per image


class HOGWindows(DetectorNetwork):
    """Windows of square objects near ``usual_side``, judged by one linear machine per class."""

    def __init__(self, n_classes: int, usual_side: float):
        super().__init__()
        self.sides = [max(size * usual_side, SMALLEST_OBJECT) for size in SIZES]
        self.machines = nn.Conv2d(BLOCK * BLOCK * BINS, n_classes, WINDOW_BLOCKS)

    def windows(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Boxes (W, 4) of all windows, the same in every image, and scores (N, W, classes)."""
        boxes, scores = [], []
        for side, blocks in zip(self.sides, self.pyramid(images)):
            score = self.machines(blocks)  # (N, classes, down, across): the window slides as a filter does
            rows, columns = (torch.arange(n, dtype=images.dtype, device=images.device) for n in score.shape[2:])
            step = side / OBJECT_CELLS  # of the margin's cells on the left one lies outside of the image
            left, top = torch.meshgrid(step * columns, step * rows, indexing="xy")
            corner = torch.stack([left, top], dim=-1).reshape(-1, 2) + step * (MARGIN_CELLS - 1)
            boxes.append(torch.cat([corner, corner + side], dim=1))
            scores.append(score.flatten(2).transpose(1, 2))
        return torch.cat(boxes), torch.cat(scores, dim=1)

    def pyramid(self, images: Tensor) -> Iterator[Tensor]:
        """Blocks (N, values, down, across) of the images at each size, at which such an object has its cells."""
        least = OBJECT_CELLS + 2 * MARGIN_CELLS
        for side in self.sides:
            size = [round(n * OBJECT_CELLS * CELL / side) for n in image_size(images)]
            resized = functional.interpolate(images, size=size, mode="bilinear", antialias=True, align_corners=False)
            # One cell of the edge's pixels around, and what is missing to a whole window.
            missing = [max(0, least * CELL - (n + 2 * CELL)) for n in size]
            around = (CELL, CELL + missing[1], CELL, CELL + missing[0])
            padded = functional.pad(resized, around, mode="replicate")
            cells = cell_histograms(padded.numpy(force=True), (CELL, CELL), BINS)
            blocks = torch.from_numpy(normalized_blocks(cells, BLOCK)).to(images)
            yield blocks.permute(0, 3, 1, 2)

    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        boxes, scores = self.windows(scene.images)
        total, n_terms = scores.new_zeros(()), 0
        for k in range(len(scene.images)):
            objects, labels = scene.objects(k)
            overlap = pairwise_iou(boxes, objects)
            best, number = overlap.max(dim=1) if len(objects) else (boxes.new_zeros(len(boxes)), None)
            hit = best >= FOREGROUND
            if number is not None:  # the nearest windows too, so that no object is without an example
                nearest = overlap.argmax(dim=0)
                hit[nearest], number[nearest] = True, torch.arange(len(objects), device=boxes.device)
            positive = scores[k, hit]
            signs = -torch.ones_like(positive)
            if number is not None:
                signs.scatter_(1, labels[number[hit]][:, None], 1.0)
            negative = scores[k, ~hit & (best < BACKGROUND)]
            count = min(len(negative), HARD_NEGATIVES * max(len(positive), 1))
            hardest = negative[negative.amax(dim=1).topk(count).indices]
            total = total + hinge_loss(positive, signs, "sum") + hinge_loss(hardest, -torch.ones_like(hardest), "sum")
            n_terms += positive.numel() + hardest.numel()
        loss = total / max(n_terms, 1)
        return {"loss": loss, "machine_loss": loss}

    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        boxes, scores = self.windows(images)
        best, labels = torch.sigmoid(2 * scores).max(dim=2)
        boxes = clip_boxes(boxes, *image_size(images))
        return [Detected(boxes, label, score) for label, score in zip(labels, best)]
