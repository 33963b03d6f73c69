"""Graphs of networkx and PyTorch Geometric are taken by what they have."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch

from margin.graphs.foreign_graphs import own_graph, own_graphs
from margin.graphs.generators import karate_club, ring
from margin.graphs.graph_estimators import GraphClassifier
from margin.graphs.link_predictor import LinkPredictor
from margin.graphs.node_classifier import NodeClassifier


def pyg(graph):
    """What ``torch_geometric.data.Data`` has of a graph of ours."""
    x = torch.from_numpy(graph.node_features).float()
    return SimpleNamespace(
        edge_index=torch.from_numpy(graph.edges), x=x, edge_attr=None, y=graph.target, num_nodes=len(graph)
    )


def test_an_undirected_graph_has_every_edge_both_ways_and_a_loop_once():
    graph = nx.Graph([("a", "b"), ("b", "c"), ("c", "c")])
    nx.set_node_attributes(graph, {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.5, 0.5]}, "x")
    ours = own_graph(graph)
    assert sorted(map(tuple, ours.edges.T.tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]
    assert ours.node_features.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    directed = own_graph(nx.DiGraph([(0, 1), (1, 2)]))
    assert directed.edges.tolist() == [[0, 1], [1, 2]]
    assert directed.node_features.tolist() == [[1.0]] * 3


def test_estimators_learn_from_foreign_graphs_as_from_ours():
    club = karate_club()
    ordered = nx.Graph()
    ordered.add_nodes_from((i, {"x": features}) for i, features in enumerate(club.node_features.tolist()))
    ordered.add_edges_from(club.edges.T.tolist())
    model = NodeClassifier(max_iter=5, random_state=0)
    expected = model.fit(club, club.target).predict_proba(club)
    np.testing.assert_allclose(model.fit(ordered, club.target).predict_proba(ordered), expected, atol=1e-4)
    np.testing.assert_allclose(model.fit(pyg(club), club.target).predict_proba(pyg(club)), expected, atol=1e-4)
    links = LinkPredictor(max_iter=2, random_state=0)
    np.testing.assert_allclose(
        links.fit(pyg(club)).predict_proba(pyg(club)), links.fit(club).predict_proba(club), atol=1e-4
    )


def test_sequences_of_foreign_graphs_are_taken():
    ours, labels = [ring(n) for n in range(3, 9)], [0, 1] * 3
    model = GraphClassifier(max_iter=2, random_state=0)
    expected = model.fit(ours, labels).predict_proba(ours)
    for several in ([nx.cycle_graph(n) for n in range(3, 9)], [pyg(graph) for graph in ours]):
        np.testing.assert_allclose(model.fit(several, labels).predict_proba(several), expected, atol=1e-4)
    table = np.zeros((4, 2))
    assert own_graphs(table) is table
    with pytest.raises(ValueError, match="must be a sequence of graphs; got one graph"):
        model.fit(nx.cycle_graph(3), [0])
