r"""Which pixels a network looked at: class activation maps, integrated gradients, occlusion.

With feature maps :math:`A_k` (z positions each), a head that averages them and weights :math:`W_{ck}`,

.. math:: \mathrm{CAM}_c = \sum_k W_{ck} A_k, \qquad y_c = \tfrac1z\sum_{ij} \mathrm{CAM}_c(i, j) + b_c.

Grad-CAM takes the mean gradient in place of the weight, so that any network has a map,

.. math:: \mathrm{ReLU}\Bigl(\sum_k \alpha_{ck} A_k\Bigr), \qquad
          \alpha_{ck} = \tfrac1z \sum_{ij} \frac{\partial y_c}{\partial A_{kij}},

which behind an average pooling is :math:`W_{ck} / z`. Integrated gradients follow the straight line from a baseline,

.. math:: \phi_i = (x_i - x'_i) \int_0^1 \frac{\partial f(x' + t(x - x'))}{\partial x_i}\,dt,
          \qquad \sum_i \phi_i = f(x) - f(x').
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["class_activation_map", "grad_cam", "integrated_gradients", "occlusion", "resize_map"]

Network = Callable[[Tensor], Tensor]


def class_activation_map(features: Tensor, weight: Tensor, label: int | Tensor) -> Tensor:
    """Maps (N, h, w) of one class, or of one class per image, from ``features`` (N, C, h, w) and ``weight`` (K, C).

    >>> maps = class_activation_map(torch.ones(1, 2, 3, 3), torch.tensor([[1.0, 2.0], [0.0, 1.0]]), 0)
    >>> maps.shape, maps[0, 0, 0].item()
    (torch.Size([1, 3, 3]), 3.0)
    """
    chosen = weight[torch.as_tensor(label).expand(len(features))]  # (N, C)
    return torch.einsum("nc,nchw->nhw", chosen, features)


def grad_cam(network: nn.Module, layer: nn.Module, x: Tensor, label: int | Tensor) -> Tensor:
    """Grad-CAM (N, h, w) of the maps that ``layer`` of ``network`` gives, for images ``x`` (N, c, H, W)."""
    outputs: list[Tensor] = []
    hook = layer.register_forward_hook(lambda _layer, _inputs, output: outputs.append(output))
    was_training = network.training
    try:
        with torch.enable_grad():
            # The input asks for gradients too, so that networks with frozen weights have maps.
            score = _pick_scores(network.eval()(x.detach().requires_grad_(True)), label).sum()
    finally:
        hook.remove()
        network.train(was_training)
    if not outputs:
        raise ValueError("grad_cam: layer must be a part of network that runs; got one that did not.")
    maps = outputs[-1]
    if maps.ndim != 4:
        raise ValueError(f"grad_cam: layer must give maps (N, C, h, w); got {tuple(maps.shape)}.")
    (gradient,) = torch.autograd.grad(score, maps)
    weight = gradient.mean(dim=(2, 3))
    return torch.einsum("nc,nchw->nhw", weight, maps).relu().detach()


def integrated_gradients(
    network: Network, x: Tensor, label: int | Tensor, baseline: Tensor | float = 0.0, steps: int = 64
) -> Tensor:
    """Attributions of the shape of ``x``; the integral is a Gauss-Legendre sum at ``steps`` points.

    >>> w = torch.tensor([[1.0, -2.0]])
    >>> integrated_gradients(lambda x: x @ w.T, torch.tensor([[3.0, 1.0]]), 0).round(decimals=4).tolist()
    [[3.0, -2.0]]
    """
    if steps < 1:
        raise ValueError(f"integrated_gradients: steps must be an integer at least 1; got {steps!r}.")
    start = torch.as_tensor(baseline, dtype=x.dtype, device=x.device).expand_as(x)
    nodes, weights = np.polynomial.legendre.leggauss(steps)  # on [-1, 1]
    total = torch.zeros_like(x)
    for node, weight in zip((nodes + 1) / 2, weights / 2):
        point = (start + node * (x - start)).detach().requires_grad_(True)
        with torch.enable_grad():
            score = _pick_scores(network(point), label).sum()
        total += weight * torch.autograd.grad(score, point)[0]
    return (x - start) * total


def occlusion(
    network: Network, x: Tensor, label: int | Tensor, size: int = 4, stride: int | None = None, value: float = 0.0
) -> Tensor:
    """How much the score of a class falls as a square of ``size`` pixels is painted over, at every position.

    (N, rows, columns) with squares from the upper left corner on, ``stride`` (``size`` by default) pixels apart.
    """
    if not 1 <= size <= min(x.shape[2:]):
        raise ValueError(f"occlusion: size must lie between 1 and {min(x.shape[2:])}; got {size!r}.")
    step = stride or size
    rows, columns = (range(0, length - size + 1, step) for length in x.shape[2:])
    drops = torch.empty(len(x), len(rows), len(columns), dtype=x.dtype)
    with torch.no_grad():
        uncovered = _pick_scores(network(x), label)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                covered = x.clone()
                covered[:, :, row : row + size, column : column + size] = value
                drops[:, i, j] = uncovered - _pick_scores(network(covered), label)
    return drops


def resize_map(heat: Tensor, height: int, width: int) -> Tensor:
    """Maps (N, h, w) in the size of the image, by bilinear interpolation, to be laid over it."""
    larger = nn.functional.interpolate(heat[:, None], size=(height, width), mode="bilinear", align_corners=False)
    return larger[:, 0]


def _pick_scores(scores: Tensor, label: int | Tensor) -> Tensor:
    """The score of one class, or of one class per image: (N,)."""
    return scores.gather(1, torch.as_tensor(label).expand(len(scores))[:, None])[:, 0]
