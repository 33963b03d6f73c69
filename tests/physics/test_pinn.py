"""Networks that solve equations, against exact solutions and finite differences."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from margin.physics.burgers import burgers_exact, burgers_finite_differences, burgers_residual
from margin.physics.derivatives import derivative, gradient, laplacian
from margin.physics.pde import (
    DifferentialEquation,
    SecondOrder,
    kind_of,
    pde_residual,
    solve_heat,
    solve_poisson,
    solve_wave,
)
from margin.physics.pinn import PINN, Condition, pinn_loss
from margin.store import load, save


def double(array):
    return torch.tensor(np.array(array), dtype=torch.float64)


def test_derivatives_of_a_known_function():
    x = double(np.random.default_rng(0).random((6, 2))).requires_grad_()
    u = torch.sin(x[:, 0]) * x[:, 1] ** 3
    a, b = x.detach().numpy().T
    np.testing.assert_allclose(gradient(u, x).detach(), np.stack([np.cos(a) * b**3, 3 * np.sin(a) * b**2], axis=1))
    np.testing.assert_allclose(derivative(u, x, 0, 1).detach(), 3 * np.cos(a) * b**2)
    np.testing.assert_allclose(laplacian(u, x).detach(), -np.sin(a) * b**3 + 6 * np.sin(a) * b)


@pytest.mark.parametrize(
    ("u", "form"),
    [
        (lambda x: torch.exp(x[:, 0]) * torch.sin(x[:, 1]), SecondOrder(A=1, C=1)),
        (lambda x: torch.exp(-x[:, 1]) * torch.sin(x[:, 0]), SecondOrder(A=1, E=-1)),
        (lambda x: torch.sin(x[:, 0] - 2 * x[:, 1]), SecondOrder(A=4, C=-1)),
        (lambda x: (x[:, 0] * x[:, 1])[:, None], SecondOrder(B=0.5, G=-1)),
    ],
)
def test_solutions_leave_no_residual(u, form):
    x = double(np.random.default_rng(1).random((8, 2)))
    assert float(pde_residual(u, form, x).detach().abs().max()) < 1e-12
    changed = pde_residual(lambda x: u(x).reshape(-1) + x[:, 0] ** 3 * x[:, 1] ** 2, form, x)
    assert float(changed.detach().abs().max()) > 1e-3


def test_finite_differences_of_one_equation_of_each_kind():
    x = np.linspace(0, 1, 41)
    X, Y = np.meshgrid(x, x)
    exact = np.sin(np.pi * X) * np.sin(np.pi * Y) + X
    frame = np.pad(np.zeros((39, 39)), 1, constant_values=1) * exact
    f = -2 * np.pi**2 * np.sin(np.pi * X) * np.sin(np.pi * Y)
    np.testing.assert_allclose(solve_poisson(f, frame, x[1]), exact, atol=1e-3)
    heat = solve_heat(np.sin(np.pi * x), 0.5, x[1], 0.005, 40)[-1]
    np.testing.assert_allclose(heat, np.exp(-0.5 * np.pi**2 * 0.2) * np.sin(np.pi * x), atol=1e-3)
    wave = solve_wave(np.sin(np.pi * x), 0 * x, 2.0, x[1], x[1] / 2, 30)
    np.testing.assert_allclose(wave[-1], np.cos(2 * np.pi * 30 * x[1] / 2) * np.sin(np.pi * x), atol=1e-3)


def test_kinds_of_equations():
    decay = DifferentialEquation(lambda u, x: derivative(u, x, 0) - u, ("t",))
    with_parameter = DifferentialEquation(lambda u, x: derivative(u, x, 0) - x[:, 1] * u, ("t", "k"))
    burgers = DifferentialEquation(burgers_residual, ("t", "x"))
    assert [kind_of(e) for e in (decay, with_parameter, burgers)] == ["ODE", "ODE", "PDE"]


def test_burgers_by_two_ways():
    t = np.array([0.0, 0.25, 0.5, 0.75])
    x, u = burgers_finite_differences(t, n=400)
    np.testing.assert_allclose(u[1:, 40:160:20], burgers_exact(t[1:, None], x[40:160:20]), atol=2e-3)


def test_loss_of_an_exact_solution_vanishes():
    def u(x):
        return (torch.sin(np.pi * x[:, 0]) * torch.sin(np.pi * x[:, 1]))[:, None]

    def residual(v, x):
        return laplacian(v, x) + 2 * np.pi**2 * v[:, 0]

    edge = double([[0.0, 0.3], [1.0, 0.8]])
    inside = double(np.random.default_rng(0).random((9, 2)))
    data, equation = pinn_loss(u, residual, [(edge, torch.zeros(2, 1))], inside)
    assert data.item() < 1e-28
    assert equation.item() < 1e-24


def test_a_pinn_solves_a_boundary_value_problem_and_resumes():
    # u'' = -pi^2 sin(pi x), u(0) = u(1) = 0
    def residual(u, x):
        return derivative(u, x, 0, 0) + np.pi**2 * torch.sin(np.pi * x[:, 0])

    x = np.linspace(0, 1, 25)[:, None]
    make = lambda n: PINN(residual, Condition([[0.0], [1.0]], [0.0, 0.0]), max_iter=n, random_state=1)  # noqa: E731
    model = make(200).fit(x)
    np.testing.assert_allclose(model.predict(x), np.sin(np.pi * x[:, 0]), atol=1e-3)
    assert model.predict(x).dtype == np.float64
    assert np.abs(model.evaluate_residual(x)).max() < 0.1
    first, second, whole = make(30), make(30), make(30).fit(x)
    for record in first.iterate(x):
        if record.iteration == 10:
            break
    list(second.iterate(x, state=first.get_state()))
    np.testing.assert_array_equal(second.predict(x), whole.predict(x))


def test_an_unknown_coefficient_is_found():
    t = np.linspace(0, 2, 25)[:, None]
    noisy = np.exp(-1.7 * t[:, 0]) + 0.005 * np.random.default_rng(0).normal(size=25)
    model = PINN(lambda u, x, rate: derivative(u, x, 0) + rate * u[:, 0], Condition(t, noisy), random_state=0)
    model.set_params(coefficients={"rate": 0.5}, max_iter=300).fit(t)
    assert model.coefficients_["rate"] == pytest.approx(1.7, abs=0.05)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PINN(lambda u, x: u[:3]), r"one number per point, \(5,\); got \(3, 1\)"),
        (PINN(lambda u, x: 0.0, Condition([[0.0]], [1.0])), "got float"),
        (PINN(lambda u, x: None), r"one number per point, \(5,\); got NoneType"),
        (PINN(lambda u, x: [u[:, 0], u.sum()]), r"one number per point, \(5,\); got \(\)"),
        (PINN(lambda u, x: []), "got an empty list"),
        (PINN(lambda u, x: u[:, 0] * float("nan")), "residual must be finite where the search starts"),
        (PINN(lambda u, x: u.sum(), solver="levenberg-marquardt"), r"one number per point, \(1,\); got \(\)"),
        (PINN(), "needs a residual, conditions or measured values y"),
        (PINN(conditions=Condition([[0.0, 1.0]], [1.0])), "must have 1 coordinates and 1 values"),
        (PINN(conditions=3), "Condition"),
    ],
)
def test_mistakes_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.linspace(0, 1, 5)[:, None])


def test_residuals_are_evaluated_at_points_like_those_of_the_fit():
    x = np.linspace(0, 1, 5)[:, None]
    model = PINN(lambda u, x: u[:, 0], max_iter=2, random_state=0).fit(x)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.evaluate_residual(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"one number per point, \(5,\); got \(2,\)"):
        model.set_params(residual=lambda u, x: u[:2, 0]).evaluate_residual(x)


def test_a_condition_has_a_value_per_point():
    with pytest.raises(ValueError, match="points must be"):
        Condition([[0.0], [1.0]], [1.0])


def test_a_file_holds_the_solution_and_not_the_equation(tmp_path):
    import margin

    t = np.linspace(0, 1, 12)[:, None]
    model = PINN(lambda u, x, rate: derivative(u, x, 0) + rate * u[:, 0], coefficients={"rate": 0.5}, max_iter=40)
    model.set_params(random_state=0).fit(t, np.exp(-t[:, 0]))  # the equation and what was measured
    margin.save(model, tmp_path / "decay.margin")
    again = margin.load(tmp_path / "decay.margin")
    np.testing.assert_array_equal(again.predict(t), model.predict(t))
    assert again.coefficients_ == model.coefficients_
    assert again.residual is None
    with pytest.raises(ValueError, match="residual must be a function to be evaluated; got None"):
        again.evaluate_residual(t)
    again.set_params(residual=model.residual)
    np.testing.assert_array_equal(again.evaluate_residual(t), model.evaluate_residual(t))


@pytest.mark.parametrize("solver", ["lbfgs", "levenberg-marquardt"])
def test_a_condition_on_a_slope_holds(solver):
    """-u'' = 1 with a wall at 0 that lets nothing through: u = (1 - x^2) / 2."""
    conditions = [Condition([[1.0]], [0.0]), Condition([[0.0]], [0.0], lambda u, x: derivative(u, x, 0))]
    x = np.linspace(0, 1, 15)[:, None]
    model = PINN(
        lambda u, x: derivative(u, x, 0, 0) + 1, conditions, solver=solver, hidden_layer_sizes=(8,), random_state=0
    )
    np.testing.assert_allclose(model.fit(x).predict(x), (1 - x[:, 0] ** 2) / 2, atol=1e-3)


@pytest.mark.parametrize("solver", ["lbfgs", "levenberg-marquardt"])
def test_a_wave_has_its_period_outside_the_points(solver, tmp_path):
    """u_t + u_x = 0 carries sin(2 pi x) along; nothing is said about the ends in x."""
    start = np.linspace(0, 1, 20, endpoint=False)
    known = Condition(np.column_stack([np.zeros(20), start]), np.sin(2 * np.pi * start))
    points = np.random.default_rng(0).uniform(size=(150, 2)) * [0.3, 1.0]
    model = PINN(
        lambda u, x: derivative(u, x, 0) + derivative(u, x, 1), known, periods=[None, 1.0], solver=solver,
        hidden_layer_sizes=(10,), condition_weight=10.0, random_state=0, max_iter=1000,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points)
    t, x = np.full(30, 0.3), np.linspace(-1, 2, 30)
    np.testing.assert_allclose(model.predict(np.column_stack([t, x])), np.sin(2 * np.pi * (x - t)), atol=0.02)
    save(model, tmp_path / "wave.safetensors")
    again = load(tmp_path / "wave.safetensors")
    np.testing.assert_array_equal(again.predict(points), model.predict(points))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"periods": [1.0, None]}, "periods must have an entry for each of 1 coordinates"),
        (
            {"conditions": Condition([[0.0]], [0.0], lambda u, x: u[:, 0].sum())},
            "operator of a condition must give one",
        ),
        ({"conditions": Condition([[0.0]], [[0.0, 1.0]], lambda u, x: u[:, 0])}, "for each of its 2 values; got 1"),
    ],
)
@pytest.mark.parametrize("solver", ["lbfgs", "levenberg-marquardt"])
def test_wrong_periods_and_operators_are_a_sentence(params, said, solver):
    model = PINN(lambda u, x: derivative(u, x, 0), solver=solver, random_state=0, **params)
    with pytest.raises(ValueError, match=said):
        model.fit(np.linspace(0, 1, 5)[:, None])


def test_an_operator_that_is_no_function_is_refused():
    with pytest.raises(ValueError, match="operator must be a function of u and x, or None; got 3"):
        Condition([[0.0]], [0.0], 3)


def test_a_coefficient_that_the_residual_does_not_take_is_named():
    model = PINN(lambda u, x, nu: nu * u, coefficients={"mu": 1.0}, max_iter=1, random_state=0)
    with pytest.raises(ValueError, match=r"^PINN: coefficients must be what residual takes after u and x; got mu, and"):
        model.fit(np.linspace(0, 1, 5)[:, None])
