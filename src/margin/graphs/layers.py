r"""Layers from graph to graph: features change, edges stay.

A layer of message passing gathers what the neighbors hold, aggregates it and updates every node:

.. math:: x_i' = \mathrm{update}\bigl(x_i, \mathrm{agg}\{\mathrm{message}(x_j, e_{ji}) : j \to i\}\bigr)

Relabeling the nodes relabels the outputs (equivariance); only what is pooled over all nodes stays as it is
(invariance).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.graphs.graph import GraphTensors
from margin.graphs.pooling import scatter, segment_softmax
from margin.graphs.sparse import SparseMatrix
from margin.neural.initialize.schemes import xavier_
from margin.neural.nets.mlp import MLP

__all__ = ["GATLayer", "GCNLayer", "GINLayer", "GraphIndependent", "MessagePassing", "SAGELayer", "propagation_matrix"]

SLOPE = 0.2  # of the leaky rectifier in the scores of attention, as in the paper

Map = Callable[[Tensor], Tensor]


def _product(x: Tensor | SparseMatrix, linear: nn.Linear) -> Tensor:
    """X W of features that may be sparse."""
    return x @ linear.weight.T if isinstance(x, SparseMatrix) else linear(x)


class GraphIndependent(nn.Module):
    """Nodes, edges and globals each through a map of their own; no use of connectivity."""

    def __init__(self, nodes: Map, edges: Map | None = None, globals_: Map | None = None):
        super().__init__()
        self.nodes, self.edges, self.globals_ = nodes, edges, globals_

    def forward(self, graph: GraphTensors) -> GraphTensors:
        e = graph.e if graph.e is None or self.edges is None else self.edges(graph.e)
        u = graph.u if graph.u is None or self.globals_ is None else self.globals_(graph.u)
        return graph._replace(x=self.nodes(graph.x), e=e, u=u)


class MessagePassing(nn.Module):
    """Every node becomes ``update`` of the aggregated features of its incoming neighbors.

    With the sum and the identity this is A X.
    """

    def __init__(self, agg: str = "sum", update: Map | None = None):
        super().__init__()
        self.agg, self.update = agg, update or nn.Identity()

    def forward(self, graph: GraphTensors) -> GraphTensors:
        source, target = graph.edges
        gathered = graph.x.index_select(0, source)
        return graph._replace(x=self.update(scatter(gathered, target, len(graph.x), self.agg)))


def inverse_root_degrees(graph: GraphTensors) -> Tensor:
    r"""The diagonal of :math:`\hat D^{-1/2}`: every node counts itself among its neighbors."""
    return (torch.bincount(graph.edges[1], minlength=len(graph.x)).to(graph.x.dtype) + 1).rsqrt()


def propagation_matrix(graph: GraphTensors) -> SparseMatrix:
    r""":math:`\hat D^{-1/2} \hat A \hat D^{-1/2}`, which a graph that stays the same makes once for all steps."""
    n, scale = len(graph.x), inverse_root_degrees(graph)
    loops = torch.arange(n, device=graph.edges.device)
    source, target = (torch.cat([end, loops]) for end in graph.edges)
    return SparseMatrix.from_entries(target, source, scale[target] * scale[source], (n, n))


class GCNLayer(nn.Module):
    r"""Graph convolution: :math:`X' = \hat D^{-1/2} \hat A \hat D^{-1/2} X W + b` with :math:`\hat A = A + I`."""

    def __init__(self, n_inputs: int, n_outputs: int):
        super().__init__()
        self.linear = nn.Linear(n_inputs, n_outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_outputs))
        xavier_(self.linear.weight, distribution="uniform")

    def forward(self, graph: GraphTensors) -> GraphTensors:
        if graph.propagation is not None:
            return graph._replace(x=graph.propagation @ _product(graph.x, self.linear) + self.bias)
        source, target = graph.edges
        scale = inverse_root_degrees(graph)[:, None]
        h = _product(graph.x, self.linear) * scale
        return graph._replace(x=scale * (h + scatter(h.index_select(0, source), target, len(h))) + self.bias)


class SAGELayer(nn.Module):
    r"""GraphSAGE: :math:`x_i' = W_1 x_i + W_2\,\mathrm{agg}_{j \to i}\, x_j`."""

    def __init__(self, n_inputs: int, n_outputs: int, agg: str = "mean"):
        super().__init__()
        self.own, self.neighbors = nn.Linear(n_inputs, n_outputs), nn.Linear(n_inputs, n_outputs, bias=False)
        self.agg = agg

    def forward(self, graph: GraphTensors) -> GraphTensors:
        source, target = graph.edges
        gathered = scatter(graph.x.index_select(0, source), target, len(graph.x), self.agg)
        return graph._replace(x=self.own(graph.x) + self.neighbors(gathered))


class GATLayer(nn.Module):
    r"""Attention over neighbors and the node itself, in several heads that are put side by side.

    .. math:: x_i' = \sum_{j \to i} \alpha_{ij} W x_j, \qquad
              \alpha_{ij} = \mathrm{softmax}_j\,\mathrm{LeakyReLU}(a^T W x_i + b^T W x_j + c^T e_{ji})
    """

    def __init__(self, n_inputs: int, n_outputs: int, heads: int = 1, n_edge_features: int = 0):
        super().__init__()
        if n_outputs % heads:
            raise ValueError(f"GATLayer: n_outputs must be a multiple of heads; got {n_outputs} and {heads}.")
        self.heads, self.width = heads, n_outputs // heads
        self.linear = nn.Linear(n_inputs, n_outputs, bias=False)
        self.to_target, self.to_source = (nn.Parameter(torch.empty(heads, self.width)) for _ in range(2))
        self.to_edge = nn.Linear(n_edge_features, heads, bias=False) if n_edge_features else None
        self.bias = nn.Parameter(torch.zeros(n_outputs))
        for weight in (self.linear.weight, self.to_target, self.to_source):
            xavier_(weight, distribution="uniform")

    def attention(self, graph: GraphTensors, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sources, targets and weights (edges, heads) of all edges and of the loops that are added to them."""
        n = len(h)
        loops = torch.arange(n, device=h.device)
        source, target = (torch.cat([end, loops]) for end in graph.edges)
        at_target, at_source = ((h * a).sum(dim=2) for a in (self.to_target, self.to_source))  # (n, heads)
        scores = at_target.index_select(0, target) + at_source.index_select(0, source)
        if self.to_edge is not None and graph.e is not None:
            scores = scores + functional.pad(self.to_edge(graph.e), (0, 0, 0, n))  # a loop has no features
        return source, target, segment_softmax(functional.leaky_relu(scores, SLOPE), target, n)

    def forward(self, graph: GraphTensors) -> GraphTensors:
        h = _product(graph.x, self.linear).reshape(len(graph.x), self.heads, self.width)
        source, target, alpha = self.attention(graph, h)
        mixed = scatter(alpha[..., None] * h.index_select(0, source), target, len(h))
        return graph._replace(x=mixed.flatten(1) + self.bias)


class GINLayer(nn.Module):
    r"""Graph isomorphism network: :math:`x_i' = \mathrm{MLP}\bigl((1 + \epsilon) x_i + \sum_{j \to i} m_{ji}\bigr)`.

    The message is :math:`x_j`, or :math:`\mathrm{relu}(x_j + W e_{ji})` where edges have features. The sum is
    multiplied by ``scale``, a constant that keeps its size where nodes have many neighbors.
    """

    def __init__(self, n_inputs: int, n_outputs: int, n_edge_features: int = 0, scale: float = 1.0):
        super().__init__()
        self.scale = scale
        self.mlp: nn.Module = MLP([n_inputs, n_outputs, n_outputs])
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.edge = nn.Linear(n_edge_features, n_inputs) if n_edge_features else None

    def forward(self, graph: GraphTensors) -> GraphTensors:
        source, target = graph.edges
        message = graph.x.index_select(0, source)
        if self.edge is not None and graph.e is not None:
            message = functional.relu(message + self.edge(graph.e))
        total = scatter(message, target, len(graph.x))
        return graph._replace(x=self.mlp(self.scale * ((1 + self.epsilon) * graph.x + total)))
