"""Small trees fitted to the gradient: scikit-learn's models where its thresholds are ours, then each option."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_friedman1
from sklearn.ensemble import GradientBoostingClassifier as PeerClassifier
from sklearn.ensemble import GradientBoostingRegressor as PeerRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import export_text

from margin.store import save
from margin.trees import GradientBoostingClassifier, GradientBoostingRegressor
from margin.trees.cart.structure import depth
from margin.trees.cart.walking import predict as walk


def few_values(n=600, seed=0):
    """Few distinct values per column (every threshold has its own bin), and real-valued targets (ties are unlikely)."""
    X, y = make_friedman1(n, noise=1.0, random_state=seed)
    return np.round(X, 2), y


SETTINGS = [
    {},
    {"max_depth": None, "max_leaf_nodes": 9},
    {"max_depth": None, "min_samples_leaf": 30},
    {"min_samples_split": 0.2, "min_samples_leaf": 0.05, "max_depth": 6},
    {"min_weight_fraction_leaf": 0.1},
    {"min_impurity_decrease": 0.05, "max_depth": 5},
    {"ccp_alpha": 0.1, "max_depth": 5},
    {"init": "zero"},
    {"init": LinearRegression()},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_is_scikit_learns(settings, weighted):
    X, y = few_values()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    ours = GradientBoostingRegressor(n_estimators=15, **settings).fit(X, y, w)
    theirs = PeerRegressor(n_estimators=15, random_state=0, **settings).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6 * np.ptp(y))
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-6)
    # Where two columns divide the rows of a small node alike, either may be asked: the trees agree, not the column.
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=2e-3)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_other_losses_are_scikit_learns_up_to_ties(loss):
    """Their gradients take two values, so that splits tie: quality is compared, not trees."""
    X, y = few_values()
    ours = GradientBoostingRegressor(loss=loss, alpha=0.7, n_estimators=40).fit(X, y)
    theirs = PeerRegressor(loss=loss, alpha=0.7, n_estimators=40, random_state=0).fit(X, y)
    assert ours.train_score_[-1] == pytest.approx(theirs.train_score_[-1], rel=0.05)
    assert ours.train_score_[0] == pytest.approx(theirs.train_score_[0], rel=0.01)


def test_classification_is_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([np.digitize(x, np.quantile(x, np.arange(0.01, 1, 0.01))) for x in X.T]).astype(float)
    for loss in ("log_loss", "exponential"):
        ours = GradientBoostingClassifier(loss=loss, n_estimators=10).fit(X, y)
        theirs = PeerClassifier(loss=loss, n_estimators=10, random_state=0).fit(X, y)
        np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=0.01)
        assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).mean() < 0.01
    X, y = load_wine(return_X_y=True)
    ours = GradientBoostingClassifier(n_estimators=10).fit(X, y)
    theirs = PeerClassifier(n_estimators=10, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=0.01)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
def test_quality_at_defaults_is_scikit_learns(load):
    from sklearn.model_selection import train_test_split

    X, y = load(return_X_y=True)
    gaps = []
    for seed in range(3):
        train, test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y, test_size=0.5)
        ours = GradientBoostingClassifier(n_estimators=30).fit(train, y_train)
        theirs = PeerClassifier(n_estimators=30, random_state=0).fit(train, y_train)
        gaps.append(log_loss(y_test, ours.predict_proba(test)) - log_loss(y_test, theirs.predict_proba(test)))
    assert np.mean(gaps) < 0.02


def test_defaults_grow_trees_of_depth_three():
    X, y = few_values()
    model = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    assert {depth(model.tree(i)) for i in range(5)} == {3}


def test_huber_withstands_outliers_that_ruin_squares():
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    noisy = y + 100.0 * (np.random.default_rng(0).random(len(y)) < 0.05)
    test, clean = make_friedman1(500, noise=1.0, random_state=1)
    errors = {
        loss: np.sqrt(np.mean((GradientBoostingRegressor(loss=loss).fit(X, noisy).predict(test) - clean) ** 2))
        for loss in ("squared_error", "huber", "absolute_error")
    }
    assert errors["huber"] < 0.5 * errors["squared_error"]
    assert errors["absolute_error"] < 0.5 * errors["squared_error"]


def test_a_part_of_the_rows_is_drawn_and_the_others_judge():
    X, y = few_values()
    model = GradientBoostingRegressor(n_estimators=20, subsample=0.5, random_state=0).fit(X, y)
    roots = model.trees_["start"][:-1]
    np.testing.assert_array_equal(model.trees_["n_samples"][roots], 300)
    raw = np.full(len(X), model.start_[0])
    for i in range(20):
        raw += walk(model.tree(i), X)[:, 0]
    np.testing.assert_allclose(raw, model.predict(X), rtol=1e-12)
    assert len(model.oob_improvement_) == len(model.oob_scores_) == len(model.train_score_) == 20
    assert model.oob_score_ == model.oob_scores_[-1]
    np.testing.assert_allclose(-np.diff(model.oob_scores_), model.oob_improvement_[1:], atol=1e-12)
    assert model.oob_improvement_[:5].min() > 0  # first rounds help on rows they did not see
    squares = (y - model.predict(X)) ** 2
    assert squares.mean() == pytest.approx((model.train_score_[-1] + model.oob_score_) / 2, rel=1e-9)
    assert not hasattr(GradientBoostingRegressor(n_estimators=2).fit(X, y), "oob_improvement_")


def test_rows_can_be_drawn_from_a_later_round_on_and_no_longer():
    X, y = few_values(300)
    model = GradientBoostingRegressor(n_estimators=6, random_state=0, warm_start=True).fit(X, y)
    whole = model.train_score_
    raw = model.predict(X)
    model.set_params(n_estimators=9, subsample=0.5).fit(X, y)
    np.testing.assert_array_equal(model.oob_scores_[:6], np.zeros(6))
    np.testing.assert_array_equal(model.oob_improvement_[:6], np.zeros(6))
    np.testing.assert_array_equal(model.train_score_[:6], whole)
    drawn = np.random.default_rng([model.seed_, 6]).choice(300, 150, replace=False)
    others = np.setdiff1d(np.arange(300), drawn)
    after = next(itertools.islice(model.staged_predict(X), 6, None))
    losses = [np.mean((y[others] - prediction[others]) ** 2) for prediction in (raw, after)]
    assert model.oob_scores_[6] == pytest.approx(losses[1], rel=1e-9)
    assert model.oob_improvement_[6] == pytest.approx(losses[0] - losses[1], rel=1e-9)  # of the same rows
    assert np.all(model.oob_scores_[6:] > 0)
    assert model.oob_score_ == model.oob_scores_[-1]
    model.set_params(n_estimators=11, subsample=1.0).fit(X, y)
    assert len(model.train_score_) == len(model.oob_scores_) == 11
    np.testing.assert_array_equal(model.oob_scores_[9:], np.zeros(2))
    assert model.train_score_[-1] == pytest.approx(np.mean((y - model.predict(X)) ** 2), rel=1e-9)
    assert not hasattr(model.set_params(warm_start=False).fit(X, y), "oob_scores_")


def test_columns_are_drawn():
    X, y = few_values()
    model = GradientBoostingRegressor(n_estimators=40, max_features=1, random_state=0).fit(X, y)
    assert model.max_features_ == 1
    assert len({int(model.trees_["feature"][root]) for root in model.trees_["start"][:-1]}) > 4
    assert GradientBoostingRegressor(n_estimators=2, max_features="sqrt").fit(X, y).max_features_ == 3


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_patience_alone_stops_the_fit(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)  # nothing to learn
    model = GradientBoostingRegressor(loss=loss, n_estimators=300, n_iter_no_change=3, random_state=0).fit(X, y)
    assert 3 < model.n_iter_ == model.n_estimators_ < 100
    assert len(model.train_score_) == model.n_iter_
    patient = GradientBoostingRegressor(loss=loss, n_estimators=300, n_iter_no_change=3, tol=1e9, random_state=0)
    assert patient.fit(X, y).n_iter_ == 4


def test_a_classifier_starts_from_another():
    X, y = load_breast_cancer(return_X_y=True)
    first = make_pipeline(StandardScaler(), LogisticRegression())
    model = GradientBoostingClassifier(n_estimators=5, init=first).fit(X, y)
    np.testing.assert_allclose(
        model._start(X)[0], np.clip(first.fit(X, y).decision_function(X), -16.1181, 16.1181), atol=1e-4
    )
    assert model.train_score_[-1] < 2 * log_loss(y, first.predict_proba(X))
    wine, kind = load_wine(return_X_y=True)
    several = GradientBoostingClassifier(n_estimators=5, init=first).fit(wine, kind)
    assert several.score(wine, kind) > 0.98
    with pytest.raises(ValueError, match="init must take sample_weight"):
        GradientBoostingClassifier(init=first).fit(X, y, sample_weight=1.0 + y)


def test_shapes_of_leaves_and_stages():
    X, y = load_wine(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=6).fit(X, y)
    assert model.apply(X).shape == PeerClassifier(n_estimators=6).fit(X, y).apply(X).shape == (len(X), 6, 3)
    two = GradientBoostingClassifier(n_estimators=6).fit(X, y == 1)
    assert two.apply(X).shape == (len(X), 6, 1)
    assert GradientBoostingRegressor(n_estimators=6).fit(X, y).apply(X).shape == (len(X), 6)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_array_equal(last, model.decision_function(X))
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_array_equal(last, model.predict_proba(X))
    assert len(list(model.staged_predict(X))) == 6
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


@pytest.mark.parametrize(
    "settings",
    [{}, {"subsample": 0.6, "max_features": 0.5}, {"loss": "huber"}, {"init": LinearRegression()}],
    ids=str,
)
def test_warm_start_and_resume_continue_exactly(settings):
    X, y = few_values(300)
    whole = GradientBoostingRegressor(n_estimators=12, random_state=0, **settings).fit(X, y)
    warm = GradientBoostingRegressor(n_estimators=5, random_state=0, warm_start=True, **settings).fit(X, y)
    warm.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_array_equal(warm.predict(X), whole.predict(X))
    np.testing.assert_array_equal(warm.train_score_, whole.train_score_)
    part = GradientBoostingRegressor(n_estimators=12, random_state=0, **settings)
    list(itertools.islice(part.iterate(X, y), 7))
    resumed = clone(part)
    list(resumed.iterate(X, y, state=part.get_state()))
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="n_estimators must be at least 12"):
        warm.set_params(n_estimators=2).fit(X, y)


def test_the_exponential_loss_takes_two_classes():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match="loss='exponential' needs two classes; got 3"):
        GradientBoostingClassifier(loss="exponential").fit(X, y)


@pytest.mark.parametrize("make", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_same_file_on_one_and_two_threads(make, monkeypatch, tmp_path):
    """So many rows that the columns of large nodes, leaves and rows are shared out."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(20_000, 12))
    y = (X[:, 0] * X[:, 1] + rng.normal(size=20_000) > 0).astype(int)
    stored = []
    for threads in (1, 2):
        monkeypatch.setattr("margin.core.threads.available", lambda threads=threads: threads)
        save(make(n_estimators=4, subsample=0.9, random_state=0).fit(X, y), tmp_path / "model.margin")
        stored.append((tmp_path / "model.margin").read_bytes())
    assert stored[0] == stored[1]


