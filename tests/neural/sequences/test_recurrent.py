"""Recurrent cells against torch's, back-propagation through time against differences, series of any length."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch import nn

from margin import load, save
from margin.neural import SequenceClassifier, SequenceRegressor
from margin.neural.layers.recurrent import unroll
from margin.neural.nets import SequenceNetwork
from margin.neural.sequences import is_table, lengths_of, pad
from margin.neural.weights import build

rng = np.random.default_rng(0)
LENGTHS = rng.integers(2, 7, 60)
SERIES = [rng.normal(size=(n, 2)) for n in LENGTHS]
FIRST = np.array([int(s[0, 0] > 0) for s in SERIES])  # what came first must be remembered
SMALL = {"cell": "gru", "hidden_size": 12, "learning_rate_init": 0.02, "random_state": 0}


@pytest.mark.parametrize(("cell", "layer"), [("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_cells_are_torchs(cell, layer):
    theirs = build(lambda: layer(3, 5, batch_first=True), 0, torch.float64)
    x = torch.randn(4, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = tuple(theirs.parameters())
    expected = theirs(x)[0]
    states = unroll(cell, x, weights)
    torch.testing.assert_close(states, expected, rtol=1e-12, atol=1e-12)
    ours = torch.autograd.grad(states.square().sum(), weights)
    for a, b in zip(ours, torch.autograd.grad(expected.square().sum(), weights)):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_truncation_keeps_values_and_cuts_gradients():
    weights = tuple(build(lambda: nn.RNN(1, 4), 0, torch.float64).parameters())
    x = torch.randn(2, 6, 1, dtype=torch.float64, requires_grad=True)
    whole, cut = unroll("rnn", x, weights), unroll("rnn", x, weights, truncation=2)
    torch.testing.assert_close(whole, cut)
    (gradient,) = torch.autograd.grad(cut[:, -1].sum(), x)
    assert (gradient[:, :4] == 0).all()
    assert (gradient[:, 4:] != 0).all()
    with pytest.raises(ValueError, match="cell must be one of rnn, lstm, gru"):
        unroll("tree", x, weights)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_the_network_is_the_unrolled_cells_and_ignores_padding(cell):
    net = build(lambda: SequenceNetwork(2, 3, cell, hidden_size=5, n_layers=2), 0, torch.float64).eval()
    x = torch.from_numpy(pad("test", SERIES))
    got = net(x)
    for row, series in zip(got, SERIES):
        h = torch.from_numpy(series)[None]
        for layer in net.layers:
            h = unroll(cell, h, tuple(layer.parameters()))
        torch.testing.assert_close(row, net.head(h[0, -1]), rtol=1e-10, atol=1e-10)


def test_truncation_acts_in_training_only():
    net = build(lambda: SequenceNetwork(1, 1, "rnn", hidden_size=4, truncation=2), 0, torch.float64)
    x = torch.randn(3, 6, 1, dtype=torch.float64, requires_grad=True)
    (cut,) = torch.autograd.grad(net.train()(x).sum(), x)
    (whole,) = torch.autograd.grad(net.eval()(x).sum(), x)
    assert (cut[:, :4] == 0).all()
    assert (whole != 0).all()


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_a_classifier_remembers_the_first_step(cell):
    model = SequenceClassifier(**{**SMALL, "cell": cell}, max_iter=80).fit(SERIES, FIRST)
    assert model.score(SERIES, FIRST) > 0.95
    states = model.hidden_states(SERIES)
    assert [s.shape for s in states] == [(n, 12) for n in LENGTHS]


def test_lists_padded_arrays_and_tables_are_one():
    model = SequenceClassifier(**SMALL, max_iter=3)
    a = model.fit(SERIES, FIRST).predict_proba(SERIES)
    b = clone(model).fit(pad("test", SERIES), FIRST).predict_proba(SERIES)
    np.testing.assert_array_equal(a, b)
    table = rng.normal(size=(40, 5))
    y = table[:, 0] - table[:, 3]
    rows = SequenceRegressor(**SMALL, max_iter=3).fit(table, y)
    series = SequenceRegressor(**SMALL, max_iter=3).fit(table[:, :, None], y)
    np.testing.assert_array_equal(rows.predict(table), series.predict(table))
    assert rows.n_features_in_ == 5
    assert series.n_features_in_ == 1
    assert series.predict([[1.0, 2.0], [1.0, 2.0, 3.0]]).shape == (2,)


def test_padding_does_not_change_a_prediction():
    model = SequenceRegressor(**SMALL, max_iter=3).fit(SERIES, [float(s.sum()) for s in SERIES])
    alone = np.concatenate([model.predict([s]) for s in SERIES])
    np.testing.assert_allclose(model.predict(SERIES), alone, rtol=1e-10)


def test_several_targets_weights_and_early_stopping():
    Y = np.array([[s.mean(), s[-1, 0]] for s in SERIES])
    model = SequenceRegressor(**SMALL, max_iter=40, early_stopping=True).fit(SERIES, Y)
    assert model.predict(SERIES).shape == (60, 2)
    assert len(model.validation_scores_) == model.n_iter_
    twice = SequenceClassifier(**SMALL, max_iter=3).fit(SERIES, FIRST, sample_weight=np.full(60, 2.0))
    assert twice.predict(SERIES).shape == (60,)


@pytest.mark.parametrize("options", [{}, {"truncation": 2, "n_layers": 2, "dropout": 0.3}])
def test_a_stopped_fit_continues_with_the_same_bits(options):
    params = {**SMALL, **options, "max_iter": 4, "batch_size": 16}
    whole = SequenceClassifier(**params).fit(SERIES, FIRST)
    stopped = SequenceClassifier(**params)
    for record in stopped.iterate(SERIES, FIRST):
        if record.iteration >= 6:
            break
    state = stopped.get_state()
    resumed = SequenceClassifier(**params)
    list(resumed.iterate(SERIES, FIRST, state=state))
    np.testing.assert_array_equal(resumed.predict_proba(SERIES), whole.predict_proba(SERIES))


def test_save_and_load(tmp_path):
    model = SequenceClassifier(**SMALL, max_iter=2, n_layers=2, truncation=3).fit(SERIES, FIRST)
    path = save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(path or tmp_path / "model").predict_proba(SERIES), model.predict_proba(SERIES))


def test_scikit_learns_tools_take_lists_of_series():
    model = SequenceClassifier(**SMALL, max_iter=2)
    assert len(cross_val_score(model, SERIES, FIRST, cv=3)) == 3
    search = GridSearchCV(model, {"hidden_size": [4, 8]}, cv=2).fit(SERIES, FIRST)
    assert search.best_params_["hidden_size"] in (4, 8)


def test_bad_series_are_named():
    model = SequenceClassifier(**SMALL, max_iter=1)
    cases = [
        ([np.zeros((3, 2)), np.zeros((3, 1))], "same number of channels; got 1 and 2"),
        ([np.zeros((3, 2)), np.zeros((0, 2))], "series 1 has shape"),
        ([np.zeros((3, 2)), np.array([[np.nan, 1.0]])], "series 1 has NaN or infinity"),
        ([np.zeros((3, 2)), [["a", "b"]]], "series 1 is not"),
    ]
    for X, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(X, [0, 1])
    gap = pad("test", SERIES)
    gap[3, 0] = np.nan
    with pytest.raises(ValueError, match="series 3 has NaN elsewhere"):
        model.fit(gap, FIRST)
    empty = pad("test", SERIES)
    empty[2] = np.nan
    with pytest.raises(ValueError, match="series 2 has none"):
        model.fit(empty, FIRST)
    fitted = model.fit(SERIES, FIRST)
    with pytest.raises(ValueError, match="X must have 2 channels, as in fit; got 1"):
        fitted.predict([np.zeros(3), np.zeros(2)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(SERIES, FIRST[:-1])


def test_lengths_and_kinds():
    assert lengths_of(pad("test", SERIES)).tolist() == LENGTHS.tolist()
    assert is_table(np.zeros((2, 3)))
    assert not is_table(SERIES)
