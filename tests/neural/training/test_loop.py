"""The loop against plain torch, its records, stops, schedules, stopping, splitting, streams, threads and complaints."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim import lr_scheduler

from margin.neural.generators import GlobalStream, Seeds
from margin.neural.layers import Dropout, use_generator
from margin.neural.losses.class_losses import CrossEntropy
from margin.neural.nets.mlp import MLP, TwoClassMLP
from margin.neural.training import (
    Compute,
    Meter,
    Minimize,
    Patience,
    Plan,
    RowBatches,
    TensorRows,
    Training,
    Validation,
    rate_schedule,
    train,
    validation_split,
)  # fmt: skip
from margin.neural.training.batches import Batch
from margin.neural.training.light_adam import LightAdam, LightAdamW
from margin.neural.training.meter import Mean
from margin.neural.training.objectives import Supervised, cross_entropy, squared_error
from margin.neural.training.optimizers import decayed_names
from margin.neural.training.steps import measure
from margin.neural.training.work import WorkCounter
from margin.neural.training.written_perceptron import written_gradient
from margin.neural.weights import build, copy_weights, live_weights, load_weights
from margin.optimize.rate_schedules import SCHEDULES, Plateau
from margin.optimize.rules import Adam, AdamW, Momentum, Muon, Nesterov

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4))
Y = np.c_[X[:, 0] * X[:, 1], np.sin(X[:, 2])]


RULES_OF = {
    "adam": lambda _: Adam(),
    "adamw": lambda decay: AdamW(weight_decay=decay),
    "sgd": lambda _: Nesterov(0.9, convention="unscaled"),
}


def network(seed=0):
    return build(lambda: MLP([4, 8, 2], "tanh"), seed, torch.float64)


def training_of(
    module, plan, *, rows=None, objective=squared_error, batch_size=16, seed=5, rate=0.02, valid=None, stopping=None,
    rule=None, **options,
):  # fmt: skip
    rows = TensorRows.of(X, Y) if rows is None else rows
    step = Minimize(module, objective, rule, schedule=rate, seed=seed, **options)
    evaluate = None if valid is None else Validation(step, objective, valid, seed=1)
    batches = RowBatches(rows, batch_size, Seeds.of(seed).order)
    return Training(batches, step, plan, evaluate=evaluate, stopping=stopping, threads=1)


def plain_loop(name, weight, decay, penalty, nesterov):
    """The same training with torch's own parts: a default optimizer with groups, its scheduler, batches by hand."""
    module, order = network(), torch.Generator().manual_seed(Seeds.of(5).order)
    makers = {
        "adam": lambda p: torch.optim.Adam(p, 0.02),
        "adamw": lambda p: torch.optim.AdamW(p, 0.02),
        "sgd": lambda p: torch.optim.SGD(p, 0.02, 0.9, nesterov=nesterov),
    }
    shrunk = decayed_names(module)
    groups = [
        {"params": [p for n, p in module.named_parameters() if (n in shrunk) == wanted], "weight_decay": decay * wanted}
        for wanted in (True, False)
    ]
    optimizer = makers[name](groups)
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 24)
    inputs, targets, weights = torch.from_numpy(X), torch.from_numpy(Y), torch.from_numpy(weight)
    for _ in range(4):
        for batch in torch.randperm(len(X), generator=order).split(16):
            optimizer.zero_grad()
            losses = 0.5 * (module(inputs[batch]) - targets[batch]).square().mean(1)
            squares = sum(p.square().sum() for n, p in module.named_parameters() if n in shrunk)
            (((weights[batch] * losses).sum() + 0.5 * penalty * squares) / weights[batch].sum()).backward()
            if not penalty:  # torch adds a weight decay after clipping, this loop before it
                nn.utils.clip_grad_norm_(module.parameters(), 0.3)
            optimizer.step()
            scheduler.step()
    return copy_weights(module)


