r"""What becomes of a signal on its way through many random layers, forward and backward.

Plain layers compute :math:`f_k = \Omega_k a(f_{k-1})`; residual blocks :math:`f_k = s\,(f_{k-1} + \Omega_k
a(f_{k-1}))`, with the branch's input normalized over the batch if asked. Biases are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from margin.neural.initialize.schemes import normal_
from margin.neural.normalization.functions import standardize

__all__ = ["Signal", "signal_through_depth"]


class Signal(NamedTuple):
    """Variance of the pre-activations f_0..f_K, and of the derivatives of a random linear loss in them."""

    forward: Tensor
    backward: Tensor


def signal_through_depth(
    x: Tensor,
    depth: int,
    sigma2: float,
    *,
    generator: torch.Generator,
    activation: Callable[[Tensor], Tensor] = torch.relu,
    residual: bool = False,
    batch_norm: bool = False,
    scale: float = 1.0,
) -> Signal:
    """Send ``x`` (rows, width), as the first pre-activations, through ``depth`` layers of its own width.

    >>> g = torch.Generator().manual_seed(0)
    >>> x = torch.randn(200, 100, generator=g, dtype=torch.float64)
    >>> forward, backward = signal_through_depth(x, 50, 0.1, generator=g)
    >>> bool(forward[-1] > 1e30), bool(backward[0] > 1e30)
    (True, True)
    """
    width = x.shape[1]
    f = [x.clone().requires_grad_()]
    for _ in range(depth):
        omega = normal_(torch.empty(width, width, dtype=x.dtype), sigma2, generator=generator)
        h = standardize(f[-1], [0]) if batch_norm else f[-1]
        branch = activation(h) @ omega.T
        f.append(scale * (f[-1] + branch) if residual else branch)
    direction = torch.randn(f[-1].shape, generator=generator, dtype=x.dtype, device=x.device)
    gradients = torch.autograd.grad((f[-1] * direction).sum(), f)
    return Signal(*(torch.stack([layer.detach().var() for layer in layers]) for layers in (f, gradients)))
