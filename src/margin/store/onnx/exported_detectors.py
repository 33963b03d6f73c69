"""Detectors as modules that can be written outside: all candidates of every image, before the worst are left out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.nets.image_parts import Standardized
from margin.store.onnx.graph import CannotExport

__all__ = ["Candidates"]

EXPORTED = ("yolo", "detr")


class Candidates(nn.Module):
    """Images (n, c, h, w) to boxes (n, m, 4) by their corners in pixels, the numbers of their classes, their scores.

    What is left out afterwards, a score below ``score_threshold`` and for 'yolo' boxes that overlap a better one, is
    cheap outside of a graph.
    """

    def __init__(self, module: Standardized, architecture: str):
        super().__init__()
        if architecture not in EXPORTED:
            raise CannotExport(
                f"export_onnx: ObjectDetector with architecture {architecture!r} cannot be exported: what it looks at "
                f"depends on the image; {' and '.join(EXPORTED)} can."
            )
        self.module = module

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        body: Any = self.module.body
        boxes, labels, scores = body.candidates(self.module.prepare(images))
        height, width = images.shape[2], images.shape[3]
        x, y = boxes[..., 0::2].clamp(min=0, max=width), boxes[..., 1::2].clamp(min=0, max=height)
        return torch.stack([x, y], dim=-1).flatten(2), labels, scores
