"""The board: order, intervals with the corrected variance, failures as rows."""

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from margin.selection import Candidate, Trial, board, compare, corrected_interval


def trial(model, fold, score, error=""):
    return Trial(model, fold, {} if error else {"accuracy": score}, 1.0, 0.5, 80, 20, error)


def test_interval_is_wider_than_the_naive_one():
    scores = [0.8, 0.9, 0.85, 0.82, 0.88]
    mean, low, high = corrected_interval(scores, n_train=80, n_test=20)
    naive = stats.t.interval(0.95, 4, np.mean(scores), stats.sem(scores))
    assert mean == pytest.approx(0.85)
    assert low < naive[0]
    assert high > naive[1]
    assert (high - low) / (naive[1] - naive[0]) == pytest.approx(np.sqrt((1 / 5 + 0.25) / (1 / 5)))


def test_intervals_end_at_the_bounds_of_the_metric():
    trials = [trial("good", fold, score) for fold, score in enumerate([0.9, 1.0, 1.0])]
    (row,) = board(trials, "accuracy", greater_is_better=True, bounds=(0.0, 1.0))
    assert (row.low > 0.5, row.high) == (True, 1.0)


def test_order_and_failures():
    trials = [trial("good", f, 0.9 + 0.01 * f) for f in range(3)] + [trial("poor", f, 0.5) for f in range(3)]
    trials += [trial("broken", 0, 0.99), trial("broken", 1, 0, error="ValueError: no")]
    up = board(trials, "accuracy", greater_is_better=True)
    assert [row.model for row in up] == ["good", "poor", "broken"]
    assert up[2].error == "ValueError: no"
    assert np.isnan(up[2].mean)
    down = board(trials, "accuracy", greater_is_better=False)
    assert [row.model for row in down] == ["poor", "good", "broken"]


class Failing(DummyClassifier):
    def fit(self, X, y):
        raise ValueError("first line\nsecond line")


def measure(model, X, y):
    return {"accuracy": float(np.mean(model.predict(X) == y))}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compare_runs_every_fold_once_and_survives_failures(n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    candidates = [Candidate("logistic", LogisticRegression), Candidate("failing", Failing)]
    trials = list(compare(candidates, X, y, folds, measure, n_jobs=n_jobs))
    assert sorted((t.model, t.fold) for t in trials) == [(m, f) for m in ("failing", "logistic") for f in (0, 1)]
    assert {t.error for t in trials if t.model == "failing"} == {"ValueError: first line"}
    assert all(t.scores["accuracy"] > 0.8 for t in trials if t.model == "logistic")
    rest = list(compare(candidates, X, y, folds, measure, done={("logistic", 0), ("failing", 0)}, n_jobs=n_jobs))
    assert sorted((t.model, t.fold) for t in rest) == [("failing", 1), ("logistic", 1)]
