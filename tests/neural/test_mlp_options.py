"""Class weights, counts as targets, slopes and noise of the perceptrons."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import DataConversionWarning
from sklearn.neural_network import MLPRegressor as PeerRegressor
from torch import nn
from torch.nn import functional

from margin.neural import MLPClassifier, MLPRegressor
from margin.neural.losses.target_losses import PoissonDeviance
from margin.neural.training.noise import with_input_noise, with_weight_noise
from margin.neural.training.objectives import smoothed_cross_entropy

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y3 = np.digitize(X[:, 0] + 0.5 * X[:, 1], [0.0, 1.2])
COUNTS = rng.poisson(np.exp(0.5 * X[:, 0] + 1)).astype(float)
LINEAR = {"hidden_layer_sizes": (), "solver": "lbfgs", "tol": 1e-9, "max_iter": 2000, "random_state": 0}


def test_weights_of_classes_are_weights_of_rows():
    weights = {0: 1.0, 1: 3.0, 2: 0.5}
    by_class = MLPClassifier(**LINEAR, class_weight=weights).fit(X, Y3)
    by_row = MLPClassifier(**LINEAR).fit(X, Y3, sample_weight=[weights[label] for label in Y3])
    np.testing.assert_array_equal(by_class.coefs_[0], by_row.coefs_[0])
    balanced = MLPClassifier(**LINEAR, alpha=0.0, class_weight="balanced").fit(X, Y3).predict_proba(X)
    # At the minimum of the weighted loss with a free bias, the weighted mean probability of a class is its weight.
    row = len(Y3) / (3 * np.bincount(Y3)[Y3])
    np.testing.assert_allclose(row @ balanced / row.sum(), np.full(3, 1 / 3), atol=1e-4)


def test_a_class_of_weight_0_is_never_learned():
    model = MLPClassifier((8,), class_weight={2: 0}, max_iter=50, learning_rate_init=0.05, random_state=0).fit(X, Y3)
    assert 2 in model.classes_
    assert 2 not in model.predict(X)


def test_class_weights_that_cannot_be_used_are_refused():
    with pytest.raises(ValueError, match="class_weight must leave a class"):
        MLPClassifier(class_weight={0: 0, 1: 0, 2: 0}).fit(X, Y3)
    with pytest.raises(ValueError, match="which is not a class"):
        MLPClassifier(class_weight={7: 1}).fit(X, Y3)
    with pytest.raises(ValueError, match="class_weight must be None or a dict in partial_fit"):
        MLPClassifier(class_weight="balanced").partial_fit(X, Y3)
    with pytest.raises(ValueError, match="class_weight is for one class per row"):
        MLPClassifier(class_weight="balanced").fit(X, np.c_[Y3 == 0, Y3 > 1].astype(int))


def test_partial_fit_weighs_classes():
    common = {"hidden_layer_sizes": (5,), "random_state": 0}
    weighted = MLPClassifier(**common, class_weight={0: 2.0}).partial_fit(X, Y3)
    plain = MLPClassifier(**common).partial_fit(X, Y3)
    assert not np.array_equal(weighted.coefs_[0], plain.coefs_[0])


def test_poisson_deviance_is_torchs_up_to_a_constant():
    raw, y = torch.randn(9, 2, dtype=torch.float64), torch.randint(0, 5, (9, 2)).double()
    ours = PoissonDeviance()(raw, y)
    theirs = functional.poisson_nll_loss(raw, y, reduction="none").sum(dim=1)
    constant = (torch.xlogy(y, y) - y).sum(dim=1)
    torch.testing.assert_close(ours, theirs + constant)


def test_counts_reach_the_minimum_that_scikit_learn_reaches():
    common = {**LINEAR, "alpha": 2.0, "loss": "poisson"}
    ours = MLPRegressor(**common, standardize=False).fit(X, COUNTS)
    theirs = PeerRegressor(**common).fit(X, COUNTS)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4)
    assert ours.out_activation_ == "exp"
    assert ours.predict(X).min() > 0


def test_counts_need_targets_that_are_not_negative():
    for y in (COUNTS - 5, np.zeros(len(X))):
        with pytest.raises(ValueError, match="y must have no negative number and one above 0 with loss 'poisson'"):
            MLPRegressor(loss="poisson").fit(X, y)


def test_counts_can_stop_early_and_learn_in_parts():
    model = MLPRegressor((16,), loss="poisson", early_stopping=True, learning_rate_init=0.02, random_state=0)
    assert model.fit(X, COUNTS).best_validation_score_ > 0
    parts = MLPRegressor((16,), loss="poisson", learning_rate_init=0.02, random_state=0)
    for _ in range(60):
        parts.partial_fit(X, COUNTS)
    assert parts.score(X, COUNTS) > 0.2


def test_the_slope_of_the_leaky_rectifier_acts():
    common = {"hidden_layer_sizes": (6,), "max_iter": 2, "random_state": 0}
    same = MLPRegressor(**common, activation="leaky_relu", negative_slope=1.0).fit(X, COUNTS)
    line = MLPRegressor(**common, activation="identity").fit(X, COUNTS)
    np.testing.assert_allclose(same.predict(X), line.predict(X), rtol=1e-12)
    assert same.network_["negative_slope"] == 1.0


def test_noise_on_inputs_is_ridge_regression_on_average():
    noise, w = torch.Generator().manual_seed(0), nn.Linear(3, 1, bias=False).double()
    rows = torch.from_numpy(X).repeat(400, 1), torch.from_numpy(COUNTS[:, None]).repeat(400, 1)

    def squares(module, batch, _noise):
        return {"loss": (module(batch[0]) - batch[1]).square().squeeze(1)}

    noisy = with_input_noise(squares, 0.7)(w, rows, noise)["loss"].mean()
    plain = squares(w, rows, noise)["loss"].mean()
    expected = plain + 0.49 * w.weight.square().sum()
    assert noisy.item() == pytest.approx(expected.item(), rel=0.02)


def test_noise_on_weights_moves_the_network_only_for_the_update():
    layer = nn.Linear(2, 1, bias=False).double()
    before = layer.weight.detach().clone()

    def output(module, batch, _noise):
        return {"loss": module(batch[0]).squeeze(1)}

    inputs, noise = torch.ones(1, 2, dtype=torch.float64), torch.Generator().manual_seed(0)
    said = torch.stack([with_weight_noise(output, 0.5)(layer, (inputs,), noise)["loss"][0] for _ in range(2000)])
    assert float(said.std()) == pytest.approx(0.5 * 2**0.5, rel=0.1)
    said.mean().backward()
    torch.testing.assert_close(layer.weight.grad, torch.ones(1, 2, dtype=torch.float64))
    torch.testing.assert_close(layer.weight.detach(), before)


@pytest.mark.parametrize("name", ["input_noise", "weight_noise"])
def test_noise_follows_the_seed_and_is_off_when_predicting(name):
    params = {"hidden_layer_sizes": (6,), "max_iter": 3, "random_state": 0, name: 0.3}
    a, b = (MLPClassifier(**params).fit(X, Y3) for _ in range(2))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(a.predict_proba(X), a.predict_proba(X))
    assert not np.array_equal(a.coefs_[0], MLPClassifier(**{**params, name: 0.0}).fit(X, Y3).coefs_[0])
    with pytest.raises(ValueError, match=f"{name} must be 0 with solver 'lbfgs'"):
        MLPClassifier(**params, solver="lbfgs").fit(X, Y3)


def test_smoothed_labels_bound_the_confidence():
    raw, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1])
    layer = nn.Identity().train()
    smooth = smoothed_cross_entropy(0.2)(layer, (raw, y), torch.Generator())["loss"]
    target = 0.8 * functional.one_hot(y, 3) + 0.2 / 3
    torch.testing.assert_close(smooth, -(target * raw.log_softmax(1)).sum(1))
    plain = smoothed_cross_entropy(0.2)(layer.eval(), (raw, y), torch.Generator())["loss"]
    torch.testing.assert_close(plain, functional.cross_entropy(raw, y, reduction="none"))
    easy = np.r_[np.full((40, 1), -2.0), np.full((40, 1), 2.0)]
    params = {"hidden_layer_sizes": (8,), "solver": "lbfgs", "alpha": 0.0, "label_smoothing": 0.2, "random_state": 0}
    top = MLPClassifier(**params).fit(easy, np.repeat([0, 1], 40)).predict_proba(easy).max(axis=1)
    np.testing.assert_allclose(top, 0.9, atol=1e-3)  # 1 - 0.2 + 0.2 / 2


def test_decays_may_be_the_integer_zero():
    X = np.random.default_rng(0).normal(size=(40, 3))
    settings = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0}
    integers, floats = (
        MLPRegressor(beta_1=zero, beta_2=zero, **settings).fit(X, X[:, 0]).predict(X) for zero in (0, 0.0)
    )
    np.testing.assert_array_equal(integers, floats)


def test_a_column_of_targets_is_one_target_as_in_scikit_learn():
    X = np.random.default_rng(0).normal(size=(40, 3))
    settings = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0}
    flat = MLPRegressor(**settings).fit(X, X[:, 0]).predict(X)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = MLPRegressor(**settings).fit(X, X[:, :1]).predict(X)
    np.testing.assert_array_equal(column, flat)
