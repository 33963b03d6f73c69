"""Derivatives carried forward against automatic differentiation, and the least-squares method built on them."""

import numpy as np
import pytest
import torch

from margin.physics.derivatives import derivative, gradient, laplacian
from margin.physics.least_squares import ResidualSquares
from margin.physics.pinn import PINN, Condition
from margin.physics.residuals import Known, carried_layout, mixes_rows
from margin.physics.solution_network import SolutionLoss, SolutionNetwork
from margin.physics.taylor import close_keys


def network(outputs=2, activation="tanh", coefficients=None, d=3, periods=None):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        sizes = [d, 7, 6, 5, outputs]
        box = [-1.0] * d, [2.0, 3.0, 1.5][:d]
        return SolutionNetwork(sizes, activation, *box, coefficients or {}, periods).double()


@pytest.fixture
def points():
    return torch.from_numpy(np.random.default_rng(0).uniform(-1, 1.5, size=(9, 3)))


def system(u, x, rate=1.0):
    """Two coupled equations with mixed and repeated derivatives of both functions."""
    a, b = u[:, 0], u[:, 1:2]
    first = derivative(a, x, 0) + rate * a * derivative(b, x, 2, 1) - laplacian(b, x)
    second = gradient(b, x)[:, 1] - rate**2 * derivative(derivative(a, x, 2), x, 2) + b.reshape(-1) ** 2
    return [first, second]


@pytest.mark.parametrize("periods", [None, [None, 1.5, 0.7], [2.0, None, None]])
@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_carried_derivatives_are_those_of_automatic_differentiation(activation, periods, points):
    module = network(activation=activation, periods=periods)
    layout = carried_layout(module, system, points, {})
    assert set(layout.keys) == {(), (0,), (1,), (2,), (0, 0), (1, 1), (1, 2), (2, 2)}
    x = points.clone().requires_grad_()
    for way, wanted in zip(system(module.carry(x, layout), x), system(module(x), x)):
        torch.testing.assert_close(way, wanted)
    losses = [SolutionLoss(system, [(points[:2], points[:2, :2])], 3.0) for _ in range(2)]
    losses[1]._layouts = [None]  # by automatic differentiation
    found = [loss(module, (points,)) for loss in losses]
    weights = list(module.parameters())
    for name in found[0]:
        torch.testing.assert_close(found[0][name], found[1][name])
    for got, wanted in zip(*(torch.autograd.grad(terms["loss"], weights) for terms in found)):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(
    "residual",
    [
        lambda u, x: derivative(u[:, 0], x, 0, 0, 0),  # above the second
        lambda u, x: derivative(u[:, 0] ** 2, x, 0),  # of something that is not the solution itself
        lambda u, x: torch.autograd.grad(u[:, 0].sum(), x, create_graph=True)[0][:, 1],  # in a way of its own
    ],
)
def test_what_cannot_be_carried_is_differentiated(residual, points):
    module = network()
    assert carried_layout(module, residual, points, {}) is None
    x = points.clone().requires_grad_()
    loss = SolutionLoss(residual, [], 1.0)(module, (points,))["residual_loss"]
    torch.testing.assert_close(loss, residual(module(x), x).square().mean())
    with pytest.raises(ValueError, match="'levenberg-marquardt' needs a residual of derivatives up to the second"):
        SolutionLoss(residual, [], 1.0).least_squares(module, points)


def test_keys_are_closed_under_what_they_need():
    assert close_keys([(2, 0)]).keys == ((), (0,), (2,), (0, 2))
    with pytest.raises(ValueError, match="up to the second; got one of order 3"):
        close_keys([(0, 0, 0)])


def test_rows_that_mix_are_noticed(points):
    module = network()

    def mixed(u, x):
        return u[:, 0] - u[:, 1].mean()

    layout = carried_layout(module, mixed, points, {})
    assert mixes_rows(module, mixed, points, layout) == (True, 1)
    assert mixes_rows(module, system, points, carried_layout(module, system, points, {})) == (False, 2)
    with pytest.raises(ValueError, match="row i depends on point i alone"):
        SolutionLoss(mixed, [], 1.0).least_squares(module, points)


def test_a_network_with_periods_repeats(points):
    module, shifted = network(periods=[None, 1.5, 0.7]), points.clone()
    shifted[:, 1] += 1.5
    shifted[:, 2] -= 2 * 0.7
    torch.testing.assert_close(module(shifted), module(points))
    shifted[:, 0] += 1.0
    assert not torch.allclose(module(shifted), module(points))


def flux(u, x):
    """Two numbers per point of a solution and its slopes."""
    return [derivative(u[:, 0], x, 1) - u[:, 1], derivative(u[:, 1], x, 0, 0)]