@pytest.mark.parametrize("penalty", [0.0, 3.0])
@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_minimize_is_what_a_plain_loop_does(name, penalty):
    weight = rng.uniform(0.5, 2, size=len(X))
    decay = 0.01 if name == "adamw" and not penalty else 0.0
    if name == "adamw" and penalty:
        return  # its decay is decoupled: there is no penalty in the gradient
    module = network()
    training = training_of(
        module, Plan(4), rows=TensorRows.of(X, Y, weight=weight), rate=rate_schedule("cosine", 0.02, steps=24),
        rule=RULES_OF[name](decay), penalty=penalty,
        clip_norm=None if penalty else 0.3,
    )  # fmt: skip
    records = list(train(training))
    assert [record.iteration for record in records] == [6, 12, 18, 24]
    assert records[0].total == 24
    expected = plain_loop(name, weight, decay, penalty, nesterov=True)
    for key, array in copy_weights(module).items():
        np.testing.assert_allclose(array, expected[key], rtol=1e-9, atol=1e-12, err_msg=key)


def test_reported_loss_is_the_weighted_mean_over_the_epoch():
    weight = rng.uniform(0.5, 2, size=len(X))
    module = network()
    still = training_of(module, Plan(1), rows=TensorRows.of(X, Y, weight=weight), rate=1e-300)  # nothing moves
    (record,) = train(still)
    losses = 0.5 * (module(torch.from_numpy(X)).detach().numpy() - Y) ** 2
    assert record["train_loss"] == pytest.approx(np.average(losses.mean(axis=1), weights=weight), rel=1e-12)


def test_long_epochs_report_inside_as_often_as_the_plan_says():
    training = training_of(network(), Plan(2, record_steps=40), batch_size=1, valid=TensorRows.of(X, Y))
    records = list(train(training))
    assert [record.iteration for record in records] == [40, 80, 90, 130, 170, 180]
    assert [record["epoch"] for record in records] == [1, 1, 1, 2, 2, 2]
    assert ["valid_loss" in record.values for record in records] == [False, False, True] * 2
    (only, last) = train(training_of(network(), Plan(2, record_steps=None), batch_size=1))
    assert (only.iteration, last.iteration) == (90, 180)


