"""Quantities of graphs edge by edge, and networks on them by matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from torch import nn

from margin.core.verdict import Verdict, every, near
from margin.graphs import Graph, GraphClassifier, LinkPredictor, NodeClassifier
from margin.graphs.combination import COMBINATIONS, ORDERS, GraphLayer
from margin.graphs.graph import disjoint_union
from margin.graphs.layers import GATLayer, GCNLayer, GINLayer, GraphIndependent, MessagePassing, SAGELayer
from margin.graphs.network import GNN
from margin.graphs.pooling import pool_edges_to_global, pool_edges_to_nodes, pool_nodes_to_global
from margin.graphs.refinement import dirichlet_energy
from margin.neural.weights import build

PATH = "margin.graphs"
#: Edges from left to right: no edge has its opposite, degrees are unequal, node 5 has no edge, 0 to 1 stands twice.
DIRECTED = np.array([[0, 0, 1, 2, 4, 3, 0], [1, 1, 2, 0, 2, 1, 2]])


@oracle(f"{PATH}.refinement.dirichlet_energy")
def differences_along_edges(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, edges = rng.normal(2.0, 1.0, size=(5, 3)), np.array([[0, 1, 3, 4, 2, 2], [1, 2, 0, 3, 4, 0]])
    expected = np.mean([np.sum((x[i] - x[j]) ** 2) for i, j in edges.T])
    return near(dirichlet_energy(Graph(edges, x), x), expected, tolerance=1e-10)


@oracle(f"{PATH}.network.GNN", f"{PATH}.pooling.pool_nodes_to_global")
def layers_by_matrices(seed: int) -> Verdict:
    """Three layers with dense matrices: rectifiers and norms after all but the last, sums and means over two graphs."""
    rng = np.random.default_rng(seed)
    graphs = [
        Graph(np.array([[0, 1, 1, 2, 3], [1, 0, 2, 3, 1]]), rng.normal(size=(4, 3))),
        Graph(np.array([[0, 2, 1], [1, 1, 2]]), rng.normal(size=(3, 3))),
    ]
    joint = disjoint_union(graphs, torch.float64)
    scale = torch.from_numpy(rng.uniform(0.5, 2.0, size=5))
    norms = [_Scaled(scale), _Scaled(scale[:4])]
    make = lambda: GNN([GCNLayer(3, 5), SAGELayer(5, 4), GCNLayer(4, 2)], norms=norms)  # noqa: E731
    net: Any = build(make, seed, torch.float64).requires_grad_(False)
    net.layers[0].bias.copy_(torch.from_numpy(rng.normal(size=5)))
    n = len(joint.x)
    A = torch.zeros(n, n, dtype=torch.float64)
    A[joint.edges[1], joint.edges[0]] = 1.0
    around = A + torch.eye(n, dtype=torch.float64)
    root = around.sum(dim=1).rsqrt()
    smooth, degrees = root[:, None] * around * root, A.sum(dim=1).clamp(min=1)
    first, second, third = net.layers
    h = torch.relu((smooth @ joint.x @ first.linear.weight.T + first.bias) * scale)
    gathered = A @ h / degrees[:, None]
    k = torch.relu((h @ second.own.weight.T + second.own.bias + gathered @ second.neighbors.weight.T) * scale[:4])
    last = smooth @ k @ third.linear.weight.T + third.bias
    out = net(joint)
    return every(
        hidden=near(net.stages(joint)[1].x.numpy(), k.numpy(), tolerance=1e-10),
        out=near(out.x.numpy(), last.numpy(), tolerance=1e-10),
        sums=near(pool_nodes_to_global(out).numpy(), np.stack([last[:4].sum(0), last[4:].sum(0)]), tolerance=1e-10),
        means=near(
            pool_nodes_to_global(out, "mean").numpy(), np.stack([last[:4].mean(0), last[4:].mean(0)]), tolerance=1e-10
        ),
        most=near(
            pool_nodes_to_global(out, "max").numpy(), np.stack([last[:4].amax(0), last[4:].amax(0)]), tolerance=1e-10
        ),
    )


def _directed(seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """One directed graph with features of nodes (6, 3) and of edges (7, 2), as tensors and as arrays."""
    rng = np.random.default_rng(seed)
    x, e = rng.normal(0.4, 1.3, size=(6, 3)), rng.normal(-0.2, 0.8, size=(7, 2))
    return disjoint_union([Graph(DIRECTED, x, e)], torch.float64), x, e


def _incoming(rows: np.ndarray, agg: str = "sum") -> np.ndarray:
    """``rows`` (edges, p) put together at the node that each edge leads to; 0 where none leads."""
    together = {"sum": np.sum, "mean": np.mean, "max": np.max}[agg]
    found = [rows[DIRECTED[1] == node] for node in range(6)]
    return np.stack([together(part, axis=0) if len(part) else np.zeros(rows.shape[1]) for part in found])


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def _mapped(layer: Any, rows: np.ndarray) -> np.ndarray:
    """A linear layer written out."""
    bias = 0.0 if layer.bias is None else _array(layer.bias)
    return rows @ _array(layer.weight).T + bias


@oracle(f"{PATH}.layers.MessagePassing", f"{PATH}.layers.GraphIndependent")
def messages_along_directed_edges(seed: int) -> Verdict:
    graph, x, e = _directed(seed)
    double = lambda rows: 2.0 * rows + 1.0  # noqa: E731
    alone = GraphIndependent(double, lambda rows: -rows)(graph)
    return every(
        **{
            agg: near(
                _array(MessagePassing(agg, double)(graph).x), 2 * _incoming(x[DIRECTED[0]], agg) + 1, tolerance=1e-10
            )
            for agg in ("sum", "mean", "max")
        },
        nodes_alone=near(_array(alone.x), 2 * x + 1, tolerance=1e-12),
        edges_alone=near(_array(alone.e), -e, tolerance=1e-12),
    )


@oracle(f"{PATH}.pooling.pool_edges_to_nodes", f"{PATH}.pooling.pool_edges_to_global")
def edges_put_together(seed: int) -> Verdict:
    graph, _, e = _directed(seed)
    return every(
        nodes=near(_array(pool_edges_to_nodes(graph)), _incoming(e), tolerance=1e-12),
        means=near(_array(pool_edges_to_nodes(graph, "mean")), _incoming(e, "mean"), tolerance=1e-12),
        whole=near(_array(pool_edges_to_global(graph, "mean"))[0], e.mean(axis=0), tolerance=1e-12),
    )


@oracle(f"{PATH}.node_classifier.NodeClassifier")
def layers_on_a_directed_graph(seed: int) -> Verdict:
    graph, x, e = _directed(seed)
    source, target = DIRECTED
    make = lambda layer: build(layer, seed, torch.float64).requires_grad_(False)  # noqa: E731
    gcn: Any = make(lambda: GCNLayer(3, 4))
    sage: Any = make(lambda: SAGELayer(3, 4))
    gin: Any = make(lambda: GINLayer(3, 4, n_edge_features=2, scale=0.7))
    gat: Any = make(lambda: GATLayer(3, 4, heads=2, n_edge_features=2))
    gcn.bias.copy_(torch.arange(4.0))
    gin.epsilon.fill_(0.3)
    root = 1 / np.sqrt(np.bincount(target, minlength=6) + 1)
    h = _mapped(gcn.linear, x)
    convolved = root[:, None] * _incoming(root[source, None] * h[source]) + root[:, None] ** 2 * h + np.arange(4.0)
    sampled = _mapped(sage.own, x) + _mapped(sage.neighbors, _incoming(x[source], "mean"))
    messages = np.maximum(x[source] + _mapped(gin.edge, e), 0)
    isomorphic = gin.mlp(torch.from_numpy(0.7 * (1.3 * x + _incoming(messages))))
    return every(
        gcn=near(_array(gcn(graph).x), convolved, tolerance=1e-10),
        sage=near(_array(sage(graph).x), sampled, tolerance=1e-10),
        gin=near(_array(gin(graph).x), _array(isomorphic), tolerance=1e-10),
        gat=near(_array(gat(graph).x), _attended(gat, x, e), tolerance=1e-10),
        classes=near(*_node_probabilities(x, seed), tolerance=1e-5),
    )


def _node_probabilities(x: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What a classifier of nodes predicts, and the softmax of two graph convolutions with its weights."""
    model = NodeClassifier(width=5, max_iter=3, random_state=seed).fit(Graph(DIRECTED, x), [0, 1, 1, 0, 1, 0])
    module: Any = model._ready_module()
    root = 1 / np.sqrt(np.bincount(DIRECTED[1], minlength=6) + 1)[:, None]
    h = x.astype(np.float32)
    for k, layer in enumerate(module.body.layers):
        h = _mapped(layer.linear, np.maximum(h, 0) if k else h)
        h = root * _incoming((root * h)[DIRECTED[0]]) + root**2 * h + _array(layer.bias)
    odds = np.exp(h - h.max(axis=1, keepdims=True))
    return model.predict_proba(Graph(DIRECTED, x)), odds / odds.sum(axis=1, keepdims=True)


