"""Scores of classifiers against scikit-learn's, with ties, weights and uneven classes."""

from __future__ import annotations

import numpy as np
from scipy import linalg, stats
from scipy.spatial.distance import cdist
from sklearn import metrics as theirs

from margin import metrics as ours
from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.metrics import samples

PATH = "margin.metrics"


@oracle(f"{PATH}.roc_auc", f"{PATH}.accuracy", f"{PATH}.best_threshold")
def scores_of_classifiers(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    y = (rng.random(80) < 0.3).astype(int)
    score = np.round(y + rng.normal(0, 1.2, size=80), 1)  # rounded, so that there are ties
    weight, said = rng.uniform(0.5, 2.0, size=80), (score > 0.6).astype(int)
    three = np.arange(60) % 3
    p = rng.dirichlet(np.ones(3), size=60) + 0.4 * np.eye(3)[three]
    p /= p.sum(axis=1, keepdims=True)
    threshold, cost = ours.best_threshold(y, score, 2.0, 5.0)
    costs = [np.mean(2.0 * ((score > t) & (y == 0)) + 5.0 * ((score <= t) & (y == 1))) for t in [-99.0, *score]]
    at = np.mean(2.0 * ((score > threshold) & (y == 0)) + 5.0 * ((score <= threshold) & (y == 1)))
    return every(
        accuracy=near(
            ours.accuracy(y, said, weight), theirs.accuracy_score(y, said, sample_weight=weight), tolerance=1e-12
        ),
        auc=near(
            ours.roc_auc(y, score, sample_weight=weight),
            theirs.roc_auc_score(y, score, sample_weight=weight),
            tolerance=1e-10,
        ),
        auc_of_classes=near(ours.roc_auc(three, p), theirs.roc_auc_score(three, p, multi_class="ovr"), tolerance=1e-10),
        least_cost=near([cost, at], [min(costs), min(costs)], tolerance=1e-12),
    )


@oracle(f"{PATH}.threshold_sweep")
def rates_at_thresholds(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    y = (rng.random(50) < 0.3).astype(int)
    score = np.round(y + rng.normal(0, 1.2, size=50), 1)
    cuts = [-1.05, 0.0, 0.4, 1.3]
    sweep = ours.threshold_sweep(y, score, cuts)
    said = [(score > cut).astype(int) for cut in cuts]
    return every(
        precision=near(sweep["precision"], [theirs.precision_score(y, p) for p in said], tolerance=1e-12),
        recall=near(sweep["recall"], [theirs.recall_score(y, p) for p in said], tolerance=1e-12),
        alarms=near(sweep["false_positive_rate"], [p[y == 0].mean() for p in said], tolerance=1e-12),
        accuracy=near(sweep["accuracy"], [theirs.accuracy_score(y, p) for p in said], tolerance=1e-12),
        every_score=near(ours.threshold_sweep(y, score)["threshold"][1:], np.unique(score), tolerance=0),
    )


SAMPLES = f"{PATH}.samples"


@oracle(
    *(f"{SAMPLES}.{name}" for name in ("mmd_squared", "manifold_scores", "nearest_neighbor_test", "inception_score")),
    *(f"{SAMPLES}.{name}" for name in ("memorization", "frechet_distance", "frechet_distance_of_normals")),
)
def sets_of_rows(seed: int) -> Verdict:
    """Sets of unequal sizes, pair by pair; roots of matrices by SciPy."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(9, 2)), rng.normal(0.7, 1.3, size=(7, 2))
    near_a, near_b, across = cdist(a, a), cdist(b, b), cdist(a, b)
    kernel = lambda d: np.exp(-0.6 * d**2)  # noqa: E731
    pairs = lambda d: np.mean([kernel(d)[i, j] for i in range(len(d)) for j in range(len(d)) if i != j])  # noqa: E731
    gamma = 1 / np.median(across**2)
    own = [np.mean([np.exp(-gamma * d[i, j] ** 2) for i in range(len(d)) for j in range(len(d)) if i != j])
           for d in (near_a, near_b)]  # fmt: skip
    radius_a, radius_b = np.sort(near_a, axis=1)[:, 3], np.sort(near_b, axis=1)[:, 3]
    wanted = [
        np.mean([any(across[i, j] <= radius_a[i] for i in range(9)) for j in range(7)]),
        np.mean([any(across[i, j] <= radius_b[j] for j in range(7)) for i in range(9)]),
        sum(across[i, j] <= radius_a[i] for i in range(9) for j in range(7)) / (3 * 7),
        np.mean([across[i].min() <= radius_a[i] for i in range(9)]),
    ]
    both, label = np.concatenate([a[:7], b]), np.repeat([0, 1], 7)
    distance = cdist(both, both)
    np.fill_diagonal(distance, np.inf)
    right = int((label[distance.argmin(axis=1)] == label).sum())
    test = samples.nearest_neighbor_test(a, b)
    p = rng.dirichlet(np.ones(3), size=6)
    fresh = rng.normal(size=(8, 2))
    copied = samples.memorization(a, fresh, b)
    made, held = across.min(axis=0), cdist(fresh, a).min(axis=1)
    A, B = np.cov(a.T), np.cov(b.T)
    root = linalg.sqrtm(A)
    moments = np.sum((a.mean(axis=0) - b.mean(axis=0)) ** 2) + np.trace(
        A + B - 2 * np.real(linalg.sqrtm(root @ B @ root))
    )
    return every(
        discrepancy=near(
            samples.mmd_squared(a, b, 0.6), pairs(near_a) + pairs(near_b) - 2 * kernel(across).mean(), tolerance=1e-10
        ),
        usual=near(samples.mmd_squared(a, b), sum(own) - 2 * np.exp(-gamma * across**2).mean(), tolerance=1e-10),
        neighborhoods=near(list(samples.manifold_scores(a, b, k=3)), wanted, tolerance=1e-12),
        told=near(test.accuracy, right / 14, tolerance=1e-12),
        chance=near(test.p_value, stats.binom(7, 0.5).sf(right // 2 - 1), tolerance=1e-10),
        inception=near(
            samples.inception_score(p),
            np.exp(np.mean([stats.entropy(row, p.mean(axis=0)) for row in p])),
            tolerance=1e-10,
        ),
        medians=near(
            [copied.generated_distance, copied.held_out_distance], [np.median(made), np.median(held)], tolerance=1e-9
        ),
        closer=near(copied.fraction_closer, np.mean(made[:, None] < held), tolerance=1e-9),
        frechet=near(samples.frechet_distance(a, b), moments, tolerance=1e-6),
    )
