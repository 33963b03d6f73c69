r"""Gather and scatter: what travels along edges and how it is put together where it arrives.

.. math:: \rho(v)_i = \mathrm{agg}\{v_k : \text{index}_k = i\}
"""

from __future__ import annotations

import torch
from torch import Tensor

from margin.graphs.graph import GraphTensors

__all__ = [
    "AGGREGATIONS",
    "pool_edges_to_global",
    "pool_edges_to_nodes",
    "pool_nodes_to_global",
    "scatter",
    "segment_softmax",
]

AGGREGATIONS = ("sum", "mean", "max")


def scatter(values: Tensor, index: Tensor, size: int, agg: str = "sum") -> Tensor:
    """Rows of ``values`` put together by their ``index`` in 0..size-1; where none arrives there is 0.

    >>> scatter(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([0, 2, 2]), 3).tolist()
    [[1.0], [0.0], [6.0]]
    """
    if agg not in AGGREGATIONS:
        raise ValueError(f"scatter: agg must be one of {', '.join(AGGREGATIONS)}; got {agg!r}.")
    zeros = values.new_zeros((size, *values.shape[1:]))
    if agg == "max":
        spread = index.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
        return zeros.scatter_reduce(0, spread, values, "amax", include_self=False)
    total = zeros.index_add(0, index, values)
    if agg == "sum":
        return total
    count = torch.bincount(index, minlength=size).clamp(min=1).to(values.dtype)
    return total / count.reshape(-1, *[1] * (values.ndim - 1))


def segment_softmax(scores: Tensor, index: Tensor, size: int) -> Tensor:
    """Softmax of ``scores`` among those of equal ``index``, so that what arrives at a node weighs 1 in all."""
    highest = scatter(scores.detach(), index, size, "max")
    exponentials = torch.exp(scores - highest.index_select(0, index))
    return exponentials / scatter(exponentials, index, size).index_select(0, index)


def pool_edges_to_nodes(graph: GraphTensors, agg: str = "sum") -> Tensor:
    """Features of the incoming edges of every node; as a sum the incidence matrix times the edge features."""
    return scatter(_edge_features("pool_edges_to_nodes", graph), graph.edges[1], len(graph.x), agg)


def pool_nodes_to_global(graph: GraphTensors, agg: str = "sum") -> Tensor:
    """Features of the nodes of every graph, (graphs, p)."""
    return scatter(graph.x, graph.node_graph_of, graph.n_graphs, agg)


def pool_edges_to_global(graph: GraphTensors, agg: str = "sum") -> Tensor:
    """Features of the edges of every graph, (graphs, q)."""
    return scatter(_edge_features("pool_edges_to_global", graph), graph.edge_graph_of, graph.n_graphs, agg)


def _edge_features(name: str, graph: GraphTensors) -> Tensor:
    if graph.e is None:
        raise ValueError(f"{name}: the graph must have edge features; it has none.")
    return graph.e
