"""What all detectors share: the backbone, the training targets of a batch, and the detections."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.normalization.layers import BatchNorm

__all__ = ["Backbone", "Detected", "DetectorNetwork", "Scene", "image_size"]


def image_size(images: Tensor) -> tuple[int, int]:
    """Height and width of images (N, C, H, W)."""
    return images.shape[2], images.shape[3]  # no int of them: what is written outside takes any size


class Scene(NamedTuple):
    """Images (N, C, H, W) with their objects in rows of equal length: boxes (N, M, 4), labels (N, M), -1 for none.

    ``proposals`` (N, P, 4) are boxes from outside, for the networks that need them; rows of NaN are none.
    """

    images: Tensor
    boxes: Tensor
    labels: Tensor
    proposals: Tensor

    def objects(self, k: int) -> tuple[Tensor, Tensor]:
        """Boxes and labels of image ``k``."""
        mask = self.labels[k] >= 0
        return self.boxes[k][mask], self.labels[k][mask]

    def regions(self, k: int) -> Tensor:
        """Proposals of image ``k``."""
        return self.proposals[k][~self.proposals[k, :, 0].isnan()]


class Detected(NamedTuple):
    """What a network found in one image: boxes (n, 4), labels (n,), scores (n,), before any suppression."""

    boxes: Tensor
    labels: Tensor
    scores: Tensor


class DetectorNetwork(nn.Module):
    """A network that says what its loss on scenes is, and what it finds in images."""

    needs_proposals = False
    suppresses = True  # whether overlapping finds are to be suppressed

    @abstractmethod
    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        """Named scalars, "loss" among them."""

    @abstractmethod
    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        """What is found in every image."""


class Dilated(nn.Module):
    """A convolution with gaps, whose result is added: it sees further around than one without, at the same cost."""

    def __init__(self, channels: int, dilation: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=dilation, dilation=dilation, bias=False)
        self.norm = BatchNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        return x + functional.relu(self.norm(self.conv(x)))


class Backbone(nn.Sequential):
    """Convolutions with two halvings: features (N, 4 * channels, H / 4, W / 4).

    A feature sees 26 pixels around; each of ``context_layers`` sees twice as far as the one before, 42, 74, 138 pixels.

    >>> Backbone(1, 8)(torch.zeros(2, 1, 32, 32)).shape
    torch.Size([2, 32, 8, 8])
    """

    stride = 4

    def __init__(self, in_channels: int, channels: int, context_layers: int = 0):
        widths = [in_channels, channels, 2 * channels, 4 * channels, 4 * channels]
        layers: list[nn.Module] = []
        for k, (a, b) in enumerate(pairwise(widths)):
            layers += [nn.Conv2d(a, b, 3, padding=1, bias=False), BatchNorm(b), nn.ReLU()]
            if k in (0, 1):
                layers.append(nn.MaxPool2d(2))
        layers += [Dilated(widths[-1], 2 ** (k + 1)) for k in range(context_layers)]
        super().__init__(*layers)
        self.out_channels = widths[-1]
