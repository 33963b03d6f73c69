"""Claims about k-means, and about scales, which clusters and neighbors both depend on."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.cluster import KMeans
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.data import load
from margin.linear import LinearRegression
from margin.metrics import accuracy, adjusted_rand
from margin.mixture import GaussianMixture
from margin.notes.claims import claim
from margin.notes.claims.unsupervised.expectation_maximization import overlapping


def _two_groups(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Two groups apart in the first column; the second is noise of the same size."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    return np.column_stack([6.0 * label + rng.normal(size=n), rng.normal(size=n)]), label


@claim("unsupervised-learning")
def structure_is_learned_from_features_alone(seed: int) -> Verdict:
    X, label = _two_groups(seed)
    clusters = KMeans(2, random_state=seed).fit(X).labels_
    mixture = GaussianMixture(2, random_state=seed).fit(X)
    arguments: Any = LinearRegression().fit
    return every(
        clusters=above(adjusted_rand(label, clusters), 0.95),
        components=above(adjusted_rand(label, mixture.predict(X)), 0.95),
        supervised=raises(TypeError, lambda: arguments(X), match="y"),
    )


@claim("k-means")
def every_row_is_nearest_to_the_mean_of_its_cluster(seed: int) -> Verdict:
    from sklearn.cluster import KMeans as Reference

    X = np.asarray(load("iris").X)
    model = KMeans(3, n_init=10, tol=0, random_state=seed).fit(X)
    distances = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    means = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    theirs = Reference(3, n_init=10, tol=0, random_state=seed).fit(X).inertia_
    return every(
        nearest=equal(model.labels_, distances.argmin(axis=1)),
        means=near(model.cluster_centers_, means, tolerance=1e-12),
        inertia=near(model.inertia_ / theirs, 1.0, tolerance=0.01),
    )


@claim("lloyd-algorithm")
def the_objective_never_increases_and_ends_at_a_fixed_point(seed: int) -> Verdict:
    X = overlapping(seed, 600)
    model = KMeans(5, init=X[:5], algorithm="lloyd", tol=0)
    records = list(model.iterate(X))
    again = KMeans(5, init=model.cluster_centers_, tol=0).fit(X)
    return every(
        falls=below(float(np.diff([record["inertia"] for record in records]).max()), 1e-9),
        settled=equal(int(records[-1]["changed"]), 0),
        fixed_point=near(again.cluster_centers_, model.cluster_centers_, tolerance=1e-12),
    )


@claim("lloyd-stopping-rule")
def finitely_many_steps_reach_a_fixed_point_and_a_threshold_saves_some(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(2000, 2))
    exact, early, last_shift = [], [], []
    for start in range(10 * seed, 10 * seed + 10):
        runs = [list(KMeans(8, init="random", n_init=1, tol=tol, random_state=start).iterate(X)) for tol in (0, 1e-3)]
        exact.append((len(runs[0]), runs[0][-1]["changed"]))
        early.append(len(runs[1]))
        last_shift.append(runs[1][-1]["shift"])
    bound = float(np.sqrt(1e-3 * X.var(axis=0).mean()))
    return corrected(
        every(
            fixed_points=equal([changed for _, changed in exact], [0] * 10),
            iterations=below(max(length for length, _ in exact), 300),
            earlier=below(float(np.mean(early)), float(np.mean([length for length, _ in exact]))),
            shift=below(max(last_shift), bound),
        ),
        # Without a threshold some run would have to go on changing: it would show as rows moved in its last step.
        printed=above(max(changed for _, changed in exact), 0),
    )


@claim("claim-knn-versus-k-means")
def both_need_comparable_scales(seed: int) -> Verdict:
    X, label = _two_groups(seed)
    scores = {}
    for name, scale in (("equal", 1.0), ("stretched", 100.0)):
        rows = X * [1.0, scale]
        clusters = adjusted_rand(label, KMeans(2, n_init=10, random_state=seed).fit(rows).labels_)
        scores[name] = clusters, _nearest_neighbor_accuracy(rows, label)
    stretched = X * [1.0, 100.0]
    standard = stretched / stretched.std(axis=0)
    again = adjusted_rand(label, KMeans(2, n_init=10, random_state=seed).fit(standard).labels_)
    return corrected(
        every(
            k_means=above(scores["equal"][0], 0.95),
            k_means_stretched=below(scores["stretched"][0], 0.05),
            standardized=above(again, 0.95),
            knn=above(scores["equal"][1], 0.98),
            knn_stretched=below(scores["stretched"][1], 0.9),
        ),
        printed=near(scores["stretched"][0], scores["equal"][0], tolerance=0.05),
    )


def _nearest_neighbor_accuracy(X: np.ndarray, label: np.ndarray, k: int = 5) -> float:
    train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    distances = ((X[test][:, None] - X[train]) ** 2).sum(axis=2)
    votes = label[train][np.argsort(distances, axis=1)[:, :k]].mean(axis=1)
    return accuracy(label[test], (votes > 0.5).astype(int))
