"""What estimators on graphs share: the network, its parameters, and the check of the graphs they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import column_or_1d, validate_data
from torch import Tensor, nn

from margin.core.classes import check_classes
from margin.core.domains import MOST_LAYERS, Choice, Integer, Number
from margin.core.number_range import check_magnitude
from margin.core.parameters import default, parameter
from margin.core.threads import torch_threads
from margin.graphs.foreign_graphs import own_graph, own_graphs
from margin.graphs.graph import Graph, GraphTensors, as_graph, disjoint_union
from margin.graphs.network import ARCHITECTURES, USES_EDGE_FEATURES, GraphNetwork, with_edge_features
from margin.graphs.stored import network_is_stored
from margin.neural.estimators.base import NeuralEstimator

__all__ = ["GraphEstimator", "coded_classes"]

FLOATS = [np.float64, np.float32]


class GraphEstimator(NeuralEstimator):
    """A graph network whose layers are of one architecture, trained in the shared loop."""

    _whole_batch = "rows of a graph depend on each other"

    _: KW_ONLY
    architecture: str = parameter(
        "gcn", Choice(*ARCHITECTURES), "Kind of the layers; 'gat', 'gin' and 'mpnn' use features of edges."
    )
    width: int = parameter(32, Integer(low=1, search=(8, 256), log=True), "Features of a node in hidden layers.")
    n_layers: int = parameter(2, Integer(low=1, high=MOST_LAYERS), "Layers, which is how many edges away a node sees.")
    heads: int = parameter(4, Integer(low=1), "Heads of attention in the hidden layers of 'gat'.")
    dropout: float = parameter(
        0.0, Number(low=0, below=1), "Fraction of the features that are dropped before each layer in training."
    )
    learning_rate_init: float = default(0.01)

    _stored_rules = (network_is_stored,)

    _level = "node"  # what a row of the outputs stands for: a node or a graph

    def _network(self) -> nn.Module:
        return GraphNetwork(**self.network_)

    def _describe(self, n_outputs: int, graphs: Sequence[Graph], **more: Any) -> None:
        """Set ``network_`` for graphs like ``graphs``."""
        if self.architecture == "gat" and self.width % self.heads:
            raise ValueError(
                f"{type(self).__name__}: width must be a multiple of heads; got {self.width} and {self.heads}."
            )
        network = {
            "n_features": graphs[0].node_features.shape[1],
            "n_edge_features": _edge_size(graphs[0]),
            "n_outputs": n_outputs,
            "architecture": self.architecture,
            "width": int(self.width),
            "n_layers": int(self.n_layers),
            "heads": int(self.heads),
            "dropout": float(self.dropout),
            "level": self._level,
            **more,
        }
        if self._goes_on():
            if network != {name: self.network_[name] for name in network}:
                raise ValueError(f"{type(self).__name__}: warm_start must go on with the same network and outputs.")
            return
        n_nodes = sum(len(graph) for graph in graphs)
        self.network_ = {
            **network,
            "mean_degree": sum(graph.edges.shape[1] for graph in graphs) / n_nodes,
            "mean_nodes": n_nodes / len(graphs),
        }

    def _graph(self, X: Any, *, reset: bool) -> Graph:
        """One graph of nodes; the rows of a table are nodes without edges."""
        X = own_graph(X)
        if not isinstance(X, Graph):
            X = as_graph(validate_data(self, X, dtype=FLOATS, reset=reset))
        return self._check_graphs([X], reset=reset)[0]

    def _graphs(self, X: Any, *, reset: bool) -> list[Graph]:
        """A sequence of graphs; the rows of a table are graphs of one node each."""
        X = own_graphs(X)
        if isinstance(X, Graph):
            raise ValueError(f"{type(self).__name__}: X must be a sequence of graphs; got one graph.")
        if isinstance(X, list | tuple) and not X:
            raise ValueError(f"{type(self).__name__}: X must hold at least one graph; got none.")
        if not is_sequence_of_graphs(X):
            X = [as_graph(row[None]) for row in validate_data(self, X, dtype=FLOATS, reset=reset)]
        return self._check_graphs(list(X), reset=reset)

    def _check_graphs(self, graphs: list[Graph], *, reset: bool) -> list[Graph]:
        """``graphs``, if they are like those of the fit and the architecture uses all that they have."""
        name = type(self).__name__
        if reset:
            if getattr(self, "n_features_in_", None) != graphs[0].node_features.shape[1]:
                self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = graphs[0].node_features.shape[1]
        known = (self.n_features_in_, _edge_size(graphs[0]) if reset else self.network_["n_edge_features"])
        if known[1] and self.architecture not in USES_EDGE_FEATURES:
            raise ValueError(
                f"{name}: architecture {self.architecture!r} does not use edge features, which these graphs have; "
                f"{', '.join(USES_EDGE_FEATURES)} do."
            )
        if not known[0]:
            raise ValueError(f"{name}: nodes must have at least one feature; got none.")
        for graph in graphs:
            if graph.global_features is not None:
                raise ValueError(
                    f"{name}: no architecture uses global features, which these graphs have; append them to those of "
                    "the nodes."
                )
            check_magnitude(name, "node features", graph.node_features)
            if graph.edge_features is not None:
                check_magnitude(name, "edge features", graph.edge_features)
            sizes = (graph.node_features.shape[1], _edge_size(graph))
            if sizes != known:
                raise ValueError(
                    f"{name}: graphs must all have {known[0]} node and {known[1]} edge features; got {sizes[0]} and "
                    f"{sizes[1]}."
                )
        return graphs

    def _tensors(self, graphs: Sequence[Graph], like: Tensor) -> GraphTensors:
        """The graphs as one, where and as precise as ``like`` is: a weight of the network."""
        return with_edge_features(disjoint_union(graphs, like.dtype, like.device), self.network_["architecture"])

    def _like_weights(self, dtype: torch.dtype) -> Tensor:
        """An empty tensor like the weights that rows of ``dtype`` are learned with, before there are any."""
        compute = self._compute()
        return torch.empty(0, dtype=compute.dtype_for(dtype), device=compute.device)

    def _outputs(self, graphs: Sequence[Graph]) -> np.ndarray:
        """What the network gives for every node or every graph."""
        module = self._ready_module()
        with torch.inference_mode(), torch_threads(1):
            outputs: Tensor = module(self._tensors(graphs, next(module.parameters())))
        return outputs.numpy(force=True).astype(np.float64)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # the work depends on the edges, so it is counted


def is_sequence_of_graphs(X: Any) -> bool:
    """Whether ``X`` is a list, tuple, array or column of graphs, at least one."""
    several = isinstance(X, Sequence) or (getattr(X, "ndim", 0) == 1 and X.dtype == object)
    return several and len(X) > 0 and all(isinstance(graph, Graph) for graph in X)


def precision(X: Any, graphs: Sequence[Graph], n_rows: int) -> np.ndarray:
    """An empty array in the precision of a network for ``X``: that of a table, and float32 for graphs.

    It stands first among the rows of a training, whose precision is that of its first array.
    """
    X = own_graphs(X)
    given = isinstance(X, Graph) or is_sequence_of_graphs(X)
    return np.empty((n_rows, 0), dtype=np.float32 if given else graphs[0].node_features.dtype)


def coded_classes(name: str, y: Any, n: int, what: str) -> np.ndarray:
    """Classes ``y``, one for each of ``n`` things that ``what`` calls."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if len(y) != n:
        raise ValueError(f"{name}: y must have one class per {what}, {n}; got {len(y)}.")
    check_classes(y)
    return y


def _edge_size(graph: Graph) -> int:
    return 0 if graph.edge_features is None else graph.edge_features.shape[1]
