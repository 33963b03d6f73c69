r"""DETR (Carion et al. 2020): a transformer turns the positions of a feature map into a set of objects.

Learned queries look at the encoded map; each gives a class (or "no object") and a box as fractions of the image. The
loss matches predictions and objects one to one (:mod:`margin.detection.matching`), so nothing is suppressed.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from margin.detection.backbone import Backbone, Detected, DetectorNetwork, Scene, image_size
from margin.detection.boxes import to_centers, to_corners
from margin.detection.matching import batch_set_loss

__all__ = ["DETR", "sine_positions"]


def sine_positions(height: int, width: int, d: int) -> Tensor:
    """Sines and cosines of row and column, (height * width, d) with d divisible by 4.

    >>> sine_positions(3, 5, 8).shape
    torch.Size([15, 8])
    """
    if d % 4:
        raise ValueError(f"sine_positions: d must be divisible by 4; got {d}.")
    rate = torch.exp(-math.log(1000.0) * torch.arange(d // 4) / (d // 4))
    rows, columns = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    angles = [part.reshape(-1, 1) * rate for part in (rows, columns)]
    return torch.cat([wave(angle) for angle in angles for wave in (torch.sin, torch.cos)], dim=1)


class DETR(DetectorNetwork):
    """``n_queries`` predictions per image, from a transformer of ``n_layers`` layers on both sides."""

    suppresses = False

    def __init__(self, in_channels: int, n_classes: int, channels: int, n_queries: int = 10, n_layers: int = 2,
                 context_layers: int = 0):  # fmt: skip
        super().__init__()
        self.backbone = Backbone(in_channels, channels, context_layers)
        d = self.backbone.out_channels
        options: dict[str, Any] = {"dim_feedforward": 2 * d, "dropout": 0.0, "batch_first": True, "norm_first": True}
        encoder = nn.TransformerEncoderLayer(d, 4, **options)
        decoder = nn.TransformerDecoderLayer(d, 4, **options)
        self.encoder = nn.TransformerEncoder(encoder, n_layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, n_layers, norm=nn.LayerNorm(d))
        self.queries = nn.Parameter(torch.randn(n_queries, d))
        self.classify = nn.Linear(d, n_classes + 1)
        self.place = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (N, queries, classes + 1) and boxes (N, queries, 4), centers and sides as fractions."""
        maps = self.backbone(images)
        tokens = maps.flatten(2).transpose(1, 2) + sine_positions(*image_size(maps), maps.shape[1])
        memory = self.encoder(tokens)
        found = self.decoder(self.queries.expand(len(images), -1, -1), memory)
        return self.classify(found), self.place(found).sigmoid()

    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        logits, boxes = self(scene.images)
        height, width = image_size(scene.images)
        size = torch.tensor([width, height, width, height], dtype=boxes.dtype)
        objects, labels = zip(*(scene.objects(k) for k in range(len(logits))))
        return {"loss": batch_set_loss(logits, boxes, labels, [to_centers(part) / size for part in objects])}

    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        logits, boxes = self(images)
        height, width = image_size(images)
        corners = to_corners(boxes) * torch.tensor([width, height, width, height], dtype=boxes.dtype)
        scores, labels = logits.softmax(dim=2)[..., :-1].max(dim=2)
        return [Detected(*found) for found in zip(corners, labels, scores)]
