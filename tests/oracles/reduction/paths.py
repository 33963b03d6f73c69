"""Isomap against scikit-learn's, and where it places new rows, by hand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn import manifold
from tests.oracles import oracle
from tests.oracles.reduction.projections import rows, same_up_to_sign

from margin import reduction as ours
from margin.core.verdict import Verdict, equal, every, near
from margin.reduction.topology import straight_homotopy


@oracle("margin.reduction.Isomap")
def distances_along_a_graph(seed: int) -> Verdict:
    """By neighbors and by a radius, with other metrics; parts that are apart; new rows enter at their neighbors."""
    X, parts = rows(seed, 30), {}
    fresh = rows(seed, 45)[30:]
    lengths = np.unique(pdist(X))
    radius = float(lengths[150:152].mean())  # between two distances: rounding decides nothing
    city = float(np.unique(pdist(X, "cityblock"))[150:152].mean())
    settings: dict[str, dict[str, Any]] = {
        "neighbors": {"n_neighbors": 6}, "radius": {"n_neighbors": None, "radius": radius},
        "brute": {"n_neighbors": 6, "neighbors_algorithm": "brute"}, "city": {"n_neighbors": 7, "metric": "manhattan"},
        "city_radius": {"n_neighbors": None, "radius": city, "metric": "manhattan"},
        "cubes": {"n_neighbors": 6, "p": 3},
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, given in settings.items():
            model, theirs = ours.Isomap(**given).fit(X), manifold.Isomap(**given).fit(X)
            if model.n_parts_ > 1 or (theirs.dist_matrix_ == np.inf).any():
                continue  # how parts are joined differs
            parts[f"{name}_paths"] = near(model.dist_matrix_, theirs.dist_matrix_, tolerance=1e-8)
            parts[name] = same_up_to_sign(model.embedding_, theirs.embedding_, 1e-6)
            parts[f"{name}_error"] = near(model.reconstruction_error(), theirs.reconstruction_error(), tolerance=1e-6)
            placed, their_place = (m.transform(_in_sight(X, fresh, given)) for m in (model, theirs))
            side = np.sign(np.sum(model.embedding_ * theirs.embedding_, axis=0))
            parts[f"{name}_placed"] = near(placed * side, their_place, tolerance=1e-6)
            parts[f"{name}_fitted"] = equal(model.transform(X), model.embedding_)
        two = np.vstack([X[:12], X[:12] + np.array([500.0, 0, 0, 0])])
        apart = ours.Isomap(n_neighbors=5).fit(two)
        few, all_joined = (ours.Isomap(n_neighbors=k).fit(X[:5]) for k in (9, 4))
    gaps = cdist(two[:12], two[12:])
    i, j = np.unravel_index(gaps.argmin(), gaps.shape)
    return every(
        **parts,
        few=equal(few.dist_matrix_, all_joined.dist_matrix_),
        two_parts=equal(apart.n_parts_, 2),
        bridge=near(apart.dist_matrix_[i, 12 + j], gaps.min(), tolerance=1e-8),
        over_the_bridge=near(
            apart.dist_matrix_[:12, 12:],
            apart.dist_matrix_[:12, [i]] + gaps.min() + apart.dist_matrix_[[12 + j], 12:],
            tolerance=1e-7,
        ),
    )


def _in_sight(X: np.ndarray, fresh: np.ndarray, given: dict[str, Any]) -> np.ndarray:
    """Rows with a neighbor inside the radius: scikit-learn has no place for others."""
    if "radius" not in given:
        return fresh
    metric = "cityblock" if given.get("metric") == "manhattan" else "euclidean"
    return fresh[cdist(fresh, X, metric).min(axis=1) < 0.99 * given["radius"]]


@oracle("margin.reduction.topology.straight_homotopy")
def mixed_values(seed: int) -> Verdict:
    x, t = np.random.default_rng(seed).normal(size=4), 0.3
    return near(straight_homotopy(np.sin, np.exp)(x, t), 0.7 * np.sin(x) + 0.3 * np.exp(x), tolerance=1e-12)


@oracle("margin.reduction.UMAP")
def epochs_one_by_one(seed: int) -> Verdict:
    """As many epochs as asked for, ten per record; groups that are far apart stay neighbors of themselves."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(12, 3)), rng.normal(size=(12, 3)) + 40.0])
    model = ours.UMAP(n_neighbors=4, n_epochs=13, random_state=seed)
    progress = [(record.iteration, record.total) for record in model.iterate(X)]
    long = ours.UMAP(n_neighbors=4, n_epochs=60, random_state=seed).fit(X)
    gaps = cdist(long.embedding_, long.embedding_) + np.diag(np.full(24, np.inf))
    return every(
        records=equal(progress, [(10, 13), (13, 13)]),
        shape=equal(model.embedding_.shape, (24, 2)),
        groups=equal(((gaps.argmin(axis=1) < 12) == (np.arange(24) < 12)).all().item(), True),
    )
