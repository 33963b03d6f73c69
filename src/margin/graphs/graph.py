"""A graph as data: edges between numbered nodes, and features of nodes, edges and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from margin.graphs.sparse import SparseMatrix

__all__ = ["Graph", "GraphTensors", "as_graph", "disjoint_union"]


@dataclass(frozen=True, eq=False)
class Graph:
    """Directed edges (2, m), sources above targets, and features of ``n_nodes`` nodes, of edges and of the whole.

    A graph without node features gives every node the feature 1; see :meth:`undirected` for edges that go both ways.

    >>> path = Graph.undirected([[0, 1], [1, 2]], n_nodes=3)
    >>> path.edges.tolist(), path.degrees.tolist()
    ([[0, 1, 1, 2], [1, 0, 2, 1]], [1, 2, 1])
    """

    edges: np.ndarray
    node_features: np.ndarray = None  # type: ignore[assignment]
    edge_features: np.ndarray | None = None
    global_features: np.ndarray | None = None
    target: Any = None
    n_nodes: int | None = None

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges)
        edges = edges.reshape(2, 0) if edges.size == 0 else edges
        if edges.ndim != 2 or edges.shape[0] != 2 or not (edges.size == 0 or np.issubdtype(edges.dtype, np.integer)):
            raise ValueError(
                f"Graph: edges must be integers of shape (2, m); got {edges.dtype} of shape {edges.shape}."
            )
        features = self._features(edges)
        n = len(features)
        if edges.size and not (edges.min() >= 0 and edges.max() < n):
            raise ValueError(f"Graph: edges must join nodes from 0 to {n - 1}; got {edges.min()} to {edges.max()}.")
        object.__setattr__(self, "edges", edges.astype(np.int64))
        object.__setattr__(self, "node_features", features)
        object.__setattr__(self, "n_nodes", n)
        if self.edge_features is not None:
            object.__setattr__(self, "edge_features", _table("edge_features", self.edge_features, edges.shape[1]))
        if self.global_features is not None:
            object.__setattr__(self, "global_features", np.atleast_1d(np.asarray(self.global_features, dtype=float)))

    def _features(self, edges: np.ndarray) -> np.ndarray:
        if self.node_features is not None:
            return _table("node_features", self.node_features, self.n_nodes)
        n = self.n_nodes if self.n_nodes is not None else int(edges.max(initial=-1)) + 1
        if n < 1:
            raise ValueError("Graph: a graph without edges needs node_features or n_nodes.")
        return np.ones((n, 1))

    @classmethod
    def undirected(cls, pairs: Any, *, edge_features: Any = None, **others: Any) -> Graph:
        """A graph in which every pair of ``pairs`` (m, 2) is an edge both ways, one after the other."""
        pairs = np.asarray(pairs).reshape(-1, 2)
        both = np.stack([pairs, pairs[:, ::-1]], axis=1).reshape(-1, 2)
        doubled = None if edge_features is None else np.repeat(np.asarray(edge_features), 2, axis=0)
        return cls(both.T.astype(np.int64) if both.size else both.T, edge_features=doubled, **others)

    @property
    def adjacency(self) -> np.ndarray:
        """Dense matrix with A[i, j] the number of edges from j to i, so that A X sums over incoming edges."""
        dense = np.zeros((len(self.node_features), len(self.node_features)))
        np.add.at(dense, (self.edges[1], self.edges[0]), 1.0)
        return dense

    @property
    def degrees(self) -> np.ndarray:
        """Number of incoming edges of every node."""
        return np.bincount(self.edges[1], minlength=len(self.node_features))

    def relabel(self, order: Any) -> Graph:
        """The same graph with node ``order[i]`` called i."""
        order = np.asarray(order)
        if sorted(order.tolist()) != list(range(len(self.node_features))):
            raise ValueError(f"Graph: order must have every node from 0 to {len(self.node_features) - 1} once.")
        position = np.argsort(order)
        return replace(self, edges=position[self.edges], node_features=self.node_features[order])

    def __len__(self) -> int:
        return len(self.node_features)


def _table(name: str, values: Any, rows: int | None) -> np.ndarray:
    table = np.asarray(values)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or (rows is not None and len(table) != rows):
        raise ValueError(f"Graph: {name} must have shape ({'n' if rows is None else rows}, p); got {table.shape}.")
    if table.dtype.kind not in "fiub" or not np.isfinite(table).all():
        raise ValueError(f"Graph: {name} must be finite numbers.")
    return table.astype(np.float64) if table.dtype.kind != "f" else table


def as_graph(X: Any) -> Graph:
    """A graph as it is; rows of a table are nodes without edges."""
    return X if isinstance(X, Graph) else Graph(np.zeros((2, 0), dtype=np.int64), np.asarray(X))


class GraphTensors(NamedTuple):
    """One or several graphs as layers take them: features, edges, and the graph that each node belongs to."""

    x: Any  # (nodes, p); a tensor, or a SparseMatrix for layers that begin with a matrix product
    edges: Tensor  # (2, edges)
    e: Tensor | None = None  # (edges, q)
    u: Tensor | None = None  # (graphs, r)
    graph_of: Tensor | None = None  # (nodes,); None: all of one graph
    n_graphs: int = 1
    propagation: SparseMatrix | None = None  # normalized adjacency, where it was made once for all steps

    @property
    def edge_graph_of(self) -> Tensor:
        """The graph that each edge belongs to."""
        return self.node_graph_of.index_select(0, self.edges[1])

    @property
    def node_graph_of(self) -> Tensor:
        if self.graph_of is None:
            return torch.zeros(len(self.x), dtype=torch.int64, device=self.edges.device)
        return self.graph_of

    @classmethod
    def of(cls, graph: Graph, dtype: torch.dtype = torch.float32) -> GraphTensors:
        return disjoint_union([graph], dtype)


def disjoint_union(
    graphs: Sequence[Graph], dtype: torch.dtype = torch.float32, device: torch.device | None = None
) -> GraphTensors:
    """Several graphs side by side as one without edges between them.

    >>> both = disjoint_union([Graph([[0], [1]]), Graph([[1], [0]])])
    >>> both.edges.tolist(), both.graph_of.tolist()
    ([[0, 3], [1, 2]], [0, 0, 1, 1])
    """
    if not graphs:
        raise ValueError("disjoint_union: needs at least one graph.")
    sizes = np.array([len(graph) for graph in graphs])
    starts = np.cumsum(sizes) - sizes
    kinds = {(g.node_features.shape[1], _width(g.edge_features), _length(g.global_features)) for g in graphs}
    if len(kinds) > 1:
        raise ValueError(
            "disjoint_union: all graphs must have the same numbers of node, edge and global features; "
            f"got {sorted(kinds, key=str)}."
        )
    edges = np.concatenate([graph.edges + start for graph, start in zip(graphs, starts)], axis=1)

    def join(parts: list[Any]) -> Tensor | None:
        return None if parts[0] is None else torch.from_numpy(np.concatenate(parts)).to(dtype=dtype, device=device)

    x = join([graph.node_features for graph in graphs])
    assert x is not None
    global_rows = [None if g.global_features is None else g.global_features[None] for g in graphs]
    graph_of = torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)).to(device)
    return GraphTensors(
        x,
        torch.from_numpy(edges).to(device),
        join([g.edge_features for g in graphs]),
        join(global_rows),
        graph_of,
        len(graphs),
    )


def _width(table: np.ndarray | None) -> int | None:
    return None if table is None else table.shape[1]


def _length(vector: np.ndarray | None) -> int | None:
    return None if vector is None else len(vector)
