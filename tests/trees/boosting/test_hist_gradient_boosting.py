"""The estimators: quality beside scikit-learn, every parameter acts, missing values, categories, resume."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_blobs, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier as PeerClassifier
from sklearn.ensemble import HistGradientBoostingRegressor as PeerRegressor
from sklearn.metrics import log_loss, mean_gamma_deviance, mean_pinball_loss, mean_poisson_deviance
from sklearn.model_selection import train_test_split

from margin.core.randomness import seed_from
from margin.data.splits import hold_out
from margin.trees import GradientBoostingClassifier, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from margin.trees.boosting.growing import TreeGrower
from margin.trees.cart.walking import predict as walk


def friedman(n=600, seed=0):
    X, y = make_friedman1(n, noise=1.0, random_state=seed)
    return X, y


def test_regression_equals_scikit_learns_where_no_tie_can_differ():
    """Same bins, same exact arithmetic: on continuous data both choose the same splits and the same means."""
    X, y = friedman(200)
    ours = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    theirs = PeerRegressor(max_iter=20, early_stopping=False).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5 * np.ptp(y))


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
def test_classification_is_as_good_as_scikit_learns(load):
    X, y = load(return_X_y=True)
    gaps = []
    for seed in range(3):
        train, test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        ours = HistGradientBoostingClassifier(max_iter=30).fit(train, y_train)
        theirs = PeerClassifier(max_iter=30, early_stopping=False).fit(train, y_train)
        gaps.append(log_loss(y_test, ours.predict_proba(test)) - log_loss(y_test, theirs.predict_proba(test)))
    assert np.mean(gaps) < 0.02


@pytest.mark.parametrize(
    ("ours", "theirs", "score"),
    [
        ({"loss": "absolute_error"}, {"loss": "absolute_error"}, lambda y, f: np.abs(y - f).mean()),
        (
            {"loss": "quantile", "quantile": 0.8},
            {"loss": "quantile", "quantile": 0.8},
            lambda y, f: mean_pinball_loss(y, f, alpha=0.8),
        ),
        ({"loss": "poisson"}, {"loss": "poisson"}, mean_poisson_deviance),
        ({"loss": "gamma"}, {"loss": "gamma"}, mean_gamma_deviance),
    ],
    ids=["absolute", "quantile", "poisson", "gamma"],
)
def test_other_losses_are_as_good_as_scikit_learns(ours, theirs, score):
    X, y = friedman(2000)
    if ours["loss"] == "poisson":
        y = np.random.default_rng(0).poisson(np.exp(y / 10)).astype(float)
    elif ours["loss"] == "gamma":
        y = np.random.default_rng(0).gamma(3.0, np.exp(y / 10))
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    a = score(y_test, HistGradientBoostingRegressor(**ours).fit(train, y_train).predict(test))
    reference = PeerRegressor(early_stopping=False, **theirs).fit(train, y_train)
    assert a < 1.03 * score(y_test, reference.predict(test))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "gamma", "quantile", "poisson"])
def test_training_loss_falls_round_by_round(loss):
    X, y = friedman(400)
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.7, max_iter=40).fit(X, np.maximum(y, 0.1))
    assert np.diff(model.train_score_).min() >= -1e-12
    assert model.score(X, y) > 0.7


def test_the_recorded_loss_is_the_loss():
    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=5)
    for record in model.iterate(X, y):
        assert record["loss"] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-12)
    assert model.n_iter_ == 5


def test_leaf_values_are_shrunken_means_and_medians_of_residuals():
    X, y = friedman(300)
    for loss, center in (("squared_error", np.mean), ("absolute_error", np.median)):
        model = HistGradientBoostingRegressor(loss=loss, max_iter=1, learning_rate=0.3).fit(X, y)
        leaves, tree = model.apply(X)[:, 0], model.tree(0)
        for leaf in np.unique(leaves):
            residual = y[leaves == leaf] - center(y)
            assert tree["value"][leaf, 0] == pytest.approx(0.3 * center(residual), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(center(y) + walk(tree, X)[:, 0], model.predict(X), rtol=1e-12)


def test_l2_shrinks_leaves():
    X, y = friedman(300)
    free, shrunk = (
        HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, max_leaf_nodes=2, l2_regularization=l2).fit(X, y)
        for l2 in (0.0, 50.0)
    )
    leaves = shrunk.apply(X)[:, 0]
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        expected = (y[rows] - y.mean()).sum() / (rows.sum() + 50.0)
        assert shrunk.tree(0)["value"][leaf, 0] == pytest.approx(expected, rel=1e-12)
    assert np.ptp(shrunk.predict(X)) < np.ptp(free.predict(X))


@pytest.mark.parametrize(
    ("parameter", "holds"),
    [
        ({"max_leaf_nodes": 5}, lambda tree, depth: (tree["feature"] < 0).sum() <= 5),
        ({"max_leaf_nodes": None, "max_depth": 3}, lambda tree, depth: depth <= 3),
        ({"min_samples_leaf": 37}, lambda tree, depth: tree["n_samples"].min() >= 37),
        ({"max_bins": 2, "max_leaf_nodes": None}, lambda tree, depth: depth <= 10),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_limits_hold_in_every_tree(parameter, holds):
    from margin.trees.cart.structure import depth

    X, y = friedman()
    model = HistGradientBoostingRegressor(max_iter=10, **parameter).fit(X, y)
    assert all(holds(model.tree(i), depth(model.tree(i))) for i in range(10))


def test_min_samples_leaf_is_kept_where_rows_are_estimated(monkeypatch):
    monkeypatch.setattr("margin.trees.boosting.packing.COUNTED_ROWS", 100)
    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=30, learning_rate=0.5).fit(X, y)
    assert model.trees_["n_samples"].min() >= 20
    assert model.score(X, y) > 0.98


def test_max_features_draws_columns():
    X, y = friedman()
    narrow = HistGradientBoostingRegressor(max_iter=40, max_features=0.1, random_state=0).fit(X, y)
    asked = {int(narrow.trees_["feature"][root]) for root in narrow.trees_["start"][:-1]}
    assert len(asked) > 4  # one column per node, so even useless ones come first somewhere


def test_missing_values_choose_their_side():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    missing = rng.random(500) < 0.3
    y = np.where(missing, 5.0, np.sign(X[:, 0]))
    X[missing, 0] = np.nan
    model = HistGradientBoostingRegressor(max_iter=50, learning_rate=0.3).fit(X, y)
    np.testing.assert_allclose(model.predict([[np.nan, 0.0], [2.0, 0.0], [-2.0, 0.0]]), [5, 1, -1], atol=0.05)


def test_what_was_never_missing_follows_the_larger_side():
    X = np.arange(100.0)[:, None]
    y = (X[:, 0] >= 30).astype(float)
    model = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, max_leaf_nodes=2, min_samples_leaf=1).fit(X, y)
    np.testing.assert_allclose(model.predict([[np.nan], [99.0], [0.0]]), [1.0, 1.0, 0.0], atol=1e-12)


def test_categories_are_split_into_sets():
    rng = np.random.default_rng(1)
    codes = rng.permutation(1000)[:40].astype(float)  # names of categories, in no order
    X = rng.choice(codes, size=(3000, 1))
    effect = dict(zip(codes, rng.normal(size=40), strict=True))
    y = np.array([effect[c] for c in X[:, 0]])
    as_set = HistGradientBoostingRegressor(
        max_iter=1, learning_rate=1.0, max_leaf_nodes=2, categorical_features=[0]
    ).fit(X, y)
    as_number = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, max_leaf_nodes=2).fit(X, y)
    assert -as_set.train_score_[-1] < 0.6 * -as_number.train_score_[-1]
    full = HistGradientBoostingRegressor(max_iter=60, learning_rate=0.3, categorical_features=[True]).fit(X, y)
    np.testing.assert_allclose(full.predict(X), y, atol=0.02)
    unknown = full.predict([[-7.0], [np.nan]])
    assert unknown[0] == unknown[1]


def test_categories_by_name():
    import pandas as pd

    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=300), "kind": rng.integers(0, 4, 300).astype(float)})
    y = np.isin(X["kind"], [0, 2]).astype(float)
    model = HistGradientBoostingRegressor(max_iter=1, categorical_features=["kind"], max_leaf_nodes=2).fit(X, y)
    assert model.bins_["categorical"].tolist() == [False, True]
    assert len(model.trees_["category_set"]) == 1


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "gamma", "quantile", "poisson"])
def test_monotone_columns(loss):
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(800, 3))
    y = X[:, 0] ** 3 - X[:, 1] + np.sin(5 * X[:, 0]) + rng.normal(size=800) + 20.0
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.5, monotonic_cst=[1, -1.0, 0], max_iter=60).fit(X, y)
    free = HistGradientBoostingRegressor(loss=loss, quantile=0.5, max_iter=60).fit(X, y)
    grid = np.linspace(-2, 2, 200)
    smallest = {0: np.inf, 1: np.inf}
    for base in X[:30]:
        for column, sign in ((0, 1), (1, -1)):
            rows = np.tile(base, (200, 1))
            rows[:, column] = grid
            assert (sign * np.diff(model.predict(rows))).min() >= -1e-12
            smallest[column] = min(smallest[column], (sign * np.diff(free.predict(rows))).min())
    assert max(smallest.values()) < -1e-3  # without the constraint it is not monotone
    assert model.score(X, y) > 0.5


def test_monotone_log_odds():
    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(monotonic_cst=[-1] * 30, max_iter=30).fit(X, y)
    rows = np.tile(X[0], (100, 1))
    rows[:, 0] = np.linspace(X[:, 0].min(), X[:, 0].max(), 100)
    assert np.diff(model.decision_function(rows)).max() <= 1e-12


def test_weights_repeat_rows():
    X, y = friedman(300)
    w = np.random.default_rng(0).integers(0, 4, 300)
    kwargs = {"max_iter": 20, "min_samples_leaf": 1, "max_leaf_nodes": 8}
    a = HistGradientBoostingRegressor(**kwargs).fit(X, y, sample_weight=w)
    b = HistGradientBoostingRegressor(**kwargs).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6)


def test_class_weights():
    X, y = load_breast_cancer(return_X_y=True)
    balanced = HistGradientBoostingClassifier(max_iter=5, class_weight="balanced").fit(X, y)
    weights = len(y) / (2 * np.bincount(y))
    by_row = HistGradientBoostingClassifier(max_iter=5).fit(X, y, sample_weight=weights[y])
    by_dict = HistGradientBoostingClassifier(max_iter=5, class_weight=dict(enumerate(weights))).fit(X, y)
    np.testing.assert_allclose(balanced.predict_proba(X), by_row.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(balanced.predict_proba(X), by_dict.predict_proba(X), rtol=1e-9)
    assert balanced.start_[0] == pytest.approx(0.0, abs=1e-12)


def noisy_classes(n=2000):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 5))
    return X, (rng.random(n) < 0.1 + 0.5 * (X[:, 0] > 0)).astype(int)


@pytest.mark.parametrize(
    "watching", [{}, {"validation_fraction": 300}, {"scoring": "neg_log_loss"}, {"scoring": None}], ids=str
)
def test_early_stopping_ends_when_the_held_rows_stop_improving(watching):
    X, y = noisy_classes()
    model = HistGradientBoostingClassifier(
        max_iter=500, early_stopping=True, n_iter_no_change=5, learning_rate=0.3, random_state=0, **watching
    ).fit(X, y)
    assert model.do_early_stopping_
    assert 5 <= model.n_iter_ < 100
    assert len(model.validation_score_) == model.n_iter_ + 1
    recent = model.validation_score_[-6:]
    assert recent[1:].max() <= recent[0] + model.tol  # none of the last five is better than the one before them
    for end in range(7, model.n_iter_ + 1):  # and at no earlier round was that so
        assert model.validation_score_[end - 5 : end].max() > model.validation_score_[end - 6] + model.tol


def test_early_stopping_may_watch_the_training_rows():
    X, y = noisy_classes()
    model = HistGradientBoostingClassifier(max_iter=300, early_stopping=True, validation_fraction=None, tol=0.01)
    model.fit(X, y)
    assert len(model.validation_score_) == 0
    assert model.n_iter_ < 300
    assert model.train_score_[-10:].max() <= model.train_score_[-11] + 0.01


def test_early_stopping_is_automatic_with_many_rows():
    X, y = noisy_classes(10_001)
    auto = HistGradientBoostingClassifier(max_iter=300, learning_rate=0.5, random_state=0)
    assert auto.fit(X, y).do_early_stopping_
    assert auto.n_iter_ < 300
    assert not auto.set_params(max_iter=2).fit(X[:10_000], y[:10_000]).do_early_stopping_


def test_a_scorer_sees_rows_as_they_were_given():
    import pandas as pd

    X, y = noisy_classes(600)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(y == 1, "yes", "no"))
    seen = []

    def scorer(model, rows, labels):
        seen.append((list(rows.columns), set(labels), model.predict(rows)))
        return 0.0

    named = np.where(y == 1, "good", "bad")
    model = HistGradientBoostingClassifier(early_stopping=True, scoring=scorer, n_iter_no_change=3, random_state=0)
    assert model.fit(frame, named).n_iter_ == 3
    assert seen[-1][:2] == ([*"abcde", "kind"], {"good", "bad"})


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("no_interactions", lambda columns: len(columns) == 1),
        ("pairwise", lambda columns: len(columns) <= 2),
        ([{0, 1}, {3, 4}], lambda columns: columns <= {0, 1} or columns <= {3, 4} or not columns & {0, 1, 3, 4}),
    ],
    ids=["alone", "pairs", "groups"],
)
def test_columns_interact_only_within_groups(given, allowed):
    X, y = friedman(1000)
    model = HistGradientBoostingRegressor(max_iter=20, interaction_cst=given).fit(X, y)
    free = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    assert all(allowed(columns) for columns in paths(model))
    assert not all(allowed(columns) for columns in paths(free))
    theirs = PeerRegressor(max_iter=20, interaction_cst=given, early_stopping=False).fit(X, y)
    assert np.mean((model.predict(X) - y) ** 2) == pytest.approx(np.mean((theirs.predict(X) - y) ** 2), rel=0.05)


def paths(model):
    """The set of columns above every leaf of every tree."""
    for number in range(model.n_trees_):
        tree = model.tree(number)
        above = {0: frozenset()}
        for node in range(len(tree["feature"])):
            if tree["feature"][node] < 0:
                if above[node]:
                    yield above[node]
                continue
            for side in ("left", "right"):
                above[int(tree[side][node])] = above[node] | {int(tree["feature"][node])}


def test_constraints_by_name():
    import pandas as pd

    X, y = friedman(300)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)])
    by_name = HistGradientBoostingRegressor(max_iter=5, monotonic_cst={"x3": 1, "x4": -1}).fit(frame, y)
    by_place = HistGradientBoostingRegressor(max_iter=5, monotonic_cst=[0, 0, 0, 1, -1, 0, 0, 0, 0, 0]).fit(frame, y)
    np.testing.assert_array_equal(by_name.predict(frame), by_place.predict(frame))
    with pytest.raises(ValueError, match="monotonic_cst names 'age', which is not a column"):
        HistGradientBoostingRegressor(monotonic_cst={"age": 1}).fit(frame, y)


def test_interrupted_fit_is_a_smaller_model():
    X, y = load_digits(return_X_y=True)
    stopped = HistGradientBoostingClassifier(max_iter=50)
    for record in stopped.iterate(X, y):
        if record.iteration == 3:
            break
    whole = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(stopped.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize(
    "params",
    [{}, {"max_features": 0.5}, {"early_stopping": True}, {"early_stopping": True, "scoring": "r2"}],
    ids=str,
)
def test_warm_start_and_resume_continue_exactly(params):
    X, y = load_diabetes(return_X_y=True)
    whole = HistGradientBoostingRegressor(max_iter=12, random_state=0, **params).fit(X, y)
    warm = HistGradientBoostingRegressor(max_iter=5, random_state=0, warm_start=True, **params).fit(X, y)
    warm.set_params(max_iter=12).fit(X, y)
    np.testing.assert_array_equal(warm.predict(X), whole.predict(X))
    np.testing.assert_array_equal(warm.train_score_, whole.train_score_)
    part = HistGradientBoostingRegressor(max_iter=12, random_state=0, **params)
    list(itertools.islice(part.iterate(X, y), 7))
    resumed = clone(part)
    list(resumed.iterate(X, y, state=part.get_state()))
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


@pytest.mark.parametrize("scoring", ["loss", "r2"])
def test_a_fit_that_stopped_early_goes_on_when_it_is_asked_again(scoring):
    X, y = load_diabetes(return_X_y=True)
    settings = {"n_iter_no_change": 5, "tol": 1e-3, "early_stopping": True, "scoring": scoring, "random_state": 0}
    model = HistGradientBoostingRegressor(max_iter=1000, warm_start=True, **settings)
    first, state = len(list(model.iterate(X, y))), model.get_state()
    assert first == model.n_iter_ < 1000
    assert first < model.fit(X, y).n_iter_ < first + 20
    resumed = clone(model)  # a run that had ended is not asked for more
    assert not list(resumed.iterate(X, y, state=state))
    assert resumed.n_iter_ == first


def test_same_bits_on_one_and_two_threads(monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60_000, 20))
    y = (X[:, 0] * X[:, 1] + rng.normal(size=60_000) > 0).astype(int)
    said = []
    for threads in (1, 2):
        monkeypatch.setattr("margin.core.threads.available", lambda threads=threads: threads)
        model = HistGradientBoostingClassifier(max_iter=5, early_stopping=False).fit(X, y)
        said.append({**model.trees_, **model.bins_, "raw": model.decision_function(X), "score": model.train_score_})
        said[-1]["seed"] = np.array(model.seed_)
    for name, array in said[0].items():
        assert array.tobytes() == said[1][name].tobytes(), name


def test_stages_end_at_the_prediction():
    X, y = load_wine(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=6).fit(X, y)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_array_equal(last, model.predict_proba(X))
    assert len(list(model.staged_predict(X))) == 6
    regressor = HistGradientBoostingRegressor(max_iter=6).fit(X, y)
    *_, last = regressor.staged_predict(X)
    np.testing.assert_array_equal(last, regressor.predict(X))


def test_importance_finds_the_columns_that_matter():
    X, y = friedman(1000)
    importance = HistGradientBoostingRegressor().fit(X, y).feature_importances_
    assert importance.sum() == pytest.approx(1.0)
    assert set(np.argsort(importance)[-5:]) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "poisson"}, "loss='poisson' needs y >= 0"),
        ({"monotonic_cst": [1]}, "monotonic_cst has 1 entries; X has 10 columns"),
        ({"loss": "gamma"}, "loss='gamma' needs y > 0"),
        ({"loss": "quantile"}, "loss='quantile' needs quantile"),
        ({"interaction_cst": [[0, 10]]}, "interaction_cst names column 10; X has 10 columns"),
        ({"monotonic_cst": [1] + [0] * 9, "categorical_features": [0]}, "must be 0 for categorical"),
        ({"categorical_features": [11]}, "categorical_features has column 11; X has 10 columns"),
        ({"categorical_features": ["age"]}, "names 'age', but the columns of X have no names"),
        ({"categorical_features": [True, False]}, "categorical_features has 2 flags; X has 10 columns"),
        ({"early_stopping": True, "validation_fraction": 1e-6}, "leaves none"),
        ({"early_stopping": True, "validation_fraction": 100}, "none to learn from"),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence(params, message):
    X, y = friedman(100)
    with pytest.raises(ValueError, match=message) as caught:
        HistGradientBoostingRegressor(**params).fit(X, y - 100)
    assert str(caught.value).startswith("HistGradientBoostingRegressor: ")


@pytest.mark.parametrize("seed", range(6))
def test_extreme_class_weights(seed):
    """Classes of next to no weight have trees of one leaf between trees of several: every step lowers the loss."""
    X, y = make_blobs(50, centers=3, random_state=seed, cluster_std=20)
    weights = {0: 1000.0, 1: 1e-4, 2: 1e-4}
    model = HistGradientBoostingClassifier(class_weight=weights, max_iter=60, min_samples_leaf=1).fit(X, y)
    roots = np.diff(model.trees_["start"]) == 1
    assert roots.any()
    first = model.trees_["start"][:-1][roots]
    total = sum(weights[c] * (y == c).sum() for c in range(3))
    np.testing.assert_allclose(model.trees_["weight"][first], total)
    np.testing.assert_array_equal(model.trees_["left"][first], -1)
    assert np.all(np.diff(model.train_score_) > -1e-12)
    assert np.abs(model.trees_["value"]).max() < 10
    peer = PeerClassifier(class_weight=weights, max_iter=60, min_samples_leaf=1, early_stopping=False).fit(X, y)
    assert np.mean(model.predict(X) == peer.predict(X)) > 0.9


def test_bad_classes_and_bad_continuations():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match="two classes"):
        HistGradientBoostingClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="needs two classes"):
        HistGradientBoostingClassifier(monotonic_cst=[1] * 13).fit(X, y)
    model = HistGradientBoostingClassifier(max_iter=4, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="max_iter must be at least 4"):
        model.set_params(max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        GradientBoostingClassifier(n_estimators=2).fit(np.where(X > 20, np.inf, X), y)


def test_infinite_entries_are_the_ends_of_their_column():
    X, y = load_wine(return_X_y=True)
    infinite, far = np.where(X > 20, np.inf, X), np.where(X > 20, 1e300, X)
    model = HistGradientBoostingClassifier(max_iter=4)
    expected = model.fit(far, y).predict_proba(far)
    np.testing.assert_array_equal(model.fit(infinite, y).predict_proba(infinite), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, max_features=0.5, random_state=3),
        HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=5, l2_regularization=0.7),
        HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, categorical_features=[1, 3]),
        HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=5, categorical_features=[0], random_state=3),
        GradientBoostingClassifier(n_estimators=4, random_state=0),
    ],
)
def test_a_round_in_one_call_gives_the_bits_of_its_steps(model, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    weight = rng.uniform(0.2, 2, 150) if weighted else None
    if isinstance(model, GradientBoostingClassifier):
        X = np.nan_to_num(X)
    named = model.get_params().get("categorical_features")
    if isinstance(named, list):
        X[:, named] = np.floor(3 * np.abs(X[:, named]))
    at_once = model.fit(X, y, sample_weight=weight).trees_
    asked = at_once["category_row"] >= 0
    assert asked.any() == isinstance(named, list)
    assert not asked[at_once["feature"] >= 0].all()
    monkeypatch.setattr(TreeGrower, "grows_rounds", False)
    for name, array in model.fit(X, y, sample_weight=weight).trees_.items():
        np.testing.assert_array_equal(at_once[name], array, err_msg=name)
    assert len(at_once["start"]) > 4


def test_gradients_without_a_finite_sum_are_told():
    X, y, weight = np.arange(40.0)[:, None], np.array([1e140, -1e140] * 20), 1e170 * (1 + np.arange(40.0))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="gradients must have a finite sum"):
        HistGradientBoostingRegressor(max_iter=2).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("scoring", ["loss", "accuracy"])
def test_given_rows_watch_as_held_rows_do(scoring):
    """The rows that a fit would hold back, given to it as validation rows: the same trees and scores."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.choice(["a", "b", "c"], 400)
    weight = rng.uniform(0.5, 2.0, 400)
    settings = {"early_stopping": True, "random_state": 0, "n_iter_no_change": 3, "scoring": scoring}
    alone = HistGradientBoostingClassifier(**settings)
    held = np.zeros(400, dtype=bool)
    held[hold_out(400, 0.1, np.random.default_rng([seed_from(0), 1]), np.unique(y, return_inverse=True)[1])[1]] = True
    alone.fit(X, y, weight)
    given = HistGradientBoostingClassifier(**settings).fit(
        X[~held], y[~held], weight[~held], X_val=X[held], y_val=y[held], sample_weight_val=weight[held]
    )
    assert given.n_iter_ == alone.n_iter_ < 100
    np.testing.assert_allclose(given.validation_score_, alone.validation_score_, rtol=1e-12)
    np.testing.assert_array_equal(given.predict_proba(X), alone.predict_proba(X))


