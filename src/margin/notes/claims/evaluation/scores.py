"""Claims about scores and thresholds: the ROC curve, the area under it, and what it does not see; R squared."""

from __future__ import annotations

import numpy as np
from sklearn import metrics as peer

from margin import metrics
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data import load
from margin.linear import LinearRegression, LogisticRegression
from margin.notes import atlas
from margin.notes.claims import claim
from margin.selection.linearity import linearity_check

EXACT = 1e-12


def _scores(seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores with ties; positives score higher on average."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3 == 0).astype(int)
    return y, np.round(rng.normal(size=n) + 1.2 * y, 1)


@claim("decision-threshold")
def recall_falls_and_precision_may(seed: int) -> Verdict:
    notes = atlas.row("decision-threshold").values
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=200) > 0.3).astype(int)
    model = LogisticRegression().fit(X, y)
    probability = model.predict_proba(X)[:, 1]
    sweep = metrics.threshold_sweep(y, probability)
    threshold, cost = metrics.best_threshold(y, probability, cost_false_positive=5.0)
    at_half = metrics.cost_at_threshold(y, probability, 0.5, cost_false_positive=5.0)
    example = metrics.threshold_sweep(notes["labels"], notes["scores"], [0.0, 0.5, 0.7, 0.95])
    truth = every(
        half_is_the_sign=equal(probability > 0.5, model.decision_function(X) > 0),
        recall_falls=below(float(np.diff(sweep["recall"]).max()), EXACT),
        precision_gained=above(float(sweep["precision"][:-1].max() - sweep["precision"][0]), 0.1),
        dear_false_positives=above(threshold, 0.5),
        cost_of_the_best=below(cost, at_half + EXACT),
        example=near(example["precision"], notes["precision"], tolerance=0.005),
    )
    return corrected(truth, printed=above(float(np.diff(example["precision"]).min()), -EXACT))


@claim("claim-lower-threshold-raises-tpr-and-fpr")
def both_rates_fall_with_the_threshold(seed: int) -> Verdict:
    y, _ = _scores(seed)
    s = np.random.default_rng([seed, 1]).normal(size=len(y))
    cuts = np.linspace(-3, 3, 61)
    sweep = metrics.threshold_sweep(y, s, cuts)
    by_hand = np.array([[np.mean(s[y == label] > cut) for cut in cuts] for label in (1, 0)])
    return every(
        rates=near(np.array([sweep["recall"], sweep["false_positive_rate"]]), by_hand, tolerance=EXACT),
        true_positive_rate=below(float(np.diff(sweep["recall"]).max()), EXACT),
        false_positive_rate=below(float(np.diff(sweep["false_positive_rate"]).max()), EXACT),
        and_they_move=above(float(sweep["recall"][0] - sweep["recall"][-1]), 0.9),
    )


@claim("roc-curve")
def from_the_origin_to_one_one(seed: int) -> Verdict:
    y, s = _scores(seed)
    fpr, tpr, thresholds = metrics.roc_curve(y, s)
    theirs = peer.roc_curve(y, s, drop_intermediate=False)
    return every(
        peer=near(np.array([fpr, tpr]), np.array(theirs[:2]), tolerance=EXACT),
        thresholds=equal(thresholds, theirs[2]),
        ends=equal((fpr[0], tpr[0], fpr[-1], tpr[-1]), (0.0, 0.0, 1.0, 1.0)),
    )


@claim("auc")
def the_area_counts_pairs(seed: int) -> Verdict:
    y, s = _scores(seed)
    fpr, tpr, _ = metrics.roc_curve(y, s)
    above_, tied, below_ = metrics.pair_count(y, s)
    brute = np.sign(s[y == 1][:, None] - s[y == 0])
    area = metrics.roc_auc(y, s)
    constant = np.ones(len(y))
    strict = metrics.pair_count(y, constant)
    truth = every(
        pairs=equal((above_, tied, below_), tuple(int(np.sum(brute == sign)) for sign in (1, 0, -1))),
        ties_occur=above(tied, 10),
        by_pairs=near(area, (above_ + tied / 2) / (above_ + tied + below_), tolerance=EXACT),
        trapezoid=near(area, float(np.trapezoid(tpr, fpr)), tolerance=EXACT),
        peer=near(area, peer.roc_auc_score(y, s), tolerance=EXACT),
        all_equal=near(metrics.roc_auc(y, constant), 0.5, tolerance=EXACT),
    )
    return corrected(truth, printed=near(metrics.roc_auc(y, constant), strict[0] / sum(strict), tolerance=0.1))


@claim("claim-auc-scale-invariant")
def the_area_sees_the_order_only(seed: int) -> Verdict:
    y, _ = _scores(seed, 400)
    s = np.random.default_rng([seed, 1]).normal(size=len(y)) + 1.5 * y
    p = 1 / (1 + np.exp(-(1.5 * s - 1.125 - np.log(2))))  # the true probabilities
    worse = p**4
    return every(
        rescaled=near(metrics.roc_auc(y, np.exp(3 * s)), metrics.roc_auc(y, s), tolerance=EXACT),
        same_area=near(metrics.roc_auc(y, worse), metrics.roc_auc(y, p), tolerance=EXACT),
        log_loss_worse=above(metrics.log_loss(y, worse), metrics.log_loss(y, p) + 0.05),
        calibration_worse=above(
            metrics.expected_calibration_error(y, worse), metrics.expected_calibration_error(y, p) + 0.05
        ),
    )


