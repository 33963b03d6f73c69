"""Normalizations as objects: ``norm="group"`` or ``norm=GroupNormalization(groups=4)``.

===============  ==========================================  ========================================
name             of rows (N, units)                          of images (N, channels, H, W)
===============  ==========================================  ========================================
``"batch"``      every unit over the batch                   every channel over batch and space
``"layer"``      every row over its units                    every image over channels and space
``"rms"``        every row, scaled and not centered          -
``"group"``      groups of units of every row                groups of channels of every image
``"instance"``   -                                           every channel of every image
===============  ==========================================  ========================================
"""

from __future__ import annotations

import math

from torch import nn

from margin.core.domains import Integer, Number
from margin.core.parameters import parameter
from margin.core.parts import Part
from margin.neural.normalization.functions import EPS
from margin.neural.normalization.layers import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm

__all__ = [
    "IMAGE_NORMS",
    "NORMALIZATIONS",
    "ROW_NORMS",
    "BatchNormalization",
    "GroupNormalization",
    "InstanceNormalization",
    "LayerNormalization",
    "Normalization",
    "RMSNormalization",
]


class Normalization(Part):
    """What stands between a linear map and its activation; it says which layer that is."""

    eps: float = parameter(EPS, Number(above=0), "What is added to the variance.")

    def of_rows(self, width: int) -> nn.Module:
        """The layer for rows of ``width`` units."""
        raise ValueError(f"norm must be one for rows of units, which {type(self).__name__} is not.")

    def of_images(self, channels: int) -> nn.Module:
        """The layer for images of so many ``channels``."""
        raise ValueError(f"norm must be one for images, which {type(self).__name__} is not.")


class BatchNormalization(Normalization):
    """Every unit or channel over the batch; predictions use running averages."""

    momentum: float = parameter(0.1, Number(above=0, high=1), "Weight of a new batch in the running averages.")

    def of_rows(self, width: int) -> nn.Module:
        return BatchNorm(width, self.eps, self.momentum)

    def of_images(self, channels: int) -> nn.Module:
        return BatchNorm(channels, self.eps, self.momentum)


class LayerNormalization(Normalization):
    """Every row over its units, every image over its channels and pixels."""

    def of_rows(self, width: int) -> nn.Module:
        return LayerNorm(width, self.eps)

    def of_images(self, channels: int) -> nn.Module:
        return GroupNorm(1, channels, self.eps)  # all channels are one group; a scale per channel suits every size


class RMSNormalization(Normalization):
    """Every row divided by the root of its mean square."""

    def of_rows(self, width: int) -> nn.Module:
        return RMSNorm(width, self.eps)


class GroupNormalization(Normalization):
    """Groups of neighboring units or channels; where their number does not divide them, the next smaller that does."""

    groups: int = parameter(8, Integer(low=1), "Most groups.")

    def of_rows(self, width: int) -> nn.Module:
        return GroupNorm(math.gcd(self.groups, width), width, self.eps)

    def of_images(self, channels: int) -> nn.Module:
        return GroupNorm(math.gcd(self.groups, channels), channels, self.eps)


class InstanceNormalization(Normalization):
    """Every channel of every image over its pixels."""

    def of_images(self, channels: int) -> nn.Module:
        return InstanceNorm(channels, self.eps, affine=True)


#: Names of normalizations; a new one is a class in a file of its own, and a line here.
NORMALIZATIONS: dict[str, type[Normalization]] = {
    "batch": BatchNormalization,
    "layer": LayerNormalization,
    "rms": RMSNormalization,
    "group": GroupNormalization,
    "instance": InstanceNormalization,
}
ROW_NORMS, IMAGE_NORMS = ("batch", "layer", "rms", "group"), ("batch", "layer", "group", "instance")
