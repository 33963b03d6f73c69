"""Quantities of graphs, edge by edge."""

from __future__ import annotations

import numpy as np

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, near
from margin.graphs import Graph
from margin.graphs.refinement import dirichlet_energy


@oracle("margin.graphs.refinement.dirichlet_energy")
def differences_along_edges(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, edges = rng.normal(2.0, 1.0, size=(5, 3)), np.array([[0, 1, 3, 4, 2, 2], [1, 2, 0, 3, 4, 0]])
    wanted = np.mean([np.sum((x[i] - x[j]) ** 2) for i, j in edges.T])
    return near(dirichlet_energy(Graph(edges, x), x), wanted, tolerance=1e-10)