def test_seconds_change_the_number_of_records_and_nothing_else(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("margin.neural.training.loop.monotonic", lambda: float(next(clock)))
    ends = []
    for seconds in (None, 3.0):
        training = training_of(network(), Plan(2, record_steps=None, record_seconds=seconds), batch_size=4)
        ends.append((len(list(train(training))), copy_weights(training.step.module), training.loss_curve))
    (few, first, curve), (many, second, same) = ends
    assert many > few == 2
    assert curve == same
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_a_stop_is_asked_for_after_every_step_and_is_no_end():
    training = training_of(network(), Plan(3, record_steps=None), batch_size=4)
    (record,) = train(training, stop=lambda: training.steps == 5)
    assert (record.iteration, training.finished) == (5, False)
    whole = training_of(network(), Plan(3, record_steps=None), batch_size=4)
    expected = [record.as_dict() for record in train(whole)]
    assert [record.as_dict() for record in train(training)] == expected
    assert list(train(training)) == []


def test_stopping_early_ends_with_the_best_weights():
    module = network()
    rows, valid = TensorRows.of(X[:60], Y[:60]), TensorRows.of(X[60:], Y[60:])
    training = training_of(
        module, Plan(60), rows=rows, valid=valid, rate=0.5, stopping=Patience(5, 1e-4), seed=0,
        rule=Momentum(0.9, "unscaled"),
    )  # fmt: skip
    losses = [record["valid_loss"] for record in train(training)]
    assert len(losses) < 60
    assert training.stopping.stale_epochs == 5
    with torch.no_grad():
        final = squared_error(module, valid.tensors, torch.Generator())["loss"].mean()
    assert float(final) == pytest.approx(min(losses), rel=1e-12)


def test_small_gains_count_as_stale_but_are_kept():
    stopping, module = Patience(2, tol=0.1), nn.Linear(1, 1)
    assert [stopping.see(loss, module) for loss in (1.0, 0.95, 0.5, 0.45, 0.44)] == [False, False, False, False, True]
    assert stopping.best_loss == 0.44


def test_an_adaptive_rate_is_divided_by_five_until_it_is_too_small():
    stopping = Patience(1, tol=0.1, keep_best=False, plateau=Plateau())
    ends = [stopping.see(1.0) for _ in range(6)]
    assert ends == [False] * 5 + [True]
    assert stopping.rate_factor == pytest.approx(5.0**-4)


def test_a_diverging_loss_is_an_error_that_says_what_helps():
    rows = TensorRows.of(X, Y * 1e200)
    training = training_of(network(), Plan(50), rows=rows, rate=1e6, rule=Momentum(0.9, "unscaled"))
    with pytest.raises(FloatingPointError, match="smaller learning rate") as caught:
        list(train(training))
    assert isinstance(caught.value, ValueError)  # what scikit-learn's networks raise


def test_after_a_diverging_loss_the_last_finite_weights_are_back(monkeypatch):
    """The rate explodes in the third epoch: what is left is exactly what two epochs give."""
    monkeypatch.setattr("margin.neural.training.loop.SNAPSHOT_STEPS", 1)
    calm, wild = (training_of(network(), Plan(epochs), rule=Momentum(0.9, "unscaled")) for epochs in (2, 9))
    for _ in train(calm):
        pass
    records = train(wild)
    with pytest.raises(FloatingPointError, match=f"the weights after {calm.steps} steps are kept"):
        for record in records:
            if record.iteration == calm.steps:
                wild.step.rate_factor = math.inf
    for name, array in copy_weights(wild.step.result).items():
        np.testing.assert_array_equal(array, copy_weights(calm.step.result)[name])


def test_a_state_of_other_rows_is_refused():
    training = training_of(network(), Plan(2))
    next(train(training))
    other = training_of(network(), Plan(2), rows=TensorRows.of(X[:10], Y[:10]))
    with pytest.raises(ValueError, match="belongs to 90 rows; got 10"):
        other.load_state(training.state())


def test_terms_beside_the_loss_are_averaged_alike_and_with_their_own_counts():
    def objective(module, batch, noise):
        losses = cross_entropy(module, batch, noise)["loss"]
        right = batch[1] == 1
        return {"loss": losses, "twice": 2 * losses, "of_ones": Mean((losses * right).sum(), float(right.sum()))}

    labels = (X[:, 0] > 0).astype(np.int64)
    module = network()
    training = training_of(module, Plan(1), rows=TensorRows.of(X, labels), objective=objective, rate=1e-300)
    (record,) = train(training)
    assert record["twice"] == pytest.approx(2 * record["train_loss"], rel=1e-12)
    with torch.no_grad():
        losses = cross_entropy(module, (torch.from_numpy(X), torch.from_numpy(labels)), None)["loss"].numpy()
    assert record["of_ones"] == pytest.approx(losses[labels == 1].mean(), rel=1e-12)


def test_a_meter_continues_from_its_state():
    meter, other = Meter(), Meter()
    meter.add({"a": Mean(torch.tensor(0.1), 3.0), "b": Mean(torch.tensor(0.7), torch.tensor(0.3))})
    other.load_state(meter.state())
    for one in (meter, other):
        one.add({"a": Mean(torch.tensor(0.2), 1.0), "b": Mean(torch.tensor(0.9), torch.tensor(0.1))})
    assert meter.means() == other.means()
    assert meter.means()["a"] == pytest.approx(0.3 / 4)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(set(SCHEDULES) - {"one_cycle", "cyclical", "cosine_restarts"})),
    st.integers(1, 500),
    st.floats(0, 0.9),
)
def test_schedules_stay_between_0_and_1_and_rise_then_fall(name, total, warmup):
    schedule = rate_schedule(name, 1.0, steps=total, warmup=warmup)
    rates = [schedule(step) for step in range(total)]
    assert all(0 < rate <= 1 for rate in rates)
    rise = round(warmup * total)
    assert rates[:rise] == sorted(rates[:rise])
    assert rates[rise:] == sorted(rates[rise:], reverse=True)


