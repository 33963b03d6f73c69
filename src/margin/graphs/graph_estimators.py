"""Classes and numbers of whole graphs: message passing, then one vector per graph, whatever the order of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from torch import Tensor, nn
from torch.nn import functional

from margin.core.domains import Choice, Integer
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.graphs.base import GraphEstimator, graphs_of, softmax_rows
from margin.graphs.graph import Graph
from margin.graphs.network import ARCHITECTURES
from margin.graphs.pooling import AGGREGATIONS
from margin.neural.scaling import Scaling
from margin.neural.training import TensorRows

__all__ = ["GraphClassifier", "GraphRegressor"]


class WholeGraphEstimator(GraphEstimator):
    """What both share: unions of graphs as batches, and a readout."""

    _: KW_ONLY
    architecture: str = parameter(
        "gin", Choice(*ARCHITECTURES), "Kind of the layers; 'gat', 'gin' and 'mpnn' use features of edges."
    )
    n_layers: int = parameter(3, Integer(low=1), "Layers, which is how many edges away a node sees.")
    readout: str = parameter("sum", Choice(*AGGREGATIONS), "How the nodes of a graph are put together.")

    _level = "graph"

    def _begin(self, X: Any, y: Any, n_outputs: int) -> list[Graph]:
        graphs = graphs_of(type(self).__name__, X)
        if len(graphs) != len(y):
            raise ValueError(f"{type(self).__name__}: X and y must be of one length; got {len(graphs)} and {len(y)}.")
        self._describe(n_outputs, graphs[0], readout=self.readout)
        for graph in graphs:
            self._checked(graph)
        return graphs


class GraphClassifier(ClassifierMixin, WholeGraphEstimator):
    """A graph network for classes of whole graphs.

    >>> from margin.graphs.generators import ring
    >>> graphs = [ring(n) for n in (3, 4, 5, 6, 7, 8) for _ in range(4)]
    >>> labels = [len(graph) > 5 for graph in graphs]
    >>> GraphClassifier(max_iter=60, random_state=0).fit(graphs, labels).score(graphs, labels)
    1.0
    """

    classes_: np.ndarray = attribute("The classes, sorted.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        self._check_parameters()
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"GraphClassifier: y must have at least 2 classes; got {len(self.classes_)}.")
        graphs = self._begin(X, y, len(self.classes_))
        seed = self._seed(state)
        train, valid = self._split(len(graphs), seed, codes)

        def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            scores = module(self._tensors([graphs[i] for i in batch[0].tolist()]))
            return {"loss": functional.cross_entropy(scores, batch[1], reduction="none")}

        rows = TensorRows.of(np.arange(len(graphs)), codes.astype(np.int64))
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes of every graph."""
        return softmax_rows(self._outputs(graphs_of("GraphClassifier", X)))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every graph."""
        return self.classes_[self._outputs(graphs_of("GraphClassifier", X)).argmax(axis=1)]


class GraphRegressor(RegressorMixin, WholeGraphEstimator):
    """A graph network for one number per graph, standardized in training.

    >>> from margin.graphs.generators import ring
    >>> graphs = [ring(n) for n in range(3, 15)]
    >>> y = [float(len(graph)) for graph in graphs]
    >>> GraphRegressor(max_iter=300, random_state=0).fit(graphs, y).score(graphs, y) > 0.9
    True
    """

    target_center_: float = attribute("What is subtracted from the targets.")
    target_scale_: float = attribute("What the targets are divided by.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        self._check_parameters()
        y = np.asarray(y, dtype=np.float64)
        if y.ndim != 1 or not np.isfinite(y).all():
            raise ValueError(f"GraphRegressor: y must be one finite number per graph; got shape {y.shape}.")
        graphs = self._begin(X, y, 1)
        seed = self._seed(state)
        train, valid = self._split(len(graphs), seed)
        center, scale = Scaling.of(y[train][:, None])
        self.target_center_, self.target_scale_ = float(center[0]), float(scale[0])

        def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            found = module(self._tensors([graphs[i] for i in batch[0].tolist()]))[:, 0]
            return {"loss": 0.5 * (found - batch[1]).square()}

        standard = ((y - self.target_center_) / self.target_scale_).astype(np.float32)
        rows = TensorRows.of(np.arange(len(graphs)), standard)
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def predict(self, X: Any) -> np.ndarray:
        """The number of every graph."""
        return self._outputs(graphs_of("GraphRegressor", X))[:, 0] * self.target_scale_ + self.target_center_
