"""Update rules against torch on random gradients; purity; the relations between conventions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize.rules import AdaDelta, AdaGrad, Adam, Descent, Momentum, Nesterov, RMSProp, hyperparameters

PEERS = {
    "sgd": (Descent(), "SGD", {}),
    "momentum": (Momentum(0.8), "SGD", {"momentum": 0.8}),
    "unscaled momentum": (Momentum(0.8, "unscaled"), "SGD", {"momentum": 0.8}),
    "nesterov": (Nesterov(0.8, shifted=True), "SGD", {"momentum": 0.8, "nesterov": True}),
    "adagrad": (AdaGrad(1e-10), "Adagrad", {}),
    "rmsprop": (RMSProp(0.95, 1e-8), "RMSprop", {"alpha": 0.95}),
    "adadelta": (AdaDelta(0.95, 1e-6), "Adadelta", {"rho": 0.95}),
    "adam": (Adam(0.8, 0.99), "Adam", {"betas": (0.8, 0.99)}),
    "adamw": (Adam(weight_decay=0.2), "AdamW", {"weight_decay": 0.2}),
}
ALL = [peer[0] for peer in PEERS.values()]


@pytest.mark.parametrize("name", PEERS)
def test_equals_torch_on_random_gradients(name):
    import torch

    rule, peer, options = PEERS[name]
    rng = np.random.default_rng(1)
    x = rng.standard_normal(5)
    theirs = torch.tensor(x, requires_grad=True)
    optimizer = getattr(torch.optim, peer)([theirs], lr=0.03, **options)
    state = rule.start(x)
    for _ in range(60):
        gradient = rng.standard_normal(5) * np.geomspace(1e-3, 1e3, 5)
        state, step = rule.update(state, gradient, x, 0.03)
        x = x + step
        theirs.grad = torch.tensor(gradient)
        optimizer.step()
        np.testing.assert_allclose(x, theirs.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_torch_momentum_differs_from_the_sum_once_the_rate_changes():
    gradients = np.ones((2, 1))
    ends = {}
    for convention in ("sum", "unscaled"):
        rule, x = Momentum(0.9, convention), np.zeros(1)
        state = rule.start(x)
        for gradient, rate in zip(gradients, (1.0, 0.1)):
            state, step = rule.update(state, gradient, x, rate)
            x = x + step
        ends[convention] = float(x[0])
    assert ends == pytest.approx({"sum": -(1.0 + 0.9 + 0.1), "unscaled": -(1.0 + 0.1 * 1.9)})


@pytest.mark.parametrize("rule", ALL, ids=list(PEERS))
def test_update_is_pure(rule):
    x, gradient = np.ones(3), np.array([1.0, -2.0, 0.5])
    state, _ = rule.update(rule.start(x), gradient, x, 0.1)
    copies = repr(state), x.copy(), gradient.copy()
    once, again = rule.update(state, gradient, x, 0.1), rule.update(state, gradient, x, 0.1)
    assert np.array_equal(once[1], again[1])
    assert repr(state) == copies[0]
    assert np.array_equal(x, copies[1])
    assert np.array_equal(gradient, copies[2])


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.98), st.floats(1e-3, 0.5), st.integers(0, 100))
def test_sum_and_average_are_one_path(gamma, rate, seed):
    gradients = np.random.default_rng(seed).standard_normal((20, 2))
    paths = []
    for convention, scaled in (("sum", rate), ("average", rate / (1 - gamma))):
        rule, x, path = Momentum(gamma, convention), np.zeros(2), []
        state = rule.start(x)
        for gradient in gradients:
            state, step = rule.update(state, gradient, x, scaled)
            x = x + step
            path.append(x)
        paths.append(path)
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.95), st.integers(0, 100))
def test_shifted_nesterov_walks_on_the_look_ahead_points(gamma, seed):
    A = np.diag([1.0, 3.0])
    x = np.random.default_rng(seed).standard_normal(2)
    plain, shifted = Nesterov(gamma), Nesterov(gamma, shifted=True)
    y, v, w = x, plain.start(x), shifted.start(x)
    for _ in range(15):
        v, step = plain.update(v, A @ plain.point(v, x), x, 0.1)
        x = x + step
        w, step = shifted.update(w, A @ y, y, 0.1)
        y = y + step
        np.testing.assert_allclose(y, plain.point(v, x), atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Momentum(1.0),
        lambda: Nesterov(-0.1),
        lambda: Adam(beta2=1.0),
        lambda: RMSProp(2.0),
        lambda: AdaDelta(1.5),
    ],
)
def test_shares_outside_the_unit_interval_are_refused(make):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\)"):
        make()


def test_other_refusals():
    with pytest.raises(ValueError, match="convention"):
        Momentum(convention="heavy")
    with pytest.raises(ValueError, match="weight_decay"):
        Adam(weight_decay=-1.0)


def test_hyperparameters_make_the_rule_again():
    for rule in ALL:
        assert type(rule)(**hyperparameters(rule)) == rule
