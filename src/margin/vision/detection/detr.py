r"""DETR (Carion et al. 2020): a transformer turns the positions of a feature map into a set of objects.

Learned queries look at the encoded map; each gives a class (or "no object") and a box as fractions of the image. The
loss matches predictions and objects one to one (:mod:`margin.vision.detection.matching`), so nothing is suppressed.

As in the paper every layer of the decoder has the loss. Unlike there, a query's box is predicted as a change of
a box of its own, which is learned too and starts somewhere else in the image for every query (Liu et al. 2022): where
all start alike, which query takes which object is a matter of luck for long, and some starts end far behind others.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.activations.fused import fused_softmax
from margin.vision.detection.backbone import Backbone, Detected, DetectorNetwork, Scene, image_size
from margin.vision.detection.boxes import to_centers, to_corners
from margin.vision.detection.matching import batch_set_loss

__all__ = ["DETR", "sine_positions", "spread_boxes"]

PLASTIC = 1.324717957244746  # the root of g^3 = g + 1; steps of 1 / g and 1 / g^2 fill a square evenly at every number
INSIDE = 0.1  # first centers keep this distance to the border, where a sigmoid is flat
SMALL_CHANGE = 0.1  # factor of the first weights that change a box: at first every query stays where it starts
FIRST_SIDE = 0.4  # of the boxes that queries start from, as a fraction of the image


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


def spread_boxes(n: int) -> Tensor:
    """Boxes (n, 4) with centers and sides as fractions, whose centers are spread evenly over the image.

    >>> spread_boxes(2)
    tensor([[0.2549, 0.0698, 0.4000, 0.4000],
            [0.0098, 0.6397, 0.4000, 0.4000]])
    """
    k = torch.arange(1, n + 1, dtype=torch.float64)
    centers = [(0.5 + k / PLASTIC**power) % 1 for power in (1, 2)]
    return torch.stack([*centers, *[torch.full_like(k, FIRST_SIDE)] * 2], dim=1).float()


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
        self.starts = nn.Parameter(torch.logit(spread_boxes(n_queries), eps=INSIDE))
        with torch.no_grad():
            self.place[-1].weight.mul_(SMALL_CHANGE)  # type: ignore[operator]
            self.place[-1].bias.zero_()  # type: ignore[operator]

    def layers(self, images: Tensor) -> list[tuple[Tensor, Tensor]]:
        """What every layer of the decoder says: logits (N, queries, classes + 1) and boxes (N, queries, 4).

        Boxes have centers and sides as fractions of the image.
        """
        maps = self.backbone(images)
        tokens = maps.flatten(2).transpose(1, 2) + sine_positions(*image_size(maps), maps.shape[1]).to(maps.device)
        memory, x = self.encoder(tokens), self.queries.expand(images.shape[0], -1, -1)
        by_layer: list[tuple[Tensor, Tensor]] = []
        for layer in self.decoder.layers:
            x = layer(x, memory)
            normalized = self.decoder.norm(x)  # type: ignore[misc]
            by_layer.append((self.classify(normalized), (self.starts + self.place(normalized)).sigmoid()))
        return by_layer

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (N, queries, classes + 1) and boxes (N, queries, 4) of the last layer."""
        return self.layers(images)[-1]

    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        """The mean of the set loss over the layers of the decoder."""
        height, width = image_size(scene.images)
        size = torch.tensor([width, height, width, height], dtype=scene.boxes.dtype, device=scene.boxes.device)
        objects, labels = zip(*(scene.objects(k) for k in range(len(scene.images))))
        centers = [to_centers(part) / size for part in objects]
        losses_by_layer = [
            batch_set_loss(logits, boxes, labels, centers) for logits, boxes in self.layers(scene.images)
        ]
        return {"loss": torch.stack(losses_by_layer).mean()}

    def candidates(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Boxes (N, queries, 4), the most probable class and the score of every query."""
        logits, boxes = self(images)
        sides = image_size(images)[::-1] * 2
        corners = torch.stack([edge * side for edge, side in zip(to_corners(boxes).unbind(-1), sides)], dim=-1)
        scores, labels = fused_softmax(logits, dim=2)[..., :-1].max(dim=2)
        return corners, labels, scores

    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        return [Detected(*detection) for detection in zip(*self.candidates(images))]
