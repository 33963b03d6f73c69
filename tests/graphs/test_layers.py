"""Layers against dense matrices, and the symmetry that every one of them must have."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from margin.graphs.combination import COMBINATIONS, ORDERS, GraphLayer
from margin.graphs.generators import block_model, ring
from margin.graphs.graph import Graph, GraphTensors, disjoint_union
from margin.graphs.layers import GATLayer, GCNLayer, GINLayer, MessagePassing, SAGELayer, propagation_matrix
from margin.graphs.pooling import pool_edges_to_global, pool_edges_to_nodes, pool_nodes_to_global, scatter
from margin.graphs.refinement import color_refinement, same_colors
from margin.graphs.sparse import SparseMatrix
from margin.neural.layers.dropout import Dropout

LAYERS = {
    "sum": lambda: MessagePassing("sum"),
    "max": lambda: MessagePassing("max"),
    "gcn": lambda: GCNLayer(8, 6),
    "sage": lambda: SAGELayer(8, 6),
    "gat": lambda: GATLayer(8, 6, heads=2, n_edge_features=3),
    "gin": lambda: GINLayer(8, 6, n_edge_features=3),
    **{f"{c}-{o}": lambda c=c, o=o: GraphLayer(8, 3, 6, combine=c, order=o) for c in COMBINATIONS for o in ORDERS},
}


@pytest.fixture
def graph():
    rng = np.random.default_rng(3)
    plain = block_model([5, 6], 0.6, 0.2, random_state=rng)
    features = rng.normal(size=(plain.edges.shape[1], 3))
    return Graph(plain.edges, plain.node_features, features)


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize("name", LAYERS)
def test_relabeling_nodes_relabels_outputs(name, graph):
    layer = LAYERS[name]().double()
    order = np.random.default_rng(0).permutation(len(graph))
    before = layer(GraphTensors.of(graph, torch.float64)).x
    after = layer(GraphTensors.of(graph.relabel(order), torch.float64)).x
    torch.testing.assert_close(after, before[torch.from_numpy(order)])


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_agree_with_differences(name, graph):
    layer, tensors = LAYERS[name]().double(), GraphTensors.of(graph, torch.float64)
    x = tensors.x.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: layer(tensors._replace(x=x)).x, (x,))


def test_message_passing_is_the_adjacency_matrix(graph):
    tensors = GraphTensors.of(graph, torch.float64)
    got = MessagePassing("sum")(tensors).x
    np.testing.assert_allclose(got, graph.adjacency @ graph.node_features, atol=1e-12)


def test_gcn_is_its_matrix_formula(graph):
    layer = GCNLayer(8, 6).double()
    A = graph.adjacency + np.eye(len(graph))
    D = np.diag(A.sum(axis=1) ** -0.5)
    W = layer.linear.weight.detach().numpy().T
    got = layer(GraphTensors.of(graph, torch.float64)).x.detach().numpy()
    np.testing.assert_allclose(got, D @ A @ D @ graph.node_features @ W, atol=1e-12)


def test_the_propagation_matrix_gives_the_same_layer_and_gradients():
    directed = Graph([[0, 1, 2, 2, 0], [1, 2, 0, 3, 1]], np.random.default_rng(0).normal(size=(4, 8)))  # 0-1 twice
    tensors, layer = GraphTensors.of(directed, torch.float64), GCNLayer(8, 6).double()
    x = tensors.x.clone().requires_grad_()
    fast = layer(tensors._replace(x=x, propagation=propagation_matrix(tensors))).x
    slow = layer(tensors._replace(x=x)).x
    torch.testing.assert_close(fast, slow)
    weight = torch.randn(4, 6, dtype=torch.float64)
    for got, wanted in zip(
        *(torch.autograd.grad((out * weight).sum(), [x, *layer.parameters()]) for out in (fast, slow))
    ):
        torch.testing.assert_close(got, wanted)


def test_sparse_products_are_dense_products():
    rng = np.random.default_rng(1)
    dense = torch.from_numpy(np.where(rng.random((7, 5)) < 0.3, rng.normal(size=(7, 5)), 0))
    dense[3] = 0  # a row without entries
    sparse, B = SparseMatrix.of(dense), torch.from_numpy(rng.normal(size=(5, 4))).requires_grad_()
    assert len(sparse) == 7
    assert sparse.numel() == 35
    torch.testing.assert_close(sparse @ B, dense @ B)
    assert torch.autograd.gradcheck(lambda B: sparse @ B, (B,))
    dropout = Dropout(0.5)
    dropout.generator = torch.Generator().manual_seed(0)
    kept = sparse.drop(dropout) @ torch.eye(5, dtype=torch.float64)
    assert ((kept == 0) | torch.isclose(kept, 2 * dense)).all()
    assert 0 < int((kept != 0).sum()) < int((dense != 0).sum())


def test_sage_and_gin_are_their_formulas(graph):
    tensors = GraphTensors.of(graph, torch.float64)
    A = torch.from_numpy(graph.adjacency)
    sage = SAGELayer(8, 6).double()
    mean = A @ tensors.x / A.sum(dim=1, keepdim=True).clamp(min=1)
    torch.testing.assert_close(sage(tensors).x, sage.own(tensors.x) + sage.neighbors(mean))
    gin = GINLayer(8, 6).double()
    gin.epsilon.data.fill_(0.3)
    torch.testing.assert_close(gin(tensors).x, gin.mlp(1.3 * tensors.x + A @ tensors.x))


def test_attention_is_a_masked_softmax(graph):
    layer = GATLayer(8, 5).double()
    tensors = GraphTensors.of(graph, torch.float64)
    h = layer.linear(tensors.x)
    scores = functional.leaky_relu((h @ layer.to_target[0])[:, None] + (h @ layer.to_source[0]), 0.2)
    allowed = torch.from_numpy(graph.adjacency + np.eye(len(graph))) > 0
    alpha = scores.masked_fill(~allowed, -torch.inf).softmax(dim=1)
    torch.testing.assert_close(layer(tensors).x, alpha @ h)


@pytest.mark.parametrize("agg", ["sum", "mean", "max"])
def test_scatter_agrees_with_a_loop(agg):
    rng = np.random.default_rng(0)
    values, index = rng.normal(size=(30, 2)), rng.integers(0, 6, 30)
    index[index == 4] = 5
    by_hand = {"sum": np.sum, "mean": np.mean, "max": np.max}[agg]
    expected = np.stack([by_hand(values[index == i], axis=0) if (index == i).any() else np.zeros(2) for i in range(6)])
    got = scatter(torch.from_numpy(values), torch.from_numpy(index), 6, agg)
    np.testing.assert_allclose(got, expected, atol=1e-14)


def test_pooling_of_unions_is_pooling_of_each(graph):
    other = Graph([[0, 1], [1, 0]], np.ones((2, 8)), np.full((2, 3), 2.0))
    union = disjoint_union([graph, other], torch.float64)
    np.testing.assert_allclose(pool_nodes_to_global(union)[0], graph.node_features.sum(axis=0))
    np.testing.assert_allclose(pool_edges_to_global(union, "mean")[1], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(pool_edges_to_nodes(union)[-2:], np.full((2, 3), 2.0))


def test_color_refinement_cannot_tell_a_hexagon_from_two_triangles():
    triangles = Graph.undirected([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]], n_nodes=6)
    assert same_colors(ring(6), triangles)
    assert not same_colors(ring(6), Graph.undirected([[i, i + 1] for i in range(5)], n_nodes=6))
    assert len(set(color_refinement(ring(6)))) == 1
    layer = nn.Sequential(GINLayer(1, 4), GINLayer(4, 4)).double()
    sums = [pool_nodes_to_global(layer(GraphTensors.of(g, torch.float64))) for g in (ring(6), triangles)]
    torch.testing.assert_close(*sums)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Graph([[0], [3]], np.ones((2, 1))), "nodes from 0 to 1; got 0 to 3"),
        (lambda: Graph([[0, 1, 2]], np.ones((3, 1))), r"shape \(2, m\)"),
        (lambda: Graph([[0.5], [1.0]]), "must be integers"),
        (lambda: Graph([[0], [1]], np.ones((2, 1)), np.ones((3, 1))), r"edge_features must have shape \(1, p\)"),
        (lambda: Graph([[0], [1]], [[np.nan], [1.0]]), "finite"),
        (lambda: Graph([[], []]), "needs node_features or n_nodes"),
        (lambda: disjoint_union([]), "at least one graph"),
        (lambda: disjoint_union([ring(3), Graph([[0], [1]], np.ones((2, 2)))]), "same numbers of node"),
        (lambda: ring(3).relabel([0, 0, 1]), "every node from 0 to 2 once"),
        (lambda: scatter(torch.ones(1, 1), torch.zeros(1, dtype=int), 1, "median"), "sum, mean, max"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
