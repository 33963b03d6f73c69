"""Networks for tables: their parts against loops, held-out rows, exact resume, and bad input in one sentence."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_iris, make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import margin
from margin.neural import TabularNetClassifier, TabularNetRegressor
from margin.neural.calibration import best_temperature
from margin.neural.estimators.tabular import _objective
from margin.neural.nets.tabular import BIAS_SCALE, TabularNet
from margin.neural.robust_scaling import RobustScaling, smooth_clip

SMALL = {"hidden_layer_sizes": (8,), "n_networks": 3, "max_iter": 6, "random_state": 0}


def test_side_by_side_networks_are_single_perceptrons():
    net = TabularNet(3, [4, 6, 2], "tanh").double()
    x = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for m, found in enumerate(net(x)):
        hidden = torch.tanh(x @ net.weights[0][m] / 4**0.5 + BIAS_SCALE * net.biases[0][m])
        torch.testing.assert_close(found, hidden @ net.weights[1][m] / 6**0.5 + BIAS_SCALE * net.biases[1][m])


def test_signals_keep_their_size_at_every_width():
    x = torch.randn(400, 20, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    sizes = [float(TabularNet(2, [20, width, width, 1], "tanh")(x).detach().std()) for width in (16, 1024)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.5)


def test_robust_columns_equal_quartiles_and_stay_within_three():
    X = np.random.default_rng(0).normal(size=(101, 3)) * [1, 100, 1e-3]
    scaling = RobustScaling.of(X)
    np.testing.assert_allclose(scaling.center, np.median(X, axis=0))
    np.testing.assert_allclose(scaling.scale, np.subtract(*np.percentile(X, [75, 25], axis=0)))
    doubled = RobustScaling.of(X, np.full(101, 2.0))
    np.testing.assert_allclose(doubled, scaling)
    far = np.vstack([X, [1e300, -1e300, 0]])
    assert np.abs(RobustScaling.of(far).apply(far)).max() <= 3
    assert (np.diff(smooth_clip(np.linspace(-50, 50, 1001))) > 0).all()
    constant = RobustScaling.of(np.ones((9, 1)))
    assert constant.apply(np.ones((9, 1))).max() == 0


def test_losses_count_pairs_that_train_and_in_evaluation_those_that_do_not():
    module, noise = torch.nn.Identity(), torch.Generator()
    outputs = torch.arange(6.0).view(3, 2)  # the loss of three rows by two networks
    trains = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    objective = _objective(lambda found, _target, _training: found)
    batch = (outputs, trains, torch.zeros(3))
    assert objective(module.train(), batch, noise)["loss"].tolist() == [0.5, 2.0, 0.0]
    assert objective(module.eval(), batch, noise)["loss"].tolist() == [0.0, 3.0, 4.5]


def test_every_network_holds_out_its_fraction_of_every_class():
    y = load_iris().target
    model = TabularNetClassifier(4, validation_fraction=0.2)
    trains = model._draw_rows(150, 0, y, given=None)
    assert trains.sum(axis=0).tolist() == [120] * 4
    assert (np.array([trains[y == label].sum(axis=0) for label in range(3)]) == 40).all()
    assert not (trains == trains[:, :1]).all()


def test_it_reads_tables_better_than_a_linear_model():
    X, y = make_friedman1(600, noise=0.5, random_state=0)
    train, test = train_test_split(np.arange(600), random_state=0)
    model = TabularNetRegressor(random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.88  # a linear model explains about 0.73
    assert 0.5 < model.best_validation_score_ < 1
    X, y = load_breast_cancer(return_X_y=True)
    train, test = train_test_split(np.arange(len(X)), random_state=0, stratify=y)
    model = TabularNetClassifier(random_state=0).fit(X[train], y[train])
    linear = LogisticRegression(max_iter=5000).fit(X[train], y[train])  # of raw columns
    assert model.score(X[test], y[test]) >= linear.score(X[test], y[test]) - 0.02
    np.testing.assert_allclose(model.predict_proba(X[test]).sum(axis=1), 1)


def test_a_fit_that_was_interrupted_ends_with_the_same_weights():
    X, y = load_iris(return_X_y=True)
    whole = TabularNetClassifier(**SMALL, record_steps=1).fit(X, y)
    part = TabularNetClassifier(**SMALL, record_steps=1)
    for count, _ in enumerate(part.iterate(X, y)):
        if count == 7:
            state = part.get_state()
            break
    rest = TabularNetClassifier(**SMALL, record_steps=1)
    for _ in rest.iterate(X, y, state=state):
        pass
    for name, weight in whole.weights_.items():
        assert np.array_equal(weight, rest.weights_[name])


def test_several_targets_and_warm_starts():
    X, y = make_friedman1(120, random_state=0)
    Y = np.stack([y, -y], axis=1)
    model = TabularNetRegressor(**SMALL, warm_start=True).fit(X, Y)
    assert model.predict(X).shape == (120, 2)
    before = list(model.loss_curve_)
    again = model.fit(X, Y).loss_curve_
    assert again[: len(before)] == before
    assert len(again) == len(before) + model.n_iter_
    with pytest.raises(ValueError, match="warm_start must go on with 3 networks"):
        model.set_params(n_networks=2).fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"n_networks": 0}, "n_networks must be"), ({"label_smoothing": 1}, "label_smoothing must be")],
)
def test_wrong_parameters(params, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        TabularNetClassifier(**params).fit(X, y)
    with pytest.raises(ValueError, match="nothing to train on"):
        TabularNetRegressor(validation_fraction=0.9).fit(X[:3], X[:3, 0])


def test_outputs_can_be_differentiated():
    X, y = make_friedman1(80, random_state=0)
    model = TabularNetRegressor(**SMALL).fit(X, y)
    outputs, rows = model.differentiable(X)
    np.testing.assert_allclose(outputs(rows)[:, 0].detach(), model.predict(X), rtol=1e-9)


def test_the_best_temperature_is_that_of_a_fine_grid():
    rng = np.random.default_rng(3)
    scores, labels, weight = 3 * rng.normal(size=(200, 4)), rng.integers(4, size=200), rng.random(200)
    labels[:150] = scores[:150].argmax(axis=1)
    grid = np.geomspace(0.05, 20, 4001)
    targets = np.eye(4)[labels] * (1 - 1 / 202) + 1 / 202 / 4
    losses = [-(weight @ (targets * torch.log_softmax(torch.tensor(scores / T), 1).numpy()).sum(1)) for T in grid]
    assert best_temperature(scores, labels, weight) == pytest.approx(grid[np.argmin(losses)], rel=5e-3)
    assert best_temperature(scores / 2, labels, weight) == pytest.approx(grid[np.argmin(losses)] / 2, rel=5e-3)


def test_easy_rows_become_sure_and_the_order_stays():
    """Smoothed targets end at a probability of 0.95 for two classes; held-out rows that are all right allow more."""
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + 8 * y[:, None]
    model = TabularNetClassifier(hidden_layer_sizes=(16,), n_networks=2, random_state=0).fit(X, y)
    sure = model.predict_proba(X).max(axis=1)
    said = model.predict(X)
    assert model.temperature_ < 1
    assert np.median(sure) > 0.97
    model.temperature_ = 1.0
    assert np.median(model.predict_proba(X).max(axis=1)) < np.median(sure)
    np.testing.assert_array_equal(model.predict(X), said)


def test_the_temperature_comes_back_after_a_stop_and_from_a_file(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    whole = TabularNetClassifier(**SMALL)
    list(whole.iterate(X, y))
    part = TabularNetClassifier(**SMALL)
    records = part.iterate(X, y)
    next(records)
    assert part.temperature_ == 1
    resumed = TabularNetClassifier(**SMALL)
    list(resumed.iterate(X, y, state=part.get_state()))
    assert resumed.temperature_ == whole.temperature_ != 1
    margin.save(whole, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict_proba(X), whole.predict_proba(X))
