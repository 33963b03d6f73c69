"""The normalizations in torch's fused kernels: what the layers run.

Values and gradients are those of :mod:`margin.neural.normalization.functions` to rounding, which one test holds;
:func:`~margin.neural.written_gradients.rms_normalized` is the fused form of ``rms_norm``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from margin.neural.normalization.functions import EPS

__all__ = ["fused_batch_norm", "fused_group_norm", "fused_instance_norm", "fused_layer_norm"]


def fused_batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_variance: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = EPS,
) -> Tensor:
    """Each channel of x, (N, C) or (N, C, ...); in training the running statistics are moved in place."""
    return functional.batch_norm(x, running_mean, running_variance, weight, bias, training, momentum, eps)


def fused_layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = EPS,
) -> Tensor:
    """Over the last axes, of sizes ``normalized_shape``."""
    return functional.layer_norm(x, tuple(normalized_shape), weight, bias, eps)


def fused_group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = EPS
) -> Tensor:
    """Groups of neighboring channels of each sample of (N, C, ...)."""
    return torch.group_norm(x, num_groups, weight, bias, eps)


def fused_instance_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = EPS
) -> Tensor:
    """Each channel of each sample of (N, C, *space): a group per channel."""
    return torch.group_norm(x, x.shape[1], weight, bias, eps)
