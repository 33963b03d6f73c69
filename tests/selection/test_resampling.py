"""Splits of arrays, cross-validation against scikit-learn, nested search, the corrected test, diagnosis."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge as PeerRidge
from sklearn.model_selection import GridSearchCV, cross_val_score

from margin.data import random_folds
from margin.linear import LinearRegression, Ridge
from margin.selection import (
    HeldOut,
    best_of_many,
    corrected_paired_test,
    cross_validate,
    diagnose,
    generalization_gap,
    learning_curve,
    nested_cross_validate,
    overfitting_starts,
    repeated_folds,
    train_test_split,
)
from margin.selection.linearity import linearity_check


def table(seed=0, n=80, p=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] + 0.5 * rng.normal(size=n)


def test_split_keeps_frames_and_rows_together():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": np.arange(20), "b": list("xy") * 10})
    train, test, y_train, y_test = train_test_split(frame, np.arange(20), stratify=frame["b"], random_state=0)
    assert (train["a"].to_numpy() == y_train).all()
    assert sorted([*y_train, *y_test]) == list(range(20))
    assert test["b"].value_counts().max() - test["b"].value_counts().min() <= 1


def test_split_mistakes():
    with pytest.raises(ValueError, match="equal length"):
        train_test_split([1, 2], [1])
    with pytest.raises(ValueError, match="needs shuffle"):
        train_test_split([1, 2, 3], shuffle=False, stratify=[0, 0, 1])
    with pytest.raises(ValueError, match="at least one array"):
        train_test_split()
    with pytest.warns(UserWarning, match="one part only"):
        train_test_split(np.repeat([0, 1], 20), shuffle=False, test_size=0.5)


@pytest.mark.parametrize("metric", ["mse", "r2"])
def test_cross_validation_equals_scikit_learn(metric):
    X, y = table()
    folds = list(random_folds(len(y), 5, 1))
    ours = cross_validate(Ridge(2.0), X, y, folds, metric_name=metric)
    scoring = {"mse": "neg_mean_squared_error", "r2": "r2"}[metric]
    theirs = cross_val_score(PeerRidge(2.0), X, y, cv=folds, scoring=scoring) * (-1 if metric == "mse" else 1)
    np.testing.assert_allclose(ours.scores, theirs)
    low, high = ours.interval()
    assert low < ours.mean < high
    assert ours.model is None


def test_nested_search_equals_a_grid_search_per_fold():
    X, y = table(p=20, n=50)
    grid = {"alpha": [0.01, 1.0, 100.0]}
    found = nested_cross_validate(Ridge(), grid, X, y, metric_name="mse", outer=3, inner=4, random_state=5)
    rng = np.random.Generator(np.random.PCG64(5))
    expected, chosen = [], []
    for train, test in random_folds(len(y), 3, rng):
        folds = list(random_folds(len(train), 4, rng))
        search = GridSearchCV(PeerRidge(), grid, cv=folds, scoring="neg_mean_squared_error").fit(X[train], y[train])
        expected.append(np.mean((search.predict(X[test]) - y[test]) ** 2))
        chosen.append(search.best_params_)
    np.testing.assert_allclose(found.outer, expected)
    assert list(found.chosen) == chosen
    assert found.optimism == pytest.approx(found.outer.mean() - found.inner.mean())


def test_repeated_folds_hold_each_row_out_once_per_repeat():
    y = np.arange(30) % 3
    pairs = repeated_folds(y, 5, 4, stratify=True, seed=2)
    assert len(pairs) == 20
    held = np.bincount(np.concatenate([test for _, test in pairs]), minlength=30)
    assert (held == 4).all()
    assert all(np.bincount(y[test]).tolist() == [2, 2, 2] for _, test in pairs)


def test_corrected_test_by_its_formula():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 10))
    found = corrected_paired_test(a, b, n_train=90, n_test=10)
    naive = stats.ttest_rel(a, b)
    assert found.statistic == pytest.approx(naive.statistic * np.sqrt(0.1 / (0.1 + 1 / 9)))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(found.statistic), 9))
    assert corrected_paired_test([1.0, 1.0], [0.0, 0.0], 9, 1).p_value == 0.0
    with pytest.raises(ValueError, match="equal lists"):
        corrected_paired_test([1.0], [1.0], 9, 1)


def test_held_out_rows_count_their_uses():
    X, y = table()
    test, model = HeldOut(X, y, "mse"), LinearRegression().fit(X, y)
    assert test.score(model) == pytest.approx(np.mean((model.predict(X) - y) ** 2))
    with pytest.warns(UserWarning, match=r"2\. time"):
        test.score(model)
    assert test.uses == 2


def test_best_of_one_is_honest():
    reported, again = best_of_many(0.3, 1, 500, repeats=500, random_state=0)
    assert reported.mean() == pytest.approx(0.3, abs=0.01)
    assert again.mean() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("errors", "word"),
    [((0.8, 0.9), "underfitting"), ((0.01, 0.5), "overfitting"), ((0.2, 0.3), "good fit"), ((0, 1e-9), "good fit")],
)
def test_diagnosis(errors, word):
    assert diagnose(*errors, baseline=1.0) == word


def test_overfitting_in_a_history():
    epochs = np.arange(30)
    assert overfitting_starts(1 / (1 + epochs), (epochs - 10.0) ** 2) == 10
    assert overfitting_starts(1 / (1 + epochs), 1 / (1 + epochs)) is None
    assert overfitting_starts(epochs, (epochs - 10.0) ** 2) is None, "training loss rises too"


def test_learning_curve_says_whether_rows_help():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    y = X @ rng.normal(size=40) + rng.normal(size=400)
    curve = learning_curve(Ridge(), X, y, metric_name="rmse", random_state=0)
    assert curve.train.shape == curve.validation.shape == (4, 5)
    assert curve.sizes.tolist() == [35, 70, 140, 280]
    assert curve.more_rows_help()
    assert (curve.train.mean(axis=1) < curve.validation.mean(axis=1)).all()
    constant = learning_curve(LinearRegression(), np.zeros((400, 1)), y, metric_name="rmse", random_state=0)
    assert not constant.more_rows_help()
    with pytest.raises(ValueError, match="must rise"):
        learning_curve(Ridge(), X, y, (0.5, 0.2), metric_name="rmse")


def test_gap_needs_a_loss():
    X, y = table()
    model = LinearRegression().fit(X[:20], y[:20])
    gap = generalization_gap(model, (X[:20], y[:20]), (X[20:], y[20:]))
    assert gap == pytest.approx(
        np.mean((model.predict(X[20:]) - y[20:]) ** 2) - np.mean((model.predict(X[:20]) - y[:20]) ** 2)
    )
    with pytest.raises(ValueError, match="falls as models improve"):
        generalization_gap(model, (X, y), (X, y), "r2")


def test_linearity():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 6, 80)
    assert linearity_check(x, 2 * x + rng.normal(size=80)).p_value > 0.001
    assert linearity_check(x, np.sin(x)).p_value < 1e-10
