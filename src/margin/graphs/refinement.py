"""Color refinement (Weisfeiler-Lehman), which no message passing can see past, and how deep layers smooth features."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.graphs.graph import Graph

__all__ = ["color_refinement", "dirichlet_energy", "same_colors"]


def color_refinement(graph: Graph, rounds: int | None = None) -> list[Any]:
    """Colors of the nodes: equal as long as their neighborhoods are, up to ``rounds`` steps away (None: any).

    A color is made of what a node is and sees, not of numbers given on the way, so colors of two graphs compare.
    """
    colors = [hash(tuple(row.tolist())) for row in graph.node_features]
    neighbors: list[list[int]] = [[] for _ in colors]
    for source, target in graph.edges.T:
        neighbors[target].append(int(source))
    for _ in range(len(colors) if rounds is None else rounds):
        colors = [hash((color, tuple(sorted(colors[j] for j in seen)))) for color, seen in zip(colors, neighbors)]
    return colors


def same_colors(a: Graph, b: Graph) -> bool:
    """Whether color refinement cannot tell two graphs apart, as isomorphic graphs never can be."""
    rounds = max(len(a), len(b))
    return sorted(color_refinement(a, rounds)) == sorted(color_refinement(b, rounds))


def dirichlet_energy(graph: Graph, features: Any) -> float:
    r"""How much features differ along edges: the mean of :math:`\|x_i - x_j\|^2` over them."""
    X = np.asarray(features)
    source, target = graph.edges
    return float(((X[source] - X[target]) ** 2).sum(axis=1).mean())
