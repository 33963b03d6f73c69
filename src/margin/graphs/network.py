"""Graph networks: layers from graph to graph, and heads for nodes, edges and whole graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.graphs.combination import GraphLayer
from margin.graphs.graph import GraphTensors
from margin.graphs.layers import GATLayer, GCNLayer, GINLayer, SAGELayer, propagation_matrix
from margin.graphs.pooling import pool_nodes_to_global
from margin.graphs.sparse import SparseMatrix, is_fast
from margin.neural.layers.dropout import Dropout
from margin.neural.nets.mlp import MLP
from margin.neural.normalization.fused import fused_batch_norm
from margin.neural.normalization.layers import BatchNorm

__all__ = ["ARCHITECTURES", "GNN", "READOUT_LAYERS", "USES_EDGE_FEATURES", "GraphNetwork"]

READOUT_LAYERS = ("last", "all")
ARCHITECTURES = ("gcn", "sage", "gat", "gin", "mpnn")
USES_EDGE_FEATURES = ("gat", "gin", "mpnn")
FIRST_A_PRODUCT = ("gcn", "gat")  # whose layers begin with a matrix product, which may be sparse
SPARSE_FROM = 100_000  # entries of a feature table from which its zeros are worth leaving out
SPARSE_BELOW = 0.1  # fraction of entries other than 0


class GNN(nn.Module):
    """Layers one after another, with a rectifier between them; the graph that comes out has the edges of the one in.

    With ``norms`` every layer is followed by its norm of the features over all nodes of a batch.
    """

    def __init__(self, layers: Sequence[nn.Module], dropout: float = 0.0, norms: Sequence[nn.Module] = ()):
        super().__init__()
        self.layers, self.norms = nn.ModuleList(layers), nn.ModuleList(norms)
        self.dropout = Dropout(dropout)

    def forward(self, graph: GraphTensors) -> GraphTensors:
        return self.stages(graph)[-1]

    def stages(self, graph: GraphTensors) -> list[GraphTensors]:
        """The graph after every layer, hidden ones after their rectifier."""
        graphs = []
        for k, layer in enumerate(self.layers):
            graph = layer(graph._replace(x=self._drop(graph.x)))
            if k < len(self.norms):
                graph = graph._replace(x=self.norms[k](graph.x))
            if k + 1 < len(self.layers):
                graph = graph._replace(x=functional.relu(graph.x))
            graphs.append(graph)
        return graphs

    def _drop(self, x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
        return x.drop(self.dropout) if isinstance(x, SparseMatrix) else self.dropout(x)


class GraphNetwork(nn.Module):
    """A GNN of one architecture and a head: per node ("node"), per graph ("graph") or none ("embedding").

    For "node" with "gcn", "sage" and "gat" the last layer gives the outputs itself, as in the papers. Sums over
    neighbors ("gin") and over nodes are divided by their usual number of terms, ``1 + mean_degree`` and ``mean_nodes``:
    constants, which take nothing away, and without which activations grow from layer to layer. For "graph",
    ``batch_norm`` normalizes hidden features, and ``readout_layers`` "all" reads out the features after every layer and
    those given, side by side, so that small and large neighborhoods both are seen.
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
        batch_norm: bool = False,
        readout_layers: str = "last",
        mean_degree: float = 0.0,
        mean_nodes: float = 1.0,
    ):
        super().__init__()
        self.level, self.readout, self.readout_layers = level, readout, readout_layers
        self.pooled_scale = 1 / mean_nodes if readout == "sum" else 1.0
        direct = level != "graph" and architecture in ("gcn", "sage", "gat")
        sizes = [n_features] + [width] * (n_layers - 1) + [n_outputs if direct else width]
        layers: list[nn.Module] = []
        for k in range(n_layers):
            last = direct and k + 1 == n_layers
            edge_size = width if architecture == "mpnn" and k else n_edge_features
            scale = 1 / (1 + mean_degree)
            made = _layer(architecture, sizes[k], sizes[k + 1], edge_size, 1 if last else heads, scale)
            if batch_norm and isinstance(made, GINLayer):
                made.mlp = NormalizedMLP(cast(MLP, made.mlp))  # as published: also between the layers of the perceptron
            layers.append(made)
        self.body = GNN(layers, dropout, [NodeNorm(width) for _ in layers] if batch_norm else ())
        read = sum(sizes) if readout_layers == "all" else sizes[-1]
        self.head = nn.Identity() if direct else nn.Linear(read, n_outputs)
        if level == "graph":  # outputs start at zero, however large the graphs are
            nn.init.zeros_(next(self.head.parameters()))

    def forward(self, graph: GraphTensors) -> Tensor:
        if self.level != "graph":
            return self.head(self.body(graph).x)
        stages = self.body.stages(graph)
        stages[-1] = stages[-1]._replace(x=functional.relu(stages[-1].x))
        seen = [graph, *stages] if self.readout_layers == "all" else stages[-1:]
        pooled = torch.cat([pool_nodes_to_global(stage, self.readout) for stage in seen], dim=1)
        return self.head(self.pooled_scale * pooled)


class NodeNorm(BatchNorm):
    """Batch norm that takes a batch of one node by its running statistics: one value has no deviation."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or len(x) > 1:
            return super().forward(x)
        return fused_batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


class NormalizedMLP(nn.Module):
    """A perceptron with one hidden layer, which is normalized over the batch before its rectifier."""

    def __init__(self, plain: MLP):
        super().__init__()
        self.first, self.second = plain.linears
        self.norm = NodeNorm(self.first.out_features)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(functional.relu(self.norm(self.first(x))))


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
        return graph._replace(e=torch.ones(graph.edges.shape[1], 1, dtype=graph.x.dtype, device=graph.x.device))
    return graph


def with_sparse_matrices(graph: GraphTensors, architecture: str) -> GraphTensors:
    """The graph of many steps: its propagation matrix for 'gcn', and features that are mostly 0, such as words of
    texts, as a sparse matrix where the first layer takes one."""
    if not is_fast() or graph.x.device.type != "cpu":
        return graph
    if architecture == "gcn":
        graph = graph._replace(propagation=propagation_matrix(graph))
    few = int(torch.count_nonzero(graph.x)) < SPARSE_BELOW * graph.x.numel()
    if architecture not in FIRST_A_PRODUCT or graph.x.numel() < SPARSE_FROM or not few:
        return graph
    return graph._replace(x=SparseMatrix.of(graph.x))
