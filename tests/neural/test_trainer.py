"""The trainer against plain torch, its schedules, stopping, splitting and complaints."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim import lr_scheduler

from margin.neural import MLP, Plan, Rows, Trainer, validation_split
from margin.neural.estimators.mlp import cross_entropy, squared_error
from margin.neural.layers import Dropout, use_generator
from margin.neural.schedules import SCHEDULES, learning_rate_factor
from margin.neural.stopping import EarlyStopping
from margin.neural.trainer import STEPS_PER_RECORD, Seeds
from margin.neural.weights import build, copy_weights, live_weights, load_weights

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4))
Y = np.c_[X[:, 0] * X[:, 1], np.sin(X[:, 2])]


def network(seed=0):
    return build(lambda: MLP([4, 8, 2], "tanh"), seed, torch.float64)


def plain_loop(plan, weight):
    """The same training with torch's own parts: a default optimizer and its scheduler, batches by hand."""
    module, order = network(), torch.Generator().manual_seed(Seeds.of(5).order)
    makers = {
        "adam": lambda p: torch.optim.Adam(p, plan.learning_rate, weight_decay=plan.weight_decay),
        "adamw": lambda p: torch.optim.AdamW(p, plan.learning_rate, weight_decay=plan.weight_decay),
        "sgd": lambda p: torch.optim.SGD(p, plan.learning_rate, plan.momentum, weight_decay=plan.weight_decay),
    }
    optimizer = makers[plan.optimizer](module.parameters())
    total = plan.epochs * math.ceil(len(X) / plan.batch_size)
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, total)
    inputs, targets, weights = torch.from_numpy(X), torch.from_numpy(Y), torch.from_numpy(weight)
    for _ in range(plan.epochs):
        for batch in torch.randperm(len(X), generator=order).split(plan.batch_size):
            optimizer.zero_grad()
            losses = 0.5 * (module(inputs[batch]) - targets[batch]).square().mean(1)
            ((weights[batch] * losses).sum() / weights[batch].sum()).backward()
            nn.utils.clip_grad_norm_(module.parameters(), plan.clip_norm)
            optimizer.step()
            scheduler.step()
    return copy_weights(module)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_training_is_what_a_plain_loop_does(optimizer):
    plan = Plan(optimizer, 0.02, weight_decay=0.01, schedule="cosine", batch_size=16, epochs=4, clip_norm=0.3)
    weight = rng.uniform(0.5, 2, size=len(X))
    module = network()
    records = list(Trainer(module, squared_error, plan, n_rows=len(X), seed=5).run(Rows.of(X, Y, weight=weight)))
    assert [record.iteration for record in records] == [6, 12, 18, 24]
    assert records[0].total == 24
    expected = plain_loop(plan, weight)
    for name, array in copy_weights(module).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_reported_loss_is_the_weighted_mean_over_the_epoch():
    weight = rng.uniform(0.5, 2, size=len(X))
    plan = Plan("sgd", 1e-300, momentum=0.0, batch_size=16, epochs=1)  # nothing moves
    module = network()
    (record,) = Trainer(module, squared_error, plan, n_rows=len(X), seed=0).run(Rows.of(X, Y, weight=weight))
    losses = 0.5 * (module(torch.from_numpy(X)).detach().numpy() - Y) ** 2
    assert record["train_loss"] == pytest.approx(np.average(losses.mean(axis=1), weights=weight), rel=1e-12)


def test_long_epochs_report_inside():
    plan = Plan(batch_size=1, epochs=2)
    records = list(Trainer(network(), squared_error, plan, n_rows=len(X), seed=0).run(Rows.of(X, Y), Rows.of(X, Y)))
    assert [record.iteration for record in records] == [STEPS_PER_RECORD, 90, 90 + STEPS_PER_RECORD, 180]
    assert [record["epoch"] for record in records] == [1, 1, 2, 2]
    assert ["valid_loss" in record.values for record in records] == [False, True, False, True]


def test_early_stopping_ends_with_the_best_weights():
    module = network()
    plan = Plan("sgd", 0.5, schedule="constant", batch_size=16, epochs=60, n_iter_no_change=5)
    train, valid = Rows.of(X[:60], Y[:60]), Rows.of(X[60:], Y[60:])
    trainer = Trainer(module, squared_error, plan, n_rows=60, seed=0)
    losses = [record["valid_loss"] for record in trainer.run(train, valid)]
    assert len(losses) < 60
    assert trainer.stopping.stale_epochs == 5
    with torch.no_grad():
        final = squared_error(module, valid.tensors, torch.Generator())["loss"].mean()
    assert float(final) == pytest.approx(min(losses), rel=1e-12)


