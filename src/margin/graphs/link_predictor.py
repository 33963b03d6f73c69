r"""Which nodes are joined, or how: a network embeds the nodes, and a score of two embeddings says the rest.

.. math:: P(i \to j) = \sigma(z_i \cdot z_j) \quad\text{or}\quad
          P(r \mid i \to j) = \mathrm{softmax}_r\,\mathrm{MLP}([z_i, z_j])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from torch import Tensor, nn

from margin.core.class_weights import ClassWeight, row_weights
from margin.core.classes import encode_classes
from margin.core.domains import Choice, Either, Integer
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.threads import torch_threads
from margin.foundations.probability.softmax import softmax_rows
from margin.graphs.base import GraphEstimator, coded_classes
from margin.graphs.foreign_graphs import own_graph
from margin.graphs.graph import Graph, GraphTensors
from margin.graphs.network import GraphNetwork
from margin.graphs.stored import LINK_NETWORK
from margin.neural.activations.fused import fused_softplus
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import JudgedEstimator, OwnRows, known_classes
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.nets.mlp import MLP
from margin.neural.training import TensorRows

__all__ = ["LinkPredictor"]


class LinkNetwork(nn.Module):
    """Embeddings of nodes, and scores of pairs: one by the inner product, or one per relation."""

    def __init__(self, n_relations: int, n_outputs: int, **body: Any):
        super().__init__()
        self.body = GraphNetwork(n_outputs=n_outputs, **body)
        # With relations the ends are told apart, and each end also shows what it is without its neighbors.
        self.head = MLP([2 * (n_outputs + body["n_features"]), n_outputs, n_relations]) if n_relations else None

    def forward(self, graph: GraphTensors, source: Tensor, target: Tensor) -> Tensor:
        z = self.body(graph)
        if self.head is None:
            return (z.index_select(0, source) * z.index_select(0, target)).sum(dim=1)
        both = torch.cat([z, graph.x], dim=1)
        return self.head(torch.cat([both.index_select(0, source), both.index_select(0, target)], dim=1))


class LinkPredictor(ClassifierMixin, JudgedEstimator, GraphEstimator):
    """Links of a graph from its other links, or the relation that each edge stands for.

    ``fit(graph)`` learns which pairs are joined: against every edge stands a pair drawn at random. ``fit(graph, y)``
    learns the class ``y`` of every edge. Predictions are about ``pairs`` (m, 2), by default the graph's own edges.

    Examples
    --------
    >>> from margin.graphs.generators import block_model
    >>> graph = block_model([20, 20], 0.5, 0.02, random_state=0)
    >>> model = LinkPredictor(max_iter=100, random_state=0).fit(graph)
    >>> inside, across = model.predict_proba(graph, [[0, 1], [0, 39]])[:, 1]
    >>> bool(inside > across)
    True
    """

    _: KW_ONLY
    batch_size: int | str = parameter(
        "auto", Either(Choice("auto"), Integer(low=1)), "Edges per update; 'auto' is all of them."
    )

    class_weight: Any = parameter(
        None,
        ClassWeight(),
        "Weights of the classes of edges, multiplied into those of the edges; 'balanced': all count alike.",
    )

    classes_: np.ndarray = attribute(
        ArrayOf("n_outputs", kind="labels"), "The classes of edges, or 0 and 1 for pairs that are not or are joined."
    )
    network_: dict[str, Any] = attribute(LINK_NETWORK)

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        X = own_graph(X)
        if not isinstance(X, Graph) or X.edges.shape[1] == 0:
            raise ValueError("LinkPredictor: X must be a graph with edges.")
        graph, n = self._graph(X, reset=True), len(X)
        m = graph.edges.shape[1]
        classes, codes = np.array([0, 1]), np.ones(m, dtype=np.int64)
        if y is None:
            self._refuse_classes(given)
        else:
            classes, codes = encode_classes(coded_classes("LinkPredictor", y, m, "edge"))
            if len(classes) < 2:
                raise ValueError("LinkPredictor: y must have at least 2 classes; got 1 class.")
        self._describe(int(self.width), [graph], n_relations=0 if y is None else len(classes))
        self.classes_ = classes
        tensors, seed = self._tensors([graph], self._like_weights(torch.float32)), self._seed(state)
        edges, codes, weight = weighted_rows(self, np.arange(m), codes, sample_weight)
        weight = row_weights("LinkPredictor", self.class_weight, classes, codes, weight)
        train, valid = self._split(len(edges), seed, given=given)
        held, own_tensors = (None, tensors) if given is None else self._own_edges(given)

        def links(module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
            _, source, target, _ = batch
            other = torch.randint(0, n, (2, len(source)), generator=noise, device=noise.device)
            edge_scores, drawn_scores = module(tensors, source, target), module(tensors, *other)
            return {"loss": fused_softplus(-edge_scores) + fused_softplus(drawn_scores)}

        def relations(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            _, source, target, wanted = batch
            scores = module(tensors if module.training else own_tensors, source, target)
            return {"loss": fused_cross_entropy(scores, wanted, reduction="none")}

        rows = _edge_rows(graph, edges, codes, weight)
        objective = links if y is None else relations
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, held=held)

    def _refuse_classes(self, given: OwnRows | None) -> None:
        """Without classes of edges there is nothing to weigh them by, and no class of a validation edge."""
        for name, value in (("class_weight", self.class_weight), ("validation_data", given)):
            if value is not None:
                raise ValueError(f"LinkPredictor: {name} needs the classes y of the edges; got None.")

    def _own_edges(self, given: OwnRows) -> tuple[TensorRows, GraphTensors]:
        """The edges that judge every epoch, and their graph."""
        graph = self._graph(own_graph(given.X), reset=False)
        codes = known_classes(
            self, coded_classes("LinkPredictor", given.y, graph.edges.shape[1], "edge"), self.classes_
        )
        edges, codes, weight = weighted_rows(self, np.arange(len(codes)), codes, given.weight)
        return _edge_rows(graph, edges, codes, weight), self._tensors([graph], self._like_weights(torch.float32))

    def predict_proba(self, X: Any, pairs: Any = None) -> np.ndarray:
        """Probabilities of the classes of every pair of nodes."""
        module, X = self._ready_module(), own_graph(X)
        if not isinstance(X, Graph):
            raise ValueError(f"LinkPredictor: X must be a graph; got {type(X).__name__}.")
        graph = self._graph(X, reset=False)
        source, target = graph.edges if pairs is None else _ends(pairs, len(graph))
        with torch.inference_mode(), torch_threads(1):
            tensors = self._tensors([graph], next(module.parameters()))
            scores = module(tensors, self._to_device(source), self._to_device(target))
        scores = scores.numpy(force=True).astype(np.float64)
        return softmax_rows(np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores)

    def predict(self, X: Any, pairs: Any = None) -> np.ndarray:
        """The most probable class of every pair of nodes."""
        return self.classes_[self.predict_proba(X, pairs).argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the edges of ``X``."""
        predicted = self.predict(X)
        y = coded_classes("LinkPredictor", y, len(predicted), "edge")
        return float(np.average(predicted == y, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # a graph with edges, which no table is
        tags.target_tags.required = False
        return tags

    def _network(self) -> nn.Module:
        return LinkNetwork(**self.network_)

    def _rows_per_update(self, n_rows: int) -> int:
        return n_rows if self.batch_size == "auto" else int(self.batch_size)


def _edge_rows(graph: Graph, edges: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> TensorRows:
    """The numbered edges as rows: both ends and the code of their class."""
    source, target = graph.edges[:, edges]
    empty = np.empty((len(edges), 0), dtype=np.float32)
    return TensorRows.of(empty, source, target, codes.astype(np.int64), weight=weight)


def _ends(pairs: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or pairs.min() < 0 or pairs.max() >= n:
        raise ValueError(f"LinkPredictor: pairs must be (m, 2) node numbers from 0 to {n - 1}; got {pairs.shape}.")
    return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
