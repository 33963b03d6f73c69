"""Solvers of ordinary differential equations: their order, their slopes and the curves they draw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises, within
from margin.notes import atlas
from margin.notes.claims import claim

STEPS = (0.1, 0.05, 0.025)


def growth(_t: Any, y: Any) -> Any:
    return y


def errors_at_one(method: Any) -> list[float]:
    """|y(1) - e| for y' = y, y(0) = 1 with the steps of the notes."""
    return [abs(float(method(growth, 1.0, 0.0, h, round(1 / h))[1][-1]) - math.e) for h in STEPS]


@claim("ode")
def linear_equations_of_any_order_are_systems(seed: int) -> Verdict:
    from margin.physics.ode import linear_system, solve_ode

    rng = np.random.default_rng(seed)
    rate, x = float(rng.uniform(0.5, 2)), np.linspace(0, 2, 9)
    exponential = linear_system([lambda _: -rate, lambda _: 1.0])
    oscillator = linear_system([lambda _: rate**2, lambda _: 0.0, lambda _: 1.0])
    truth = every(
        exponential=near(solve_ode(exponential, 1.0, x)[:, 0], np.exp(rate * x), tolerance=1e-6),
        oscillator=near(solve_ode(oscillator, [1.0, 0.0], x)[:, 0], np.cos(rate * x), tolerance=1e-6),
        not_linear=near(solve_ode(lambda _, y: y**2, 1.0, [0.0, 0.5])[1], [2.0], tolerance=1e-6),
    )
    # If y' = y^2 were linear without b, twice a solution would be one.
    once, twice = (solve_ode(lambda _, y: y**2, start, [0.0, 0.25])[1] for start in (1.0, 2.0))
    return corrected(truth, every_ode_is_linear=near(twice, 2 * once, tolerance=1e-3))


@claim("euler-method")
def halving_the_step_halves_the_error_of_euler() -> Verdict:
    from margin.physics.steps import euler

    errors = errors_at_one(euler)
    numbers = atlas.row("euler-method").values["errors"]
    return every(
        numbers=near(errors, numbers, tolerance=5e-6),
        order=within(errors[1] / errors[2], 1.8, 2.2),
        step=near(euler(growth, 1.0, 0.0, 0.5, 2)[1], [1.0, 1.5, 2.25], tolerance=1e-15),
    )


