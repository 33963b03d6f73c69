"""Detectors as modules that can be written outside: all candidates of every image, before the worst are left out."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from margin.neural.nets.image_parts import Standardized
from margin.store.onnx.graph import CannotExport

__all__ = ["Candidates"]

EXPORTED = ("yolo", "detr")


class Candidates(nn.Module):
    """Images (n, c, h, w) to boxes (n, m, 4) by their corners in pixels, the numbers of their classes, their scores.

    What is left out afterwards is cheap outside of a graph: what of a box is beyond the image, scores below
    ``score_threshold`` and, for 'yolo', boxes that overlap a better one.
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
        return boxes, labels, scores
