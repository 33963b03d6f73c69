"""Flows: every layer against its Jacobian, its inverse and the integral of its density; the estimator on the moons."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons

from margin.generative import NormalizingFlow
from margin.generative.flows import LAYERS, FlowNetwork
from margin.generative.flows.continuous import ContinuousFlow, runge_kutta
from margin.generative.flows.equations import (
    affine,
    affine_inverse,
    change_of_variables,
    planar,
    planar_inverse,
    planar_step,
    spline_from,
)
from margin.generative.flows.layers import MaskedMLP
from margin.neural.weights import build

CHEAP = {"n_blocks": 2, "hidden_layer_sizes": (8,), "max_iter": 2}


def scrambled(kind, n_features, seed, depth=2, size=0.4):
    """A flow whose weights are far from the identity, in double precision."""
    net = build(lambda: FlowNetwork(n_features, [kind] * depth, [8]), seed=seed, dtype=torch.float64)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in net.parameters():
            weight += size * torch.randn(weight.shape, generator=draw, dtype=weight.dtype)
    return net


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("kind", LAYERS)
def test_log_determinant_and_inverse(kind, n_features, seed):
    net = scrambled(kind, n_features, seed)
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(20, n_features)))
    with torch.no_grad():
        z, log_determinant = net.to_noise(x)
        jacobians = torch.stack(
            [torch.autograd.functional.jacobian(lambda row: net.to_noise(row[None])[0][0], row) for row in x]
        )
        expected = torch.linalg.slogdet(jacobians)[1]
        # A continuous flow follows the equation, its solver the equation up to the error of its steps.
        # A spline of slope 1e-3 magnifies the rounding of its image a thousandfold on the way back.
        tolerance = {"continuous": 5e-3, "spline-coupling": 1e-6}.get(kind, 1e-8)
        torch.testing.assert_close(log_determinant, expected, rtol=0, atol=tolerance)
        torch.testing.assert_close(net.to_data(z), x, rtol=0, atol=tolerance)


def even_nodes(n_nodes, reach):
    edge = torch.linspace(-reach, reach, n_nodes, dtype=torch.float64)
    return edge, torch.full_like(edge, float(edge[1] - edge[0]))


def wide_nodes(n_nodes, reach=3000.0):
    """Nodes sinh(t) of an even t: fine near 0 and far in the tails, where a scale of a layer sends much of the mass."""
    t, step = even_nodes(n_nodes, float(np.arcsinh(reach)))
    return torch.sinh(t), torch.cosh(t) * step


# Size of the random weights and nodes that resolve the density. In two dimensions a spline with larger weights has
# ridges narrower than any grid that is quick to evaluate; one dimension, below, takes it to slopes of thousands.
INTEGRALS = {
    "planar": (0.4, even_nodes(301, 12.0), 1e-9),
    "affine-coupling": (0.4, wide_nodes(1001), 1e-4),
    "autoregressive": (0.4, wide_nodes(1001), 1e-4),
    "spline-coupling": (0.2, even_nodes(601, 5.5), 1e-3),
    "continuous": (0.4, even_nodes(201, 12.0), 1e-4),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_density_integrates_to_one(kind):
    size, (nodes, weights), tolerance = INTEGRALS[kind]
    net = scrambled(kind, 2, seed=4, size=size)
    with torch.no_grad():
        density = torch.cat([torch.exp(net(torch.cartesian_prod(part, nodes))) for part in nodes.split(100)])
    total = float(weights @ density.reshape(len(nodes), -1) @ weights)
    assert total == pytest.approx(1.0, abs=tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_density_of_a_steep_spline_integrates_to_one(seed):
    net = scrambled("spline-coupling", 1, seed=seed, size=2.0)
    nodes, weights = even_nodes(200_001, 6.0)
    with torch.no_grad():
        total = float(weights @ torch.exp(net(nodes[:, None])))
    assert total == pytest.approx(1.0, abs=1e-4)


def test_steps_of_the_solver_converge_with_their_fourth_power():
    def error(n_steps):  # dx/dt = x, and the second part integrates x
        one = torch.ones(1, 1, dtype=torch.float64)
        x, area = runge_kutta(lambda state, t: (state[0], state[0][:, 0]), (one, 0 * one[:, 0]), 0.0, 1.0, n_steps)
        assert float(area) == pytest.approx(np.e - 1, abs=0.025 / n_steps**4)  # the leading term is e h^4 / 120
        return abs(float(x) - np.e)

    assert error(8) / error(16) == pytest.approx(16, rel=0.1)


def test_the_inverse_of_a_continuous_flow_converges_to_the_row():
    net = scrambled("continuous", 3, seed=0, depth=1)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(10, 3)))
    layer = net.layers[0]
    assert isinstance(layer, ContinuousFlow)
    with torch.no_grad():
        errors = []
        for layer.n_steps in (16, 64):
            errors.append(float((net.to_data(net.to_noise(x)[0]) - x).abs().max()))
    assert errors[1] < errors[0] / 50
    assert errors[1] < 1e-6


def test_change_of_variables_is_the_normal_density_of_a_linear_map():
    rng = np.random.default_rng(0)
    matrix, shift = rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3)
    inverse = torch.from_numpy(np.linalg.inv(matrix))
    x = rng.normal(size=(6, 3))
    got = change_of_variables(lambda row: inverse @ (row - torch.from_numpy(shift)), torch.from_numpy(x))
    expected = multivariate_normal(shift, matrix @ matrix.T).logpdf(x)
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-10)


@pytest.mark.parametrize("size", [3.0, 10.0])  # the second sends w.u to -100 and below
@pytest.mark.parametrize("seed", range(5))
def test_planar_inverse_to_rounding(seed, size):
    rng = np.random.default_rng(seed)
    u, w = (torch.from_numpy(size * rng.normal(size=4)) for _ in range(2))
    u, b = planar_step(u, w), torch.tensor(0.3, dtype=torch.float64)
    assert float(w @ u) > -1
    x = torch.from_numpy(rng.normal(size=(50, 4)))
    z, log_determinant = planar(x, u, w, b)
    back = planar_inverse(z, u, w, b)
    torch.testing.assert_close(planar(back, u, w, b)[0], z, rtol=0, atol=1e-12)
    torch.testing.assert_close(back, x, rtol=0, atol=1e-9)
    assert bool(torch.isfinite(log_determinant).all())


def test_the_steepest_planar_map_keeps_its_log_determinant():
    w = torch.tensor([30.0, 40.0])  # single precision, w.u = -500
    u = planar_step(torch.tensor([-6.0, -8.0]), w)
    _, log_determinant = planar(torch.zeros(1, 2), u, w, torch.tensor(0.0))
    assert float(log_determinant) == pytest.approx(np.log(1e-3), abs=0.1)  # w.u is 500 before it is moved


def test_spline_is_smooth_monotone_and_the_identity_outside():
    parameters = torch.from_numpy(2 * np.random.default_rng(1).normal(size=(1, 23)))
    spline = spline_from(parameters.expand(4001, 23), bound=4.0)
    x = torch.linspace(-6, 6, 4001, dtype=torch.float64, requires_grad=True)
    y, log_slope = spline(x)
    assert (y.diff() > 0).all()
    (slope,) = torch.autograd.grad(y.sum(), x)
    inside = x.detach().abs() < 3.999
    torch.testing.assert_close(log_slope[inside], torch.log(slope[inside]), rtol=0, atol=1e-8)
    outside = x.detach().abs() > 4
    torch.testing.assert_close(y[outside], x[outside])
    torch.testing.assert_close(spline.inverse(y.detach()), x.detach(), rtol=0, atol=1e-9)
    identity, flat = spline_from(torch.zeros(4001, 23, dtype=torch.float64), bound=4.0)(x.detach())
    torch.testing.assert_close(identity, x.detach())
    torch.testing.assert_close(flat, torch.zeros_like(flat))


def test_affine_and_its_inverse():
    x, s, t = (torch.from_numpy(np.random.default_rng(k).normal(size=(5, 3))) for k in range(3))
    z, change = affine(x, s, t)
    torch.testing.assert_close(affine_inverse(z, s, t), x)
    torch.testing.assert_close(change, s.sum(dim=1))


@pytest.mark.parametrize("reverse", [False, True])
def test_masked_outputs_see_only_what_comes_before(reverse):
    net = build(lambda: MaskedMLP(5, [16, 16], 2, reverse=reverse), seed=0, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: net(x[None])[0].sum(dim=-1), torch.randn(5).double())
    assert isinstance(jacobian, torch.Tensor)
    seen = jacobian.abs() > 0
    before = torch.triu(torch.ones(5, 5), 1).bool() if reverse else torch.tril(torch.ones(5, 5), -1).bool()
    assert torch.equal(seen, before)


@pytest.mark.parametrize("kind", ["affine-coupling", "autoregressive", "spline-coupling", "continuous"])
def test_moons_are_denser_than_under_a_normal_distribution(kind):
    X, _ = make_moons(600, noise=0.08, random_state=1)
    blocks, epochs = (1, 25) if kind == "continuous" else (4, 25)
    model = NormalizingFlow(
        kind, n_blocks=blocks, hidden_layer_sizes=(32,), max_iter=epochs, learning_rate_init=1e-2, random_state=0
    )
    model.fit(X[:400])
    normal = multivariate_normal(X[:400].mean(axis=0), np.cov(X[:400].T)).logpdf(X[400:]).mean()
    assert model.score(X[400:]) > normal + 0.2
    sample = model.sample(2000, random_state=0)
    np.testing.assert_allclose(sample.mean(axis=0), X.mean(axis=0), atol=0.15)


def test_densities_are_in_the_units_of_the_data():
    X, _ = make_moons(200, noise=0.1, random_state=0)
    model = NormalizingFlow(**CHEAP, random_state=0)
    small, large = model.fit(X).score_samples(X), NormalizingFlow(**CHEAP, random_state=0).fit(1000 * X)
    np.testing.assert_allclose(large.score_samples(1000 * X), small - 2 * np.log(1000), atol=1e-6)


def test_clear_complaints():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="layers"):
        NormalizingFlow("radial").fit(X)
    with pytest.raises(ValueError, match="layers must name at least one"):
        NormalizingFlow(()).fit(X)
    model = NormalizingFlow(**CHEAP, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_samples must be an integer at least 1; got 0"):
        model.sample(0)
    with pytest.raises(ValueError, match="Z must have 2 columns; got 3"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="layers must be some of"):
        FlowNetwork(2, ["cubic"], [4])
