"""Networks as laws of motion and as images."""

import numpy as np
import pytest
import torch

import margin
from margin.neural.weights import build
from margin.physics.coordinates import CoordinateNetwork, psnr
from margin.physics.discrete_adjoint import can_be_written_out
from margin.physics.inverse import blur_matrix, deblur
from margin.physics.neural_ode import NeuralODE, SlopeNetwork, integrate, integrate_adjoint


@pytest.fixture
def spiral():
    t = 0.2 * np.arange(55)
    radius = np.exp(-0.1 * t)
    return t, np.stack([radius * np.cos(t), radius * np.sin(t)], axis=1)


def gradients(solve, steps):
    net = build(lambda: SlopeNetwork([2, 8, 2], "tanh"), 0, torch.float64)
    y0 = torch.tensor([[1.0, 0.5], [0.2, -1.0]], dtype=torch.float64, requires_grad=True)
    states = solve(net, y0, [0.0, 0.5, 1.5], steps)
    weights = torch.linspace(-1, 1, states.numel(), dtype=torch.float64).view_as(states)
    return torch.autograd.grad((weights * states.sin()).sum(), [y0, *net.parameters()])


def test_the_adjoint_gives_the_gradients_of_backpropagation():
    for ours, exact in zip(gradients(integrate_adjoint, 16), gradients(integrate, 16)):
        torch.testing.assert_close(ours, exact, rtol=1e-5, atol=1e-7)
    coarse = max(float((a - b).abs().max()) for a, b in zip(gradients(integrate_adjoint, 2), gradients(integrate, 2)))
    finer = max(float((a - b).abs().max()) for a, b in zip(gradients(integrate_adjoint, 4), gradients(integrate, 4)))
    assert coarse / finer > 10  # both tend to the same gradient with the order of the method


@pytest.mark.parametrize("gradient", ["backprop", "adjoint"])
def test_a_spiral_is_learned_and_continued(spiral, gradient):
    t, y = spiral
    model = NeuralODE((16,), interval=0.2, steps=1, max_iter=60, solver="lbfgs", tol=1e-6, random_state=0)
    model.set_params(gradient=gradient).fit(np.stack([y[:40], 0.5 * y[:40]]))
    beyond = model.predict(y[None, 0], t)[0]
    assert np.abs(beyond - y).max() < 0.15


def test_the_times_of_a_fit_are_those_it_is_given(spiral):
    t, y = spiral
    options = {"steps": 1, "max_iter": 40, "solver": "lbfgs", "tol": 1e-6, "random_state": 0}
    by_interval = NeuralODE((16,), interval=0.2, **options).fit(y[None, :40])
    by_times = NeuralODE((16,), **options).fit(y[None, :40], t[:40])
    np.testing.assert_allclose(by_times.predict(y[None, 0], t), by_interval.predict(y[None, 0], t), atol=1e-4)
    assert by_times.interval_ == pytest.approx(0.2)
    kept = np.sort(np.random.default_rng(0).permutation(55)[:45])  # some are missing: unequal distances
    uneven = NeuralODE((16,), window=3, **{**options, "steps": 4, "max_iter": 60}).fit(y[kept], t[kept])
    assert np.abs(uneven.predict(y[None, 0], t)[0] - y).max() < 0.15
    assert uneven.score(y, t) > 0.95
    assert uneven.score(np.stack([y, y]), np.stack([t, t])) == pytest.approx(uneven.score(y, t))
    unaware = NeuralODE((16,), interval=0.2, window=3, **options).fit(y[None, kept])
    assert unaware.score(y[None], t) < uneven.score(y, t)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.zeros(3), r"y must be the times of the rows of X, of shape \(8,\) or \(2, 8\); got shape \(3,\)"),
        (np.zeros(8), "y must be times that grow from row to row"),
        (np.full(8, np.nan), "y must be finite"),
    ],
)
def test_times_that_are_none_are_refused(y, sentence):
    with pytest.raises(ValueError, match=f"^NeuralODE: {sentence}"):
        NeuralODE().fit(np.zeros((2, 8, 1)), y)


def test_a_law_is_trained_in_a_run(spiral, tmp_path):
    model = NeuralODE((8,), interval=0.2, max_iter=2, random_state=0)
    fitted = margin.fit(model, spiral[1][None], run=tmp_path / "run")
    again = margin.fit(model, spiral[1][None], run=tmp_path / "run")
    np.testing.assert_array_equal(again.predict(spiral[1][None]), fitted.predict(spiral[1][None]))


