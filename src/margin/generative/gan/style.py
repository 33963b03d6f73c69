r"""A small style-based generator: noise becomes a style, and the style scales the kernels of every convolution.

.. math:: w = f(z), \qquad K'_{oi} = s_i(w)\,K_{oi}, \qquad K''_{oi} = K'_{oi} \Big/ \sqrt{\sum_i \|K'_{oi}\|^2}
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.generative.gan.networks import CLASS_WIDTH, SLOPE
from margin.neural.initialize.schemes import he_, lecun_

__all__ = ["ModulatedConv", "StyleGenerator", "modulated_kernels"]

TINY = 1e-8


def modulated_kernels(kernels: Tensor, style: Tensor, *, demodulate: bool = True) -> Tensor:
    """Kernels (o, i, k, k) scaled by the styles (n, i) of the input channels, every output of norm 1."""
    scaled = kernels[None] * style[:, None, :, None, None]
    if not demodulate:
        return scaled
    return scaled * torch.rsqrt(scaled.square().sum(dim=(2, 3, 4), keepdim=True) + TINY)


class ModulatedConv(nn.Module):
    r"""A convolution whose kernels depend on the style of each row.

    A kernel scaled by input channel is the plain kernel on scaled channels, and its norm a factor of the output: one
    convolution for all rows instead of one for each.
    """

    def __init__(self, n_in: int, n_out: int, size: int, n_styles: int, *, demodulate: bool = True):
        super().__init__()
        self.kernels = nn.Parameter(torch.randn(n_out, n_in, size, size) / math.sqrt(n_in * size**2))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.style = nn.Linear(n_styles, n_in)
        # Styles vary around 1 by about 1 from the start: by much less, all images would begin alike.
        lecun_(self.style.weight)
        nn.init.ones_(self.style.bias)
        self.demodulate = demodulate

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        style = self.style(w)
        convolved = functional.conv2d(x * style[:, :, None, None], self.kernels, padding=self.kernels.shape[2] // 2)
        if self.demodulate:
            squares = style.square() @ self.kernels.square().sum(dim=(2, 3)).T  # (n, o)
            convolved = convolved * torch.rsqrt(squares + TINY)[:, :, None, None]
        return convolved + self.bias[:, None, None]


class StyleGenerator(nn.Module):
    """Mapping network, a learned constant, and three modulated convolutions with two doublings between; tanh.

    :meth:`synthesize` takes a style per layer, so that coarse ones may come from one draw and fine ones from another.
    """

    N_LAYERS = 4

    def __init__(self, n_latents: int, widths: Sequence[int], shape: Sequence[int], n_classes: int = 0):
        super().__init__()
        channels, self.height, self.breadth = shape
        wide, narrow = widths
        self.classes = nn.Embedding(n_classes, CLASS_WIDTH) if n_classes else None
        n_inputs = n_latents + (CLASS_WIDTH if n_classes else 0)
        mapping = [nn.Linear(n_inputs, wide), nn.Linear(wide, wide)]
        for layer in mapping:
            he_(layer.weight, slope=SLOPE)
            nn.init.zeros_(layer.bias)
        self.mapping = nn.ModuleList(mapping)
        self.constant = nn.Parameter(torch.randn(wide, math.ceil(self.height / 4), math.ceil(self.breadth / 4)))
        self.layers = nn.ModuleList(
            [
                ModulatedConv(wide, wide, 3, wide),
                ModulatedConv(wide, narrow, 3, wide),
                ModulatedConv(narrow, narrow, 3, wide),
            ]
        )
        self.to_image = ModulatedConv(narrow, channels, 1, wide, demodulate=False)

    def styles(self, z: Tensor, label: Tensor | None = None) -> Tensor:
        """The style of every row of noise."""
        h = z if self.classes is None else torch.cat([z, self.classes(label)], dim=1)
        h = h * torch.rsqrt(h.square().mean(dim=1, keepdim=True) + TINY)
        for layer in self.mapping:
            h = functional.leaky_relu(layer(h), SLOPE)
        return h

    def synthesize(self, styles: Sequence[Tensor]) -> Tensor:
        """Images from one style per layer, coarse to fine."""
        h = self.constant.expand(len(styles[0]), -1, -1, -1)
        for number, (layer, w) in enumerate(zip(self.layers, styles)):
            if number:
                h = functional.interpolate(h, scale_factor=2, mode="nearest")
            h = functional.leaky_relu(layer(h, w), SLOPE)
        return torch.tanh(self.to_image(h, styles[-1]))[:, :, : self.height, : self.breadth]

    def forward(self, z: Tensor, label: Tensor | None = None) -> Tensor:
        return self.synthesize([self.styles(z, label)] * self.N_LAYERS)
