"""Real graphs below the folder that MARGIN_DATA names: citation networks, and sets of small graphs; no downloads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from margin.data.files import data_file
from margin.graphs.graph import Graph

__all__ = ["CitationNetwork", "load_citations", "load_graphs"]

CITATIONS = ("cora", "citeseer")


class CitationNetwork(NamedTuple):
    """Papers joined by citations, with words as features and subjects as target, and the usual split of nodes."""

    graph: Graph
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


def load_citations(name: str = "cora") -> CitationNetwork:
    """'cora' or 'citeseer' from ``graphs/<name>.npz``; the words of a paper count 1 in all, as is usual."""
    if name not in CITATIONS:
        raise ValueError(f"load_citations: name must be one of {', '.join(CITATIONS)}; got {name!r}.")
    with np.load(data_file("graphs", f"{name}.npz")) as stored:
        parts = (stored["x_data"], stored["x_indices"], stored["x_indptr"])
        words = sp.csr_array(parts, shape=tuple(stored["x_shape"])).toarray()
        features = words / np.maximum(words.sum(axis=1, keepdims=True), 1)
        graph = Graph.undirected(stored["edges"], node_features=features.astype(np.float32), target=stored["labels"])
        return CitationNetwork(graph, stored["train"], stored["val"], stored["test"])


def load_graphs(name: str = "MUTAG") -> tuple[list[Graph], np.ndarray]:
    """Small graphs and their classes from ``graphs/<name>.txt``, the text format of the GIN paper.

    A graph is a line with its nodes and its class, and a line per node: its kind, its degree, its neighbors. Kinds
    become features, one column each.
    """
    lines = iter(data_file("graphs", f"{name}.txt").read_text().split("\n"))
    parsed = []
    for _ in range(int(next(lines))):
        n_nodes, label = (int(part) for part in next(lines).split()[:2])
        nodes = [[int(part) for part in next(lines).split()] for _ in range(n_nodes)]
        pairs = [(i, j) for i, node in enumerate(nodes) for j in node[2 : 2 + node[1]]]
        parsed.append((label, [node[0] for node in nodes], np.array(pairs, dtype=np.int64).reshape(-1, 2)))
    kinds = sorted({kind for _, tags, _ in parsed for kind in tags})
    graphs = [
        Graph(pairs.T, (np.array(tags)[:, None] == kinds).astype(np.float32), target=label)
        for label, tags, pairs in parsed
    ]
    return graphs, np.array([label for label, _, _ in parsed])
