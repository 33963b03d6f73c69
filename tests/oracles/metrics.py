"""Scores of classifiers against scikit-learn's, with ties, weights and uneven classes."""

from __future__ import annotations

import numpy as np
from scipy import linalg, stats
from scipy.spatial.distance import cdist, directed_hausdorff
from sklearn import metrics as theirs
from tests.oracles import oracle

from margin import metrics as ours
from margin.core.verdict import Verdict, equal, every, near
from margin.metrics import density, samples

PATH = "margin.metrics"


@oracle(f"{PATH}.roc_auc", f"{PATH}.accuracy", f"{PATH}.best_threshold")
def scores_of_classifiers(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    y = (rng.random(80) < 0.3).astype(int)
    score = np.round(y + rng.normal(0, 1.2, size=80), 1)  # rounded, so that there are ties
    weight, predicted = rng.uniform(0.5, 2.0, size=80), (score > 0.6).astype(int)
    three = np.arange(60) % 3
    p = rng.dirichlet(np.ones(3), size=60) + 0.4 * np.eye(3)[three]
    p /= p.sum(axis=1, keepdims=True)
    threshold, cost = ours.best_threshold(y, score, 2.0, 5.0)
    costs = [np.mean(2.0 * ((score > t) & (y == 0)) + 5.0 * ((score <= t) & (y == 1))) for t in [-99.0, *score]]
    at = np.mean(2.0 * ((score > threshold) & (y == 0)) + 5.0 * ((score <= threshold) & (y == 1)))
    return every(
        accuracy=near(
            ours.accuracy(y, predicted, weight),
            theirs.accuracy_score(y, predicted, sample_weight=weight),
            tolerance=1e-12,
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
    predictions = [(score > cut).astype(int) for cut in cuts]
    return every(
        precision=near(sweep["precision"], [theirs.precision_score(y, p) for p in predictions], tolerance=1e-12),
        recall=near(sweep["recall"], [theirs.recall_score(y, p) for p in predictions], tolerance=1e-12),
        alarms=near(sweep["false_positive_rate"], [p[y == 0].mean() for p in predictions], tolerance=1e-12),
        accuracy=near(sweep["accuracy"], [theirs.accuracy_score(y, p) for p in predictions], tolerance=1e-12),
        all_positive=equal(float(ours.threshold_sweep(y, score)["threshold"][0]), -np.inf),
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
    expected = [
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
        neighborhoods=near(list(samples.manifold_scores(a, b, k=3)), expected, tolerance=1e-12),
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


@oracle(*(f"{PATH}.{name}" for name in ("f1", "pair_count", "expected_calibration_error", "r2", "explained_ratio",
                                        "squared_correlation", "mcfadden_r2", "specificity", "log_loss",
                                        "negative_predictive_value", "cost_at_threshold",
                                        "density.perplexity")))  # fmt: skip
def more_scores(seed: int) -> Verdict:
    """scikit-learn's with weights where it has them; else sums over pairs, bins and rows."""
    rng = np.random.default_rng(seed)
    y = np.r_[(rng.random(50) < 0.3).astype(int), [0, 0, 1, 1]]
    score, w = np.round(y + rng.normal(0, 1.2, size=54), 1), rng.uniform(0.5, 2.0, size=54)
    predicted = np.r_[(score > 0.6).astype(int)[:50], [0, 1, 0, 1]]
    pairs = [np.sign(a - b) for a in score[y == 1] for b in score[y == 0]]
    p = np.clip(rng.dirichlet(np.ones(3), size=54) + 0.4 * np.eye(3)[np.arange(54) % 3], 0.01, None)
    p, three = p / p.sum(axis=1, keepdims=True), np.arange(54) % 3
    confidence, right = p.max(axis=1), p.argmax(axis=1) == three
    bins = np.minimum((confidence * 8).astype(int), 7)
    gaps = [
        w[bins == b].sum()
        * abs(
            np.average(confidence[bins == b], weights=w[bins == b]) - np.average(right[bins == b], weights=w[bins == b])
        )
        for b in range(8)
        if (bins == b).any()
    ]
    t = 2.0 * rng.normal(size=54) + 1.0
    f = 0.6 * t + rng.normal(size=54) + 0.3
    null = theirs.log_loss(three[:50], np.tile(np.bincount(three[:50]) / 50, (50, 1)))
    costs = [2.5 * (s > 0.4 and v == 0) + 4.0 * (s <= 0.4 and v == 1) for s, v in zip(score, y)]
    near_to = lambda a, b: near(a, b, tolerance=1e-10)  # noqa: E731
    return every(
        f1=near_to(ours.f1(y, predicted, sample_weight=w), theirs.f1_score(y, predicted, sample_weight=w)),
        pairs=near_to(ours.pair_count(y, score), [pairs.count(1), pairs.count(0), pairs.count(-1)]),
        calibration=near_to(ours.expected_calibration_error(three, p, 8, sample_weight=w), sum(gaps) / w.sum()),
        r2=near_to(ours.r2(t, f, w), theirs.r2_score(t, f, sample_weight=w)),
        explained=near_to(ours.explained_ratio(t, f), ((f - t.mean()) ** 2).sum() / ((t - t.mean()) ** 2).sum()),
        correlation=near_to(ours.squared_correlation(t, f), stats.pearsonr(t, f).statistic ** 2),
        mcfadden=near_to(ours.mcfadden_r2(three[:50], p[:50]), 1 - theirs.log_loss(three[:50], p[:50]) / null),
        specificity=near_to(
            ours.specificity(y, predicted, sample_weight=w),
            theirs.recall_score(y, predicted, pos_label=0, sample_weight=w),
        ),
        negative=near_to(
            ours.negative_predictive_value(y, predicted, sample_weight=w),
            theirs.precision_score(y, predicted, pos_label=0, sample_weight=w),
        ),
        log_loss=near_to(
            ours.log_loss(three, p, sample_weight=w), theirs.log_loss(three, p, sample_weight=w)
        ),
        certain=near(ours.log_loss([0, 1], [[1.0, 0.0], [1.0, 0.0]]), -np.log(np.finfo(float).eps) / 2, tolerance=1e-9),
        cost=near_to(ours.cost_at_threshold(y, score, 0.4, 2.5, 4.0), np.mean(costs)),
        perplexity=near_to(density.perplexity(np.log(p[:, 0])), stats.gmean(1 / p[:, 0])),
    )  # fmt: skip


@oracle(*(f"{PATH}.{name}" for name in ("dice", "iou", "hausdorff", "hausdorff_pairs", "box_iou")),
        f"{PATH}.samples.debiased_frechet_distance")  # fmt: skip
def sets_point_by_point(seed: int) -> Verdict:
    """Sets of cells and points; SciPy's one-sided distances; what bias is left falls as one over the rows."""
    rng = np.random.default_rng(seed)
    a, b = rng.random((5, 7)) < 0.4, rng.random((5, 7)) < 0.5
    a[0, 0], b[0, 0], nothing = True, True, np.zeros((5, 7), dtype=bool)
    A, B = ({(int(i), int(j)) for i, j in zip(*np.nonzero(m))} for m in (a, b))
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(6, 3)) + 0.5
    forth, back = directed_hausdorff(X, Y), directed_hausdorff(Y, X)
    first, second = np.array([0.0, 1.0, 4.0, 3.0]), np.array([1.0, 0.0, 6.0, 2.5])
    real, made = rng.normal(size=(40, 2)) * [1.0, 2.0], rng.normal(size=(50, 2)) + 0.4
    halves = np.random.default_rng(3)
    splits = []
    for _ in range(2):
        rows = [np.array_split(x[halves.permutation(len(x))], 2) for x in (real, made)]
        splits += [samples.frechet_distance(rows[0][k], rows[1][k]) for k in range(2)]
    return every(
        dice=near(ours.dice(a, b), 2 * len(A & B) / (len(A) + len(B)), tolerance=1e-12),
        iou=near(ours.iou(a, b), len(A & B) / len(A | B), tolerance=1e-12),
        empty=near([ours.dice(nothing, nothing), ours.iou(nothing, nothing), ours.iou(a, nothing)], [1.0, 1.0, 0.0],
                   tolerance=1e-12),
        hausdorff=near([ours.hausdorff(X, Y), ours.hausdorff(Y, X)], [max(forth[0], back[0])] * 2, tolerance=1e-12),
        pairs=equal(ours.hausdorff_pairs(X, Y), ((forth[1], forth[2]), (back[2], back[1]))),
        boxes=near(ours.box_iou(first, second), 4.5 / (8 + 12.5 - 4.5), tolerance=1e-12),
        apart=near([ours.box_iou(first, second + 7), ours.box_iou([1, 1, 1, 1], [1, 1, 1, 1])], [0.0, 0.0],
                   tolerance=1e-12),
        frechet=near(samples.debiased_frechet_distance(real, made, n_splits=2, random_state=3),
                     2 * samples.frechet_distance(real, made) - np.mean(splits), tolerance=1e-9),
    )  # fmt: skip


@oracle(*(f"margin.metrics.{name}" for name in ("confusion_matrix", "fbeta", "precision", "recall", "sensitivity")))
def rows_counted_by_label(seed: int) -> Verdict:
    """Three labels of unequal size with weights, counted row by row."""
    rng = np.random.default_rng(seed)
    names = np.array(["ash", "elm", "oak"])
    y, guess, w = rng.choice(names, 40, p=[0.6, 0.3, 0.1]), rng.choice(names, 40), rng.uniform(0.5, 2.0, 40)
    y[:3], guess[:3] = names, names  # each is right once
    table = np.zeros((3, 3))
    for a, b, weight in zip(y, guess, w):
        table[names.tolist().index(a), names.tolist().index(b)] += weight
    right, of, told = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    P, R = right / told, right / of
    F = 5 * P * R / (4 * P + R)
    options = {"average": None, "sample_weight": w}
    return every(
        table=near(ours.confusion_matrix(y, guess, sample_weight=w), table, tolerance=1e-10),
        precision=near(ours.precision(y, guess, **options), P, tolerance=1e-10),
        recall=near(ours.recall(y, guess, **options), R, tolerance=1e-10),
        sensitivity=near(ours.sensitivity(y, guess, average="macro", sample_weight=w), R.mean(), tolerance=1e-10),
        fbeta=near(ours.fbeta(y, guess, beta=2.0, **options), F, tolerance=1e-10),
        weighted=near(
            ours.fbeta(y, guess, beta=2.0, average="weighted", sample_weight=w), F @ of / of.sum(), tolerance=1e-10
        ),
    )


@oracle("margin.metrics.roc_curve")
def rates_at_every_threshold(seed: int) -> Verdict:
    """Scores with ties and weights: at every threshold the rates by counting."""
    rng = np.random.default_rng(seed)
    y, score, w = np.arange(30) % 3 == 0, rng.integers(0, 8, 30) / 8, rng.uniform(0.5, 2.0, 30)
    fpr, tpr, thresholds = ours.roc_curve(y, score, sample_weight=w)
    rates = [[w[(score >= t) & (y == kind)].sum() / w[y == kind].sum() for t in thresholds] for kind in (False, True)]
    return every(
        false=near(fpr, rates[0], tolerance=1e-10),
        true=near(tpr, rates[1], tolerance=1e-10),
        all_of_them=near(np.sort(thresholds[1:]), np.unique(score), tolerance=0.0),
    )


@oracle("margin.metrics.jaccard", "margin.metrics.recall_at_fpr")
def overlaps_and_alarms(seed: int) -> Verdict:
    """Three classes with weights by scikit-learn; recalls at every threshold, with ties among the scores."""
    rng = np.random.default_rng(seed)
    y, found, weight = rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.uniform(0.2, 2.0, 60)
    positive, score = rng.random(40) < 0.4, rng.integers(0, 9, 40) / 8
    allowed = [cut for cut in [*np.unique(score), 2.0] if np.mean(score[~positive] >= cut) <= 0.2]
    recalls = [np.mean(score[positive] >= cut) for cut in allowed]
    several = {
        average: near(
            ours.jaccard(y, found, average=average, sample_weight=weight),
            theirs.jaccard_score(y, found, average=average, sample_weight=weight),
            tolerance=1e-12,
        )
        for average in ("macro", "micro", "weighted")
    }
    return every(
        **several,
        binary=near(ours.jaccard(y == 1, found == 1), theirs.jaccard_score(y == 1, found == 1), tolerance=1e-12),
        recall=near(ours.recall_at_fpr(positive.astype(int), score, 0.2), max(recalls), tolerance=1e-12),
    )
