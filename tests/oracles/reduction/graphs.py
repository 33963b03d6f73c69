"""Neighborhood graphs of rows by loops over pairs, and their parts by walks."""

from __future__ import annotations

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.reduction import components, epsilon_graph, knn_graph

PATH = "margin.reduction"


@oracle(*(f"{PATH}.{name}" for name in ("epsilon_graph", "knn_graph", "components")))
def graphs_pair_by_pair(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(9, 3)), rng.normal(40.0, 2.0, size=(4, 3))])
    gaps = np.array([[np.sqrt(sum((a - b) ** 2)) for b in X] for a in X])
    limit = float(np.median(gaps[:9, :9]))
    near_enough = np.where((gaps <= limit) & ~np.eye(13, dtype=bool), gaps, 0.0)
    chosen = np.zeros((13, 13), dtype=bool)
    for i in range(13):
        chosen[i, [j for j in np.argsort(gaps[i]) if j != i][:2]] = True
    nearest = np.where(chosen | chosen.T, gaps, 0.0)
    graph = knn_graph(X, 2)
    count, part = components(graph)
    left, parts = set(range(13)), []
    while left:
        reached, edge = set(), [min(left)]
        while edge:
            vertex = edge.pop()
            reached.add(vertex)
            edge += [int(j) for j in np.flatnonzero(nearest[vertex]) if int(j) not in reached]
        parts.append(reached)
        left -= reached
    return every(
        within=near(epsilon_graph(X, limit).toarray(), near_enough, tolerance=1e-6),
        nearest=near(graph.toarray(), nearest, tolerance=1e-6),
        parts=equal((count, sorted(map(sorted, ({int(v) for v in np.flatnonzero(part == k)} for k in range(count))))),
                    (len(parts), sorted(map(sorted, parts)))),
    )  # fmt: skip