@claim("rk4")
def halving_the_step_divides_the_error_of_rk4_by_sixteen() -> Verdict:
    from scipy.integrate import solve_ivp

    from margin.physics.steps import rk4, rk4_slopes

    errors = errors_at_one(rk4)
    values = atlas.row("rk4").values

    def wave(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -np.sin(y[0]) + 0.1 * t])

    start = np.array([0.5, 0.0])
    exact = solve_ivp(wave, (0, 2), start, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    after, slopes = rk4_slopes(growth, 0.0, 1.0, 0.1)
    truth = every(
        numbers=near(np.array(errors) / values["errors"], np.ones(3), tolerance=1e-3),
        order=within(errors[1] / errors[2], 14, 18),
        scipy=near(rk4(wave, start, 0.0, 0.01, 200)[1][-1], exact, tolerance=1e-8),
        slopes=near(after, 1 + 0.1 * np.dot([1 / 6, 2 / 6, 2 / 6, 1 / 6], slopes), tolerance=1e-15),
        implicit=near(1 + np.trapezoid(np.exp(np.linspace(0, 1, 1001)), dx=1e-3), math.e, tolerance=1e-5),
    )
    # y as the bare integral of f(t, y) = y along the solution lacks the initial value.
    bare = float(np.trapezoid(np.exp(np.linspace(0, 1, 1001)), dx=1e-3))
    return corrected(truth, no_initial_value=near(bare, math.e, tolerance=1e-3))


@claim("claim-rk4-reduces-to-euler")
def equal_slopes_make_rk4_an_euler_step(seed: int) -> Verdict:
    from margin.physics.steps import euler, explicit_step, rk4
    from margin.physics.tableaus import EXPLICIT

    slope, start = np.random.default_rng(seed).normal(size=(2, 3))
    _, slopes = explicit_step(lambda *_: slope, 0.0, start, 0.3, EXPLICIT["rk4"])
    return every(
        weights=near(sum(EXPLICIT["rk4"].b), 1.0, tolerance=1e-15),
        equal_slopes=equal(np.stack(slopes), np.stack([slope] * 4)),
        one_step=near(
            rk4(lambda *_: slope, start, 0.0, 0.3, 1)[1], euler(lambda *_: slope, start, 0.0, 0.3, 1)[1],
            tolerance=1e-15,
        ),
        not_otherwise=above(float(rk4(growth, 1.0, 0.0, 0.3, 1)[1][1]), 1.3 + 0.01),  # Euler's step gives 1.3
    )  # fmt: skip


@claim("claim-numeric-integration-curve")
def numerical_curves_approximate_integral_curves() -> Verdict:
    from margin.physics.ode import integral_curve, solve_ode
    from margin.physics.steps import euler, rk4

    x = np.linspace(0, 2, 21)
    area = solve_ode(lambda t, _: [math.exp(-(t**2))], 0.0, x)[:, 0]
    erf = np.array([math.sqrt(math.pi) / 2 * math.erf(v) for v in x])
    constant = 3.0
    curve = rk4(lambda t, _: np.exp(t), 1 + constant, 0.0, 0.1, 10)[1]
    truth = every(
        exponential=near(curve, np.exp(np.linspace(0, 1, 11)) + constant, tolerance=1e-6),
        no_elementary_integral=near(area, erf, tolerance=1e-7),
        curve=near(integral_curve(lambda y: y, [1.0], [0.0, 1.0])[1], [math.e], tolerance=1e-6),
    )
    printed = near(euler(growth, 1.0, 0.0, 0.1, 10)[1][-1], math.e, tolerance=0.1)
    return corrected(truth, euler_gives_the_curve_itself=printed)


@claim("integral-curve")
def the_tangent_of_an_integral_curve_is_the_field(seed: int) -> Verdict:
    from margin.physics.ode import integral_curve

    def field(y: np.ndarray) -> np.ndarray:
        return np.array([y[1] + 0.2 * y[0], -y[0] + 0.1 * y[0] * y[1]])

    start = np.random.default_rng(seed).normal(size=2) + 2
    t = np.linspace(0, 3, 601)
    points = integral_curve(field, start, t)
    tangents = (points[2:] - points[:-2]) / (t[2:] - t[:-2])[:, None]
    fields = np.stack([field(p) for p in points[1:-1]])
    sines = np.abs(tangents[:, 0] * fields[:, 1] - tangents[:, 1] * fields[:, 0])
    sines /= np.linalg.norm(tangents, axis=1) * np.linalg.norm(fields, axis=1)
    return every(
        parallel=below(float(sines.max()), 1e-3),
        starts_there=near(points[0], start, tolerance=1e-12),
        one_way=raises(ValueError, lambda: integral_curve(field, start, [0.0, 1.0, 0.5]), match="only rise"),
    )


@claim("neural-ode")
def a_law_of_motion_is_learned_through_the_solver(seed: int) -> Verdict:
    import torch

    from margin.neural.weights import build
    from margin.physics.neural_ode import NeuralODE, SlopeNetwork, integrate, integrate_adjoint

    def gradients(solve: Any) -> np.ndarray:
        net = build(lambda: SlopeNetwork([2, 6, 2], "tanh"), seed, torch.float64)
        states = solve(net, torch.tensor([[1.0, 0.5]], dtype=torch.float64), [0.0, 0.5, 1.0], 12)
        parts = torch.autograd.grad(states.square().sum(), list(net.parameters()))
        return torch.cat([g.reshape(-1) for g in parts]).numpy()

    t = 0.25 * np.arange(44)
    spiral = np.exp(-0.1 * t)[:, None] * np.stack([np.cos(t + seed), np.sin(t + seed)], axis=1)
    model = NeuralODE((16,), interval=0.25, steps=1, window=4, solver="lbfgs", tol=1e-6, max_iter=60)
    model.set_params(random_state=seed).fit(np.stack([spiral[:34], 0.5 * spiral[:34]]))  # the law from two starts
    beyond = model.predict(spiral[:1], t)[0]
    return every(
        adjoint_is_backpropagation=near(gradients(integrate_adjoint), gradients(integrate), tolerance=1e-6),
        inside=below(float(np.abs(beyond[:34] - spiral[:34]).max()), 0.15),
        beyond=below(float(np.abs(beyond[34:] - spiral[34:]).max()), 0.2),
    )
