"""Estimators on graphs: they learn what a table cannot show, resume with the same bits, and name mistakes."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from margin.graphs.generators import block_model, karate_club, ring, rings_and_trees, scene
from margin.graphs.graph import Graph
from margin.graphs.graph_estimators import GraphClassifier, GraphRegressor
from margin.graphs.link_predictor import LinkPredictor
from margin.graphs.network import ARCHITECTURES
from margin.graphs.node_classifier import NodeClassifier


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_two_labels_split_a_club(architecture):
    club = karate_club()
    assert club.edges.shape == (2, 156)
    model = NodeClassifier(architecture=architecture, max_iter=60, width=16, random_state=1)
    model.fit(club, club.target, labeled=[0, 33, 5, 29])
    assert model.score(club, club.target) > 0.75
    np.testing.assert_allclose(model.predict_proba(club).sum(axis=1), 1)


def test_a_stopped_fit_goes_on_with_the_same_bits():
    graph = block_model([15, 15], 0.4, 0.05, random_state=0)
    make = lambda: NodeClassifier(max_iter=8, dropout=0.3, record_steps=1, random_state=4)  # noqa: E731
    whole = make().fit(graph, graph.target)
    first, second = make(), make()
    for record in first.iterate(graph, graph.target):
        if record.iteration == 3:
            break
    list(second.iterate(graph, graph.target, state=first.get_state()))
    np.testing.assert_array_equal(second.predict_proba(graph), whole.predict_proba(graph))
    np.testing.assert_array_equal(
        clone(whole).fit(graph, graph.target).predict_proba(graph), whole.predict_proba(graph)
    )


def test_graphs_are_classified_whatever_the_order_of_their_nodes():
    graphs, labels = rings_and_trees(160, n_nodes=8, random_state=0)
    model = GraphClassifier(max_iter=40, batch_size=20, learning_rate="cosine", random_state=0)
    model.fit(graphs[:120], labels[:120])
    assert model.score(graphs[120:], labels[120:]) > 0.85
    rng = np.random.default_rng(1)
    shuffled = [graph.relabeled(rng.permutation(len(graph))) for graph in graphs[120:]]
    np.testing.assert_allclose(model.predict_proba(shuffled), model.predict_proba(graphs[120:]), atol=1e-4)


def test_links_of_blocks_are_found():
    graph = block_model([25, 25], 0.4, 0.03, random_state=0)
    rng = np.random.default_rng(0)
    pairs = graph.edges[:, ::2].T  # each friendship once
    hidden = rng.permutation(len(pairs))[: len(pairs) // 5]
    kept = Graph.undirected(np.delete(pairs, hidden, axis=0), node_features=graph.node_features)
    absent = np.argwhere(np.triu(graph.adjacency == 0, k=1))
    absent = absent[rng.permutation(len(absent))[: len(hidden)]]
    model = LinkPredictor(max_iter=100, random_state=0).fit(kept)
    scores = model.predict_proba(graph, np.concatenate([pairs[hidden], absent]))[:, 1]
    assert roc_auc_score([1] * len(hidden) + [0] * len(absent), scores) > 0.6


def test_relations_of_a_scene_are_found():
    graph, relation = scene(12, random_state=0)
    test, truth = scene(12, random_state=1)
    model = LinkPredictor(max_iter=200, architecture="sage", random_state=0).fit(graph, relation)
    assert model.score(test, truth) > 0.7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NodeClassifier().fit(ring(4), [0, 1]), "one class per node, 4"),
        (lambda: NodeClassifier().fit(ring(4), [0, 1, 0, 1], labeled=[0, 2]), "at least 2 classes; got 1"),
        (lambda: NodeClassifier().fit(ring(4), [0, 1, 0, 1], labeled=[9]), "numbers from 0 to 3"),
        (lambda: NodeClassifier().fit(Graph([[0], [1]], np.ones((2, 1)), [[1.0]]), [0, 1]), "does not use edge"),
        (lambda: GraphClassifier().fit(ring(4), [0, 1]), "sequence of graphs; got one graph"),
        (lambda: GraphClassifier().fit([ring(3), ring(4)], [0, 0]), "at least 2 classes"),
        (lambda: GraphRegressor().fit([ring(3)], [1.0, 2.0]), "one finite number per graph, 1; got 2"),
        (lambda: LinkPredictor().fit(np.ones((3, 2))), "a graph with edges"),
        (lambda: LinkPredictor().fit(ring(4), [0, 1]), "one class per edge, 8"),
        (lambda: NodeClassifier(architecture="gat", width=6).fit(ring(4), [0, 1, 0, 1]), "multiple of heads"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("architecture", ["gcn", "gat"])
def test_sparse_features_give_what_dense_ones_do(architecture, monkeypatch):
    plain = block_model([20, 20], 0.3, 0.05, n_features=30, random_state=0)
    rare = np.where(np.abs(plain.node_features) > 1.8, plain.node_features, 0)
    graph = Graph(plain.edges, rare, target=plain.target)
    said = []
    for limit in (1, 10**9):
        monkeypatch.setattr("margin.graphs.network.SPARSE_FROM", limit)
        model = NodeClassifier(architecture=architecture, max_iter=5, random_state=0).fit(graph, graph.target)
        assert model._tensors([graph], torch.float32).x.is_sparse == (limit == 1)
        said.append(model.predict_proba(graph))
    np.testing.assert_allclose(*said, atol=1e-4)
    monkeypatch.setattr("margin.graphs.network.SPARSE_FROM", 1)
    dropped = NodeClassifier(architecture=architecture, dropout=0.5, max_iter=5, random_state=0)
    assert np.isfinite(dropped.fit(graph, graph.target).loss_)