@claim("claim-auc-threshold-invariant")
def equal_areas_and_another_start() -> Verdict:
    y = np.repeat([1, 0], [4, 100])
    sure = np.concatenate([[101, 100, 40, 39], np.arange(100)])  # two positives above all, two far below
    middle = np.concatenate([[96.5, 95.5, 43.5, 42.5], np.arange(100)])  # four others below the best negatives
    areas = metrics.roc_auc(y, sure), metrics.roc_auc(y, middle)
    cost = {"cost_false_positive": 50.0, "cost_false_negative": 1.0}
    threshold, least = metrics.best_threshold(y, sure, **cost)
    return every(
        equal_areas=near(areas[0], areas[1], tolerance=EXACT),
        rare_false_positives=equal([metrics.recall_at_fpr(y, s, 0.0) for s in (sure, middle)], [0.5, 0.0]),
        at_one_percent=above(metrics.recall_at_fpr(y, sure, 0.01), metrics.recall_at_fpr(y, middle, 0.01) + 0.4),
        chosen_by_cost=near(metrics.cost_at_threshold(y, sure, threshold, **cost), least, tolerance=EXACT),
        cheaper_than_the_middle=below(least, metrics.cost_at_threshold(y, sure, 50.0, **cost)),
    )


@claim("claim-high-auc-low-accuracy")
def a_threshold_in_the_wrong_place() -> Verdict:
    notes = atlas.row("claim-high-auc-low-accuracy").values
    y, s = np.array([0, 1, 1, 1]), np.array([0.1, 0.2, 0.3, 0.4])
    called = (s > 0.5).astype(int)
    threshold, _ = metrics.best_threshold(y, s)
    recalls = metrics.recall(y, called), metrics.specificity(y, called)
    truth = every(
        area=near(metrics.roc_auc(y, s), notes["auc"], tolerance=EXACT),
        accuracy=near(metrics.accuracy(y, called), notes["accuracy"], tolerance=EXACT),
        recalls=near(recalls, (notes["recall"], notes["specificity"]), tolerance=EXACT),
        moved=equal(metrics.accuracy(y, (s > threshold).astype(int)), 1.0),
        other_way=equal(metrics.specificity(1 - y, (s[::-1] + 0.5 > 0.5).astype(int)), 0.0),
    )
    return corrected(truth, printed=above(recalls[0], recalls[1]))


@claim("r-squared")
def three_forms_agree_on_training_rows_of_least_squares(seed: int) -> Verdict:
    notes = atlas.row("r-squared").values
    patients = load("cholesterol")
    assert patients.split is not None
    assert patients.y is not None
    X, y, (train, test) = np.asarray(patients.X), patients.y, patients.split
    model = LinearRegression().fit(X[train], y[train])
    forms = (metrics.r2, metrics.explained_ratio, metrics.squared_correlation)
    on_train = [form(y[train], model.predict(X[train])) for form in forms]
    on_test = [form(y[test], model.predict(X[test])) for form in forms]
    rng = np.random.default_rng(seed)
    Z, t = rng.normal(size=(50, 5)), rng.normal(size=50)
    many = [form(t, LinearRegression().fit(Z, t).predict(Z)) for form in forms]
    truth = every(
        train=near(on_train, [notes["train"]] * 3, tolerance=1e-5),
        test=near(on_test, notes["test"], tolerance=5e-5),
        any_number_of_features=near(many, [many[0]] * 3, tolerance=1e-10),
        peer=near(on_test[0], peer.r2_score(y[test], model.predict(X[test])), tolerance=EXACT),
    )
    return corrected(truth, printed=near(on_test[1:], [on_test[0]] * 2, tolerance=1e-3))


@claim("pseudo-r-squared")
def mcfadden_compares_log_likelihoods(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = (rng.random(300) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    p = LogisticRegression(C=np.inf).fit(X, y).predict_proba(X)
    frequencies = np.tile([1 - y.mean(), y.mean()], (300, 1))
    of_row = np.log(p[np.arange(300), y]).sum()
    null = np.log(frequencies[np.arange(300), y]).sum()
    return every(
        formula=near(metrics.mcfadden_r2(y, p), 1 - of_row / null, tolerance=1e-10),
        null_model=near(metrics.mcfadden_r2(y, frequencies), 0.0, tolerance=EXACT),
        explains_some=above(metrics.mcfadden_r2(y, p), 0.1),
        below_one=below(metrics.mcfadden_r2(y, p), 1.0),
    )


@claim("practice-linearity-check")
def a_spline_tells_a_sine_from_a_line(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 6, 120)
    noise = 0.2 * rng.normal(size=120)
    straight, curved = linearity_check(x, 1 + 0.5 * x + noise), linearity_check(x, np.sin(x) + noise)
    return every(
        line_is_enough=above(straight.p_value, 1e-6),
        little_to_gain=below(straight.spline_r2 - straight.linear_r2, 0.03),
        sine_is_not_a_line=below(curved.p_value, 1e-12),
        much_to_gain=above(curved.spline_r2 - curved.linear_r2, 0.2),
    )