def test_schedules_end_where_they_say():
    step, exponential = rate_schedule("step", 1.0, steps=90), rate_schedule("exponential", 1.0, steps=100)
    assert [step(0), step(30), step(89)] == pytest.approx([1, 0.1, 0.01])
    assert exponential(50) == pytest.approx(0.1)
    assert rate_schedule("linear", 1.0, steps=10)(5) == pytest.approx(0.5)
    scaled = rate_schedule("invscaling", 1.0, steps=100, steps_per_epoch=10, n_rows=99, power=0.5)
    assert [scaled(9), scaled(10), scaled(20)] == pytest.approx([1, 0.1, 199**-0.5])
    with pytest.raises(ValueError, match="invscaling or one of constant"):
        rate_schedule("triangle", 1.0, steps=10)


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


def test_layers_of_torch_draw_from_the_lent_stream_and_leave_the_global_one_alone():
    def fit(seed):
        module = build(lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)), 0, torch.float64)
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        training = training_of(module, Plan(2))
        training.stream = GlobalStream(7)
        for _ in train(training):
            torch.rand(3)  # whoever gets a record may draw
            torch.set_rng_state(before)
        assert torch.equal(torch.get_rng_state(), before)
        return copy_weights(module)

    first, second = fit(1), fit(2)
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


@pytest.mark.parametrize(
    "module,inputs,work",
    [
        (nn.Linear(30, 20), (50, 30), 50 * 30 * 20),
        (nn.Conv2d(3, 8, 5, padding=2), (2, 3, 16, 16), 2 * 16 * 16 * 8 * 3 * 25),
        (nn.MultiheadAttention(16, 4, batch_first=True), (2, 10, 16), 2 * 10 * 16 * 16 * 4 + 2 * 2 * 10 * 10 * 16),
    ],
    ids=["linear", "convolution", "attention"],
)
def test_the_work_of_every_kind_of_product_is_counted(module, inputs, work):
    x = torch.ones(inputs, requires_grad=True)
    with WorkCounter() as counter:
        out = module(x, x, x, need_weights=False)[0] if isinstance(module, nn.MultiheadAttention) else module(x)
    assert counter.multiply_adds == work
    with WorkCounter() as counter:
        out.sum().backward()
    assert 1.5 * work <= counter.multiply_adds <= 2.5 * work + out.numel()


def test_a_training_without_a_number_of_threads_counts_its_first_step(monkeypatch):
    seen = []
    monkeypatch.setattr("margin.neural.training.loop.threads_for", lambda work: seen.append(work) or 1)
    training = training_of(network(), Plan(1))
    training.threads = None
    list(train(training))
    assert training.threads == 1
    assert seen[0] == pytest.approx(16 * (4 * 8 + 8 * 2) / 4, rel=0.35)


def test_a_computation_in_bfloat16_is_for_other_devices():
    assert Compute(dtype=torch.float64).place(nn.Linear(2, 2)).weight.dtype == torch.float64
    with pytest.raises(ValueError, match="on a CPU, where products in bfloat16"):
        Compute(autocast=torch.bfloat16)


@settings(max_examples=30, deadline=None)
@given(st.integers(5, 200), st.floats(0.05, 0.6), st.integers(0, 2**31), st.integers(1, 4))
def test_validation_split_is_a_partition_with_fair_fractions(n, fraction, seed, n_labels):
    labels = np.random.default_rng(seed).integers(n_labels, size=n)
    train_rows, valid = validation_split(n, fraction, seed, labels)
    assert sorted([*train_rows, *valid]) == list(range(n))
    assert len(valid) == math.ceil(fraction * n)
    for label in range(n_labels):
        fair = (labels == label).sum() * len(valid) / n
        assert abs((labels[valid] == label).sum() - fair) < 2


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


