"""Self-training and pseudo-labels against scikit-learn, a plain loop, and their own definitions."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier as SklearnSelfTraining

from margin.core.labels import coded_labels, has_label
from margin.meta.semi import PseudoLabel, SelfTrainingClassifier
from margin.neural.estimators import MLPClassifier


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    return X, y, np.where(np.arange(600) % 10 == 0, y, -1)


@pytest.mark.parametrize("options", [{"threshold": 0.7, "max_iter": None}, {"criterion": "k_best", "k_best": 25}])
def test_self_training_is_that_of_scikit_learn(digits, options):
    X, _, partial = digits
    ours = SelfTrainingClassifier(SklearnLogistic(C=10), **options).fit(X, partial)
    theirs = SklearnSelfTraining(SklearnLogistic(C=10), **options).fit(X, partial)
    np.testing.assert_array_equal(ours.transduction_, theirs.transduction_)
    np.testing.assert_array_equal(ours.labeled_iter_, theirs.labeled_iter_)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.termination_condition_ == theirs.termination_condition_


def test_labels_may_be_words():
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    words[np.arange(150) % 5 > 0] = None
    model = SelfTrainingClassifier(threshold=0.99, max_iter=1).fit(X, words)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(model.transduction_[model.labeled_iter_ < 0].tolist()) == {None}
    assert set(model.predict(X)) <= set(model.classes_)


def test_which_entries_are_labels():
    assert has_label(np.array([1.0, np.nan])).tolist() == [True, False]
    assert has_label(np.array([2, 3, -1])).tolist() == [True, True, False]
    assert has_label(np.array([-1, 1, 1])).tolist() == [True] * 3  # two classes called -1 and 1
    assert has_label(np.array([-1, 1, 1]), may_be_class=False).tolist() == [False, True, True]
    assert has_label(np.array(["-1", "a"])).tolist() == [True, True]
    assert has_label(np.array([None, -1, 3], dtype=object)).tolist() == [False, False, True]
    classes, codes = coded_labels("it", np.zeros((3, 1)), ["b", "a", None])
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("model", "y", "sentence"),
    [
        (SelfTrainingClassifier(), [np.nan] * 4, "SelfTrainingClassifier: y must have a label for at least one row"),
        (PseudoLabel(MLPClassifier(max_iter=1)), [np.nan] * 4, "y must have a label for at least one row; none of 4"),
        (PseudoLabel(MLPClassifier(max_iter=1)), [7, 7, None, None], "labels of at least 2 classes; got one class"),
        (SelfTrainingClassifier(), [7, 7, None, None], "LogisticRegression: .*class"),
    ],
)
def test_too_few_labels_are_refused(model, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(np.arange(8.0).reshape(4, 2), np.array(y, dtype=object if None in y else float))


def test_without_weight_for_the_others_only_labeled_rows_teach(digits):
    """With alpha 0, rows without a label fill batches and nothing else: other such rows give the same network."""
    X, _, partial = digits
    network = MLPClassifier(hidden_layer_sizes=(32,), standardize=False, max_iter=8)
    changed = np.where((partial < 0)[:, None], 1 - X, X)
    same, other = (
        PseudoLabel(network, alpha=0.0, random_state=0).fit(rows, partial).predict_proba(X) for rows in (X, changed)
    )
    np.testing.assert_allclose(same, other, rtol=1e-9, atol=1e-12)
    taught = PseudoLabel(network, alpha=3.0, random_state=0).fit(X, partial).predict_proba(X)
    assert np.abs(same - taught).max() > 0.1


def test_records_carry_both_losses_and_the_ramp_starts_at_zero(digits):
    X, _, partial = digits
    model = PseudoLabel(MLPClassifier(max_iter=10, batch_size=64), ramp_start=0.3, ramp_end=0.6, random_state=0)
    records = list(model.iterate(X, partial))
    early, late = records[0], records[-1]
    assert early["train_loss"] == pytest.approx(early["labeled_loss"], rel=1e-12)
    assert late["train_loss"] == pytest.approx(late["labeled_loss"] + 3.0 * late["pseudo_loss"], rel=1e-9)


def test_validation_rows_are_labeled_ones(digits):
    X, _, partial = digits
    model = PseudoLabel(MLPClassifier(max_iter=3, early_stopping=True, validation_fraction=0.2), random_state=0)
    record = list(model.iterate(X, partial))[-1]
    assert record["valid_pseudo_loss"] == 0.0
    assert record["valid_labeled_loss"] > 0.0


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (PseudoLabel(ramp_start=0.5, ramp_end=0.2), "ramp_start must be below ramp_end; got 0.5 and 0.2"),
        (PseudoLabel(SelfTrainingClassifier()), "estimator must be an MLPClassifier; got SelfTrainingClassifier"),
    ],
)
def test_pseudo_label_refuses(digits, model, sentence):
    X, _, partial = digits
    with pytest.raises(ValueError, match=f"PseudoLabel: {sentence}"):
        model.fit(X, partial)


def test_nested_seeds_are_set_and_probabilities_are_asked_for():
    """A pipeline's random steps follow random_state; what has no probabilities is named."""
    X, y = load_iris(return_X_y=True)
    y[np.arange(150) % 5 > 0] = -1
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    one, two = (SelfTrainingClassifier(pipeline, random_state=3).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    stacking = StackingClassifier([("nb", GaussianNB())], cv=2)
    truth = load_iris(return_X_y=True)[1]
    assert SelfTrainingClassifier(stacking).fit(X, y).score(X, truth) > 0.8
    with pytest.raises(ValueError, match="estimator must give probabilities; got RidgeClassifier"):
        SelfTrainingClassifier(RidgeClassifier()).fit(X, y)


def test_one_labeled_class_spreads_as_in_scikit_learn():
    """-1 is never a class here, and a classifier that is content with one class goes on with it."""
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) < 30, 1, -1)
    options = {"criterion": "k_best", "k_best": 10, "max_iter": None}
    ours = SelfTrainingClassifier(KNeighborsClassifier(1), **options).fit(X, y)
    theirs = SklearnSelfTraining(KNeighborsClassifier(1), **options).fit(X, y)
    assert ours.n_iter_ == theirs.n_iter_ == 12
    np.testing.assert_array_equal(ours.transduction_, theirs.transduction_)


