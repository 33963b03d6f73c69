"""Nearest neighbors, classifier networks, and the digits that both must read."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.data import load, stratified_split
from margin.neighbors import KNeighborsClassifier, KNeighborsRegressor, nearest
from margin.notes.claims import claim


@claim("k-nearest-neighbours")
def the_majority_of_the_nearest_decides() -> Verdict:
    wine = load("wine")
    X, y = np.asarray(wine.X), np.asarray(wine.y)
    T, X, u, y = X[::4], np.delete(X, np.s_[::4], axis=0), y[::4], np.delete(y, np.s_[::4])
    gaps = np.linalg.norm(T[:, None] - X, axis=2)
    near_rows = np.argsort(gaps, axis=1, kind="stable")[:, :7]
    by_algorithm = {algorithm: nearest(X, T, 7, algorithm=algorithm) for algorithm in ("brute", "kd_tree")}
    blocks = nearest(X, T, 7, "manhattan")
    by_blocks = np.sort(np.abs(T[:, None] - X).sum(axis=2), axis=1)[:, :7]
    majority = [np.bincount(y[rows]).argmax() for rows in near_rows]
    return every(
        **{f"rows_by_{name}": equal(rows.indices, near_rows) for name, rows in by_algorithm.items()},
        **{
            f"distances_by_{name}": near(rows.distances, np.sort(gaps, axis=1)[:, :7], tolerance=1e-9)
            for name, rows in by_algorithm.items()
        },
        other_metric=near(blocks.distances, by_blocks, tolerance=1e-9),
        classes=equal(KNeighborsClassifier(7).fit(X, y).predict(T).tolist(), [int(c) for c in majority]),
        means=near(KNeighborsRegressor(7).fit(X, X[:, 0]).predict(T), X[near_rows, 0].mean(axis=1), tolerance=1e-10),
        no_training_error_for_one=equal(KNeighborsClassifier(1).fit(X, y).score(X, y), 1.0),
        but_errors_on_new_rows=above(np.mean(KNeighborsClassifier(1).fit(X, y).predict(T) != u), 0.1),
    )


@claim("binary-classifier-network")
def a_sigmoid_of_the_output_is_a_probability(seed: int) -> Verdict:
    from margin.metrics import log_loss
    from margin.neural.estimators import MLPClassifier

    X = np.linspace(-3, 3, 60)[:, None]
    y = (X[:, 0] > 0.5).astype(int)
    model = MLPClassifier((8,), max_iter=60, batch_size=20, learning_rate_init=2e-2, random_state=seed).fit(X, y)
    grid = np.linspace(-4, 4, 801)[:, None]
    probability = model.predict_proba(grid)[:, 1]
    crossing = grid[np.flatnonzero(np.diff(probability > 0.5)), 0]
    logit = np.diff(model.predict_log_proba(grid), axis=1)[:, 0]
    own = model.predict_proba(X)[:, 1]
    entropy = -model.predict_log_proba(X)[np.arange(len(y)), y].mean()  # finite also where a probability rounds to 1
    truth = every(
        sigmoid=near(probability, 1 / (1 + np.exp(-logit)), tolerance=1e-12),
        # Within, never at an end: beyond an output of 37 only the logarithms still tell 1 from what is below it.
        inside=equal(
            bool((np.logaddexp(0, np.abs(logit)) < np.inf).all() and (np.exp(-np.abs(logit)) > 0).all()), True
        ),
        one_crossing=equal(len(crossing), 1),
        between_the_classes=near(crossing[:1], [0.5], tolerance=0.15),
        loss=near(log_loss(y, np.column_stack([1 - own, own])), entropy, tolerance=1e-9),
    )
    # A closed interval, as printed, would be reached; the logarithm of the sigmoid is finite at every finite output.
    reached = bool(np.isneginf(-np.logaddexp(0, -np.array([-800.0, -40.0, 40.0, 800.0]))).any())
    return corrected(truth, printed=equal(reached, True))


@claim("multiclass-classifier-network")
def a_softmax_of_k_outputs_is_a_distribution(seed: int) -> Verdict:
    from margin.neural.estimators import MLPClassifier

    rng = np.random.default_rng(seed)
    y = np.arange(150) % 3
    angle = 2 * np.pi * y / 3
    X = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.5 * rng.normal(size=(150, 2))  # corners of a triangle
    model = MLPClassifier((16,), max_iter=30, batch_size=64, learning_rate_init=5e-3, random_state=seed).fit(X, y)
    proba = model.predict_proba(X)
    return every(
        sums=near(proba.sum(axis=1), np.ones(len(X)), tolerance=1e-12),
        argmax=equal(model.predict(X), model.classes_[proba.argmax(axis=1)]),
        accuracy=above(model.score(X, y), 0.95),
    )


@claim("dataset-handwritten-digits")
def digits_are_easy_now(seed: int) -> Verdict:
    from margin.kernels import SVC
    from margin.neural.estimators import MLPClassifier

    digits = load("digits")
    X, y = np.asarray(digits.X) / 16, np.asarray(digits.y)
    train, test = stratified_split(y, 0.25, np.random.default_rng(seed))
    models = {
        "neighbors": KNeighborsClassifier(3),
        "perceptron": MLPClassifier((64,), max_iter=15, batch_size=64, learning_rate_init=5e-3, random_state=seed),
        "support_vectors": SVC(C=10, gamma=0.2),
    }
    scores = {
        name: above(model.fit(X[train], y[train]).score(X[test], y[test]), 0.95) for name, model in models.items()
    }
    return every(shape=equal((*X.shape, len(np.unique(y))), (1797, 64, 10)), **scores)
