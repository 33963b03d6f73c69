"""A flow as a plain module: a chain of invertible layers that ends in standard normal noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from margin.generative.flows.continuous import ContinuousFlow
from margin.generative.flows.equations import standard_normal_log_density
from margin.generative.flows.layers import (
    AffineCoupling,
    FlowLayer,
    MaskedAutoregressive,
    PlanarLayer,
    SplineCoupling,
)

__all__ = ["LAYERS", "FlowNetwork"]

# Kinds of layers: a function of columns, hidden widths and the number of the layer.
LAYERS: dict[str, Callable[[int, Sequence[int], int], FlowLayer]] = {
    "planar": lambda n_features, _, __: PlanarLayer(n_features),
    "affine-coupling": AffineCoupling,
    "autoregressive": MaskedAutoregressive,
    "spline-coupling": SplineCoupling,
    "continuous": lambda n_features, hidden, _: ContinuousFlow(n_features, hidden),
}


class FlowNetwork(nn.Module):
    """Layers of the named kinds, from data to noise.

    >>> net = FlowNetwork(2, ["affine-coupling"] * 4, hidden=[16])
    >>> x = torch.randn(5, 2)
    >>> z, log_determinant = net.to_noise(x)
    >>> torch.allclose(net.to_data(z), x, atol=1e-5)
    True
    """

    def __init__(self, n_features: int, layers: Sequence[str], hidden: Sequence[int]):
        super().__init__()
        unknown = [kind for kind in layers if kind not in LAYERS]
        if unknown or not layers:
            raise ValueError(f"FlowNetwork: layers must be some of {', '.join(LAYERS)}; got {list(layers)!r}.")
        self.n_features = n_features
        built = nn.ModuleList(LAYERS[kind](n_features, hidden, k) for k, kind in enumerate(layers))
        self.layers = cast(Sequence[FlowLayer], built)

    def to_noise(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Every row as noise, and the log-determinant of the whole map."""
        log_determinant = torch.zeros_like(x[:, 0])
        for layer in self.layers:
            x, change = layer(x)
            log_determinant = log_determinant + change
        return x, log_determinant

    def to_data(self, z: Tensor) -> Tensor:
        """Every row of noise as data."""
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z

    def forward(self, x: Tensor) -> Tensor:
        """The log-density of every row."""
        z, log_determinant = self.to_noise(x)
        return standard_normal_log_density(z) + log_determinant
