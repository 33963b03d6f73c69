r"""A layer that updates nodes and edges from each other, their sizes being different.

What comes from elsewhere is joined to what is there either by linear maps into one space, whose images are added, or
by putting both side by side before the update.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from margin.graphs.graph import GraphTensors
from margin.graphs.pooling import scatter
from margin.neural.nets.mlp import MLP

__all__ = ["COMBINATIONS", "ORDERS", "GraphLayer"]

COMBINATIONS = ("linear", "concat")
ORDERS = ("node-first", "edge-first", "weave")


class _Update(nn.Module):
    """``own`` and ``other`` joined and passed through a perceptron with one hidden layer."""

    def __init__(self, own: int, other: int, width: int, combine: str):
        super().__init__()
        self.maps = nn.ModuleList([nn.Linear(own, width), nn.Linear(other, width)]) if combine == "linear" else None
        self.mlp = MLP([width if combine == "linear" else own + other, width, width])

    def forward(self, own: Tensor, other: Tensor) -> Tensor:
        if self.maps is None:
            return self.mlp(torch.cat([own, other], dim=1))
        return self.mlp(self.maps[0](own) + self.maps[1](other))


class GraphLayer(nn.Module):
    """Nodes take up their incoming edges, edges take up both their ends: nodes first, edges first, or both at once.

    >>> layer = GraphLayer(3, 2, 8, combine="concat", order="weave")
    >>> graph = GraphTensors(torch.ones(4, 3), torch.tensor([[0, 1], [1, 2]]), torch.ones(2, 2))
    >>> layer(graph).x.shape, layer(graph).e.shape
    (torch.Size([4, 8]), torch.Size([2, 8]))
    """

    def __init__(
        self,
        n_node_features: int,
        n_edge_features: int,
        width: int,
        *,
        combine: str = "concat",
        order: str = "edge-first",
        agg: str = "mean",
    ):
        super().__init__()
        if combine not in COMBINATIONS or order not in ORDERS:
            raise ValueError(
                f"GraphLayer: combine must be one of {', '.join(COMBINATIONS)} and order one of {', '.join(ORDERS)}; "
                f"got {combine!r} and {order!r}."
            )
        self.order, self.agg = order, agg
        node_size = width if order == "node-first" else n_node_features  # of the nodes that edges see
        edge_size = width if order == "edge-first" else n_edge_features  # of the edges that nodes see
        self.edge_update = _Update(n_edge_features, 2 * node_size, width, combine)
        self.node_update = _Update(n_node_features, edge_size, width, combine)

    def forward(self, graph: GraphTensors) -> GraphTensors:
        if graph.e is None:
            raise ValueError("GraphLayer: the graph must have edge features; it has none.")
        x, e = graph.x, graph.e
        if self.order == "node-first":
            x = self._nodes(graph, e)
            return graph._replace(x=x, e=self._edges(graph, x))
        new_e = self._edges(graph, x)
        return graph._replace(x=self._nodes(graph, new_e if self.order == "edge-first" else e), e=new_e)

    def _nodes(self, graph: GraphTensors, e: Tensor) -> Tensor:
        return self.node_update(graph.x, scatter(e, graph.edges[1], len(graph.x), self.agg))

    def _edges(self, graph: GraphTensors, x: Tensor) -> Tensor:
        assert graph.e is not None
        ends = torch.cat([x.index_select(0, end) for end in graph.edges], dim=1)
        return self.edge_update(graph.e, ends)
