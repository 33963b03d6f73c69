"""Small functions of every token whose gradients are written out, in as few passes over memory as they need.

Composed of torch's operations, each of them reads and writes its whole input several times more, and a third of the
time of a small transformer goes there. Where a second derivative is needed, the composed form is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional

__all__ = ["ACTIVATION_BACKWARD", "rms_normalized", "squared_rectifier", "turn"]

#: The gradient before an activation from that after it and from what the activation gave, by torch's own kernels.
ACTIVATION_BACKWARD: dict[type[nn.Module], Callable[[Tensor, Tensor], Tensor]] = {
    nn.Tanh: torch.ops.aten.tanh_backward,
    nn.Sigmoid: torch.ops.aten.sigmoid_backward,
    nn.ReLU: lambda above, given: torch.ops.aten.threshold_backward(above, given, 0),
}


class _RMSNormalized(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        scale = norm.square_().div_(x.shape[-1]).add_(eps).rsqrt_()  # 1 / root mean square
        ctx.save_for_backward(x, weight, scale)
        ctx.eps = eps
        return (x * scale).mul_(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (g,) = gradients
        x, weight, scale = ctx.saved_tensors
        if torch.is_grad_enabled():
            y = functional.rms_norm(x, weight.shape, weight, ctx.eps)
            return *torch.autograd.grad(y, (x, weight), g, create_graph=True), None
        d = x.shape[-1]
        normal = x * scale
        shared = g * normal
        to_weight = shared.reshape(-1, d).sum(dim=0)
        projection = (shared.reshape(-1, d) @ weight).view(scale.shape).div_(d)
        return torch.addcmul(g * weight, normal, projection, value=-1).mul_(scale), to_weight, None


class _SquaredRectifier(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        positive = x.clamp_min(0)
        return positive.mul_(positive)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (g,) = gradients
        (x,) = ctx.saved_tensors
        return torch.addcmul(x.new_zeros(()), g, x.clamp_min(0), value=2)


class _Turned(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        half = x.shape[-1] // 2
        y = x * torch.cat([cos, cos], dim=-1)
        y[..., :half].addcmul_(x[..., half:], sin, value=-1)
        y[..., half:].addcmul_(x[..., :half], sin)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        return _Turned.apply(gradients[0], cos, -sin), None, None  # the transpose of a rotation turns back


def rms_normalized(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    r""":math:`\gamma_j\,x_j / \sqrt{\frac1d\sum_k x_k^2 + \epsilon}` over the last axis.

    >>> rms_normalized(torch.tensor([3.0, -3.0, 3.0]), torch.tensor([1.0, 1.0, 2.0]), 0.0)
    tensor([ 1.0000, -1.0000,  2.0000])
    """
    out: Tensor = _RMSNormalized.apply(x, weight, eps)
    return out


def squared_rectifier(x: Tensor) -> Tensor:
    r""":math:`\max(x, 0)^2`.

    >>> squared_rectifier(torch.tensor([-2.0, 3.0]))
    tensor([0., 9.])
    """
    out: Tensor = _SquaredRectifier.apply(x)
    return out


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Coordinates i and i + d/2 of every row of ``x`` (..., n, d) turned by the angles of ``cos``, ``sin`` (n, d/2).

    >>> turn(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0]]), torch.tensor([[1.0]]))
    tensor([[-2.,  1.]])
    """
    out: Tensor = _Turned.apply(x, cos, sin)
    return out