def test_muon_moves_hidden_matrices_and_adamw_the_rest():
    module = build(lambda: MLP([4, 8, 8, 2]), 0)
    step = Minimize(module, squared_error, Muon(0.9, False, weight_decay=0.0))
    muon, adamw = step.descent.optimizers
    assert [tuple(p.shape) for group in muon.param_groups for p in group["params"]] == [(8, 8)]
    assert sum(len(group["params"]) for group in adamw.param_groups) == 5


@pytest.mark.parametrize(("ours", "theirs"), [(LightAdam, torch.optim.Adam), (LightAdamW, torch.optim.AdamW)])
def test_light_steps_give_the_bits_of_torch(ours, theirs):
    def run(kind):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1))
        weights, biases = ([p for p in net.parameters() if p.ndim == axes] for axes in (2, 1))
        groups = [{"params": weights, "weight_decay": 0.1}, {"params": biases, "weight_decay": 0.0}]
        optimizer = kind(groups, 0.05, betas=(0.8, 0.95), eps=1e-6, fused=True)
        X = torch.randn(20, 5)
        for step in range(8):
            for p in net.parameters():
                p.grad = None
            for group in optimizer.param_groups:
                group["lr"] = 0.05 / (1 + step)
            (net(X) - X.sum(dim=1, keepdim=True)).square().mean().backward()
            if step in (3, 4):
                net[2 * (step - 3)].bias.grad = None  # a parameter may have no gradient, then another one
            if step == 6:
                optimizer.load_state_dict(optimizer.state_dict())  # what is remembered may be replaced
            optimizer.step()
        memory = [value for p in net.parameters() for value in optimizer.state[p].values()]
        return [p.detach() for p in net.parameters()] + memory

    for one, other in zip(run(ours), run(theirs), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("kind", "outputs", "objective"),
    [(TwoClassMLP, 1, cross_entropy), (MLP, 3, cross_entropy), (MLP, 1, squared_error), (MLP, 3, squared_error)],
)
def test_the_written_gradient_is_the_recorded_one(kind, outputs, objective, weighted, activation):
    torch.manual_seed(0)
    net = kind([6, 8, 5, outputs], activation=activation)
    X, y = torch.randn(40, 6), torch.randint(0, 2, (40,))
    y = torch.randn(40, outputs) if objective is squared_error else y
    weight = torch.rand(40) if weighted else None
    batch = Batch((X, y), weight, weight.sum() if weighted else 40.0)
    found = written_gradient(net, objective)(batch)
    written = [p.grad for p in net.parameters()]
    expected = measure(objective(net, batch.tensors, torch.Generator()), batch)
    gradients = torch.autograd.grad(expected["loss"].total / expected["loss"].mass, list(net.parameters()))
    assert torch.equal(found["loss"].total, expected["loss"].total)
    assert float(found["loss"].mass) == float(expected["loss"].mass)
    for one, other in zip(written, gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


def test_what_is_not_a_plain_perceptron_is_recorded():
    assert written_gradient(MLP([2, 3, 2], dropout=0.1), cross_entropy) is None
    assert written_gradient(MLP([2, 3, 2], activation="leaky_relu"), cross_entropy) is None
    assert written_gradient(MLP([2, 3, 2]), Supervised(CrossEntropy(), several=True)) is None
    assert written_gradient(MLP([2, 3, 2]), Supervised(CrossEntropy(0.1))) is None
    assert written_gradient(MLP([2, 3, 2], norm="layer"), cross_entropy) is None
    assert written_gradient(MLP([2, 3, 2], activation="maxout"), cross_entropy) is None
    assert written_gradient(nn.Sequential(nn.Linear(2, 2)), cross_entropy) is None
