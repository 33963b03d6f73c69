"""Label, probability and ranking metrics against scikit-learn and against counting by hand."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from margin import metrics

AVERAGES = ("micro", "macro", "weighted", None)


def labels(seed, n=60, k=4, words=False, weighted=False):
    rng = np.random.default_rng(seed)
    names = np.array(["ant", "bee", "cat", "dog", "eel"])[:k] if words else np.arange(k)
    y, p = rng.integers(0, k, n), rng.integers(0, k, n)
    p = np.where(rng.uniform(size=n) < 0.5, y, p)
    w = rng.integers(0, 4, n) + 0.5 if weighted else None
    return names[y], names[p], w


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_label_metrics_equal_scikit_learn(seed, words, weighted):
    y, p, w = labels(seed, words=words, weighted=weighted)
    np.testing.assert_allclose(metrics.accuracy(y, p, w), oracle.accuracy_score(y, p, sample_weight=w))
    np.testing.assert_allclose(
        metrics.balanced_accuracy(y, p, w), oracle.balanced_accuracy_score(y, p, sample_weight=w)
    )
    np.testing.assert_allclose(metrics.matthews(y, p, w), oracle.matthews_corrcoef(y, p, sample_weight=w), rtol=1e-10)
    order = list(np.unique(y))[::-1]
    for chosen in (None, order, order[:2]):
        np.testing.assert_allclose(
            metrics.confusion_matrix(y, p, chosen, w), oracle.confusion_matrix(y, p, labels=chosen, sample_weight=w)
        )
    for average in AVERAGES:
        shared = {"average": average, "sample_weight": w, "zero_division": 0}
        np.testing.assert_allclose(metrics.precision(y, p, **shared), oracle.precision_score(y, p, **shared))
        np.testing.assert_allclose(metrics.recall(y, p, **shared), oracle.recall_score(y, p, **shared))
        np.testing.assert_allclose(metrics.f1(y, p, **shared), oracle.f1_score(y, p, **shared))
        np.testing.assert_allclose(
            metrics.fbeta(y, p, beta=0.5, **shared), oracle.fbeta_score(y, p, beta=0.5, **shared)
        )


@pytest.mark.parametrize(("y", "p"), [([0, 0], [0, 0]), ([0, 1], [0, 0]), ([1, 1], [0, 0]), ([1, 1], [1, 1])])
def test_degenerate_binary_labels(y, p):
    for ours, theirs in ((metrics.precision, oracle.precision_score), (metrics.recall, oracle.recall_score)):
        for zero in (0.0, 1.0):
            assert ours(y, p, zero_division=zero) == theirs(y, p, zero_division=zero)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert metrics.matthews(y, p) == oracle.matthews_corrcoef(y, p)


def test_nothing_called_positive_warns():
    with pytest.warns(RuntimeWarning, match="precision: nothing to divide by"):
        assert metrics.precision([1, 0], [0, 0]) == 0.0


def test_binary_metrics_by_counting():
    y = [1] * 50 + [0] * 40
    p = [1] * 30 + [0] * 20 + [1] * 10 + [0] * 30  # TP 30, FN 20, FP 10, TN 30
    assert metrics.precision(y, p) == 0.75
    assert metrics.recall(y, p) == metrics.sensitivity(y, p) == 0.6
    assert metrics.specificity(y, p) == 0.75
    assert metrics.negative_predictive_value(y, p) == 0.6
    assert metrics.f1(y, p) == pytest.approx(2 / 3)
    assert metrics.fbeta(y, p, beta=2) == 0.625
    assert metrics.specificity(y, p) == metrics.recall(y, p, pos_label=0)
    assert metrics.negative_predictive_value(y, p) == metrics.precision(y, p, pos_label=0)
    assert metrics.dice(y, p) == pytest.approx(metrics.f1(y, p))
    assert metrics.iou(y, p) == 0.5


def test_the_positive_label():
    assert metrics.recall(["no", "yes"], ["no", "no"], zero_division=0) == 0.0  # the larger word
    assert metrics.recall(["no", "yes"], ["no", "no"], pos_label="no") == 1.0
    assert metrics.recall([-1, 1, 1], [-1, 1, -1]) == 0.5
    assert metrics.recall([True, False], [True, True]) == 1.0
    with pytest.raises(ValueError, match="pos_label 3 does not occur"):
        metrics.recall([0, 1], [0, 1], pos_label=3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("levels", [3, 1000])  # few levels: many ties
def test_ranking_equals_scikit_learn(levels, weighted):
    rng = np.random.default_rng(levels)
    y = rng.integers(0, 2, 200)
    s = (rng.integers(0, levels, 200) + levels * 0.3 * y) // 1
    w = rng.uniform(0.1, 2, 200) if weighted else None
    ours = metrics.roc_curve(y, s, sample_weight=w)
    for a, b in zip(ours, oracle.roc_curve(y, s, sample_weight=w, drop_intermediate=False)):
        np.testing.assert_allclose(a, b, atol=1e-12)
    for a, b in zip(
        metrics.precision_recall_curve(y, s, sample_weight=w), oracle.precision_recall_curve(y, s, sample_weight=w)
    ):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_allclose(metrics.roc_auc(y, s, sample_weight=w), oracle.roc_auc_score(y, s, sample_weight=w))
    np.testing.assert_allclose(
        metrics.average_precision(y, s, sample_weight=w), oracle.average_precision_score(y, s, sample_weight=w)
    )


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
)
def test_auc_counts_ordered_pairs_and_half_the_ties(positives, negatives):
    wins = sum((a > b) + 0.5 * (a == b) for a, b in itertools.product(positives, negatives))
    area = metrics.roc_auc([1] * len(positives) + [0] * len(negatives), positives + negatives)
    assert area == pytest.approx(wins / (len(positives) * len(negatives)), abs=1e-12)


@pytest.mark.parametrize("words", [False, True])
def test_one_against_the_rest(words):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 150)
    names = np.array(["x", "y", "z"]) if words else np.arange(3)
    proba = rng.dirichlet(np.ones(3) + 0.0, 150) + 0.5 * np.eye(3)[codes]
    proba /= proba.sum(axis=1, keepdims=True)
    for average in ("macro", "weighted"):
        np.testing.assert_allclose(
            metrics.roc_auc(names[codes], proba, average=average),
            oracle.roc_auc_score(names[codes], proba, multi_class="ovr", average=average),
        )
    np.testing.assert_allclose(
        metrics.average_precision(codes, proba), oracle.average_precision_score(np.eye(3)[codes], proba)
    )
    np.testing.assert_allclose(metrics.roc_auc(codes > 0, proba[:, :2], labels=[True, False]),
                               oracle.roc_auc_score(codes == 0, proba[:, 1]))  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_probability_scores_equal_scikit_learn(dtype, weighted):
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, 80)
    proba = rng.dirichlet(np.ones(3), 80).astype(dtype)
    proba[:2] = np.eye(3)[(codes[:2] + 1) % 3]  # certain and wrong
    w = rng.uniform(0.1, 2, 80) if weighted else None
    rtol = 1e-12 if dtype == np.float64 else 1e-6
    np.testing.assert_allclose(
        metrics.log_loss(codes, proba, sample_weight=w), oracle.log_loss(codes, proba, sample_weight=w), rtol=rtol
    )
    np.testing.assert_allclose(
        metrics.brier(codes, proba, sample_weight=w), oracle.brier_score_loss(codes, proba, sample_weight=w), rtol=rtol
    )
    y, p = codes > 0, proba[:, 0].astype(np.float64)
    np.testing.assert_allclose(metrics.log_loss(y, p, sample_weight=w), oracle.log_loss(y, p, sample_weight=w))
    np.testing.assert_allclose(metrics.brier(y, p, sample_weight=w), oracle.brier_score_loss(y, p, sample_weight=w))
    for k in (1, 2):
        np.testing.assert_allclose(
            metrics.top_k_accuracy(codes, proba, k=k, sample_weight=w),
            oracle.top_k_accuracy_score(codes, proba, k=k, sample_weight=w),
        )


def test_labels_name_the_columns_of_a_class_that_does_not_occur():
    proba = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]
    wanted = -np.mean(np.log([0.7, 0.8]))
    assert metrics.log_loss(["a", "b"], proba, labels=["a", "b", "c"]) == pytest.approx(wanted)
    with pytest.raises(ValueError, match="2 classes and score 3 columns; give labels"):
        metrics.log_loss(["a", "b"], proba)
    with pytest.raises(ValueError, match="'d', which is not among labels"):
        metrics.log_loss(["a", "d"], proba, labels=["a", "b", "c"])


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibration_bins_equal_scikit_learn(strategy):
    from sklearn.calibration import calibration_curve

    rng = np.random.default_rng(8)
    p = rng.uniform(size=500)
    y = (rng.uniform(size=500) < p**2).astype(int)
    bins = metrics.calibration_bins(y, p, n_bins=7, strategy=strategy)
    frequency, confidence = calibration_curve(y, p, n_bins=7, strategy=strategy)
    np.testing.assert_allclose(bins.frequency, frequency)
    np.testing.assert_allclose(bins.confidence, confidence)
    assert bins.weight.sum() == 500


def test_calibration_error():
    # Four rows at 0.9 of which three are positive, six at 0.2 of which none is: (4 * 0.15 + 6 * 0.2) / 10.
    y, p = [1, 1, 1, 0] + [0] * 6, [0.9] * 4 + [0.2] * 6
    assert metrics.expected_calibration_error(y, p) == pytest.approx(0.18)
    both = np.column_stack([1 - np.array(p), p])
    assert metrics.expected_calibration_error(y, both) == pytest.approx(0.18)
    # With three classes the likeliest one counts: confidence 0.6, right half of the time.
    assert metrics.expected_calibration_error([0, 1, 2], [[0.6, 0.2, 0.2]] * 3) == pytest.approx(0.6 - 1 / 3)


def test_mcfadden():
    y = np.array([0, 0, 0, 1])
    assert metrics.mcfadden_r2(y, np.full(4, 0.25)) == pytest.approx(0.0, abs=1e-12)
    assert metrics.mcfadden_r2(y, y.astype(float)) == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(metrics.UndefinedMetricError):
        metrics.mcfadden_r2([1, 1], [0.5, 0.5])


def test_precision_may_fall_as_the_threshold_rises_but_recall_never_rises():
    sweep = metrics.threshold_sweep([1, 0, 1, 1], [0.9, 0.95, 0.6, 0.4], thresholds=[0.3, 0.5, 0.7, 0.92])
    np.testing.assert_allclose(sweep["precision"], [3 / 4, 2 / 3, 1 / 2, 0])
    np.testing.assert_allclose(sweep["recall"], [1, 2 / 3, 1 / 3, 0])


@given(st.integers(0, 10**6))
def test_sweep_against_counting(seed):
    rng = np.random.default_rng(seed)
    y, s = np.append(rng.integers(0, 2, 20), [0, 1]), rng.integers(0, 6, 22) / 5
    sweep = metrics.threshold_sweep(y, s)
    for i, threshold in enumerate(sweep["threshold"]):
        called = (s > threshold).astype(int)
        assert sweep["recall"][i] == oracle.recall_score(y, called)
        assert sweep["precision"][i] == oracle.precision_score(y, called, zero_division=0)
        assert sweep["accuracy"][i] == pytest.approx(oracle.accuracy_score(y, called))
    threshold, cost = metrics.best_threshold(y, s, cost_false_positive=3, cost_false_negative=1)
    costs = [np.mean(3 * (y == 0) * (s > t) + (y == 1) * (s <= t)) for t in sweep["threshold"]]
    assert cost == pytest.approx(min(costs))
    assert np.mean(3 * (y == 0) * (s > threshold) + (y == 1) * (s <= threshold)) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.accuracy([1, 2], [1]), "equal length"),
        (lambda: metrics.accuracy([], []), "non-empty"),
        (lambda: metrics.accuracy(["a"], [1]), "mix numbers and strings"),
        (lambda: metrics.accuracy([None, "a"], ["a", "a"]), "missing labels"),
        (lambda: metrics.accuracy([np.nan], [1.0]), "finite"),
        (lambda: metrics.precision([0, 1, 2], [0, 1, 2]), "choose another average"),
        (lambda: metrics.precision([0, 1], [0, 1], average="mean"), "average must be"),
        (lambda: metrics.fbeta([0, 1], [0, 1], beta=-1), "beta"),
        (lambda: metrics.roc_auc([1, 1], [0.1, 0.2]), "each class must occur"),
        (lambda: metrics.roc_auc([0, 1, 2], [0.1, 0.2, 0.3]), "two classes"),
        (lambda: metrics.roc_auc([0, 1], [0.1, np.inf]), "finite"),
        (lambda: metrics.log_loss([0, 1], [0.1, 1.2]), r"lie in \[0, 1\]"),
        (lambda: metrics.log_loss([0, 1], [[0.1, 0.2], [0.5, 0.5]]), "sum to 1"),
        (lambda: metrics.brier([0, 1, 0], [0.1, 0.2]), "equal length"),
        (lambda: metrics.top_k_accuracy([0, 1], [[0.5, 0.5]] * 2, k=3), "k must be between"),
        (lambda: metrics.confusion_matrix([0, 1], [0, 1], labels=[0, 0]), "different labels"),
        (lambda: metrics.confusion_matrix([0, 1], [0, 1], labels=[7]), "none of labels"),
        (lambda: metrics.calibration_bins([0, 1], [0.1, 0.2], n_bins=0), "n_bins"),
        (lambda: metrics.iou([0, 2], [0, 1]), "0 and 1"),
        (lambda: metrics.dice([0, 1], [0]), "equal shapes"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert str(caught.value).endswith(".")
