"""The signal on its way through a network: moments of the layers going forward, gradient norms going back."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from margin.neural.diagnostics.layer_outputs import layer_outputs

__all__ = ["gradient_norms", "layer_moments"]


def layer_moments(model: nn.Module, x: Tensor, kind: type[nn.Module] = nn.Linear) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the output of every layer of ``kind``, in the order in which they act.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> [moment.shape for moment in layer_moments(net, torch.zeros(5, 2))]
    [torch.Size([2]), torch.Size([2])]
    """
    outputs = layer_outputs(model, x, kind)
    return torch.stack([h.mean() for h in outputs]), torch.stack([h.std(correction=0) for h in outputs])


def gradient_norms(model: nn.Module, objective: Callable[[], Tensor]) -> Tensor:
    r""":math:`\|\partial L/\partial W_k\|` of every weight matrix, from the input to the output.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    >>> gradient_norms(net, lambda: net(torch.ones(4, 2)).sum()).shape
    torch.Size([2])
    """
    weights = [p for p in model.parameters() if p.requires_grad and p.ndim >= 2]
    gradients = torch.autograd.grad(objective(), weights)
    return torch.stack([gradient.norm() for gradient in gradients])
