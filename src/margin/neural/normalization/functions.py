r"""All normalizations standardize over some axes, then scale and shift:

.. math:: \hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}},\qquad y = \gamma\hat x + \beta,

with mean and (biased) variance of the values that are pooled. For x of shape (N, C, H, W): batch norm pools N, H, W;
layer norm C, H, W; instance norm H, W; group norm the channels of a group, H and W.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = [
    "BatchStatistics",
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "rms_norm",
    "standardize",
    "standardize_backward",
]

EPS = 1e-5  # torch's


def standardize(x: Tensor, axes: Sequence[int], eps: float = EPS) -> Tensor:
    """Mean 0 and variance sigma^2 / (sigma^2 + eps) over ``axes``.

    >>> standardize(torch.tensor([[1.0, 3.0]]), [1])
    tensor([[-1.0000,  1.0000]])
    """
    mean = x.mean(dim=tuple(axes), keepdim=True)
    variance = x.var(dim=tuple(axes), correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps)


def standardize_backward(grad: Tensor, x: Tensor, axes: Sequence[int], eps: float = EPS) -> Tensor:
    r"""The derivative in x, through mean and variance too:

    .. math:: \frac{\partial L}{\partial x} = \frac{1}{\sqrt{\sigma^2 + \epsilon}}\Bigl(g - \overline{g}
              - \hat x\,\overline{g\hat x}\Bigr)

    with bars for means over the pooled values: what a constant shift or a common scale would change is taken out.
    """
    dims = tuple(axes)
    deviation = torch.sqrt(x.var(dim=dims, correction=0, keepdim=True) + eps)
    x_hat = (x - x.mean(dim=dims, keepdim=True)) / deviation
    return (grad - grad.mean(dim=dims, keepdim=True) - x_hat * (grad * x_hat).mean(dim=dims, keepdim=True)) / deviation


class BatchStatistics(NamedTuple):
    """Averages over training of the batches' means and unbiased variances, one per channel."""

    mean: Tensor
    variance: Tensor


def batch_norm(
    x: Tensor,
    running: BatchStatistics,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = EPS,
) -> tuple[Tensor, BatchStatistics]:
    r"""Normalize each channel of x, (N, C) or (N, C, ...), and return the result with the next running statistics.

    In training by the batch, whose statistics enter the running ones,
    :math:`\mu_{run} \leftarrow (1 - \alpha)\mu_{run} + \alpha\mu_B` (the variance unbiased, as in torch); otherwise
    by the running ones, so that a row does not depend on the rest of its batch.
    """
    axes = [0, *range(2, x.ndim)]
    if training:
        count = x.numel() // x.shape[1]
        if count < 2:
            raise ValueError(f"batch_norm: training needs more than one value per channel; got shape {tuple(x.shape)}.")
        y, seen = standardize(x, axes, eps), x.detach()
        batch = BatchStatistics(seen.mean(dim=axes), seen.var(dim=axes, correction=1))
        running = BatchStatistics(*((1 - momentum) * old + momentum * new for old, new in zip(running, batch)))
    else:
        y = (x - _channel(running.mean, x)) / torch.sqrt(_channel(running.variance, x) + eps)
    return _affine(y, weight, bias), running


def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = EPS,
) -> Tensor:
    """Over the last axes, of sizes ``normalized_shape``: (C, H, W) of each image, or the features of each token.

    >>> layer_norm(torch.tensor([[1.0, 3.0], [10.0, 30.0]]), [2])
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    shape = tuple(normalized_shape)
    if tuple(x.shape[-len(shape) :]) != shape:
        raise ValueError(f"layer_norm: the last axes of x must have sizes {shape}; got shape {tuple(x.shape)}.")
    y = standardize(x, range(-len(shape), 0), eps)
    y = y if weight is None else weight * y
    return y if bias is None else y + bias


def rms_norm(x: Tensor, weight: Tensor | None = None, eps: float = EPS) -> Tensor:
    r""":math:`\gamma_j\,a_j / \sqrt{\frac1d\sum_k a_k^2 + \epsilon}` over the last axis: scaled, not centered.

    >>> rms_norm(torch.tensor([3.0, -3.0, 3.0]), eps=0.0)
    tensor([ 1., -1.,  1.])
    """
    y = x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + eps)
    return y if weight is None else weight * y


def instance_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = EPS) -> Tensor:
    """Each channel of each sample of (N, C, *space) over its space alone."""
    if x.ndim < 3:
        raise ValueError(f"instance_norm: x must have shape (N, C, *space); got {tuple(x.shape)}.")
    return _affine(standardize(x, range(2, x.ndim), eps), weight, bias)


def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = EPS
) -> Tensor:
    """Groups of neighboring channels of each sample of (N, C, ...), over channels of the group and space."""
    if num_groups < 1 or x.shape[1] % num_groups:
        raise ValueError(f"group_norm: num_groups must divide the {x.shape[1]} channels; got {num_groups!r}.")
    groups = x.unflatten(1, (num_groups, x.shape[1] // num_groups))  # (N, G, C/G, ...)
    return _affine(standardize(groups, range(2, groups.ndim), eps).flatten(1, 2), weight, bias)


def _channel(values: Tensor, like: Tensor) -> Tensor:
    """One value per channel, in a shape that broadcasts along axis 1."""
    return values.view(1, -1, *[1] * (like.ndim - 2))


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = y if weight is None else _channel(weight, y) * y
    return y if bias is None else y + _channel(bias, y)
