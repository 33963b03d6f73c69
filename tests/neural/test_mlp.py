"""Perceptrons: against scikit-learn and by hand, weights of rows, copies, complaints, estimator checks."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, make_blobs
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from margin.core.parameters import parameters_of
from margin.core.watching import watch
from margin.neural import MLPClassifier, MLPRegressor
from margin.neural.backprop import SLOPES, backward_pass, forward_pass
from margin.neural.nets.mlp import MLP
from margin.neural.weights import build

CHEAP = {"hidden_layer_sizes": (16,), "max_iter": 10, "learning_rate_init": 0.02, "batch_size": 32}
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


@parametrize_with_checks([MLPClassifier(**CHEAP), MLPRegressor(**CHEAP)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [MLPClassifier, MLPRegressor])
def test_domains_are_the_signature(cls):
    assert list(parameters_of(cls)) == list(inspect.signature(cls).parameters)


def test_digits_are_read():
    digits, labels = load_digits(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    assert cross_val_score(MLPClassifier(max_iter=60, random_state=0), digits, labels, cv=folds).mean() > 0.95


def test_regression_beats_a_line_where_there_is_a_curve():
    curve = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])
    split = train_test_split(X, curve, random_state=0)
    model = MLPRegressor((64,), batch_size=16, learning_rate_init=5e-3, random_state=0).fit(split[0], split[2])
    line = Ridge().fit(split[0], split[2])
    assert model.score(split[1], split[3]) > line.score(split[1], split[3]) + 0.3


def test_without_hidden_layers_it_is_logistic_regression():
    blobs, labels = make_blobs(200, centers=3, cluster_std=4.0, random_state=0)
    scaled = (blobs - blobs.mean(axis=0)) / blobs.std(axis=0)
    model = MLPClassifier(
        (), max_iter=600, alpha=0, learning_rate="cosine", learning_rate_init=0.05, random_state=0
    ).fit(scaled, labels)
    peer = LogisticRegression(C=np.inf, tol=1e-8).fit(scaled, labels)
    np.testing.assert_allclose(model.predict_proba(scaled), peer.predict_proba(scaled), atol=2e-3)


def test_several_targets_are_learned_together():
    targets = np.c_[X[:, 0] * 100, X[:, 1] - 5]
    model = MLPRegressor(max_iter=60, learning_rate_init=0.02, random_state=0).fit(X, targets)
    assert model.predict(X).shape == targets.shape
    assert model.score(X, targets) > 0.98


def test_weights_of_rows_are_repetitions_and_zero_is_absence():
    weight = rng.integers(0, 3, size=len(X))
    params = {"max_iter": 10, "batch_size": 500, "random_state": 0}
    weighted = MLPClassifier(**params).fit(X, y, sample_weight=weight)
    repeated = MLPClassifier(**params).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-8)
    unweighted = MLPClassifier(**params).fit(X, y)
    assert np.abs(unweighted.predict_proba(X) - weighted.predict_proba(X)).max() > 1e-3
    with pytest.raises(ValueError, match=r"all 120 are 0|at least one non-zero"):
        MLPClassifier(**params).fit(X, y, sample_weight=np.zeros(120))


def test_copies_pickles_and_rebuilt_models_predict_the_same():
    model = MLPClassifier(**CHEAP, dropout=0.2, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert not hasattr(again, "_loop")
        np.testing.assert_array_equal(again.predict_proba(X), expected)
        assert hasattr(again, "_module")
        assert not hasattr(pickle.loads(pickle.dumps(again)), "_module")
        for name, value in vars(again).items():
            assert not name.endswith("_") or not contains_torch(value), name


def contains_torch(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else []
    return isinstance(value, torch.Tensor | torch.nn.Module) or any(contains_torch(part) for part in parts)


def test_changing_parameters_after_the_fit_does_not_change_the_network():
    model = MLPClassifier(**CHEAP, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    again = pickle.loads(pickle.dumps(model.set_params(hidden_layer_sizes=(3, 3), activation="tanh")))
    np.testing.assert_array_equal(again.predict_proba(X), expected)


def test_usable_after_every_record_and_stoppable():
    seen = []

    def stop_at_three(estimator, record):
        seen.append(estimator.score(X, y))
        return len(seen) == 3

    with watch(stop_at_three):
        model = MLPClassifier(**CHEAP, random_state=0).fit(X, y)
    assert len(seen) == 3
    assert model.n_iter_ == len(model.loss_curve_) == 3


def test_standardizing_makes_units_irrelevant_and_sees_training_rows_only():
    units = np.array([1e6, 1e-3, 1.0])
    plain = MLPClassifier(**CHEAP, random_state=0).fit(X, y)
    other = MLPClassifier(**CHEAP, random_state=0).fit(X * units + 7, y)
    np.testing.assert_allclose(plain.predict_proba(X), other.predict_proba(X * units + 7), rtol=1e-3)
    held = MLPClassifier(**CHEAP, early_stopping=True, validation_fraction=0.3, random_state=0).fit(X, y)
    assert not np.allclose(held.center_, X.mean(axis=0))
    raw = MLPClassifier(**CHEAP, standardize=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(raw.scale_, 1)


def test_precision_follows_the_input():
    for dtype in (np.float32, np.float64):
        model = MLPRegressor(**CHEAP, random_state=0).fit(X.astype(dtype), X[:, 0])
        assert {array.dtype for array in model.weights_.values()} == {np.dtype(dtype)}


def test_validation_is_reported_with_its_score():
    model = MLPRegressor(**CHEAP, early_stopping=True, random_state=0)
    records = list(model.iterate(X, X[:, 0]))
    assert all({"valid_loss", "valid_score", "train_loss", "learning_rate", "epoch"} <= set(r.values) for r in records)
    assert records[-1]["valid_score"] > 0.5


@pytest.mark.parametrize(
    "params,sentence",
    [
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes must be a list in which each item is an integer at least 1"),
        ({"hidden_layer_sizes": 0}, "hidden_layer_sizes must be"),
        ({"activation": "softmax"}, "activation must be one of"),
        ({"dropout": 1.0}, "dropout must be a number at least 0 and below 1; got 1.0"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"solver": "lbfgs", "dropout": 0.5}, "dropout must be 0 with solver 'lbfgs'; got 0.5"),
        ({"max_iter": 0}, "max_iter must be an integer at least 1; got 0"),
        ({"clip_norm": 0}, "clip_norm must be"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
    ],
)
def test_parameters_outside_their_domain(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        MLPClassifier(**params).fit(X, y)


def test_bad_rows_change_nothing():
    model = MLPClassifier(**CHEAP, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    for bad in (np.full_like(X, np.nan), X[:, :2], X[:0], "words", X[0]):
        with pytest.raises(ValueError, match=r"\S"):
            model.predict(bad)
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(np.where(X > 2, np.nan, X), y)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_early_stopping_on_one_row_says_why_it_cannot():
    with pytest.raises(ValueError, match="1 rows leave nothing to train on"):
        MLPRegressor(early_stopping=True).fit([[1.0]], [1.0])


@pytest.mark.parametrize("activation", sorted(SLOPES))
@pytest.mark.parametrize("depth", [0, 1, 3, 5])
def test_backpropagation_is_the_gradient_of_torch(activation, depth):
    sizes = [3, *[4] * depth, 2]
    net = build(lambda: MLP(sizes, activation), seed=depth, dtype=torch.float64)
    inputs = torch.from_numpy(X[:7])
    (0.5 * net(inputs).square().sum()).backward()
    weights = [layer.weight.detach().numpy() for layer in net.linears]
    forward = forward_pass(weights, [layer.bias.detach().numpy() for layer in net.linears], X[:7], activation)
    gradients = backward_pass(weights, forward, forward.f[-1], activation)
    for layer, by_weight, by_bias in zip(net.linears, gradients.weights, gradients.biases):
        np.testing.assert_allclose(by_weight, layer.weight.grad.numpy(), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(by_bias, layer.bias.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_diabetes_is_predicted_as_well_as_by_others():
    data, target = load_diabetes(return_X_y=True)
    model = MLPRegressor((32,), max_iter=40, alpha=1.0, learning_rate_init=2e-3, batch_size=64, random_state=0)
    assert cross_val_score(model, data, target, cv=4).mean() > 0.4
