"""The normalizations as layers; parameters and buffers have torch's names, so that weights can be exchanged."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from margin.neural.normalization.functions import (
    EPS,
    BatchStatistics,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
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


class BatchNorm(_Affine):
    r"""Batch normalization of rows (N, C), sequences (N, C, L) or images (N, C, H, W): 2C parameters, 2C averages.

    ``training`` decides between the statistics of the batch and the running ones; call ``eval()`` before predicting.

    >>> layer = BatchNorm(3)
    >>> y = layer(torch.randn(64, 3, generator=torch.Generator().manual_seed(0)) * 5 + 2)
    >>> bool(y.mean(dim=0).abs().max() < 1e-5), layer.running_mean.shape
    (True, torch.Size([3]))
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = EPS, momentum: float = 0.1, affine: bool = True):
        super().__init__([num_features], affine, eps)
        self.num_features, self.momentum = num_features, momentum
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"BatchNorm: x must have shape (N, {self.num_features}, ...); got {tuple(x.shape)}.")
        running = BatchStatistics(self.running_mean, self.running_var)
        y, running = batch_norm(x, running, self.weight, self.bias, self.training, self.momentum, self.eps)
        if self.training:
            self.running_mean.copy_(running.mean)
            self.running_var.copy_(running.variance)
        return y

    def extra_repr(self) -> str:
        return f"{self.num_features}, momentum={self.momentum}"


class LayerNorm(_Affine):
    """Each sample over its last axes: the same in training and prediction, whatever the batch."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = EPS, affine: bool = True):
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        super().__init__(shape, affine, eps)
        self.normalized_shape = tuple(shape)

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


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
        return instance_norm(x, self.weight, self.bias, self.eps)


class GroupNorm(_Affine):
    """Groups of channels of each sample: between layer norm (one group) and instance norm (a group per channel)."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = EPS, affine: bool = True):
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(f"GroupNorm: num_groups must divide the {num_channels} channels; got {num_groups!r}.")
        super().__init__([num_channels], affine, eps)
        self.num_groups = num_groups

    def forward(self, x: Tensor) -> Tensor:
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)
