"""Classes of the nodes of one graph, learned from the nodes whose class is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from margin.core.classes import encode_classes
from margin.core.domains import Choice, Either, Integer
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.foundations.probability.softmax import softmax_rows
from margin.graphs.base import GraphEstimator, coded_classes, precision
from margin.graphs.graph import Graph, GraphTensors
from margin.graphs.network import with_sparse_matrices
from margin.neural.estimators.parameters import LossOfClasses
from margin.neural.training import TensorRows

__all__ = ["NodeClassifier"]


class NodeClassifier(ClassifierMixin, LossOfClasses, GraphEstimator):
    """A graph network for classes of nodes: all nodes pass messages, those with a label have a loss.

    ``X`` is one :class:`~margin.graphs.graph.Graph`; a table is a graph without edges. Every step takes the whole
    graph.

    Examples
    --------
    >>> from margin.graphs.generators import karate_club
    >>> club = karate_club()
    >>> model = NodeClassifier(max_iter=100, random_state=0).fit(club, club.target, labeled=[0, 33])
    >>> model.score(club, club.target) > 0.85
    True
    """

    _: KW_ONLY
    alpha: float = default(5e-4, "Strength of the L2 penalty on matrices, per labeled node.")
    batch_size: int | str = parameter(
        "auto", Either(Choice("auto"), Integer(low=1)), "Labeled nodes per update; 'auto' is all of them."
    )

    classes_: np.ndarray = attribute("The classes, sorted.")

    def fit(self, X: Any, y: Any = None, labeled: Any = None) -> Any:
        """Learn the classes ``y`` of the nodes of ``X``; only nodes numbered or masked by ``labeled`` show theirs."""
        return self._consume(self.iterate(X, y, labeled), X, y)

    def iterate(
        self, X: Any, y: Any = None, labeled: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        graph = self._graph(X, reset=True)
        y = coded_classes("NodeClassifier", y, len(graph), "node")
        nodes = _numbers(labeled, len(graph))
        classes, codes = encode_classes(y[nodes])
        if len(classes) < 2:
            raise ValueError("NodeClassifier: labeled nodes must have at least 2 classes; got 1 class.")
        self._describe(len(classes), [graph])
        self.classes_ = classes
        empty = precision(X, [graph], len(graph))
        tensors = self._tensors([graph], torch.from_numpy(empty).dtype)
        seed = self._seed(state)
        train, valid = self._split(len(nodes), seed, codes)

        loss = self._class_loss()

        def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            _, numbers, wanted = batch
            return {"loss": loss(module(tensors)[numbers], wanted, module.training)}

        rows = TensorRows.of(empty[nodes], nodes, codes.astype(np.int64))
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes of every node."""
        return softmax_rows(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every node."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def _tensors(self, graphs: Sequence[Graph], dtype: torch.dtype) -> GraphTensors:
        return with_sparse_matrices(super()._tensors(graphs, dtype), self.network_["architecture"])

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._outputs([self._graph(X, reset=False)])

    def _rows_per_update(self, n_rows: int) -> int:
        return n_rows if self.batch_size == "auto" else int(self.batch_size)


def _numbers(labeled: Any, n: int) -> np.ndarray:
    """Numbers of the nodes that ``labeled`` names by number or by mask."""
    if labeled is None:
        return np.arange(n)
    chosen = np.asarray(labeled)
    if chosen.dtype == bool and chosen.shape == (n,):
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.size == 0 or chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(f"NodeClassifier: labeled must be a mask of {n} nodes or numbers from 0 to {n - 1}.")
    return chosen.astype(np.int64)