def test_no_rounds_learn_from_the_given_labels_alone():
    X, y = load_iris(return_X_y=True)
    known = np.arange(150) % 5 == 0
    model = SelfTrainingClassifier(GaussianNB(), max_iter=0).fit(X, np.where(known, y, -1))
    assert (model.n_iter_, model.termination_condition_) == (0, "max_iter")
    np.testing.assert_array_equal(model.predict_proba(X), GaussianNB().fit(X[known], y[known]).predict_proba(X))
    assert not hasattr(model, "decision_function")
    assert SelfTrainingClassifier().fit(X, np.where(known, y, -1)).decision_function(X).shape == (150, 3)


def test_nothing_to_label_is_told():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="every row of y has a label"):
        SelfTrainingClassifier(GaussianNB()).fit(X, y)
    y[:5] = -1
    with pytest.warns(UserWarning, match="k_best=10 exceeds the 5 rows without a label"):
        SelfTrainingClassifier(GaussianNB(), criterion="k_best").fit(X, y)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int8, np.float32])
def test_labels_of_any_number_type_can_be_missing_in_the_transduction(kind):
    X = np.arange(12.0)[:, None]
    y = np.array([3.0] * 6 + [7.0] * 6).astype(kind)
    assert SelfTrainingClassifier().fit(X, y).transduction_.dtype == kind  # none is missing
    if np.dtype(kind).kind != "u":
        y[[0, 11]] = -1
        model = SelfTrainingClassifier(max_iter=0).fit(X, y)
        assert model.transduction_.tolist() == y.tolist()
        assert model.transduction_.dtype == kind
        return
    marked = y.astype(object)
    marked[[0, 11]] = None
    model = SelfTrainingClassifier(max_iter=0).fit(X, marked)
    assert model.transduction_.tolist() == [-1, *y[1:11].tolist(), -1]


@pytest.mark.parametrize("cls", [SelfTrainingClassifier, PseudoLabel])
def test_labels_that_are_sets_are_refused(cls):
    with pytest.raises(ValueError, match=rf"{cls.__name__}: y must have one label for each row; got {{1, 2}}"):
        cls().fit(np.eye(4), [{1, 2}] * 4)
