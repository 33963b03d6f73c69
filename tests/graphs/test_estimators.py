"""Estimators on graphs: they learn what a table cannot show, resume with the same bits, and name mistakes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import margin
from margin.graphs.generators import block_model, karate_club, ring, rings_and_trees, scene
from margin.graphs.graph import Graph, disjoint_union
from margin.graphs.graph_estimators import GraphClassifier, GraphRegressor
from margin.graphs.link_predictor import LinkPredictor
from margin.graphs.network import ARCHITECTURES, GraphNetwork
from margin.graphs.node_classifier import NodeClassifier


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_two_labels_split_a_club(architecture):
    club = karate_club()
    assert club.edges.shape == (2, 156)
    model = NodeClassifier(architecture=architecture, max_iter=60, width=16, random_state=1)
    model.fit(club, club.target, labeled=[0, 33, 5, 29])
    assert model.score(club, club.target) > 0.75
    np.testing.assert_allclose(model.predict_proba(club).sum(axis=1), 1)


def test_nodes_without_a_label_teach_nothing():
    club = karate_club()
    named = NodeClassifier(max_iter=20, random_state=1).fit(club, club.target, labeled=[0, 5, 29, 33])
    shown = np.isin(np.arange(len(club)), [0, 5, 29, 33])
    target = np.asarray(club.target)
    words = np.where(target == np.min(target), "instructor", "officer").astype(object)
    many = target + 3 * (np.arange(len(club)) == 5)  # with three classes -1 can be none of two
    for y in (np.where(shown, many, -1), np.where(shown, many, np.nan)):
        model = NodeClassifier(max_iter=20, random_state=1).fit(club, y)
        assert -1 not in model.classes_
        assert len(model.classes_) == 3
    model = NodeClassifier(max_iter=20, random_state=1).fit(club, np.where(shown, words, None))
    assert model.classes_.tolist() == ["instructor", "officer"]
    assert model.score(club, np.where(shown, words, None)) == np.mean(model.predict(club)[shown] == words[shown])
    np.testing.assert_array_equal(model.predict_proba(club), named.predict_proba(club))
    minus = NodeClassifier(max_iter=20, random_state=1).fit(club, 2 * target - 1)  # the two classes are -1 and 1
    assert minus.classes_.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="labeled nodes must have at least 2 classes; got 1 class of 1 labeled nodes"):
        NodeClassifier().fit(club, np.where(np.arange(len(club)) == 3, "a", None))


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
    shuffled = [graph.relabel(rng.permutation(len(graph))) for graph in graphs[120:]]
    np.testing.assert_allclose(model.predict_proba(shuffled), model.predict_proba(graphs[120:]), atol=1e-4)


def test_batch_norm_and_readout_of_all_layers_as_published(tmp_path):
    graphs, labels = rings_and_trees(60, n_nodes=8, random_state=0)
    make = lambda: GraphClassifier(  # noqa: E731
        batch_norm=True, readout_layers="all", width=8, max_iter=50, batch_size=10, record_steps=1, random_state=0
    )
    model = make().fit(graphs, labels)
    assert model.score(graphs, labels) > 0.8
    layers = {name.split(".")[2] for name in model.weights_ if name.startswith("body.norms")}
    assert layers == {"0", "1", "2"}
    assert model.weights_["head.weight"].shape == (2, graphs[0].node_features.shape[1] + 3 * 8)
    margin.save(model, tmp_path / "gin.margin")
    again = margin.load(tmp_path / "gin.margin")
    np.testing.assert_array_equal(again.predict_proba(graphs), model.predict_proba(graphs))
    alone = np.concatenate([model.predict_proba([graph]) for graph in graphs[:3]])  # running statistics, not a batch's
    np.testing.assert_allclose(alone, model.predict_proba(graphs)[:3], atol=1e-5)
    first, second = make(), make()
    for record in first.iterate(graphs, labels):
        if record.iteration == 4:
            break
    list(second.iterate(graphs, labels, state=first.get_state()))
    np.testing.assert_array_equal(second.predict_proba(graphs), model.predict_proba(graphs))
    table = np.random.default_rng(0).normal(size=(11, 3))  # graphs of one node: the last batch has a single one
    GraphClassifier(batch_norm=True, batch_size=5, max_iter=2, random_state=0).fit(table, table[:, 0] > 0)


def test_the_layers_of_a_normalized_network_are_their_formula():
    tensors = disjoint_union([ring(3), ring(5)], torch.float64)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = GraphNetwork(1, 0, 2, architecture="gin", width=4, n_layers=2, level="graph", batch_norm=True,
                               readout_layers="all", mean_degree=2.0, mean_nodes=4.0).double()  # fmt: skip
        torch.nn.init.normal_(network.head.weight)

    def norm(x):
        return (x - x.mean(dim=0)) / (x.var(dim=0, unbiased=False) + 1e-5).sqrt()

    x, A, seen = tensors.x, torch.zeros(8, 8, dtype=torch.float64), [tensors.x]
    A.index_put_((tensors.edges[1], tensors.edges[0]), torch.ones(16, dtype=torch.float64), accumulate=True)
    for layer in network.body.layers:
        h = norm(layer.mlp.first((x + A @ x) / 3)).relu()
        x = norm(layer.mlp.second(h)).relu()
        seen.append(x)
    pooled = torch.stack([torch.cat(seen, dim=1)[:3].sum(dim=0), torch.cat(seen, dim=1)[3:].sum(dim=0)]) / 4
    torch.testing.assert_close(network(tensors), network.head(pooled))


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
        assert model._tensors([graph], torch.empty(0)).x.is_sparse == (limit == 1)
        said.append(model.predict_proba(graph))
    np.testing.assert_allclose(*said, atol=1e-4)
    monkeypatch.setattr("margin.graphs.network.SPARSE_FROM", 1)
    dropped = NodeClassifier(architecture=architecture, dropout=0.5, max_iter=5, random_state=0)
    assert np.isfinite(dropped.fit(graph, graph.target).loss_)


@pytest.mark.parametrize("cls", [GraphClassifier, GraphRegressor])
def test_graphs_that_a_network_cannot_learn_from_are_refused(cls):
    graphs, closed = rings_and_trees(12, random_state=0)
    y = closed.astype(float)
    model = cls(width=4, n_layers=1, max_iter=1, random_state=0).fit(graphs, y)
    expected = model.predict(graphs)
    np.testing.assert_array_equal(model.predict(pd.Series(graphs)), expected)

    def changed(**parts):
        return [replace(graph, **{name: make(graph) for name, make in parts.items()}) for graph in graphs]

    huge = changed(node_features=lambda graph: graph.node_features * -1e38)
    wrong = [
        (huge, r"node features must lie between .* computed in float32; got -1e\+38"),
        (changed(global_features=lambda _: [1.0]), "no architecture uses global features"),
        (changed(node_features=lambda graph: graph.node_features[:, :0]), "nodes must have at least one feature"),
    ]
    for X, sentence in wrong:
        with pytest.raises(ValueError, match=f"{cls.__name__}: {sentence}"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="computed in float32"):
        model.predict(huge)
    np.testing.assert_array_equal(model.predict(graphs), expected)


def test_the_score_of_links_needs_a_class_of_every_edge():
    graph = block_model([8, 8], 0.5, 0.1, random_state=0)
    model = LinkPredictor(width=4, max_iter=1, random_state=0).fit(graph)
    assert 0 <= model.score(graph, np.ones(graph.edges.shape[1])) <= 1
    with pytest.raises(ValueError, match=r"LinkPredictor: y must have one class per edge, \d+; got 3"):
        model.score(graph, [1, 1, 1])