def test_rows_held_back_leave_every_class_to_learn_from():
    model = GradientBoostingClassifier(n_iter_no_change=5, random_state=0, validation_fraction=0.8)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.8 leaves rows of 1 of 2 classes to learn from"):
        model.fit(np.ones((10, 1)), [0] * 2 + [1] * 8)
    assert not hasattr(model, "trees_")


def test_the_trees_are_models_of_their_own_that_add_up_to_the_ensemble():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    X[::7, 1] = np.nan
    model = GradientBoostingClassifier(n_estimators=6, learning_rate=0.3, init="zero", random_state=0).fit(X, y)
    members = model.estimators_
    assert members.shape == (6, 3)
    assert (len(model), model[0].shape) == (6, (3,))
    raw = 0.3 * sum(np.column_stack([tree.predict(X) for tree in part]) for part in model)
    np.testing.assert_allclose(raw, model.decision_function(X), atol=1e-12)
    leaves = np.stack([np.column_stack([tree.apply(X) for tree in part]) for part in members], axis=1)
    np.testing.assert_array_equal(leaves, model.apply(X))
    assert members[0, 0].max_depth == members[0, 0].tree_.max_depth == 3
    assert export_text(members[0, 0], feature_names=["a", "b", "c"]).startswith("|--- ")
    regressor = GradientBoostingRegressor(n_estimators=4, loss="absolute_error").fit(X, rng.normal(size=200))
    total = regressor.start_[0] + 0.1 * sum(tree.predict(X) for tree in regressor.estimators_[:, 0])
    np.testing.assert_allclose(total, regressor.predict(X), atol=1e-12)


def test_a_monitor_ends_the_fit():
    X, y = few_values(200)
    seen = []

    def monitor(number, model, values):
        seen.append((number, model.n_estimators_, values["loss"]))
        return number == 4

    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y, monitor=monitor)
    assert [part[:2] for part in seen] == [(i, i + 1) for i in range(5)]
    assert model.estimators_.shape == (5, 1)
    short = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), short.predict(X))
    assert not hasattr(model, "_loop")
