"""Claims about predicted labels: the confusion matrix, the rates in its margins, and overlap of sets."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import directed_hausdorff
from sklearn import metrics as peer

from margin import metrics
from margin.core.verdict import Verdict, below, corrected, equal, every, near
from margin.notes import atlas
from margin.notes.claims import claim

EXACT = 1e-12


def _labels(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """True labels, a third of them positive, and predictions that are right four times in five."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 1 / 3).astype(int)
    return y, np.where(rng.random(n) < 0.8, y, 1 - y)


def _counts(y: np.ndarray, predicted: np.ndarray) -> tuple[int, int, int, int]:
    """TP, FN, FP, TN, counted one by one."""
    pairs = list(zip(y.tolist(), predicted.tolist(), strict=True))
    tp, fn, fp, tn = (pairs.count(pair) for pair in ((1, 1), (1, 0), (0, 1), (0, 0)))
    return tp, fn, fp, tn


def _sets(tp: int, fp: int, fn: int) -> tuple[np.ndarray, np.ndarray]:
    """True and predicted labels with these counts, and no true negatives."""
    return np.array([1] * (tp + fn) + [0] * fp), np.array([1] * tp + [0] * fn + [1] * fp)


@claim("confusion-matrix")
def rows_are_true_and_columns_predicted_classes(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    tp, fn, fp, tn = _counts(y, predicted)
    matrix = metrics.confusion_matrix(y, predicted, labels=[1, 0])
    rng = np.random.default_rng([seed, 1])
    many = rng.integers(0, 4, size=(2, 100))
    return every(
        shape=equal(list(matrix.shape), atlas.row("confusion-matrix").values["shape"]),
        counts=equal(matrix.tolist(), [[tp, fn], [fp, tn]]),
        recall_in_the_margin=near(matrix[0, 0] / matrix[0].sum(), metrics.recall(y, predicted), tolerance=EXACT),
        precision_in_the_margin=near(
            matrix[0, 0] / matrix[:, 0].sum(), metrics.precision(y, predicted), tolerance=EXACT
        ),
        many_classes=equal(metrics.confusion_matrix(*many), peer.confusion_matrix(*many)),
    )


@claim("accuracy")
def accuracy_is_the_diagonal(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    tp, _, _, tn = _counts(y, predicted)
    return every(
        formula=near(metrics.accuracy(y, predicted), (tp + tn) / len(y), tolerance=EXACT),
        peer=near(metrics.accuracy(y, predicted), peer.accuracy_score(y, predicted), tolerance=EXACT),
    )


@claim("precision")
def precision_divides_by_what_was_called_positive(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    tp, _, fp, _ = _counts(y, predicted)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        undefined = metrics.precision([1, 0, 1], [0, 0, 0])
    return every(
        formula=near(metrics.precision(y, predicted), tp / (tp + fp), tolerance=EXACT),
        peer=near(metrics.precision(y, predicted), peer.precision_score(y, predicted), tolerance=EXACT),
        nothing_called=equal((undefined, [w.category for w in caught]), (0.0, [RuntimeWarning])),
    )


@claim("recall")
def recall_divides_by_what_is_positive(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    tp, fn, _, _ = _counts(y, predicted)
    sweep = metrics.threshold_sweep(y, np.random.default_rng([seed, 1]).random(len(y)))
    return every(
        formula=near(metrics.recall(y, predicted), tp / (tp + fn), tolerance=EXACT),
        peer=near(metrics.recall(y, predicted), peer.recall_score(y, predicted), tolerance=EXACT),
        sensitivity=near(metrics.sensitivity(y, predicted), tp / (tp + fn), tolerance=EXACT),
        falls_with_the_threshold=below(float(np.diff(sweep["recall"]).max()), EXACT),
        from_all_to_none=equal((sweep["recall"][0], sweep["recall"][-1]), (1.0, 0.0)),
    )


@claim("specificity")
def specificity_is_recall_of_the_negatives(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    _, _, fp, tn = _counts(y, predicted)
    specificity = metrics.specificity(y, predicted)
    fpr, _, thresholds = metrics.roc_curve(y, predicted)
    return every(
        formula=near(specificity, tn / (tn + fp), tolerance=EXACT),
        swapped=near(specificity, metrics.recall(1 - y, 1 - predicted), tolerance=EXACT),
        one_minus_fpr=near(specificity, 1 - fpr[thresholds == 1][0], tolerance=EXACT),
    )


@claim("negative-predictive-value")
def npv_is_precision_of_the_negatives(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    _, fn, _, tn = _counts(y, predicted)
    npv = metrics.negative_predictive_value(y, predicted)
    return every(
        formula=near(npv, tn / (tn + fn), tolerance=EXACT),
        swapped=near(npv, metrics.precision(1 - y, 1 - predicted), tolerance=EXACT),
    )


@claim("f1-score")
def f1_is_the_harmonic_mean_and_dice(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    tp, fn, fp, _ = _counts(y, predicted)
    f1 = metrics.f1(y, predicted)
    p, r = metrics.precision(y, predicted), metrics.recall(y, predicted)
    return every(
        formula=near(f1, 2 * tp / (2 * tp + fn + fp), tolerance=EXACT),
        harmonic=near(f1, 2 / (1 / p + 1 / r), tolerance=EXACT),
        beta_one=near(f1, metrics.fbeta(y, predicted, beta=1.0), tolerance=EXACT),
        dice=near(f1, metrics.dice(y, predicted), tolerance=EXACT),
        peer=near(f1, peer.f1_score(y, predicted), tolerance=EXACT),
    )


@claim("f-beta-score")
def f_beta_weights_recall(seed: int) -> Verdict:
    notes = atlas.row("f-beta-score").values
    y, predicted = _labels(seed)
    p, r = metrics.precision(y, predicted), metrics.recall(y, predicted)
    f_scores = [metrics.fbeta(y, predicted, beta=beta) for beta in (0.5, 2.0, 3.0)]
    example = _sets(notes["tp"], notes["fp"], notes["fn"])
    f2 = metrics.fbeta(*example, beta=2.0)
    P, R = metrics.precision(*example), metrics.recall(*example)
    truth = every(
        formula=near(f_scores, [(1 + b * b) * p * r / (b * b * p + r) for b in (0.5, 2.0, 3.0)], tolerance=EXACT),
        peer=near(f_scores, [peer.fbeta_score(y, predicted, beta=b) for b in (0.5, 2.0, 3.0)], tolerance=EXACT),
        f2=near(f2, notes["f2"], tolerance=EXACT),
        harmonic_mean=near(2 * P * R / (P + R), notes["harmonic"], tolerance=5e-4),
    )
    return corrected(truth, printed=near(f2, 2 * P * R / (P + R), tolerance=0.01))


@claim("iou-jaccard")
def overlap_over_union(seed: int) -> Verdict:
    y, predicted = _labels(seed)
    tp, fn, fp, _ = _counts(y, predicted)
    pixels = np.zeros((2, 12, 12), dtype=bool)  # boxes drawn on a grid, one cell a unit
    pixels[0, 2:7, 1:9] = True
    pixels[1, 4:11, 5:12] = True
    return every(
        formula=near(metrics.iou(y, predicted), tp / (tp + fp + fn), tolerance=EXACT),
        labels=near(metrics.jaccard(y, predicted), tp / (tp + fp + fn), tolerance=EXACT),
        peer=near(metrics.jaccard(y, predicted), peer.jaccard_score(y, predicted), tolerance=EXACT),
        boxes=near(metrics.box_iou((1, 2, 9, 7), (5, 4, 12, 11)), metrics.iou(*pixels), tolerance=EXACT),
        same_and_disjoint=equal((metrics.iou(y, y), metrics.iou(y, 1 - y)), (1.0, 0.0)),
        apart=equal(metrics.box_iou((0, 0, 1, 1), (2, 2, 3, 3)), 0.0),
    )


@claim("dice-score-versus-iou")
def dice_counts_the_overlap_twice(seed: int) -> Verdict:
    notes = atlas.row("dice-score-versus-iou").values
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 30, 30)) < 0.4
    iou, dice = metrics.iou(a, b), metrics.dice(a, b)
    example = _sets(notes["tp"], notes["fp"], notes["fn"])
    counts = notes["tp"], notes["fp"], notes["fn"]
    truth = every(
        by_iou=near(dice, 2 * iou / (1 + iou), tolerance=EXACT),
        f1=near(dice, metrics.f1(a.ravel().astype(int), b.ravel().astype(int)), tolerance=EXACT),
        example=near(metrics.dice(*example), notes["dice"], tolerance=5e-4),
        example_iou=near(metrics.iou(*example), notes["iou"], tolerance=EXACT),
    )
    printed = counts[0] / (2 * counts[0] + counts[1] + counts[2])
    return corrected(
        every(truth=truth, as_quoted=near(printed, notes["printed"], tolerance=5e-4)),
        printed=near(metrics.dice(*example), printed, tolerance=0.01),
    )


@claim("hausdorff-distance")
def hausdorff_is_a_metric_on_compact_sets(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, B, C = rng.normal(size=(40, 3)), rng.normal(size=(25, 3)) + 1, 2 * rng.normal(size=(30, 3))
    d = metrics.hausdorff
    one_sided = [directed_hausdorff(A, B)[0], directed_hausdorff(B, A)[0]]
    return every(
        peer=near(d(A, B), max(one_sided), tolerance=EXACT),
        symmetric=near(d(A, B), d(B, A), tolerance=EXACT),
        zero=equal(d(A, A[::-1]), 0.0),
        triangle=below(d(A, C), d(A, B) + d(B, C) + EXACT),
        a_part_is_not_the_whole=equal(d([[0.0]], [[0.0], [9.0]]), 9.0),
    )