def test_given_rows_stop_a_small_fit_and_are_checked():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    model = HistGradientBoostingRegressor(n_iter_no_change=2).fit(X, y, X_val=X[:50], y_val=-y[:50])
    assert model.n_iter_ < 10  # noise of the other sign: nothing is learned
    assert model.do_early_stopping_
    for values, said in (
        ({"X_val": X}, "fit needs y_val beside X_val"),
        ({"y_val": y}, "fit needs X_val beside y_val"),
    ):
        with pytest.raises(ValueError, match=said):
            model.fit(X, y, **values)
    with pytest.raises(ValueError, match="need early_stopping True or 'auto'; got False"):
        HistGradientBoostingRegressor(early_stopping=False).fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="y_val holds 7, which is not a class of y"):
        HistGradientBoostingClassifier().fit(X, y > 0, X_val=X, y_val=np.full(200, 7))
    with pytest.raises(ValueError, match="2 features"):
        HistGradientBoostingRegressor().fit(X, y, X_val=X[:, :1], y_val=y)


def test_given_rows_know_only_the_categories_of_training_rows():
    table = pd.DataFrame({"kind": ["x", "y"] * 100, "size": np.arange(200.0)})
    y = (table["kind"] == "x") + 0.0
    other = pd.DataFrame({"kind": ["new"] * 10, "size": np.zeros(10)})
    model = HistGradientBoostingRegressor(max_iter=5).fit(table, y, X_val=other, y_val=np.zeros(10))
    assert model.category_names_[0] == ["x", "y"]
    np.testing.assert_allclose(-model.validation_score_[-1], 0.5 * np.mean(model.predict(other) ** 2), rtol=1e-12)