def test_normal_equations_are_those_of_the_whole_jacobian(points, monkeypatch):
    monkeypatch.setattr("margin.physics.least_squares.ENTRIES", 500)  # several blocks
    module = network(coefficients={"rate": 0.7}, periods=[None, 4.0, None])
    known = [Known(points[:2], points[:2, :2]), Known(points[4:5], points[4:5, 1:], flux)]
    problem = ResidualSquares(module, system, known, carried_layout(module, system, points, {}), 2.5, n_equations=2)
    parameters = list(module.parameters())
    x = points.clone().requires_grad_()
    at = points[4:5].clone().requires_grad_()
    missed = [*(module(points[:2]) - points[:2, :2]).flatten(), *(torch.cat(flux(module(at), at)) - points[4, 1:])]
    misfit = torch.stack(missed) * (2.5 / 3) ** 0.5
    parts = torch.cat(system(module(x), x, module.coefficients["rate"])) / 3
    r = torch.cat([misfit, parts])
    J = np.stack(
        [torch.cat([g.flatten() for g in torch.autograd.grad(one, parameters, retain_graph=True,
                                                             materialize_grads=True, allow_unused=True)]) for one in r]
    )  # fmt: skip
    slope, gram = problem.normal_equations(points)
    np.testing.assert_allclose(slope, J.T @ r.detach().numpy(), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(gram, J.T @ J, rtol=1e-9, atol=1e-11)
    assert problem.n_rows(9) == len(r)
    rows = problem.rows(points)
    np.testing.assert_allclose(rows.gradient, slope, atol=1e-12)
    np.testing.assert_allclose(rows.step(0.1), problem.normal_equations(points).step(0.1), rtol=1e-7, atol=1e-10)
    assert rows.scale == pytest.approx(gram.diagonal().max())
    data, equation = problem.losses(points)
    assert 2.5 * data + equation == pytest.approx(float(r.detach() @ r.detach()), rel=1e-12)


def bending(u, x):
    """u'' = -pi^2 sin(pi x)"""
    return derivative(u, x, 0, 0) + np.pi**2 * torch.sin(np.pi * x[:, 0])


def test_levenberg_marquardt_solves_to_many_digits_and_resumes():
    x = np.linspace(0, 1, 25)[:, None]
    ends = Condition([[0.0], [1.0]], [0.0, 0.0])
    make = lambda n: PINN(  # noqa: E731
        bending, ends, solver="levenberg-marquardt", hidden_layer_sizes=(10, 10), max_iter=n, tol=1e-12, random_state=1
    )
    model = make(150).fit(x)
    np.testing.assert_allclose(model.predict(x), np.sin(np.pi * x[:, 0]), atol=1e-5)
    assert model.loss_ == pytest.approx(model.condition_loss_ + model.residual_loss_)
    first, second, whole = make(8), make(8), make(8).fit(x)
    for record in first.iterate(x):
        assert record["damping"] > 0
        if record.iteration == 3:
            break
    list(second.iterate(x, state=first.get_state()))
    np.testing.assert_array_equal(second.predict(x), whole.predict(x))
    batched = [make(6).set_params(batch_size=10, record_steps=1) for _ in range(3)]
    assert [record.iteration for record in batched[0].iterate(x)][-1] == 18
    for record in batched[1].iterate(x):
        if record.iteration == 7:
            break
    list(batched[2].iterate(x, state=batched[1].get_state()))
    np.testing.assert_array_equal(batched[2].predict(x), batched[0].predict(x))
    shrunk = make(8).set_params(alpha=1.0).fit(x)
    assert np.abs(shrunk.weights_["mlp.linears.1.weight"]).sum() < np.abs(whole.weights_["mlp.linears.1.weight"]).sum()


def test_a_warm_start_goes_on_at_other_points():
    ends = Condition([[0.0], [1.0]], [0.0, 0.0])
    model = PINN(
        bending,
        ends,
        solver="levenberg-marquardt",
        hidden_layer_sizes=(8,),
        max_iter=15,
        warm_start=True,
        random_state=1,
    )
    first = model.fit(np.linspace(0, 1, 25)[:, None]).loss_
    second = model.fit(np.linspace(0.01, 0.99, 40)[:, None]).loss_
    assert second < first
    assert model.n_iter_ == 15, "those of the last fit"
    assert len(model.loss_curve_) == 30


def test_levenberg_marquardt_finds_a_coefficient():
    t = np.linspace(0, 2, 25)[:, None]
    model = PINN(
        lambda u, x, rate: derivative(u, x, 0) + rate * u[:, 0], Condition(t, np.exp(-1.7 * t[:, 0])),
        coefficients={"rate": 0.5}, solver="levenberg-marquardt", hidden_layer_sizes=(8,), max_iter=30, random_state=0,
    )  # fmt: skip
    assert model.fit(t).coefficients_["rate"] == pytest.approx(1.7, abs=1e-3)
