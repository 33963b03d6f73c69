r"""Graph networks in dense form: features (n, nodes, p), and a matrix for every graph in place of a list of edges.

.. math:: A_{ij} = \text{number of edges } j \to i, \qquad \sum_{j \to i} m_j = (A m)_i

What is summed over edges is a product with A, so graphs of any sizes stand side by side in one batch; nodes that only
fill a graph up have no edges and are left out of what is read of all nodes. The layers are those of
:mod:`margin.graphs.layers`, with their weights.
"""

from __future__ import annotations

import copy
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.graphs.layers import SLOPE, GATLayer, GCNLayer, GINLayer, SAGELayer
from margin.graphs.network import GraphNetwork
from margin.store.onnx.graph import CannotExport

__all__ = ["DenseGraphNetwork"]


class DenseGraphNetwork(nn.Module):
    """Nodes (n, nodes, p), adjacency (n, nodes, nodes) and which nodes there are, (n, nodes), to outputs."""

    def __init__(self, network: GraphNetwork, owner: str):
        super().__init__()
        self.network = copy.deepcopy(network).eval()
        for layer in network.body.layers:
            if not isinstance(layer, GCNLayer | SAGELayer | GATLayer | GINLayer):
                raise CannotExport(f"export_onnx: {owner} with architecture 'mpnn' has no dense form; others have.")
            if getattr(layer, "to_edge", None) is not None or getattr(layer, "edge", None) is not None:
                raise CannotExport(f"export_onnx: {owner} with features of edges has no dense form.")

    def forward(self, x: Tensor, adjacency: Tensor, inside: Tensor) -> Tensor:
        network, body = self.network, self.network.body
        stages = [x]
        for k, layer in enumerate(body.layers):
            x = dense_layer(layer, x, adjacency)
            if k < len(body.norms):
                x = by_node(body.norms[k], x)
            if k + 1 < len(body.layers) or network.level == "graph":
                x = functional.relu(x)
            stages.append(x)
        if network.level != "graph":
            return network.head(x)
        seen = stages if network.readout_layers == "all" else stages[-1:]
        pooled = torch.cat([read_out(stage, inside, network.readout) for stage in seen], dim=1)
        return network.head(network.pooled_scale * pooled)


def by_node(part: nn.Module, x: Tensor) -> Tensor:
    """A map of nodes (m, p) applied to (n, nodes, p)."""
    out: Tensor = part(x.flatten(0, 1))
    return out.unflatten(0, (x.shape[0], x.shape[1]))


def dense_layer(layer: Any, x: Tensor, adjacency: Tensor) -> Tensor:
    """What a layer makes of nodes (n, nodes, p) with the edges that ``adjacency`` counts."""
    if isinstance(layer, GCNLayer):
        scale = (adjacency.sum(dim=2, keepdim=True) + 1).rsqrt()
        h = layer.linear(x) * scale
        return scale * (h + adjacency @ h) + layer.bias
    if isinstance(layer, SAGELayer):
        count = adjacency.sum(dim=2, keepdim=True).clamp(min=1)  # its sum is divided by how many there are
        return layer.own(x) + layer.neighbors(adjacency @ x / count)
    if isinstance(layer, GATLayer):
        return _attended(layer, x, adjacency)
    layer = cast(GINLayer, layer)
    return by_node(layer.mlp, layer.scale * ((1 + layer.epsilon) * x + adjacency @ x))


def _attended(layer: GATLayer, x: Tensor, adjacency: Tensor) -> Tensor:
    h = layer.linear(x).unflatten(2, (layer.heads, layer.width))  # (n, nodes, heads, width)
    at_target, at_source = ((h * a).sum(dim=3).transpose(1, 2) for a in (layer.to_target, layer.to_source))
    scores = functional.leaky_relu(at_target[..., :, None] + at_source[..., None, :], SLOPE)  # (n, heads, i, j)
    loops = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    edges = (adjacency + loops)[:, None]
    top = scores.masked_fill(edges == 0, float("-inf")).amax(dim=3, keepdim=True)
    weights = edges * torch.exp((scores - top).clamp(max=0))
    mixed = (weights / weights.sum(dim=3, keepdim=True)) @ h.transpose(1, 2)  # (n, heads, i, width)
    return mixed.transpose(1, 2).flatten(2) + layer.bias


def read_out(x: Tensor, inside: Tensor, how: str) -> Tensor:
    """Nodes (n, nodes, p) put together for every graph, (n, p); as elsewhere a graph without nodes gives 0."""
    mask = inside[..., None]
    if how == "max":
        return x.masked_fill(~mask, float("-inf")).amax(dim=1)
    total = (x * mask).sum(dim=1)
    return total if how == "sum" else total / mask.sum(dim=1).clamp(min=1)
