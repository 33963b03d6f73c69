"""Scores of classifiers against scikit-learn's, with ties, weights and uneven classes."""

from __future__ import annotations

import numpy as np
from sklearn import metrics as theirs

from margin import metrics as ours
from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near

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
