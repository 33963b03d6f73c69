"""Names of metrics: averages, options, aliases, and which output of a model is measured."""

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from margin.metrics import UndefinedMetricError, evaluate, metric

TUMORS, IRIS = load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_averages_are_those_of_scikit_learn(average):
    X, y = IRIS
    model = LogisticRegression(max_iter=500).fit(X[::2, :2], y[::2])
    predicted = model.predict(X[1::2, :2])
    for name in ("precision", "recall", "f1"):
        oracle = getattr(sk, f"{name}_score")(y[1::2], predicted, average=average)
        assert metric(f"{name}_{average}").measure(model, X[1::2, :2], y[1::2]) == pytest.approx(oracle, rel=1e-12)


def test_the_plain_name_is_of_the_positive_class_and_only_of_two():
    X, y = TUMORS
    model = LogisticRegression(max_iter=5000).fit(X[::2, :3], y[::2])
    predicted = model.predict(X[1::2, :3])
    assert metric("f1").measure(model, X[1::2, :3], y[1::2]) == pytest.approx(sk.f1_score(y[1::2], predicted))
    other = sk.f1_score(y[1::2], predicted, pos_label=0)
    assert metric("f1:pos_label=0").measure(model, X[1::2, :3], y[1::2]) == pytest.approx(other)
    with pytest.raises(UndefinedMetricError, match="name an average: f1_macro"):
        metric("f1").of_outputs({"predict": IRIS[1]}, IRIS[1], [0, 1, 2])


@pytest.mark.parametrize("data", [TUMORS, IRIS], ids=["two classes", "three"])
def test_what_ranks_is_measured_on_decision_values_where_there_are_no_probabilities(data):
    X, y = data
    model = RidgeClassifier().fit(X[::2], y[::2])
    decision = model.decision_function(X[1::2])
    if decision.ndim == 1:
        oracle = sk.roc_auc_score(y[1::2], decision)
    else:
        oracle = np.mean([sk.roc_auc_score(y[1::2] == k, decision[:, k]) for k in range(3)])
    assert metric("roc_auc").measure(model, X[1::2], y[1::2]) == pytest.approx(oracle)
    assert evaluate(model, X[1::2], y[1::2])["roc_auc"] == pytest.approx(oracle)
    with pytest.raises(ValueError, match="RidgeClassifier has no predict_proba"):
        metric("log_loss").measure(model, X, y)


def test_the_other_class_as_positive_turns_decision_values_around():
    X, y = TUMORS
    model = LinearSVC(random_state=0).fit(X[::2, :2], y[::2])
    decision = model.decision_function(X[1::2, :2])
    oracle = sk.average_precision_score(y[1::2], -decision, pos_label=0)
    assert metric("average_precision:pos_label=0").measure(model, X[1::2, :2], y[1::2]) == pytest.approx(oracle)


def test_a_class_that_a_fold_lacks_is_left_out_of_the_mean():
    y = np.array([0, 0, 1, 1])
    scores = np.array([[0.8, 0.1, 0.1], [0.4, 0.5, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    value = metric("roc_auc").of_output(scores, None, y, [0, 1, 2])
    assert value == pytest.approx(sk.roc_auc_score(y, scores[:, 1]))


def test_options_act_and_are_checked():
    y, p = np.array([0, 1, 1, 0, 1]), np.array([1, 1, 0, 0, 1])
    half = metric("fbeta:beta=0.5")
    assert half.of_outputs({"predict": p}, y, [0, 1]) == pytest.approx(sk.fbeta_score(y, p, beta=0.5))
    assert metric("pinball:alpha=0.9").function(y, p) == pytest.approx(sk.mean_pinball_loss(y, p, alpha=0.9))
    with pytest.raises(ValueError, match="fbeta takes beta, pos_label"):
        metric("fbeta:gamma=2")
    with pytest.raises(ValueError, match="rmse takes no options"):
        metric("rmse:x=1")
    with pytest.raises(ValueError, match="the classes are 0, 1"):
        metric("f1:pos_label=yes").of_outputs({"predict": p}, y, [0, 1])


def test_names_of_scikit_learn_are_understood():
    names = {"neg_root_mean_squared_error": "rmse", "neg_brier_score": "brier", "roc_auc_ovr": "roc_auc", "r2": "r2"}
    assert {name: metric(name).name for name in names} == names
