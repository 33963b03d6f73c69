"""The normalizations as layers; parameters and buffers have torch's names, so that weights can be exchanged."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from margin.neural.normalization.functions import EPS, rms_norm
from margin.neural.normalization.fused import (
    fused_batch_norm,
    fused_group_norm,
    fused_instance_norm,
    fused_layer_norm,
)
from margin.neural.written_gradients import rms_normalized

__all__ = ["BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm"]


class _Affine(nn.Module):
    """Scale ``weight`` and shift ``bias``, learned from 1 and 0; None where ``affine`` is off."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(self, shape: Sequence[int], affine: bool, eps: float, shifted: bool = True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(*shape)) if affine else None
        self.bias = nn.Parameter(torch.zeros(*shape)) if affine and shifted else None


class BatchNorm(nn.modules.batchnorm._BatchNorm):
    r"""Batch normalization of rows (N, C), sequences (N, C, L) or images (N, C, H, W): 2C parameters, 2C averages.

    ``training`` decides between the statistics of the batch and the running ones; call ``eval()`` before predicting.
    Torch's counter of batches, which decides nothing, is left out.

    >>> layer = BatchNorm(3)
    >>> y = layer(torch.randn(64, 3, generator=torch.Generator().manual_seed(0)) * 5 + 2)
    >>> bool(y.mean(dim=0).abs().max() < 1e-5), layer.running_mean.shape
    (True, torch.Size([3]))
    """

    running_mean: Tensor
    running_var: Tensor
    momentum: float

    def __init__(self, num_features: int, eps: float = EPS, momentum: float = 0.1, affine: bool = True):
        super().__init__(num_features, eps, momentum, affine)
        self.num_batches_tracked = None

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"BatchNorm: x must have shape (N, {self.num_features}, ...); got {tuple(x.shape)}.")
        if self.training and x.numel() == self.num_features:
            raise ValueError(f"BatchNorm: training needs more than one value per channel; got shape {tuple(x.shape)}.")
        return fused_batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
        )

    def extra_repr(self) -> str:
        return f"{self.num_features}, momentum={self.momentum}"


class LayerNorm(nn.LayerNorm):
    """Each sample over its last axes: the same in training and prediction, whatever the batch."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = EPS, affine: bool = True):
        super().__init__(normalized_shape, eps, elementwise_affine=affine)

    def forward(self, x: Tensor) -> Tensor:
        return fused_layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Affine):
    """Root mean square normalization of the last axis, with a scale and no shift."""

    def __init__(self, features: int, eps: float = EPS, affine: bool = True):
        super().__init__([features], affine, eps, shifted=False)

    def forward(self, x: Tensor) -> Tensor:
        if self.weight is None:
            return rms_norm(x, None, self.eps)
        return rms_normalized(x, self.weight, self.eps)


class InstanceNorm(_Affine):
    """Each channel of each sample over its space; without parameters unless ``affine``, as in torch."""

    def __init__(self, num_features: int, eps: float = EPS, affine: bool = False):
        super().__init__([num_features], affine, eps)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 3:
            raise ValueError(f"InstanceNorm: x must have shape (N, C, *space); got {tuple(x.shape)}.")
        return fused_instance_norm(x, self.weight, self.bias, self.eps)


class GroupNorm(nn.GroupNorm):
    """Groups of channels of each sample: between layer norm (one group) and instance norm (a group per channel)."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = EPS, affine: bool = True):
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(f"GroupNorm: num_groups must divide the {num_channels} channels; got {num_groups!r}.")
        super().__init__(num_groups, num_channels, eps, affine)

    def forward(self, x: Tensor) -> Tensor:
        return fused_group_norm(x, self.num_groups, self.weight, self.bias, self.eps)
