"""Hidden units that no longer learn: dead ones, which are 0 on all rows, and saturated ones, which are flat."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from margin.neural.activations.table import ACTIVATIONS
from margin.neural.diagnostics.layer_outputs import layer_outputs

__all__ = ["activations_of", "dead_units", "saturated_fraction"]

LAYERS = tuple({type(part().layer()) for name, part in ACTIVATIONS.items() if name != "identity"})


def activations_of(model: nn.Module, x: Tensor) -> list[Tensor]:
    """What every activation layer of ``model`` gives for ``x``, in the order in which they act."""
    return layer_outputs(model, x, LAYERS)


def dead_units(model: nn.Module, x: Tensor) -> list[tuple[int, int]]:
    """(hidden layer, unit) of the units whose activation is 0 on every row of ``x``: no gradient reaches them.

    >>> net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    >>> with torch.no_grad():
    ...     _ = net[0].weight.fill_(1.0), net[0].bias.copy_(torch.tensor([0.0, -100.0]))
    >>> dead_units(net, torch.tensor([[-1.0], [1.0]]))
    [(0, 1)]
    """
    dead = []
    for layer, h in enumerate(activations_of(model, x)):
        silent = (h == 0).flatten(0, -2).all(dim=0)
        dead += [(layer, int(unit)) for unit in silent.nonzero()]
    return dead


def saturated_fraction(model: nn.Module, x: Tensor, low: float = 0.0, high: float = 1.0, near: float = 0.05) -> float:
    """Fraction of activations within ``near`` times the range of an end of it; the default range is the sigmoid's."""
    h = torch.cat([layer.flatten() for layer in activations_of(model, x)])
    margin = near * (high - low)
    return float(((h < low + margin) | (h > high - margin)).float().mean())
