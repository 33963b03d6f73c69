"""Graph networks: layers from graph to graph, and heads for nodes, edges and whole graphs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.graphs.combination import GraphLayer
from margin.graphs.graph import GraphTensors
from margin.graphs.layers import GATLayer, GCNLayer, GINLayer, SAGELayer
from margin.graphs.pooling import pool_nodes_to_global
from margin.neural.layers.dropout import Dropout

__all__ = ["ARCHITECTURES", "GNN", "USES_EDGE_FEATURES", "GraphNetwork"]

ARCHITECTURES = ("gcn", "sage", "gat", "gin", "mpnn")
USES_EDGE_FEATURES = ("gat", "gin", "mpnn")
FIRST_A_PRODUCT = ("gcn", "gat")  # whose layers begin with a matrix product, which may be sparse
SPARSE_FROM = 100_000  # entries of a feature table from which its zeros are worth leaving out
SPARSE_BELOW = 0.1  # fraction of entries other than 0


class GNN(nn.Module):
    """Layers one after another, with a rectifier between them; the graph that comes out has the edges of the one in."""

    def __init__(self, layers: Sequence[nn.Module], dropout: float = 0.0):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = Dropout(dropout)

    def forward(self, graph: GraphTensors) -> GraphTensors:
        for k, layer in enumerate(self.layers):
            graph = layer(graph._replace(x=self._dropped(graph.x)))
            if k + 1 < len(self.layers):
                graph = graph._replace(x=functional.relu(graph.x))
        return graph

    def _dropped(self, x: Tensor) -> Tensor:
        if not x.is_sparse:
            return self.dropout(x)
        # What is 0 stays 0 whether dropped or not, and the positions are those of a matrix that was checked.
        values = self.dropout(x.values())
        return torch.sparse_coo_tensor(x.indices(), values, x.shape, is_coalesced=True, check_invariants=False)


class GraphNetwork(nn.Module):
    """A GNN of one architecture and a head: per node ("node"), per graph ("graph") or none ("embedding").

    For "node" with "gcn", "sage" and "gat" the last layer gives the outputs itself, as in the papers. Sums over
    neighbors ("gin") and over nodes are divided by their usual number of terms, ``1 + mean_degree`` and ``mean_nodes``:
    constants, which take nothing away, and without which activations grow from layer to layer.
    """

    def __init__(
        self,
        n_features: int,
        n_edge_features: int,
        n_outputs: int,
        *,
        architecture: str = "gcn",
        width: int = 16,
        n_layers: int = 2,
        heads: int = 4,
        dropout: float = 0.0,
        level: str = "node",
        readout: str = "sum",
        mean_degree: float = 0.0,
        mean_nodes: float = 1.0,
    ):
        super().__init__()
        self.level, self.readout = level, readout
        self.pooled_scale = 1 / mean_nodes if readout == "sum" else 1.0
        direct = level != "graph" and architecture in ("gcn", "sage", "gat")
        sizes = [n_features] + [width] * (n_layers - 1) + [n_outputs if direct else width]
        layers: list[nn.Module] = []
        for k in range(n_layers):
            last = direct and k + 1 == n_layers
            edge_size = width if architecture == "mpnn" and k else n_edge_features
            scale = 1 / (1 + mean_degree)
            layers.append(_layer(architecture, sizes[k], sizes[k + 1], edge_size, 1 if last else heads, scale))
        self.body = GNN(layers, dropout)
        self.head = nn.Identity() if direct else nn.Linear(sizes[-1], n_outputs)
        if level == "graph":  # nothing is said before anything is learned, however large the graphs are
            nn.init.zeros_(next(self.head.parameters()))

    def forward(self, graph: GraphTensors) -> Tensor:
        graph = self.body(graph)
        if self.level == "graph":
            graph = graph._replace(x=functional.relu(graph.x))
            return self.head(self.pooled_scale * pool_nodes_to_global(graph, self.readout))
        return self.head(graph.x)


def _layer(
    architecture: str, n_inputs: int, n_outputs: int, n_edge_features: int, heads: int, scale: float
) -> nn.Module:
    if architecture == "gcn":
        return GCNLayer(n_inputs, n_outputs)
    if architecture == "sage":
        return SAGELayer(n_inputs, n_outputs)
    if architecture == "gat":
        return GATLayer(n_inputs, n_outputs, heads, n_edge_features)
    if architecture == "gin":
        return GINLayer(n_inputs, n_outputs, n_edge_features, scale)
    if architecture == "mpnn":
        return GraphLayer(n_inputs, max(1, n_edge_features), n_outputs)
    raise ValueError(f"GraphNetwork: architecture must be one of {', '.join(ARCHITECTURES)}; got {architecture!r}.")


def with_edge_features(graph: GraphTensors, architecture: str) -> GraphTensors:
    """'mpnn' needs features of edges: where there are none, each is 1."""
    if architecture == "mpnn" and graph.e is None:
        return graph._replace(e=torch.ones(graph.edges.shape[1], 1, dtype=graph.x.dtype))
    return graph


def with_sparse_features(graph: GraphTensors, architecture: str) -> GraphTensors:
    """Node features that are mostly 0, such as words of texts, as a sparse matrix, where the first layer takes one."""
    few = int(torch.count_nonzero(graph.x)) < SPARSE_BELOW * graph.x.numel()
    if architecture not in FIRST_A_PRODUCT or graph.x.numel() < SPARSE_FROM or not few:
        return graph
    return graph._replace(x=graph.x.to_sparse_coo().coalesce())
