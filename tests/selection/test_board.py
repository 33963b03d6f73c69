"""The board: order, intervals with the corrected variance, failures as rows, ties, the corrected paired test."""

import numpy as np
import pytest
from scipy import stats

from margin.metrics import metric
from margin.selection import Trial, board, corrected_interval

ACCURACY, RMSE = metric("accuracy"), metric("rmse")


def trial(model, fold, score, error="", **more):
    scores = {} if error else {"accuracy": score, "rmse": score}
    return Trial(model, fold, scores, 1.0, 0.5, 80, 20, error, **more)


def folds(model, *scores, **more):
    return [trial(model, fold, score, **more) for fold, score in enumerate(scores)]


def test_interval_is_wider_than_the_naive_one():
    scores = [0.8, 0.9, 0.85, 0.82, 0.88]
    mean, low, high = corrected_interval(scores, n_train=80, n_test=20)
    naive = stats.t.interval(0.95, 4, np.mean(scores), stats.sem(scores))
    assert mean == pytest.approx(0.85)
    assert low < naive[0]
    assert high > naive[1]
    assert (high - low) / (naive[1] - naive[0]) == pytest.approx(np.sqrt((1 / 5 + 0.25) / (1 / 5)))


def test_intervals_end_at_the_bounds_of_the_metric():
    (row,) = board(folds("good", 0.9, 1.0, 1.0), ACCURACY, n_folds=3)
    assert (row.low > 0.5, row.high) == (True, 1.0)


def test_order_and_failures():
    trials = folds("good", 0.90, 0.91, 0.92) + folds("poor", 0.5, 0.5, 0.5)
    trials += [trial("broken", 0, 0.99), trial("broken", 1, 0, error="ValueError: no")]
    up = board(trials, ACCURACY, n_folds=3, left_out={"large": "too many rows"})
    assert [(row.model, row.status) for row in up] == [
        ("good", "ranked"),
        ("poor", "ranked"),
        ("broken", "failed"),
        ("large", "left out"),
    ]
    assert up[2].error == "ValueError: no"
    assert np.isnan(up[2].mean)
    assert [row.model for row in board(trials, RMSE, n_folds=3)] == ["poor", "good", "broken"]


def test_a_metric_that_a_model_cannot_give_puts_it_below_with_the_reason():
    trials = folds("with", 0.9, 0.8)
    trials += [Trial("without", f, {}, 1, 1, 80, 20, reasons={"accuracy": "accuracy needs x"}) for f in (0, 1)]
    assert [(r.model, r.status, r.error) for r in board(trials, ACCURACY, n_folds=2)] == [
        ("with", "ranked", ""),
        ("without", "failed", "accuracy needs x"),
    ]


def test_models_with_some_folds_stand_below_those_with_all_once_the_board_is_final():
    trials = folds("whole", 0.7, 0.7) + folds("half", 0.9)
    assert [r.model for r in board(trials, ACCURACY, n_folds=2)] == ["whole", "half"]
    assert [r.model for r in board(trials, ACCURACY, n_folds=2, mixed=True)] == ["half", "whole"]


def test_who_has_folds_enough_stands_where_they_put_it_on_the_same_folds():
    whole, hard = folds("whole", 0.7, 0.5, 0.9), folds("poor", 0.6, 0.4, 0.8)
    better, worse = folds("better", 0.75, 0.55), [trial("worse", 0, 0.65), trial("worse", 2, 0.85)]
    rows = board([*whole, *hard, *better, *worse], ACCURACY, n_folds=3)
    assert [r.model for r in rows] == ["better", "whole", "worse", "poor"], "not by their means, 0.65 and 0.75"
    assert [r.status for r in rows] == ["partial", "ranked", "partial", "ranked"]
    errors = [*folds("whole", 3.0, 9.0), trial("half", 1, 8.0), trial("half", 2, 8.0), trial("whole", 2, 9.0)]
    assert [r.model for r in board(errors, RMSE, n_folds=3)] == ["half", "whole"]


def test_one_fold_of_many_rows_is_no_luck():
    many = [Trial("dear", 0, {"accuracy": 0.79}, 9.0, 0.1, 96_000, 24_000)]
    assert [r.model for r in board([*many, *folds("quick", 0.74, 0.74)], ACCURACY, n_folds=2)] == ["dear", "quick"]


def test_what_was_cut_shows_its_score_on_the_most_rows_below_the_others():
    small, large = (Trial("dear", 0, {"accuracy": s}, 1, 1, n, 20, stage="screen") for n, s in ((200, 0.6), (800, 0.7)))
    trials = [*folds("cheap", 0.6, 0.6), small, large, trial("late", 0, 0, error="took more than 3 s", late=True)]
    rows = board(trials, ACCURACY, n_folds=2, cut={"dear": "after 800 rows: dear", "never": "not reached"})
    assert [(r.model, r.status) for r in rows] == [
        ("cheap", "ranked"),
        ("dear", "cut"),
        ("late", "cut"),
        ("never", "cut"),
    ]
    assert (rows[1].mean, rows[1].n_train, rows[2].error) == (0.7, 800, "took more than 3 s")


def test_a_trial_given_up_at_the_end_of_a_budget_leaves_the_finished_folds():
    trials = [*folds("half", 0.9, 0.8), trial("half", 2, 0, error="took more than 3 s", late=True)]
    (row,) = board(trials, ACCURACY, n_folds=3)
    assert (row.status, row.folds) == ("partial", 2)


def test_ties_follow_the_corrected_paired_test():
    best, near, far = [0.90, 0.92, 0.91, 0.93], [0.89, 0.93, 0.90, 0.92], [0.80, 0.82, 0.81, 0.83]
    rows = board(folds("best", *best) + folds("near", *near) + folds("far", *far), ACCURACY, n_folds=4)
    assert [(r.model, r.tied) for r in rows] == [("best", False), ("near", True), ("far", False)]
    gaps = np.subtract(best, near)
    t = gaps.mean() / np.sqrt((1 / 4 + 20 / 80) * gaps.var(ddof=1))
    assert rows[1].p_value == pytest.approx(2 * stats.t.sf(abs(t), 3))
