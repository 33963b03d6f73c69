"""Classes of the nodes of one graph, learned from the nodes whose class is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d
from torch import Tensor, nn

from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice, Either, Integer
from margin.core.invariants import ArrayOf
from margin.core.labels import has_label
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.foundations.probability.softmax import softmax_rows
from margin.graphs.base import GraphEstimator, precision
from margin.graphs.graph import Graph, GraphTensors
from margin.graphs.network import with_sparse_matrices
from margin.graphs.stored import NODE_NETWORK
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import OwnRows, known_classes, own_rows
from margin.neural.estimators.parameters import LossOfClasses
from margin.neural.training import TensorRows

__all__ = ["NodeClassifier"]


class NodeClassifier(ClassifierMixin, LossOfClasses, GraphEstimator):
    """A graph network for classes of nodes: all nodes pass messages, those with a label have a loss.

    ``X`` is one :class:`~margin.graphs.graph.Graph`, or one of networkx or PyTorch Geometric; a table is a graph
    without edges. Every step takes the whole graph. As everywhere in semi-supervised learning, nodes whose class in
    ``y`` is -1, None or NaN are unlabeled, unless -1 and one other number are the two classes.

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

    classes_: np.ndarray = attribute(ArrayOf("n_outputs", kind="labels"), "The classes, sorted.")
    network_: dict[str, Any] = attribute(NODE_NETWORK)

    def fit(
        self,
        X: Any,
        y: Any = None,
        labeled: ArrayLike | None = None,
        sample_weight: Any = None,
        validation_data: Any = None,
    ) -> Self:
        """Learn the classes ``y`` of the nodes of ``X``.

        Only nodes numbered or masked by ``labeled`` show theirs; by default those that have one, see above. A node of
        weight w in ``sample_weight`` counts like w nodes. ``validation_data``, a graph, which may be ``X``, with the
        classes of its nodes, judges every epoch by those that have one; with ``early_stopping`` it ends the training.
        """
        return self._consume(self.iterate(X, y, labeled, sample_weight, validation_data), X, y)

    def iterate(
        self,
        X: Any,
        y: Any = None,
        labeled: Any = None,
        sample_weight: Any = None,
        validation_data: Any = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        graph = self._graph(X, reset=True)
        y = _node_labels(y, len(graph))
        nodes = np.flatnonzero(has_label(y)) if labeled is None else _numbers(labeled, len(graph))
        weight = (
            None
            if sample_weight is None
            else _check_sample_weight(
                sample_weight, np.empty((len(graph), 1)), dtype=np.float64, ensure_non_negative=True
            )[nodes]
        )
        nodes, y_known, weight = weighted_rows(self, nodes, y[nodes], weight)
        classes, codes = _classes(y_known)
        self._describe(len(classes), [graph])
        self.classes_ = classes
        empty = precision(X, [graph], len(graph))
        tensors = self._tensors([graph], self._like_weights(torch.from_numpy(empty).dtype))
        seed = self._seed(state)
        nodes, codes, weight = self._class_weighted(nodes, codes, classes, weight)
        given = own_rows(self, validation_data)
        train, valid = self._split(len(nodes), seed, codes, given=given)
        held, own_tensors = (None, tensors) if given is None else self._own_nodes(given, empty)
        loss = self._class_loss()

        def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            _, numbers, wanted = batch
            outputs = module(tensors if module.training else own_tensors)
            return {"loss": loss(outputs[numbers], wanted, module.training)}

        rows = TensorRows.of(empty[nodes], nodes, codes.astype(np.int64), weight=weight)
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, held=held)

    def _own_nodes(self, given: OwnRows, empty: np.ndarray) -> tuple[TensorRows, GraphTensors]:
        """The nodes that judge every epoch, and their graph."""
        graph = self._graph(given.X, reset=False)
        y = _node_labels(given.y, len(graph))
        nodes = np.flatnonzero(has_label(y))
        if not len(nodes):
            raise ValueError("NodeClassifier: validation_data must have a node with a class; got none.")
        labels = np.array(y[nodes].tolist()) if y.dtype.kind == "O" else y[nodes]
        codes = known_classes(self, labels, self.classes_).astype(np.int64)
        weight = None if given.weight is None else np.asarray(given.weight, dtype=np.float64)[nodes]
        nodes, codes, weight = weighted_rows(self, nodes, codes, weight)
        tensors = self._tensors([graph], self._like_weights(torch.from_numpy(empty).dtype))
        return TensorRows.of(np.empty((len(nodes), 0), empty.dtype), nodes, codes, weight=weight), tensors

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes of every node."""
        return softmax_rows(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every node."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the nodes of which ``y`` has a class."""
        predicted = self.predict(X)
        y = _node_labels(y, len(predicted))
        known = np.isin(y, self.classes_) | has_label(y)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(predicted[known] == y[known], weights=weight[known]))

    def _tensors(self, graphs: Sequence[Graph], like: Tensor) -> GraphTensors:
        return with_sparse_matrices(super()._tensors(graphs, like), self.network_["architecture"])

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._outputs([self._graph(X, reset=False)])

    def _rows_per_update(self, n_rows: int) -> int:
        return n_rows if self.batch_size == "auto" else int(self.batch_size)


def _node_labels(y: Any, n: int) -> np.ndarray:
    """``y`` as it came, one entry for each of ``n`` nodes."""
    if y is None:
        raise ValueError("NodeClassifier requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if len(y) != n:
        raise ValueError(f"NodeClassifier: y must have one class per node, {n}; got {len(y)}.")
    return y


def _classes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of the labeled nodes, and the code of each."""
    if labels.dtype.kind == "O":
        labels = np.array(labels.tolist())  # strings among which None or NaN stood
    check_classes(labels)
    classes, codes = encode_classes(labels)
    if len(classes) < 2:
        raise ValueError(
            f"NodeClassifier: labeled nodes must have at least 2 classes; got {len(classes)} class of {len(labels)} "
            "labeled nodes."
        )
    return classes, codes


def _numbers(labeled: Any, n: int) -> np.ndarray:
    """Numbers of the nodes that ``labeled`` names by number or by mask."""
    chosen = np.asarray(labeled)
    if chosen.dtype == bool and chosen.shape == (n,):
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.size == 0 or chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(f"NodeClassifier: labeled must be a mask of {n} nodes or numbers from 0 to {n - 1}.")
    return chosen.astype(np.int64)