def test_a_law_needs_windows(spiral):
    with pytest.raises(ValueError, match="more than window=5 times"):
        NeuralODE().fit(spiral[1][None, :4])


def test_a_network_is_an_image():
    y, x = np.mgrid[-1:1:24j, -1:1:24j]
    image = np.exp(-3 * (x**2 + y**2)) + 0.5 * (x > 0.3)
    model = CoordinateNetwork(max_iter=60, batch_size=144, random_state=0).fit(image)
    assert psnr(image, model.render((24, 24))) > 25
    assert model.render((48, 48)).shape == (48, 48)
    with pytest.raises(ValueError, match="must have 2 axes; got 1"):
        model.render((5,))
    with pytest.raises(ValueError, match="1 to 3 axes"):
        CoordinateNetwork().fit(np.ones((2, 2, 2, 2)))


def test_a_penalty_undoes_a_blur_that_least_squares_cannot():
    x = (np.abs(np.arange(60) - 30) < 8).astype(float)
    K = blur_matrix(60, 2.0)
    y = K @ x + 0.01 * np.random.default_rng(0).normal(size=60)
    errors = [np.linalg.norm(deblur(y, K, penalty) - x) for penalty in (0.0, 1e-2)]
    assert errors[1] < np.linalg.norm(y - x) < errors[0]


def test_times_too_many_intervals_apart_are_refused():
    angle = 0.1 * np.arange(12) + np.arange(2)[:, None]
    X = np.stack([np.cos(angle), np.sin(angle)], axis=2)
    model = NeuralODE((4,), interval=1e-9, window=2, max_iter=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"times must be at most 10000 intervals of 1e-09 apart; got 0\.5"):
        model.predict(X[:, 0], times=[0.0, 0.5])


@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu"])
@pytest.mark.parametrize("method", ["euler", "midpoint", "rk4"])
def test_steps_written_out_have_the_gradient_of_automatic_differentiation(method, activation):
    module = build(lambda: SlopeNetwork([3, 7, 5, 3], activation), seed=0, dtype=torch.float64)
    start = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 3))).requires_grad_()
    times, target = [0.0, 0.3, 0.4, 1.0], torch.ones(4, 4, 3, dtype=torch.float64)
    by_hand = integrate(module, start, times, 11, method)  # more slopes than are put together at once
    by_torch = integrate(lambda t, y: module(t, y), start, times, 11, method)
    torch.testing.assert_close(by_hand, by_torch)
    wanted = [start, *module.parameters()]
    for got, right in zip(
        *(torch.autograd.grad((states - target).square().sum(), wanted) for states in (by_hand, by_torch))
    ):
        torch.testing.assert_close(got, right)


def test_networks_with_hooks_or_other_activations_are_left_to_automatic_differentiation():
    plain, unknown = (SlopeNetwork([2, 4, 2], activation).mlp for activation in ("tanh", "gelu"))
    assert can_be_written_out(plain)
    assert not can_be_written_out(unknown)
    plain.linears[0].register_forward_hook(lambda *_: None)
    assert not can_be_written_out(plain)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ("a string", "X must be an array of real numbers"),
        ([[1.0, 2.0], [3.0]], "X must be an array of real numbers"),
        (np.ones((2, 9, 1)) * 1j, "X must be an array of real numbers"),
        (np.full((2, 9, 1), np.nan), "X must be finite; got nan"),
        (np.zeros((0, 9, 1)), r"X must be .*; got shape \(0, 9, 1\)"),
        (np.full((2, 9, 1), 1e38), r"X must lie between -1e\+15 and 1e\+15"),
        (3.0, r"X must be .*; got shape \(\)"),
    ],
)
def test_what_are_no_trajectories_is_refused(X, sentence):
    model = NeuralODE((4,), max_iter=1, random_state=0).fit(np.cos(np.arange(40.0)).reshape(2, 20, 1))
    for method in (model.predict, model.score, model.fit):
        with pytest.raises(ValueError, match=f"NeuralODE: {sentence}"):
            method(X)


def test_times_are_numbers_and_states_that_never_change_have_a_score():
    X = np.cos(np.arange(40.0)).reshape(2, 20, 1)
    model = NeuralODE((4,), max_iter=1, random_state=0).fit(X)
    for wrong in (3.0, [], ["a"], [np.nan]):
        with pytest.raises(ValueError, match="NeuralODE: times must be"):
            model.predict(X[:, 0], wrong)
    assert model.score(np.ones((2, 5, 1))) == 0.0  # there is no variance to explain
