"""Leaders put together, and settings found on training rows: against SciPy, scikit-learn and brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.linear_model import Ridge as ScikitRidge

import margin
from margin.bayes import GaussianNB
from margin.core.domains import Choice, Number
from margin.core.parameters import InvalidParameter
from margin.linear import LinearRegression, LogisticRegression, Ridge
from margin.metrics import metric
from margin.selection import corrected_interval
from margin.selection.ensembles import BlendClassifier, BlendRegressor, stacking_weights
from margin.selection.tuning import TunedModel, search_settings

IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("seed", range(4))
def test_stacking_weights_are_the_best_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=80)
    outputs = [truth + scale * rng.normal(size=80) for scale in (0.5, 0.6, 0.7)]  # none is left out
    weights = stacking_weights(outputs, truth)

    def loss(w):
        return np.mean((np.column_stack(outputs) @ w - truth) ** 2)

    oracle = minimize(
        loss,
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-12,
    )
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights, oracle.x, atol=1e-4)


def test_equal_members_and_a_useless_one():
    truth = np.arange(5.0)
    np.testing.assert_allclose(stacking_weights([truth, truth - 9], truth), [1, 0], atol=1e-6)
    assert stacking_weights([truth, truth], truth).sum() == pytest.approx(1)


def test_a_blend_votes_as_scikit_learn_does(tmp_path):
    X, y = IRIS
    members = [("nb", GaussianNB()), ("logistic", LogisticRegression())]
    ours = BlendClassifier(members, weights=np.array([0.3, 0.7])).fit(X, y)
    theirs = VotingClassifier(members, voting="soft", weights=[0.3, 0.7]).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    margin.save(ours, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "m.safetensors").predict_proba(X), ours.predict_proba(X))


def test_a_blend_of_numbers(tmp_path):
    X, y = IRIS
    members = [("ols", LinearRegression()), ("ridge", Ridge(alpha=5.0))]
    ours = BlendRegressor(members).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), VotingRegressor(members).fit(X, y).predict(X), rtol=1e-12)
    margin.save(ours, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "m.safetensors").predict(X), ours.predict(X))


def test_wrong_members_and_weights_are_one_sentence():
    X, y = IRIS
    with pytest.raises(InvalidParameter, match="BlendClassifier: estimators must be a list of pairs"):
        BlendClassifier([]).fit(X, y)
    with pytest.raises(ValueError, match="weights must have 1 entries; got 2"):
        BlendClassifier([("nb", GaussianNB())], weights=[1, 2]).fit(X, y)


def ridge_problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 40))
    return X, X[:, 0] + 2 * rng.normal(size=90)


def test_the_search_finds_the_best_setting_by_its_folds():
    X, y = ridge_problem()
    rows = np.arange(90)
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    alphas = [0.1, 10.0, 100.0]
    setting, score = search_settings(Ridge(), {"alpha": Choice(*alphas)}, X, y, folds, metric("rmse"), n_settings=12)

    def rmse(alpha):
        errors = [y[b] - ScikitRidge(alpha=alpha).fit(X[a], y[a]).predict(X[b]) for a, b in folds]
        return np.mean([np.sqrt(np.mean(e**2)) for e in errors])

    assert setting == {"alpha": min([1.0, *alphas], key=rmse)}
    assert score == pytest.approx(min(map(rmse, [1.0, *alphas])))


def test_a_search_never_ends_below_where_it_began_and_survives_bad_settings():
    X, y = ridge_problem()
    folds = [(np.arange(60), np.arange(60, 90))]
    own = Ridge(alpha=100.0)
    assert search_settings(own, {"alpha": Choice(1e-9)}, X, y, folds, metric("rmse"), n_settings=4)[0] == {}
    assert search_settings(own, {"alpha": Choice(-1.0)}, X, y, folds, metric("rmse"), n_settings=4)[0] == {}
    with pytest.raises(ValueError, match="no setting"):
        search_settings(Ridge(alpha=-1.0), {"alpha": Choice(-2.0)}, X, y, folds, metric("rmse"), n_settings=2)


class Killed(Ridge):
    """Ends the process' patience at the fit of that number, counted over all copies."""

    fits, last = 0, 10**9

    def fit(self, X, y):
        Killed.fits += 1
        if Killed.fits == Killed.last:
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.mark.parametrize("last", [2, 11, 23])
def test_a_killed_search_goes_on_and_ends_where_it_would_have(tmp_path, last):
    X, y = ridge_problem()
    rows = np.arange(90)
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    space = {"alpha": Number(search=(1e-3, 1e3), log=True), "fit_intercept": Choice(True, False)}
    asked = {"n_settings": 14, "seed": 3}
    whole = search_settings(Ridge(), space, X, y, folds, metric("rmse"), **asked)
    Killed.fits, Killed.last = 0, last
    with pytest.raises(KeyboardInterrupt):
        search_settings(Killed(), space, X, y, folds, metric("rmse"), **asked, journal=tmp_path / "s.jsonl")
    with open(tmp_path / "s.jsonl", "a") as file:
        file.write('{"params": {"al')  # a line that the kill cut short
    before, Killed.last = Killed.fits, 10**9
    assert search_settings(Killed(), space, X, y, folds, metric("rmse"), **asked, journal=tmp_path / "s.jsonl") == whole
    fits = Killed.fits - before
    again = search_settings(Killed(), space, X, y, folds, metric("rmse"), **asked, journal=tmp_path / "s.jsonl")
    assert again == whole
    assert Killed.fits - before - fits == 3, "only the model's own setting is fitted again"


def test_the_search_learns_where_to_look():
    X, y = ridge_problem()
    rows = np.arange(90)
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    space = {"alpha": Number(search=(1e-6, 1e6), log=True)}
    alphas = np.logspace(-6, 6, 200)

    def rmse(alpha):
        errors = [y[b] - ScikitRidge(alpha=alpha).fit(X[a], y[a]).predict(X[b]) for a, b in folds]
        return np.mean([np.sqrt(np.mean(e**2)) for e in errors])

    best = min(map(rmse, alphas))
    _, score = search_settings(Ridge(), space, X, y, folds, metric("rmse"), n_settings=30, seed=1)
    assert score <= best + 0.02 * (rmse(1.0) - best), "thirty proposals come near the best of a fine grid"


def test_a_tuned_model_offers_what_its_model_does():
    X, y = IRIS
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    space = margin.search_space(LogisticRegression)
    tuned = TunedModel(LogisticRegression(), {"C": space["C"]}, metric("log_loss"), folds, n_settings=3).fit(X, y)
    assert tuned.predict_proba(X).shape == (150, 3)
    np.testing.assert_array_equal(tuned.classes_, [0, 1, 2])
    assert not hasattr(TunedModel(Ridge(), {}, metric("rmse"), folds), "predict_proba")


def test_the_interval_of_one_fold_is_not_known():
    assert np.isnan(corrected_interval([0.5], 10, 5)[1])
