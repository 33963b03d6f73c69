"""What a network consists of: a table of its layers with shapes and parameters, and where a diagram puts its units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

__all__ = ["Diagram", "LayerLine", "layer_table", "network_diagram"]


class LayerLine(NamedTuple):
    """One layer, in the order in which it acts."""

    name: str
    kind: str
    output_shape: tuple[int, ...]
    parameters: int


def layer_table(module: nn.Module, *inputs: Any, call: Callable[..., Any] | None = None) -> list[LayerLine]:
    """Every layer without sub-layers, and what it gives for ``inputs``; parameters that are shared count once.

    ``call`` runs a module that is not used by calling it. Parameters that belong to no such layer come last.

    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> [(line.kind, line.output_shape, line.parameters) for line in layer_table(net, torch.zeros(1, 3))]
    [('Linear', (1, 4), 16), ('ReLU', (1, 4), 0), ('Linear', (1, 2), 10)]
    """
    lines: list[LayerLine] = []
    counted: set[int] = set()

    def note(name: str, layer: nn.Module, output: Any) -> None:
        fresh = {id(p): p.numel() for p in layer.parameters() if id(p) not in counted}
        counted.update(fresh)
        first = output[0] if isinstance(output, tuple) else output
        lines.append(LayerLine(name, type(layer).__name__, tuple(first.shape), sum(fresh.values())))

    hooks = []
    for name, layer in module.named_modules():
        inside = any(name.startswith(f"{above}.") for above in _units(module))
        if (not any(layer.children()) or name in _units(module)) and not inside:
            hooks.append(
                layer.register_forward_hook(lambda layer, _inputs, output, name=name: note(name, layer, output))
            )
    try:
        with torch.no_grad():
            (call or module)(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    left = {name: p for name, p in module.named_parameters() if id(p) not in counted}
    return lines + [LayerLine(name, "Parameter", tuple(p.shape), p.numel()) for name, p in left.items()]


def _units(module: nn.Module) -> set[str]:
    """Layers that torch computes as one, without calling their parts."""
    return {name for name, layer in module.named_modules() if isinstance(layer, nn.MultiheadAttention)}


class Diagram(NamedTuple):
    """Positions of the units of every layer, and the pairs (layer, unit, next unit) that a weight joins."""

    positions: list[list[tuple[float, float]]]
    edges: list[tuple[int, int, int]]
    biases: list[tuple[float, float]]  # one node per layer that has biases, below its units


def network_diagram(sizes: Sequence[int]) -> Diagram:
    """A fully connected network from left to right, each layer centered.

    >>> diagram = network_diagram([3, 4, 2])
    >>> len(diagram.edges), diagram.positions[0]
    (20, [(0.0, 1.0), (0.0, 0.0), (0.0, -1.0)])
    """
    positions = [[(float(k), (n - 1) / 2 - i) for i in range(n)] for k, n in enumerate(sizes)]
    edges = [(k, i, j) for k in range(len(sizes) - 1) for i in range(sizes[k]) for j in range(sizes[k + 1])]
    lowest = -(max(sizes) + 1) / 2
    return Diagram(positions, edges, [(float(k), lowest) for k in range(len(sizes) - 1)])
