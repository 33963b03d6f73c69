"""Lloyd's iteration against scikit-learn's, with weights and rows far from the origin."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.cluster import kmeans_plusplus
from tests.oracles import oracle

from margin.cluster import KMeans
from margin.cluster.lloyd import Partition
from margin.cluster.plusplus import plusplus
from margin.core.verdict import Verdict, equal, every, near


@oracle("margin.cluster.lloyd.Partition", "margin.cluster.KMeans")
def means_and_nearest_rows(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) + 4 * np.array([[0.0, 0.0], [1.0, 0.4], [0.2, 1.0]])[np.arange(60) % 3] + 30.0
    w, start = rng.uniform(0.3, 2, size=60), X[[0, 1, 2]] + 0.4
    offset = X.mean(axis=0)
    partition = Partition(X, w, offset, bounds=False).start(start)
    centers, labels = start, cdist(X, start).argmin(axis=1)
    parts = {"start": equal(partition.labels.tolist(), labels.tolist())}
    for step in range(4):
        moved, changed = partition.step()
        means = np.array([np.average(X[labels == k], axis=0, weights=w[labels == k]) for k in range(3)])
        nearest = cdist(X, means).argmin(axis=1)
        parts[f"centers_{step}"] = near(partition.positions, means, tolerance=1e-9)
        parts[f"labels_{step}"] = equal(partition.labels.tolist(), nearest.tolist())
        parts[f"moved_{step}"] = near(moved, np.linalg.norm(means - centers, axis=1).max(), tolerance=1e-9)
        parts[f"changed_{step}"] = equal(int(changed), int((nearest != labels).sum()))
        parts[f"total_{step}"] = near(partition.movement, float(((means - centers) ** 2).sum()), tolerance=1e-9)
        centers, labels = means, nearest
        cost = float(w @ cdist(X, centers)[np.arange(60), labels] ** 2)
        parts[f"cost_{step}"] = near(partition.inertia, cost, tolerance=1e-7)
    model, theirs = (m(3, init=start, n_init=1, tol=1e-9).fit(X, sample_weight=w) for m in (KMeans, PeerKMeans))
    fresh = rng.normal(size=(10, 2)) * 3 + 32
    return every(
        **parts,
        centers=near(model.cluster_centers_, theirs.cluster_centers_, tolerance=1e-7),
        labels=equal(model.labels_.tolist(), theirs.labels_.tolist()),
        inertia=near(model.inertia_, theirs.inertia_, tolerance=1e-6),
        distances=near(model.transform(fresh), theirs.transform(fresh), tolerance=1e-7),
        fresh=equal(model.predict(fresh).tolist(), theirs.predict(fresh).tolist()),
    )


@oracle("margin.cluster.plusplus.plusplus")
def centers_far_apart(seed: int) -> Verdict:
    """Heaps far apart get a center each; the expected cost is near that of scikit-learn's draws; weights are copies."""
    rng = np.random.default_rng(seed)
    heaps = 20.0 * np.array([[0, 0], [3, 0], [0, 5], [4, 4], [9, 1]])
    X = np.repeat(heaps, 12, axis=0) + rng.normal(size=(60, 2))
    found = [plusplus(X, np.ones(60), 5, np.random.default_rng([seed, k])) // 12 for k in range(10)]
    spread = rng.normal(size=(300, 3)) * [1.0, 2.0, 4.0]

    def cost(centers: np.ndarray) -> float:
        return float((((spread[:, None] - centers[None]) ** 2).sum(axis=2)).min(axis=1).sum())

    ours = np.mean(
        [cost(spread[plusplus(spread, np.ones(300), 8, np.random.default_rng([seed, k]))]) for k in range(40)]
    )
    peers = np.mean([cost(kmeans_plusplus(spread, 8, random_state=100 * seed + k)[0]) for k in range(40)])
    copies = rng.integers(1, 4, 60)
    large = np.repeat(X, copies, axis=0)
    weighted = X[plusplus(X, copies.astype(float), 4, np.random.default_rng(seed))]
    repeated = large[plusplus(large, np.ones(len(large)), 4, np.random.default_rng(seed))]
    return every(
        a_center_each=equal([sorted(rows.tolist()) for rows in found], [list(range(5))] * 10),
        cost=near(ours / peers, 1.0, tolerance=0.1),  # standard errors are about 0.015
        copies=near(weighted, repeated, tolerance=0.0),
    )
