"""Graphs, and small graphs by the dozen."""

# ruff: noqa: ARG001 (every set takes a seed, also one that never changes)

from __future__ import annotations

__all__ = [
    "communities",
    "graph_sizes",
    "karate_club",
    "rings_and_trees",
]


def karate_club(seed):
    """Friendships in a club that split in two."""
    from margin.graphs.generators import karate_club

    graph = karate_club()
    return graph, graph.target


def rings_and_trees(seed):
    """Small graphs: some are closed to a ring, the others are trees."""
    from margin.graphs.generators import rings_and_trees

    return rings_and_trees(40, random_state=seed)


def graph_sizes(seed):
    """Small graphs, and how many nodes each has."""
    import numpy as np

    from margin.graphs.generators import rings_and_trees

    graphs, _ = rings_and_trees(40, random_state=seed)
    return graphs, np.array([float(len(graph)) for graph in graphs])


def communities(seed):
    """Three groups whose members know each other better than the others."""
    from margin.graphs.generators import block_model

    return block_model([14, 14, 14], 0.4, 0.03, random_state=seed), None
