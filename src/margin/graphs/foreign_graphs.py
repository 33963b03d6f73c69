"""Graphs of networkx and PyTorch Geometric as graphs of ours, by what they have; neither package is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.graphs.graph import Graph

__all__ = ["own_graph", "own_graphs"]

NODE_FEATURES = ("x", "features", "feature", "feat")  # attributes of networkx nodes that hold their features


def own_graphs(X: Any) -> Any:
    """``X`` with every foreign graph in it as a :class:`Graph`: one, a sequence or a dataset of them; else as it is."""
    converted = own_graph(X)
    if converted is not X or isinstance(X, Graph):
        return converted
    objects = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind == "O"
    several = (isinstance(X, Sequence) and not isinstance(X, str)) or objects or _is_pyg_dataset(X)
    if several and len(X) and _is_graph(X[0]):
        return [own_graph(X[i]) for i in range(len(X))]
    return X


def own_graph(graph: Any) -> Any:
    """A foreign graph as a :class:`Graph`, anything else as it is."""
    if _is_pyg(graph):
        return _from_pyg(graph)
    return _from_networkx(graph) if _is_networkx(graph) else graph


def _is_graph(item: Any) -> bool:
    return isinstance(item, Graph) or _is_pyg(item) or _is_networkx(item)


def _is_pyg(item: Any) -> bool:
    return getattr(item, "edge_index", None) is not None and hasattr(item, "num_nodes")


def _is_pyg_dataset(item: Any) -> bool:
    return hasattr(item, "__len__") and hasattr(item, "num_node_features") and hasattr(item, "__getitem__")


def _is_networkx(item: Any) -> bool:
    return all(hasattr(item, name) for name in ("nodes", "edges", "is_directed", "number_of_nodes"))


def _array(value: Any) -> np.ndarray | None:
    if value is None:
        return None
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _from_pyg(data: Any) -> Graph:
    """Edges, features and target of a ``torch_geometric.data.Data``."""
    return Graph(
        np.asarray(_array(data.edge_index), dtype=np.int64),
        _array(getattr(data, "x", None)),  # type: ignore[arg-type]
        _array(getattr(data, "edge_attr", None)),
        target=_array(getattr(data, "y", None)),
        n_nodes=int(data.num_nodes),
    )


def _from_networkx(graph: Any) -> Graph:
    """Nodes in their order, every edge of an undirected graph both ways, features from the attribute ``x`` of nodes."""
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    pairs = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    features = next((found for name in NODE_FEATURES if (found := _node_values(graph, nodes, name)) is not None), None)
    options = {"node_features": features, "target": _node_values(graph, nodes, "y"), "n_nodes": len(nodes)}
    if graph.is_directed():
        return Graph(pairs.T, **options)  # type: ignore[arg-type]
    loops = pairs[:, 0] == pairs[:, 1]  # a loop is one edge, not two
    both = np.concatenate([pairs, pairs[~loops][:, ::-1]])
    return Graph(both.T, **options)  # type: ignore[arg-type]


def _node_values(graph: Any, nodes: Sequence[Any], name: str) -> np.ndarray | None:
    """The attribute ``name`` of every node, if all have it."""
    values = [graph.nodes[node].get(name) for node in nodes]
    return None if not values or any(value is None for value in values) else np.array(values)
