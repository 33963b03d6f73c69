"""A fit continued from any of its records gives the bits of the fit that was never stopped."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.base import clone

from margin.generative import VAE, Autoencoder, NormalizingFlow
from margin.neural import MLPClassifier, MLPRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(420, 6)).astype(np.float32)
CLASSES = (X[:, 0] * X[:, 1] > 0).astype(int)
TARGETS = np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]]
SMALL = {
    "hidden_layer_sizes": (12, 8),
    "batch_size": 4,
    "max_iter": 3,
    "random_state": 3,
}  # 105 steps per epoch: records inside

FITS = [
    (MLPClassifier(**SMALL, dropout=0.3, clip_norm=1.0, warmup=0.1), CLASSES),
    (MLPClassifier(**SMALL, dropout=0.3, early_stopping=True, n_iter_no_change=1, tol=10.0), CLASSES),
    (MLPRegressor(**SMALL, dropout=0.2, solver="sgd", learning_rate="step", learning_rate_init=0.01), TARGETS),
    (MLPRegressor(**SMALL, solver="adamw", alpha=0.1, weight_average=0.9, early_stopping=True), TARGETS),
    (MLPClassifier(**SMALL, solver="muon", learning_rate="cosine", record_steps=20), CLASSES),
    (MLPRegressor(**SMALL, solver="sgd", learning_rate="adaptive", n_iter_no_change=1, tol=10.0), TARGETS),
    (VAE(**SMALL, n_components=2), None),
    (VAE(**SMALL, n_components=2, early_stopping=True, beta=2.0), None),
    (VAE(**SMALL, n_components=3, latent="von-mises-fisher"), None),
    (Autoencoder(**SMALL, n_components=2, noise=0.2), None),
    (NormalizingFlow("affine-coupling", n_blocks=2, **SMALL), None),
]
NAMES = ["classifier", "stops-early", "sgd", "adamw", "muon", "adaptive", "vae", "vae-early-stopping"]
NAMES += ["vae-sphere", "denoising-autoencoder", "flow"]


def flat(state):
    """Names and values of everything in a nested state."""
    for name, value in state.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", part) for inner, part in flat(value))
        else:
            yield name, value


def same(first, second):
    first, second = dict(flat(first)), dict(flat(second))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.parametrize("model,y", FITS, ids=NAMES)
def test_continuing_from_every_record_gives_the_same_bits(model, y):
    whole = clone(model)
    records, states = [], []
    for record in whole.iterate(X, y):
        records.append(record)
        states.append(whole.get_state())
    assert len({record["epoch"] for record in records}) < len(records), "no record lies inside an epoch"
    end = whole.get_state()  # the state at the last record has besides what a longer plan goes on from
    for k, state in enumerate(states):
        resumed = clone(model)
        rest = list(resumed.iterate(X, y, state=state))
        assert [r.as_dict() for r in rest] == [r.as_dict() for r in records[k + 1 :]]
        same(resumed.get_state(), end)
        assert resumed.loss_curve_ == whole.loss_curve_
        assert resumed.n_iter_ == whole.n_iter_


@pytest.mark.parametrize("model,y", [FITS[0], FITS[6]], ids=["classifier", "vae"])
def test_stopping_again_and_again_gives_the_same_bits(model, y):
    whole = clone(model)
    list(whole.iterate(X, y))
    state, part = None, model
    for _ in range(100):
        part = clone(model)
        if next(part.iterate(X, y, state=state), None) is None:
            break
        state = part.get_state()
    same(part.get_state(), whole.get_state())


def test_a_state_is_plain_and_shared_with_nothing():
    model = clone(FITS[1][0])
    records = model.iterate(X, CLASSES)
    next(records)
    state = model.get_state()
    before = {name: np.array(value) for name, value in flat(state)}
    for _ in records:
        pass
    for name, value in flat(state):
        np.testing.assert_array_equal(before[name], value, err_msg=name)
        assert isinstance(value, np.ndarray | int | float | str | bool | list) or value is None, name
        if not isinstance(value, np.ndarray):
            json.dumps(value)


def test_a_fit_without_random_state_continues_too():
    model = MLPClassifier(**{**SMALL, "random_state": None}, early_stopping=True)
    records = model.iterate(X, CLASSES)
    next(records)
    state = model.get_state()
    list(records)
    resumed = MLPClassifier(**{**SMALL, "random_state": None}, early_stopping=True)
    list(resumed.iterate(X, CLASSES, state=state))
    same(resumed.get_state(), model.get_state())


def test_a_state_of_other_rows_is_refused():
    model = clone(FITS[0][0])
    next(model.iterate(X, CLASSES))
    state = model.get_state()
    with pytest.raises(ValueError, match="belongs to 420 rows; got 100"):
        next(clone(model).iterate(X[:100], CLASSES[:100], state=state))
    with pytest.raises(ValueError, match="must have shape"):
        next(clone(model).set_params(hidden_layer_sizes=(5, 8)).iterate(X, CLASSES, state=state))


def test_predictions_between_records_change_nothing():
    model, quiet = clone(FITS[0][0]), clone(FITS[0][0])
    list(quiet.iterate(X, CLASSES))
    threads = torch.get_num_threads()
    for _ in model.iterate(X, CLASSES):
        model.predict_proba(X[:7])
        assert torch.get_num_threads() == threads
    same(model.get_state(), quiet.get_state())


@pytest.mark.parametrize("model,y", [FITS[0], FITS[6]], ids=["classifier", "vae"])
def test_global_generators_are_neither_read_nor_moved(model, y):
    def fit(seed):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        fitted = clone(model)
        list(fitted.iterate(X, y))
        assert torch.equal(torch.get_rng_state(), before[0])
        assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
        return fitted.get_state()

    same(fit(1), fit(2))


def test_a_resumed_fit_keeps_the_number_of_threads_it_began_with(monkeypatch):
    model = clone(FITS[0][0])
    monkeypatch.setattr("margin.neural.estimators.base.threads_for", lambda work: 2)
    records = model.iterate(X, CLASSES)
    next(records)
    state = model.get_state()
    list(records)
    monkeypatch.setattr("margin.neural.estimators.base.threads_for", lambda work: 1)
    resumed = clone(model)
    list(resumed.iterate(X, CLASSES, state=state))
    assert resumed.get_state()["threads"] == 2
    same(resumed.get_state(), model.get_state())
