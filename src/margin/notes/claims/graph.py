"""Claims on graph networks: symmetry, pooling, message passing, and what each level of prediction needs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim


def add_features(seed: int) -> Any:
    """A small graph with features of nodes and edges."""
    from margin.graphs.generators import block_model
    from margin.graphs.graph import Graph

    plain = block_model([6, 7], 0.5, 0.2, random_state=seed)
    features = np.random.default_rng(seed).normal(size=(plain.edges.shape[1], 3))
    return Graph(plain.edges, plain.node_features, features)


def tensors(graph: Any) -> Any:
    import torch

    from margin.graphs.graph import GraphTensors

    return GraphTensors.of(graph, torch.float64)


@claim("gnn")
def relabeling_nodes_relabels_what_comes_out(seed: int) -> Verdict:
    import torch

    from margin.graphs.layers import GCNLayer, SAGELayer
    from margin.graphs.network import GNN
    from margin.graphs.pooling import pool_nodes_to_global
    from margin.neural.weights import build

    net = build(lambda: GNN([GCNLayer(8, 6), SAGELayer(6, 4)]), seed, torch.float64).requires_grad_(False)
    graph = add_features(seed)
    order = np.roll(np.arange(len(graph)), 1)
    before, after = net(tensors(graph)), net(tensors(graph.relabel(order)))
    truth = every(
        equivariant=near(after.x.numpy(), before.x.numpy()[order], tolerance=1e-12),
        invariant=near(pool_nodes_to_global(after).numpy(), pool_nodes_to_global(before).numpy(), tolerance=1e-11),
        same_edges=equal(before.edges.numpy(), graph.edges),
        as_many_vectors=equal(len(before.x), len(graph)),
    )
    return corrected(truth, node_outputs_are_invariant=near(after.x.numpy(), before.x.numpy(), tolerance=1e-6))


@claim("gnn-independent-mlp-layer")
def separate_maps_do_not_see_the_edges(seed: int) -> Verdict:
    import torch

    from margin.graphs.layers import GraphIndependent
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    def net() -> GraphIndependent:
        return GraphIndependent(MLP([8, 5, 4]), MLP([3, 5, 2]), MLP([2, 5, 2]))

    layer = build(net, seed, torch.float64).requires_grad_(False)
    graph = tensors(add_features(seed))._replace(u=torch.ones(1, 2, dtype=torch.float64))
    rewired = graph._replace(edges=graph.edges.flip(0).roll(1, dims=1))
    out, other = layer(graph), layer(rewired)
    return every(
        nodes=equal(other.x.numpy(), out.x.numpy()),
        sizes=equal([tuple(out.x.shape), tuple(out.e.shape), tuple(out.u.shape)], [(13, 4), (len(out.e), 2), (1, 2)]),
    )


@claim("gnn-pooling")
def pooled_edges_are_the_incidence_matrix_times_their_features(seed: int) -> Verdict:
    import torch

    from margin.graphs.pooling import pool_edges_to_global, pool_edges_to_nodes, pool_nodes_to_global

    graph = add_features(seed)
    t = tensors(graph)
    incidence = (np.arange(len(graph))[:, None] == graph.edges[1]).astype(float)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(graph.edges.shape[1]))
    shuffled = t._replace(edges=t.edges[:, order], e=t.e[order])
    by_hand: dict[str, Any] = {"mean": np.mean, "max": np.max}
    loops = {
        agg: np.stack([f(rows, axis=0) if len(rows := graph.edge_features[graph.edges[1] == i]) else np.zeros(3)
                       for i in range(len(graph))])
        for agg, f in by_hand.items()
    }  # fmt: skip
    return every(
        incidence=near(pool_edges_to_nodes(t).numpy(), incidence @ graph.edge_features, tolerance=1e-12),
        **{agg: near(pool_edges_to_nodes(t, agg).numpy(), loop, tolerance=1e-12) for agg, loop in loops.items()},
        order=near(pool_edges_to_nodes(shuffled).numpy(), pool_edges_to_nodes(t).numpy(), tolerance=1e-12),
        nodes_to_global=near(pool_nodes_to_global(t)[0].numpy(), graph.node_features.sum(axis=0), tolerance=1e-11),
        edges_to_global=near(pool_edges_to_global(t)[0].numpy(), graph.edge_features.sum(axis=0), tolerance=1e-11),
    )


@claim("message-passing")
def sums_of_neighbors_are_the_adjacency_matrix_and_travel_one_edge_per_layer(seed: int) -> Verdict:
    from margin.graphs.generators import ring
    from margin.graphs.layers import MessagePassing

    graph = add_features(seed)
    layer = MessagePassing("sum")
    path = ring(11)
    x = tensors(path)
    moved = x._replace(x=x.x.clone())
    moved.x[0] += 1
    reach = []
    for _ in range(3):
        x, moved = layer(x), layer(moved)
        changed = np.flatnonzero(np.abs((x.x - moved.x).numpy()).sum(axis=1) > 1e-12)
        reach.append(int(max(min(i, 11 - i) for i in changed)))
    return every(
        adjacency=near(layer(tensors(graph)).x.numpy(), graph.adjacency @ graph.node_features, tolerance=1e-11),
        hops=equal(reach, [1, 2, 3]),
    )


@claim("claim-message-passing-like-convolution")
def on_a_grid_message_passing_is_a_cross_shaped_convolution(seed: int) -> Verdict:
    from scipy.signal import convolve2d

    from margin.graphs.generators import grid
    from margin.graphs.layers import MessagePassing

    image = np.random.default_rng(seed).normal(size=(7, 9))
    graph = grid(7, 9, image.reshape(-1, 1))
    cross = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    summed, mean = (MessagePassing(agg)(tensors(graph)).x.numpy().reshape(7, 9) for agg in ("sum", "mean"))
    expected = convolve2d(image, cross, mode="same")
    return every(
        sum=near(summed[1:-1, 1:-1], expected[1:-1, 1:-1], tolerance=1e-12),
        mean=near(mean[1:-1, 1:-1], expected[1:-1, 1:-1] / 4, tolerance=1e-12),
        any_number_of_neighbors=equal(sorted(set(graph.degrees.tolist())), [2, 3, 4]),
    )


@claim("gnn-node-level-task")
def few_labels_and_the_edges_classify_nodes(seed: int) -> Verdict:
    from margin.graphs.generators import block_model
    from margin.graphs.node_classifier import NodeClassifier

    graph = block_model([40, 40], 0.25, 0.03, n_features=6, signal=0.4, random_state=seed)
    labeled = [*range(4), *range(40, 44)]
    rest = np.setdiff1d(np.arange(80), labeled)

    def accuracy(data: Any) -> float:
        model = NodeClassifier(width=16, max_iter=60, random_state=seed).fit(data, graph.target, labeled)
        return float(np.mean((model.predict(data) == graph.target)[rest]))

    with_edges, without = accuracy(graph), accuracy(graph.node_features)
    return every(with_edges=above(with_edges, 0.7), over_features_alone=above(with_edges, without + 0.05))


@claim("example-gnn-edge-to-node-prediction")
def edges_alone_say_what_nodes_are_once_pooled(seed: int) -> Verdict:
    from sklearn.linear_model import LogisticRegression

    from margin.graphs.generators import block_model
    from margin.graphs.graph import Graph
    from margin.graphs.pooling import pool_edges_to_nodes

    rng = np.random.default_rng(seed)
    plain = block_model([60, 60], 0.1, 0.1, random_state=seed)
    labels = rng.integers(0, 2, len(plain))
    features = (2.0 * labels[plain.edges[1]] - 1)[:, None] + rng.normal(size=(plain.edges.shape[1], 1))
    graph = Graph(plain.edges, np.ones((len(plain), 1)), features)
    train, test = np.arange(0, 120, 2), np.arange(1, 120, 2)

    def accuracy(rows: np.ndarray) -> float:
        return float(LogisticRegression().fit(rows[train], labels[train]).score(rows[test], labels[test]))

    pooled, bare = accuracy(pool_edges_to_nodes(tensors(graph), "mean").numpy()), accuracy(graph.node_features)
    return every(pooled=above(pooled, 0.9), chance_without=below(bare, 0.75))


@claim("gnn-edge-node-combination")
def nodes_and_edges_of_different_sizes_are_combined(seed: int) -> Verdict:
    import torch

    from margin.graphs.combination import COMBINATIONS, ORDERS, GraphLayer
    from margin.neural.weights import build

    graph = tensors(add_features(seed))
    target = graph.x.new_zeros(len(graph.x)).index_add(0, graph.edges[1], graph.e[:, 0])  # only edges know it
    losses = {}
    for combine in COMBINATIONS:
        for order in ORDERS:
            make = partial(GraphLayer, 8, 3, 16, combine=combine, order=order, agg="sum")
            layer = build(make, seed, torch.float64)
            optimizer = torch.optim.Adam(layer.parameters(), 0.02)
            for _ in range(60):
                loss = (layer(graph).x[:, 0] - target).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses[f"{combine}_{order}".replace("-", "_")] = below(loss.item(), 0.3 * target.var().item())
    return every(**losses)


@claim("gnn-edge-level-task")
def relations_and_missing_links_are_predicted(seed: int) -> Verdict:
    from sklearn.metrics import roc_auc_score

    from margin.graphs.generators import block_model, scene
    from margin.graphs.graph import Graph
    from margin.graphs.link_predictor import LinkPredictor

    room, relation = scene(12, random_state=seed)
    model = LinkPredictor(architecture="sage", max_iter=120, learning_rate_init=0.02, random_state=seed)
    model.fit(room, relation)
    others = [scene(12, random_state=1000 * seed + k) for k in range(1, 5)]
    correct = [model.score(other, truth) for other, truth in others]
    opposite = np.array([1, 0, 3, 2])  # right and left, above and below
    turned = [opposite[model.predict(other, other.edges[::-1].T)] == model.predict(other) for other, _ in others]
    graph = block_model([25, 25], 0.4, 0.03, random_state=seed)
    rng = np.random.default_rng(seed)
    pairs = graph.edges[:, ::2].T
    hidden = rng.permutation(len(pairs))[: len(pairs) // 5]
    kept = Graph.undirected(np.delete(pairs, hidden, axis=0), node_features=graph.node_features)
    absent = rng.permutation(np.argwhere(np.triu(graph.adjacency == 0, k=1)))[: len(hidden)]
    asked, labels = np.concatenate([pairs[hidden], absent]), np.repeat([1, 0], [len(hidden), len(absent)])
    links = LinkPredictor(max_iter=80, random_state=seed).fit(kept)
    found = float(roc_auc_score(labels, links.predict_proba(kept, asked)[:, 1]))
    by_blocks, by_degrees = (
        float(roc_auc_score(labels, score))
        for score in ((asked[:, 0] < 25) == (asked[:, 1] < 25), kept.degrees[asked].sum(axis=1))
    )
    return every(
        relations=above(float(np.mean(correct)), 0.75),  # the most frequent relation: at most 0.35
        an_edge_turned_round_is_the_opposite=above(float(np.mean(turned)), 0.75),
        links_as_by_the_true_blocks=above(found, by_blocks - 0.12),
        links_over_degrees_alone=above(found, by_degrees + 0.05),
    )


@claim("gnn-graph-level-task")
def graphs_with_a_ring_are_told_from_trees(seed: int) -> Verdict:
    from margin.graphs.generators import rings_and_trees
    from margin.graphs.graph_estimators import GraphClassifier

    graphs, labels = rings_and_trees(200, n_nodes=8, random_state=seed)
    model = GraphClassifier(max_iter=40, batch_size=20, learning_rate="cosine", random_state=seed)
    model.fit(graphs[:140], labels[:140])
    rng = np.random.default_rng(seed)
    shuffled = [graph.relabel(rng.permutation(len(graph))) for graph in graphs[140:]]
    return every(
        accuracy=above(model.score(graphs[140:], labels[140:]), 0.9),
        order_does_not_matter=near(model.predict_proba(shuffled), model.predict_proba(graphs[140:]), tolerance=1e-4),
    )
