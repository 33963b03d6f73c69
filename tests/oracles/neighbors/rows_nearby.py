"""The nearest rows by all distances, with ties."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.neighbors import nearest


@oracle("margin.neighbors.nearest")
def all_distances(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(40, 3)), rng.normal(size=(7, 3))
    grid, asked = rng.integers(0, 3, size=(30, 2)).astype(float), rng.integers(0, 3, size=(6, 2)).astype(float)
    found = {}
    for metric, name, options in (
        ("euclidean", "euclidean", {}), ("manhattan", "cityblock", {}), ("minkowski", "minkowski", {"p": 3.0}),
        ("chebyshev", "chebyshev", {}), ("cosine", "cosine", {}),
    ):  # fmt: skip
        D = cdist(Q, X, name, **options)
        index = np.argsort(D, axis=1, kind="stable")[:, :5]
        ours = nearest(X, Q, 5, metric, **options)
        found[metric] = equal(ours.indices.tolist(), index.tolist())
        found[f"{metric}_distances"] = near(ours.distances, np.take_along_axis(D, index, axis=1), tolerance=1e-9)
    ties = np.argsort(cdist(asked, grid), axis=1, kind="stable")[:, :6]
    return every(**found, first_of_equals=equal(nearest(grid, asked, 6).indices.tolist(), ties.tolist()))
