"""Distances along a curved set: graphs, paths, and the sheet unrolled."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import shortest_path
from sklearn.manifold import Isomap as Reference

from margin.core.verdict import Verdict, above, equal, every, near
from margin.data import load
from margin.foundations.probability.kernels import squared_distances
from margin.notes.claims import claim
from margin.reduction import (
    Isomap,
    classical_coordinates,
    components,
    double_centered,
    epsilon_graph,
    knn_graph,
    shortest_paths,
)


def _roll(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    roll = load("swiss-roll", n_samples=n, seed=seed)
    return np.asarray(roll.X), np.asarray(roll.y)


@claim("isomap")
def the_first_axis_is_the_way_along_the_roll(seed: int) -> Verdict:
    X, t = _roll(seed, 1500)  # dense enough that no neighborhood reaches across the gap between two windings
    model, theirs = Isomap(n_neighbors=8).fit(X), Reference(n_neighbors=8).fit_transform(X)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # of the spiral (t cos t, t sin t) from 0 to t
    signs = np.sign(np.sum(model.embedding_ * theirs, axis=0))
    D = np.sqrt(squared_distances(X[:60, :2]))
    met, _ = classical_coordinates(D, 2)
    H = np.eye(60) - 1 / 60
    return every(
        along_the_roll=above(abs(np.corrcoef(model.embedding_[:, 0], length)[0, 1]), 0.995),
        as_scikit_learn=near(model.embedding_ * signs, theirs, tolerance=1e-5),
        tau=near(double_centered(D), -H @ D**2 @ H / 2, tolerance=1e-9),
        distances_met=near(np.sqrt(squared_distances(met)), D, tolerance=1e-6),
    )


@claim("isomap-neighbourhood-graphs")
def both_graphs_are_symmetric_and_tell_their_parts(seed: int) -> Verdict:
    X, _ = _roll(seed, 200)
    D = np.sqrt(squared_distances(X))
    near_pairs, by_rank = epsilon_graph(X, 4.0).toarray(), knn_graph(X, 6).toarray()
    apart = np.vstack([X, X + 1000])
    return every(
        epsilon=near(near_pairs, np.where(D <= 4.0, D, 0.0), tolerance=1e-6),
        symmetric=equal(bool((by_rank == by_rank.T).all()), True),
        at_least_k=equal(int((by_rank > 0).sum(axis=1).min()) >= 6, True),
        lengths=near(by_rank[by_rank > 0], D[by_rank > 0], tolerance=1e-6),
        parts=equal(components(knn_graph(apart, 6))[0], 2 * components(knn_graph(X, 6))[0]),
    )


@claim("shortest-path-distances")
def both_algorithms_agree_with_scipy(seed: int) -> Verdict:
    X, _ = _roll(seed, 150)
    W = knn_graph(X, 6)
    expected = shortest_path(W, method="D")
    finite = np.isfinite(expected)
    lengths = {method: shortest_paths(W, method) for method in ("dijkstra", "floyd")}
    return every(
        dijkstra=near(lengths["dijkstra"][finite], expected[finite], tolerance=1e-10),
        floyd=near(lengths["floyd"][finite], expected[finite], tolerance=1e-10),
        unreachable=equal(bool((np.isfinite(lengths["dijkstra"]) == finite).all()), True),
        never_shorter_than_straight=above(
            float(np.min(lengths["dijkstra"][finite] - np.sqrt(squared_distances(X))[finite])), -1e-6
        ),
    )