def test_small_gains_count_as_stale_but_are_kept():
    stopping, module = EarlyStopping(patience=2, tol=0.1), nn.Linear(1, 1)
    assert [stopping.see(loss, module) for loss in (1.0, 0.95, 0.5, 0.45, 0.44)] == [False, False, False, False, True]
    assert stopping.best_loss == 0.44


def test_a_diverging_loss_is_an_error_that_says_what_helps():
    plan = Plan("sgd", 1e6, schedule="constant", batch_size=16, epochs=50)
    trainer = Trainer(network(), squared_error, plan, n_rows=len(X), seed=0)
    with pytest.raises(FloatingPointError, match="smaller learning_rate"):
        list(trainer.run(Rows.of(X, Y * 1e200)))


def test_rows_must_be_those_it_was_made_for():
    trainer = Trainer(network(), squared_error, Plan(), n_rows=10, seed=0)
    with pytest.raises(ValueError, match="the 10 rows it was made for; got 90"):
        next(trainer.run(Rows.of(X, Y)))


def test_two_outputs_of_one_objective_are_averaged_alike():
    def objective(module, batch, noise):
        losses = cross_entropy(module, batch, noise)["loss"]
        return {"loss": losses, "twice": 2 * losses}

    plan = Plan(batch_size=16, epochs=1)
    rows = Rows.of(X, (X[:, 0] > 0).astype(np.int64))
    (record,) = Trainer(network(), objective, plan, n_rows=len(X), seed=0).run(rows)
    assert record["twice"] == pytest.approx(2 * record["train_loss"], rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(SCHEDULES)), st.integers(1, 500), st.floats(0, 0.9))
def test_schedules_stay_between_0_and_1_and_rise_then_fall(schedule, total, warmup):
    factors = [learning_rate_factor(schedule, step, total, warmup) for step in range(total)]
    assert all(0 < factor <= 1 for factor in factors)
    rise = round(warmup * total)
    assert factors[:rise] == sorted(factors[:rise])
    assert factors[rise:] == sorted(factors[rise:], reverse=True)
    if rise:
        assert factors[rise - 1] == 1


def test_step_and_exponential_schedules_end_where_they_say():
    assert learning_rate_factor("step", 0, 90) == 1
    assert learning_rate_factor("step", 30, 90) == pytest.approx(0.1)
    assert learning_rate_factor("step", 89, 90) == pytest.approx(0.01)
    assert learning_rate_factor("exponential", 50, 100) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="one of constant"):
        learning_rate_factor("linear", 0, 10)


def test_dropout_keeps_the_mean_and_needs_a_generator():
    layer, h = Dropout(0.4), torch.ones(200_000)
    with pytest.raises(RuntimeError, match="use_generator"):
        layer(h)
    use_generator(layer, torch.Generator().manual_seed(0))
    dropped = layer(h)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.4, abs=0.005)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.01)
    assert layer.eval()(h) is h
    with pytest.raises(ValueError, match="below 1; got 1"):
        Dropout(1)


@settings(max_examples=30, deadline=None)
@given(st.integers(5, 200), st.floats(0.05, 0.6), st.integers(0, 2**31), st.integers(1, 4))
def test_validation_split_is_a_partition_with_fair_shares(n, fraction, seed, n_labels):
    labels = np.random.default_rng(seed).integers(n_labels, size=n)
    train, valid = validation_split(n, fraction, seed, labels)
    assert sorted([*train, *valid]) == list(range(n))
    assert len(valid) == math.ceil(fraction * n)
    for label in range(n_labels):
        share = (labels == label).sum() * len(valid) / n
        assert abs((labels[valid] == label).sum() - share) < 2


def test_a_split_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing to train on"):
        validation_split(1, 0.5, seed=0)


def test_live_weights_follow_the_network_and_loading_keeps_them_alive():
    module = network()
    live, copies = live_weights(module), copy_weights(module)
    load_weights(module, {name: array + 1 for name, array in copies.items()})
    for name in live:
        np.testing.assert_array_equal(live[name], copies[name] + 1)
    with pytest.raises(ValueError, match="do not have the same names"):
        load_weights(module, {})
