r"""YOLO (Redmon et al. 2016, 2017): every cell of a grid predicts a box, whether an object is there, and its class.

The cell in which the middle of an object lies is responsible for it. Its outputs :math:`t_x, t_y, t_w, t_h, t_o` mean

.. math:: x = s\,(c_x + \sigma(t_x)),\quad y = s\,(c_y + \sigma(t_y)),\quad w = p\,e^{t_w},\quad h = p\,e^{t_h},\quad
          P(\text{object}) = \sigma(t_o)

with the column and row :math:`c_x, c_y` of the cell, its side s, and a side p that objects usually have. One pass over
the image gives all boxes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from margin.neural.activations.fused import fused_softmax
from margin.neural.losses.fused import fused_bce_with_logits, fused_cross_entropy, fused_mse_loss
from margin.vision.detection.backbone import Backbone, Detected, DetectorNetwork, Scene
from margin.vision.detection.boxes import to_centers, to_corners

__all__ = ["YOLO", "yolo_boxes"]

COORDINATE_WEIGHT, EMPTY_WEIGHT = 5.0, 0.5  # the paper's: few cells have an object, most have none


def yolo_boxes(offsets: Tensor, stride: float, prior: float) -> Tensor:
    """Boxes (N, H, W, 4) by their corners from outputs (N, H, W, 4)."""
    height, width = offsets.shape[1:3]
    axes = (torch.arange(size, device=offsets.device) for size in (width, height))
    cell = torch.stack(torch.meshgrid(*axes, indexing="xy"), dim=-1)
    center = stride * (cell + torch.sigmoid(offsets[..., :2]))
    sides = prior * torch.exp(offsets[..., 2:].clip(max=4.0))
    return to_corners(torch.cat([center, sides], dim=-1))


class YOLO(DetectorNetwork):
    """One convolution on the features gives 5 + classes numbers per cell."""

    def __init__(self, in_channels: int, n_classes: int, channels: int, prior: float, context_layers: int = 0):
        super().__init__()
        self.backbone = Backbone(in_channels, channels, context_layers)
        self.n_classes, self.prior = n_classes, prior
        self.head = nn.Conv2d(self.backbone.out_channels, 5 + n_classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Outputs (N, H, W, 5 + classes)."""
        return self.head(self.backbone(images)).permute(0, 2, 3, 1)

    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        out = self(scene.images)
        image, number = torch.nonzero(scene.labels >= 0, as_tuple=True)
        objects, labels = scene.boxes[image, number], scene.labels[image, number]
        centers = to_centers(objects)
        cell = (centers[:, :2] / self.backbone.stride).long()
        column, row = cell[:, 0].clip(0, out.shape[2] - 1), cell[:, 1].clip(0, out.shape[1] - 1)
        occupied = torch.zeros(out.shape[:3], dtype=out.dtype, device=out.device)
        occupied[image, row, column] = 1.0
        presence = fused_bce_with_logits(out[..., 4], occupied, reduction="none")
        presence = (presence * torch.where(occupied > 0, 1.0, EMPTY_WEIGHT)).sum() / len(out)
        mine = out[image, row, column]
        place = fused_mse_loss(
            torch.sigmoid(mine[:, :2]), centers[:, :2] / self.backbone.stride - cell, reduction="sum"
        )
        # Roots of the sides, so that a pixel counts more on a small box.
        roots = torch.exp(mine[:, 2:4].clip(max=4.0) / 2), torch.sqrt(centers[:, 2:] / self.prior)
        place = (place + fused_mse_loss(*roots, reduction="sum")) / len(out)
        classes = fused_cross_entropy(mine[:, 5:], labels, reduction="sum") / len(out)
        loss = presence + COORDINATE_WEIGHT * place + classes
        return {"loss": loss, "object_loss": presence, "box_loss": place, "class_loss": classes}

    def candidates(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Boxes (N, cells, 4), the most probable class and the score of every cell."""
        out = self(images)
        boxes = yolo_boxes(out[..., :4], self.backbone.stride, self.prior).flatten(1, 2)
        best, labels = fused_softmax(out[..., 5:], dim=-1).max(dim=-1)
        scores = (torch.sigmoid(out[..., 4]) * best).flatten(1)
        return boxes, labels.flatten(1), scores

    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        return [Detected(*detection) for detection in zip(*self.candidates(images))]
