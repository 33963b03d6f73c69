"""What estimators on graphs share: the network, its parameters, and the check of the graphs they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.domains import Choice, Integer, Number
from margin.core.parameters import parameter
from margin.core.threads import torch_threads
from margin.graphs.graph import Graph, GraphTensors, as_graph, disjoint_union
from margin.graphs.network import ARCHITECTURES, USES_EDGE_FEATURES, GraphNetwork, with_edge_features
from margin.neural.estimators.base import NeuralEstimator

__all__ = ["GraphEstimator"]


class GraphEstimator(NeuralEstimator):
    """A graph network whose layers are of one architecture, trained in the shared loop."""

    _: KW_ONLY
    architecture: str = parameter(
        "gcn", Choice(*ARCHITECTURES), "Kind of the layers; 'gat', 'gin' and 'mpnn' use features of edges."
    )
    width: int = parameter(32, Integer(low=1, search=(8, 256), log=True), "Features of a node in hidden layers.")
    n_layers: int = parameter(2, Integer(low=1), "Layers, which is how many edges away a node sees.")
    heads: int = parameter(4, Integer(low=1), "Heads of attention in the hidden layers of 'gat'.")
    dropout: float = parameter(
        0.0, Number(low=0, below=1), "Fraction of the features that are dropped before each layer in training."
    )
    learning_rate_init: float = parameter(
        0.01, Number(above=0, search=(1e-4, 3e-2), log=True), "Full learning rate, from which the schedule goes on."
    )

    _level = "node"  # what a row of the outputs stands for: a node or a graph

    def _network(self) -> nn.Module:
        return GraphNetwork(**self.network_)

    def _describe(self, n_outputs: int, graph: Graph, **more: Any) -> None:
        """Set ``network_`` for graphs like ``graph``."""
        n_edge_features = 0 if graph.edge_features is None else graph.edge_features.shape[1]
        if n_edge_features and self.architecture not in USES_EDGE_FEATURES:
            raise ValueError(
                f"{type(self).__name__}: architecture {self.architecture!r} does not use edge features, which these "
                f"graphs have; {', '.join(USES_EDGE_FEATURES)} do."
            )
        if self.architecture == "gat" and self.width % self.heads:
            raise ValueError(
                f"{type(self).__name__}: width must be a multiple of heads; got {self.width} and {self.heads}."
            )
        self.n_features_in_ = graph.node_features.shape[1]
        self.network_ = {
            "n_features": self.n_features_in_,
            "n_edge_features": n_edge_features,
            "n_outputs": n_outputs,
            "architecture": self.architecture,
            "width": int(self.width),
            "n_layers": int(self.n_layers),
            "heads": int(self.heads),
            "dropout": float(self.dropout),
            "level": self._level,
            **more,
        }

    def _tensors(self, graphs: Sequence[Graph]) -> GraphTensors:
        return with_edge_features(disjoint_union(graphs), self.network_["architecture"])

    def _checked(self, graph: Any) -> Graph:
        """A graph like those of the fit."""
        graph = as_graph(graph)
        edge_size = 0 if graph.edge_features is None else graph.edge_features.shape[1]
        wanted = (self.network_["n_features"], self.network_["n_edge_features"])
        if (graph.node_features.shape[1], edge_size) != wanted:
            raise ValueError(
                f"{type(self).__name__}: graphs must have {wanted[0]} node and {wanted[1]} edge features as in fit; "
                f"got {graph.node_features.shape[1]} and {edge_size}."
            )
        return graph

    def _outputs(self, graphs: Sequence[Graph]) -> np.ndarray:
        """What the network gives for every node or every graph."""
        module = self._ready_module()
        checked = [self._checked(graph) for graph in graphs]
        with torch.inference_mode(), torch_threads(1):
            outputs: Tensor = module(self._tensors(checked))
        return outputs.numpy().astype(np.float64)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # the work depends on the edges, so it is counted


def softmax_rows(scores: np.ndarray) -> np.ndarray:
    """Probabilities from scores, row by row."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def graphs_of(name: str, X: Any) -> list[Graph]:
    """A sequence of graphs; rows of a table are graphs of one node each."""
    if isinstance(X, Graph):
        raise ValueError(f"{name}: X must be a sequence of graphs; got one graph.")
    if isinstance(X, Sequence) and len(X) and all(isinstance(graph, Graph) for graph in X):
        return list(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return [as_graph(row[None]) for row in X]
    raise ValueError(f"{name}: X must be a sequence of graphs, at least one; got {type(X).__name__}.")
