"""Layers of a flow: each maps data towards noise with its log-determinant, and noise back to data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.generative.flows.equations import (
    Spline,
    affine,
    affine_inverse,
    planar,
    planar_inverse,
    planar_step,
    spline_from,
)
from margin.neural.nets.mlp import MLP

__all__ = ["AffineCoupling", "FlowLayer", "MaskedAutoregressive", "MaskedMLP", "PlanarLayer", "SplineCoupling"]

SCALE_LIMIT = 3.0  # |log scale| of one layer: an exponential of anything a network says would overflow


def bound(log_scale: Tensor) -> Tensor:
    """Smoothly between -SCALE_LIMIT and SCALE_LIMIT, the identity near 0."""
    return SCALE_LIMIT * torch.tanh(log_scale / SCALE_LIMIT)


class FlowLayer(nn.Module, ABC):
    """One invertible map. ``forward`` goes from data to noise, the direction that training needs."""

    @abstractmethod
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mapped rows and the logarithm of the absolute determinant of the Jacobian of each."""

    @abstractmethod
    def inverse(self, z: Tensor) -> Tensor:
        """The rows that ``forward`` maps to ``z``."""


class PlanarLayer(FlowLayer):
    r""":math:`z = x + \hat u\tanh(w^\top x + b)`: space is pushed along one direction across one hyperplane."""

    def __init__(self, n_features: int):
        super().__init__()
        self.u = nn.Parameter(0.1 * torch.randn(n_features) / n_features**0.5)
        self.w = nn.Parameter(torch.randn(n_features) / n_features**0.5)
        self.b = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return planar(x, planar_step(self.u, self.w), self.w, self.b)

    def inverse(self, z: Tensor) -> Tensor:
        return planar_inverse(z, planar_step(self.u, self.w), self.w, self.b)


class AffineCoupling(FlowLayer):
    r"""Real NVP: every second coordinate is scaled and shifted by functions of the others, which stay.

    The Jacobian is triangular, so its log-determinant is the sum of the log-scales; the functions need no inverse.
    """

    kept: Tensor

    def __init__(self, n_features: int, hidden: Sequence[int], parity: int):
        super().__init__()
        self.register_buffer("kept", ((torch.arange(n_features) + parity) % 2).float(), persistent=False)
        self.conditioner = MLP([n_features, *hidden, 2 * n_features], "relu")
        start_at_the_identity(self.conditioner)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return affine(x, *self._parameters_for(x))

    def inverse(self, z: Tensor) -> Tensor:
        return affine_inverse(z, *self._parameters_for(z))

    def _parameters_for(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Log-scale and shift, both 0 where a coordinate stays: so they are the same from ``x`` and from its image."""
        log_scale, shift = self.conditioner(x * self.kept).chunk(2, dim=-1)
        moved = 1 - self.kept
        return bound(log_scale) * moved, shift * moved


class SplineCoupling(FlowLayer):
    """Neural spline coupling: as the affine coupling, with a monotone rational-quadratic spline per coordinate."""

    kept: Tensor

    def __init__(self, n_features: int, hidden: Sequence[int], parity: int, n_bins: int = 8, bound: float = 4.0):
        super().__init__()
        self.register_buffer("kept", ((torch.arange(n_features) + parity) % 2).float(), persistent=False)
        self.n_bins, self.bound = n_bins, bound
        self.conditioner = MLP([n_features, *hidden, (3 * n_bins - 1) * n_features], "relu")
        start_at_the_identity(self.conditioner)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z, log_slope = self._spline(x)(x)
        stays = self.kept > 0
        return torch.where(stays, x, z), torch.where(stays, 0.0, log_slope).sum(dim=-1)

    def inverse(self, z: Tensor) -> Tensor:
        return torch.where(self.kept > 0, z, self._spline(z).inverse(z))

    def _spline(self, x: Tensor) -> Spline:
        parameters = self.conditioner(x * self.kept)
        return spline_from(parameters.unflatten(-1, (x.shape[-1], 3 * self.n_bins - 1)), self.bound)


class MaskedMLP(nn.Module):
    r"""A perceptron whose output j depends on inputs before j only (MADE): connections against the order are cut.

    Every unit has a degree; a unit sees those of the layer below with a degree at most its own, an output only those
    of a smaller one. ``outputs`` numbers are given per input, as (rows, inputs, outputs).
    """

    def __init__(self, n_features: int, hidden: Sequence[int], outputs: int, *, reverse: bool = False):
        super().__init__()
        order = torch.arange(1, n_features + 1)
        order = order.flip(0) if reverse else order
        degrees = [order, *((torch.arange(width) % max(n_features - 1, 1)) + 1 for width in hidden)]
        last = order.repeat_interleave(outputs)
        masks = [(after[:, None] >= before).float() for before, after in pairwise(degrees)]
        masks.append((last[:, None] > degrees[-1]).float())
        self.n_features, self.order, self.depth = n_features, order, len(masks)
        self.net = MLP([n_features, *hidden, outputs * n_features], "relu")
        for k, mask in enumerate(masks):
            self.register_buffer(f"mask_{k}", mask, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        for k, linear in enumerate(self.net.linears):
            x = functional.linear(x, linear.weight * self.get_buffer(f"mask_{k}"), linear.bias)
            x = torch.relu(x) if k < self.depth - 1 else x
        return x.unflatten(-1, (self.n_features, -1))


class MaskedAutoregressive(FlowLayer):
    r"""Masked autoregressive flow: :math:`z_j = x_j e^{s_j(x_{<j})} + t_j(x_{<j})`.

    All of z is found in one pass; x must be found one coordinate after the other, d passes.
    """

    def __init__(self, n_features: int, hidden: Sequence[int], parity: int):
        super().__init__()
        self.conditioner = MaskedMLP(n_features, hidden, 2, reverse=bool(parity % 2))
        start_at_the_identity(self.conditioner.net)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return affine(x, *self._parameters_for(x))

    def inverse(self, z: Tensor) -> Tensor:
        x = torch.zeros_like(z)
        for j in torch.argsort(self.conditioner.order):
            log_scale, shift = self._parameters_for(x)
            column = affine_inverse(z[:, j], log_scale[:, j], shift[:, j])
            x = torch.cat([x[:, :j], column[:, None], x[:, j + 1 :]], dim=1)
        return x

    def _parameters_for(self, x: Tensor) -> tuple[Tensor, Tensor]:
        log_scale, shift = self.conditioner(x).unbind(dim=-1)
        return bound(log_scale), shift


def start_at_the_identity(conditioner: MLP) -> None:
    """All outputs 0: the layer begins as the identity, whatever its inputs are."""
    nn.init.zeros_(conditioner.linears[-1].weight)
    nn.init.zeros_(conditioner.linears[-1].bias)
