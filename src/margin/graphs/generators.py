"""Graphs made at random, each with the structure that one kind of task needs, and Zachary's karate club."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from margin.core.randomness import RandomLike, as_generator
from margin.graphs.graph import Graph

__all__ = ["RELATIONS", "block_model", "grid", "karate_club", "ring", "rings_and_trees", "scene"]

RELATIONS = ("left of", "right of", "above", "below")

# Zachary (1977): who met whom outside the club, and on which side each member ended (0: the instructor's).
KARATE = (
    "1-2 1-3 2-3 1-4 2-4 3-4 1-5 1-6 1-7 5-7 6-7 1-8 2-8 3-8 4-8 1-9 3-9 3-10 1-11 5-11 6-11 1-12 1-13 4-13 1-14 "
    "2-14 3-14 4-14 6-17 7-17 1-18 2-18 1-20 2-20 1-22 2-22 24-26 25-26 3-28 24-28 25-28 3-29 24-30 27-30 2-31 9-31 "
    "1-32 25-32 26-32 29-32 3-33 9-33 15-33 16-33 19-33 21-33 23-33 24-33 30-33 31-33 32-33 9-34 10-34 14-34 15-34 "
    "16-34 19-34 20-34 21-34 23-34 24-34 27-34 28-34 29-34 30-34 31-34 32-34 33-34"
)
INSTRUCTORS = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22}


def karate_club() -> Graph:
    """34 members, 78 friendships; the target is the side that each took when the club split."""
    pairs = [[int(end) - 1 for end in pair.split("-")] for pair in KARATE.split()]
    target = np.array([0 if member in INSTRUCTORS else 1 for member in range(1, 35)])
    return Graph.undirected(pairs, node_features=np.eye(34), target=target)


def block_model(
    sizes: Sequence[int], inside: float, between: float, *, n_features: int = 8, signal: float = 0.3,
    random_state: RandomLike = None,
) -> Graph:  # fmt: skip
    """Blocks of nodes joined with probability ``inside`` a block and ``between`` two; the target is the block.

    Features are noise of deviation 1 around a center per block whose entries have the deviation ``signal``.
    """
    rng = as_generator(random_state)
    block = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(block[:, None] == block, inside, between)
    pairs = np.argwhere(np.triu(rng.random(chance.shape) < chance, k=1))
    centers = signal * rng.standard_normal((len(sizes), n_features))
    features = centers[block] + rng.standard_normal((len(block), n_features))
    return Graph.undirected(pairs, node_features=features, target=block)


def ring(n: int) -> Graph:
    """A cycle of n nodes."""
    return Graph.undirected([[i, (i + 1) % n] for i in range(n)], n_nodes=n)


def grid(height: int, width: int, features: np.ndarray | None = None) -> Graph:
    """Pixels joined to those above, below, left and right."""
    number = np.arange(height * width).reshape(height, width)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return Graph.undirected(np.concatenate([across, down]), node_features=features, n_nodes=height * width)


def rings_and_trees(
    n_graphs: int, *, n_nodes: int = 12, random_state: RandomLike = None
) -> tuple[list[Graph], np.ndarray]:
    """Random trees, every other one with one more edge that closes a triangle; the label says which."""
    rng = as_generator(random_state)
    graphs, labels = [], np.arange(n_graphs) % 2
    for closed in labels:
        n = int(rng.integers(n_nodes // 2, n_nodes + 1))
        parent = [int(rng.integers(0, i)) for i in range(1, n)]
        pairs = [[i + 1, p] for i, p in enumerate(parent)]
        if closed:
            pairs.append(_closing_pair(pairs, n, rng))
        order = rng.permutation(n)
        graphs.append(Graph.undirected(order[np.array(pairs)], n_nodes=n))
    return graphs, labels


def _closing_pair(pairs: list[list[int]], n: int, rng: np.random.Generator) -> list[int]:
    """Two neighbors of one node: joined, they make a triangle, for in a tree they are not joined yet."""
    neighbors: list[list[int]] = [[] for _ in range(n)]
    for a, b in pairs:
        neighbors[a].append(b)
        neighbors[b].append(a)
    middles = [node for node in range(n) if len(neighbors[node]) > 1]
    return [int(node) for node in rng.choice(neighbors[int(rng.choice(middles))], 2, replace=False)]


def scene(n_objects: int, random_state: RandomLike = None) -> tuple[Graph, np.ndarray]:
    """Objects at random positions, all joined; the relation of each edge is where its source is from its target.

    Node features are position and color; the relations are numbers into ``RELATIONS``.
    """
    rng = as_generator(random_state)
    position, color = rng.random((n_objects, 2)), rng.random((n_objects, 3))
    source, target = np.array([(i, j) for i in range(n_objects) for j in range(n_objects) if i != j]).T
    across, up = (position[target] - position[source]).T
    relation = np.where(np.abs(across) > np.abs(up), np.where(across > 0, 0, 1), np.where(up < 0, 2, 3))
    return Graph(np.stack([source, target]), np.hstack([position, color])), relation
