"""Domain adaptation as an estimator: what it hands to its classifier, what it gains, what it refuses."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import margin
from margin.linear import LogisticRegression
from margin.meta import DomainAdaptationClassifier
from margin.meta.domains import coral, importance_weights
from margin.store import load, save


def two_domains(seed):
    """Named classes of a source, and a target that was stretched, turned and moved; its labels are for the tests."""
    rng = np.random.default_rng(seed)
    y, labels = rng.integers(0, 2, (2, 200))
    turn = np.array([[1.8, 0.7], [-0.4, 0.6]])
    rows = [rng.normal(size=(200, 2)) * [0.4, 1.2] + [1.6, -0.5] * (2 * c[:, None] - 1) for c in (y, labels)]
    names = np.array(["no", "yes"])
    return rows[0], names[y], rows[1] @ turn + [4.0, -3.0], names[labels]


def together(X, y, target):
    return np.concatenate([X, target]), np.concatenate([y.astype(object), np.full(len(target), None)])


def test_coral_hands_turned_rows_to_the_classifier():
    X, y, target, _ = two_domains(0)
    deviation = X.std(axis=0)
    rows = coral(X / deviation, target / deviation, 1e-3) * deviation
    expected = LogisticRegression().fit(rows, y == "yes").predict_proba(target)
    model = DomainAdaptationClassifier().fit(*together(X, y, target))
    np.testing.assert_allclose(model.predict_proba(target), expected, atol=1e-12)
    np.testing.assert_allclose(rows.mean(axis=0), target.mean(axis=0))
    np.testing.assert_allclose(np.cov(rows.T), np.cov(target.T), rtol=0.03, atol=0.02)
    assert model.classes_.tolist() == ["no", "yes"]


def test_importance_hands_weights_to_the_classifier():
    X, y, target, _ = two_domains(1)
    weight = importance_weights(X, target, 0.3)
    expected = LogisticRegression().fit(X, y == "yes", sample_weight=weight)
    model = DomainAdaptationClassifier(method="importance", C=0.3).fit(*together(X, y, target))
    np.testing.assert_allclose(model.decision_function(target), expected.decision_function(target), atol=1e-12)


def test_a_target_that_was_turned_is_recognized():
    gains = []
    for seed in range(5):
        X, y, target, labels = two_domains(seed)
        plain, adapted = (
            DomainAdaptationClassifier(method=method).fit(*together(X, y, target)).score(target, labels)
            for method in ("none", "coral")
        )
        gains.append(adapted - plain)
    assert np.mean(gains) > 0.1


def test_units_of_columns_do_not_matter_to_the_shrinkage():
    X, y, target, _ = two_domains(2)
    unit = np.array([1e-4, 1e5])
    tree = margin.DecisionTreeClassifier(max_depth=3)
    predicted = [
        DomainAdaptationClassifier(tree, random_state=0).fit(*together(X * u, y, target * u)).predict(target * u)
        for u in (1.0, unit)
    ]
    assert np.mean(predicted[0] == predicted[1]) > 0.99


def test_a_file_brings_back_the_classifier(tmp_path):
    X, y, target, _ = two_domains(3)
    model = DomainAdaptationClassifier(margin.RandomForestClassifier(5), random_state=0)
    model.fit(*together(X, y, target))
    save(model, tmp_path / "adapted.margin")
    np.testing.assert_array_equal(load(tmp_path / "adapted.margin").predict_proba(target), model.predict_proba(target))


def test_without_a_target_it_says_that_nothing_is_adapted():
    X, y, target, _ = two_domains(4)
    with pytest.warns(UserWarning, match="got 200 with a label and 0 without, so nothing is adapted"):
        model = DomainAdaptationClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(target), LogisticRegression().fit(X, y).predict(target))


def test_a_classifier_without_weights_is_refused_for_importance():
    X, y, target, _ = two_domains(4)
    rows, labels = together(X, y, target)
    with pytest.raises(ValueError, match=r"^DomainAdaptationClassifier: method 'importance' needs .* got KNeighbors"):
        DomainAdaptationClassifier(KNeighborsClassifier(), method="importance").fit(rows, labels)
    with pytest.raises(ValueError, match="method must be"):
        DomainAdaptationClassifier(method="dann").fit(rows, labels)


def test_a_regressor_inside_is_refused_before_anything_is_learned():
    X, y, target, _ = two_domains(0)
    model = DomainAdaptationClassifier(margin.LinearRegression())
    with pytest.raises(ValueError, match="estimator must be a classifier; got LinearRegression, a regressor"):
        model.fit(*together(X, y, target))
    assert not hasattr(model, "classes_")
