"""Classes and numbers of whole graphs: message passing, then one vector per graph, whatever the order of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d
from torch import Tensor, nn

from margin.core.classes import encode_classes
from margin.core.domains import Choice, Flag
from margin.core.invariants import ArrayOf, Real
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.foundations.probability.softmax import softmax_rows
from margin.graphs.base import GraphEstimator, coded_classes, precision
from margin.graphs.graph import Graph
from margin.graphs.network import READOUT_LAYERS
from margin.graphs.pooling import AGGREGATIONS
from margin.graphs.stored import GRAPH_NETWORK
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import JudgedEstimator, OwnRows, known_classes
from margin.neural.estimators.parameters import LossOfClasses
from margin.neural.losses.regression import squared_error
from margin.neural.scaling import Scaling
from margin.neural.training import TensorRows
from margin.neural.training.steps import Objective

__all__ = ["GraphClassifier", "GraphRegressor"]

GRAPHS_AT_ONCE = 512  # predicted as one union: bounds memory
Loss = Callable[[Tensor, Tensor, bool], Tensor]  # of outputs, targets, and whether the network trains


class WholeGraphEstimator(JudgedEstimator, GraphEstimator):
    """What both share: unions of graphs as batches, and a readout."""

    _: KW_ONLY
    architecture: str = default("gin")
    n_layers: int = default(3)
    readout: str = parameter("sum", Choice(*AGGREGATIONS), "How the nodes of a graph are put together.")
    readout_layers: str = parameter(
        "last",
        Choice(*READOUT_LAYERS),
        "Whose features are read out: the last layer's, or all layers' and the nodes' own.",
    )
    batch_norm: bool = parameter(
        False,
        Flag(),
        "Whether features are normalized over the nodes of a batch after every layer, as published for 'gin'.",
    )

    network_: dict[str, Any] = attribute(GRAPH_NETWORK)

    _level = "graph"

    def _held(
        self, graphs: list[Graph], target: np.ndarray, sample_weight: Any, before: list[Graph], empty: np.ndarray
    ) -> TensorRows:
        """Rows that judge every epoch: ``graphs``, which are numbered after those ``before``."""
        if len(target) != len(graphs):
            raise ValueError(
                f"{type(self).__name__}: validation_data must have one target per graph, {len(graphs)}; "
                f"got {len(target)}."
            )
        numbers, target, weight = weighted_rows(self, len(before) + np.arange(len(graphs)), target, sample_weight)
        return TensorRows.of(np.empty((len(numbers), 0), empty.dtype), numbers, target, weight=weight)

    def _reading(self) -> dict[str, Any]:
        return {"readout": self.readout, "readout_layers": self.readout_layers, "batch_norm": bool(self.batch_norm)}

    def _objective(self, graphs: list[Graph], loss: Loss) -> Objective:
        """``loss`` of the outputs for the union of the graphs that a batch numbers."""

        def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            _, numbers, wanted = batch
            outputs = module(self._tensors([graphs[i] for i in numbers.tolist()], next(module.parameters())))
            return {"loss": loss(outputs, wanted, module.training)}

        return objective

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        graphs = self._graphs(X, reset=False)
        pieces = [graphs[i : i + GRAPHS_AT_ONCE] for i in range(0, len(graphs), GRAPHS_AT_ONCE)]
        return np.concatenate([self._outputs(piece) for piece in pieces])


def _half_square(output: Tensor, target: Tensor, _training: bool) -> Tensor:
    return 0.5 * squared_error(output[:, 0], target)


class GraphClassifier(ClassifierMixin, LossOfClasses, WholeGraphEstimator):
    """A graph network for classes of whole graphs.

    ``X`` is a sequence of graphs, ours or those of networkx or PyTorch Geometric; rows of a table are graphs of one
    node.

    Examples
    --------
    >>> from margin.graphs.generators import ring
    >>> graphs = [ring(n) for n in (3, 4, 5, 8, 9, 10) for _ in range(4)]
    >>> labels = [len(graph) > 6 for graph in graphs]
    >>> GraphClassifier(max_iter=60, batch_size=4, random_state=0).fit(graphs, labels).score(graphs, labels)
    1.0
    """

    classes_: np.ndarray = attribute(ArrayOf("n_outputs", kind="labels"), "The classes, sorted.")

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        graphs = self._graphs(X, reset=True)
        y = coded_classes("GraphClassifier", y, len(graphs), "graph")
        kept, y, weight = weighted_rows(self, np.arange(len(graphs)), y, sample_weight)
        graphs = [graphs[i] for i in kept]
        classes, codes = encode_classes(y)
        if len(classes) < 2:
            raise ValueError("GraphClassifier: y must have at least 2 classes; got 1 class.")
        self._describe(len(classes), graphs, **self._reading())
        self.classes_ = classes
        seed = self._seed(state)
        numbers, codes, weight = self._class_weighted(np.arange(len(graphs)), codes, classes, weight)
        train, valid = self._split(len(numbers), seed, codes, given=given)
        empty = precision(X, graphs, len(graphs))
        rows = TensorRows.of(empty[numbers], numbers, codes.astype(np.int64), weight=weight)
        held = None
        if given is not None:
            more, codes = self._graphs(given.X, reset=False), known_classes(self, given.y, classes)
            held, graphs = self._held(more, codes.astype(np.int64), given.weight, graphs, empty), graphs + more
        objective = self._objective(graphs, self._class_loss())
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, held=held)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes of every graph."""
        return softmax_rows(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every graph."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]


class GraphRegressor(RegressorMixin, WholeGraphEstimator):
    """A graph network for one number per graph, standardized in training.

    ``X`` is a sequence of graphs, ours or those of networkx or PyTorch Geometric; rows of a table are graphs of one
    node.

    Examples
    --------
    >>> from margin.graphs.generators import ring
    >>> graphs = [ring(n) for n in range(3, 15)]
    >>> y = [float(len(graph)) for graph in graphs]
    >>> GraphRegressor(max_iter=200, batch_size=4, random_state=0).fit(graphs, y).score(graphs, y) > 0.9
    True
    """

    target_center_: float = attribute(Real(finite=True), "What is subtracted from the targets.")
    target_scale_: float = attribute(Real(low=0.0, finite=True), "What the targets are divided by.")

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        if y is None:
            raise ValueError("GraphRegressor requires y to be passed, but the target y is None.")
        graphs = self._graphs(X, reset=True)
        kept, y, weight = weighted_rows(self, np.arange(len(graphs)), self._numbers(y, len(graphs)), sample_weight)
        graphs = [graphs[i] for i in kept]
        self._describe(1, graphs, **self._reading())
        seed = self._seed(state)
        train, valid = self._split(len(graphs), seed, given=given)
        if not self._goes_on():
            center, scale = Scaling.of(y[train][:, None], weight[train])
            self.target_center_, self.target_scale_ = float(center[0]), float(scale[0])
        empty = precision(X, graphs, len(graphs))
        rows = TensorRows.of(empty, np.arange(len(graphs)), self._standard(y, empty), weight=weight)
        held = None
        if given is not None:
            more = self._graphs(given.X, reset=False)
            targets = self._standard(self._numbers(given.y, len(more)), empty)
            held, graphs = self._held(more, targets, given.weight, graphs, empty), graphs + more
        objective = self._objective(graphs, _half_square)
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, held=held)

    def _numbers(self, y: Any, n: int) -> np.ndarray:
        """Targets, one finite number for each of ``n`` graphs."""
        y = np.asarray(column_or_1d(numeric_target(self, y), warn=True), dtype=np.float64)
        if len(y) != n or not np.isfinite(y).all():
            raise ValueError(
                f"GraphRegressor: y must be one finite number per graph, {n}; got {len(y)} with "
                f"{int((~np.isfinite(y)).sum())} NaN or inf."
            )
        return y

    def _standard(self, y: np.ndarray, like: np.ndarray) -> np.ndarray:
        return ((y - self.target_center_) / self.target_scale_).astype(like.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """The number of every graph."""
        return self._scores(X)[:, 0] * self.target_scale_ + self.target_center_