@oracle(f"{PATH}.graph_estimators.GraphClassifier")
def a_graph_is_the_sum_of_its_nodes(seed: int) -> Verdict:
    """Two layers of sums over incoming edges, node by node, then their sum over the nodes of each graph."""
    rng = np.random.default_rng(seed)
    sets = [rng.normal(0.4, 1.3, size=(6, 3)) for _ in range(4)]
    graphs = [Graph(DIRECTED, x) for x in sets]
    model = GraphClassifier(n_layers=2, width=4, max_iter=4, random_state=seed).fit(graphs, [0, 1, 1, 0])
    module: Any = model._ready_module()
    scores = []
    for x in sets:
        h = x
        for layer in module.body.layers:
            around = (1 + float(layer.epsilon.detach())) * h + _incoming(h[DIRECTED[0]])
            first, second = layer.mlp.linears
            h = np.maximum(_mapped(second, np.maximum(_mapped(first, layer.scale * around), 0)), 0)
        scores.append(_mapped(module.head, h.sum(axis=0) / 6))
    odds = np.exp(np.array(scores))
    return near(model.predict_proba(graphs), odds / odds.sum(axis=1, keepdims=True), tolerance=1e-5)


def _attended(gat: Any, x: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Attention node by node: over the edges that lead to it and over itself, head by head."""
    h = _mapped(gat.linear, x).reshape(6, gat.heads, gat.width)
    of_edges = _mapped(gat.to_edge, e)
    out = np.zeros((6, gat.heads, gat.width))
    for node in range(6):
        incoming = [(DIRECTED[0, k], of_edges[k]) for k in range(7) if DIRECTED[1, k] == node]
        incoming.append((node, np.zeros(gat.heads)))
        for head in range(gat.heads):
            at_target = h[node, head] @ _array(gat.to_target)[head]
            scores = np.array(
                [at_target + h[j, head] @ _array(gat.to_source)[head] + edge[head] for j, edge in incoming]
            )
            odds = np.exp(np.where(scores > 0, scores, 0.2 * scores))
            out[node, head] = sum(weight * h[j, head] for weight, (j, _) in zip(odds / odds.sum(), incoming))
    return out.reshape(6, -1) + _array(gat.bias)


@oracle(f"{PATH}.combination.GraphLayer")
def nodes_and_edges_update_each_other(seed: int) -> Verdict:
    """Every order and way of joining, with edges that lead one way and ends that differ."""
    graph, x, e = _directed(seed)
    verdicts = {}
    for combine in COMBINATIONS:
        for order in ORDERS:
            make = lambda combine=combine, order=order: GraphLayer(3, 2, 5, combine=combine, order=order)  # noqa: E731
            layer: Any = build(make, seed, torch.float64).requires_grad_(False)
            nodes, edges = _updated(layer, x, e, order)
            got = layer(graph)
            verdicts[f"{combine}_{order}".replace("-", "_")] = every(
                nodes=near(_array(got.x), nodes, tolerance=1e-10), edges=near(_array(got.e), edges, tolerance=1e-10)
            )
    return every(**verdicts)


def _updated(layer: Any, x: np.ndarray, e: np.ndarray, order: str) -> tuple[np.ndarray, np.ndarray]:
    def update(part: Any, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        if part.maps is None:
            joined = np.concatenate([own, other], axis=1)
        else:
            joined = _mapped(part.maps[0], own) + _mapped(part.maps[1], other)
        return _array(part.mlp(torch.from_numpy(joined)))

    ends = lambda nodes: np.concatenate([nodes[DIRECTED[0]], nodes[DIRECTED[1]]], axis=1)  # noqa: E731
    if order == "node-first":
        nodes = update(layer.node_update, x, _incoming(e, "mean"))
        return nodes, update(layer.edge_update, e, ends(nodes))
    edges = update(layer.edge_update, e, ends(x))
    seen = edges if order == "edge-first" else e
    return update(layer.node_update, x, _incoming(seen, "mean")), edges


@oracle(f"{PATH}.link_predictor.LinkPredictor")
def links_and_drawn_pairs_count_the_same(seed: int) -> Verdict:
    """Nodes without features have embedding 0, so every pair the probability 1/2: the loss is log 2 twice.

    Learned probabilities are the logistic function of inner products of the embeddings.
    """
    blank = LinkPredictor(max_iter=1, random_state=seed).fit(Graph(DIRECTED, np.zeros((6, 3))))
    x = np.random.default_rng(seed).normal(size=(6, 3))
    graph = Graph(DIRECTED, x)
    model = LinkPredictor(max_iter=3, random_state=seed).fit(graph)
    module: Any = model._ready_module()
    with torch.no_grad():
        z = module.body(model._tensors([model._graph(graph, reset=False)], torch.empty(0))).numpy().astype(float)
    pairs = np.array([[0, 4], [5, 1], [2, 2]])
    odds = 1 / (1 + np.exp(-(z[pairs[:, 0]] * z[pairs[:, 1]]).sum(axis=1)))
    return every(
        loss=near(blank.loss_curve_[-1], 2 * np.log(2), tolerance=1e-6),
        probabilities=near(model.predict_proba(graph, pairs)[:, 1], odds, tolerance=1e-5),
    )


class _Scaled(nn.Module):
    """Stands for a norm: columns times fixed factors."""

    def __init__(self, factors: torch.Tensor):
        super().__init__()
        self.factors = factors

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factors
