"""Solvers against closed forms and SciPy; their order measured."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from margin.physics.adaptive import dormand_prince
from margin.physics.implicit import implicit_walk, solve_stiff
from margin.physics.ode import linear_system, observed_order, solve_ode
from margin.physics.solution import Event
from margin.physics.steps import walk
from margin.physics.tableaus import EXPLICIT, IMPLICIT


def wave(t, y):
    return np.array([y[1] * np.cos(t), -y[0] + 0.3 * t * y[1]])


def reference(f, y0, t):
    return solve_ivp(f, (t[0], t[-1]), y0, "DOP853", t, rtol=1e-13, atol=1e-13).y.T


@pytest.mark.parametrize("method", [*EXPLICIT, *IMPLICIT])
def test_the_error_falls_with_the_order_of_the_method(method):
    exact = reference(wave, [1.0, 0.5], [0.0, 2.0])[-1]

    def error(h):
        n = round(2 / h)
        if method in EXPLICIT:
            _, y = walk(wave, np.array([1.0, 0.5]), 0.0, h, n, EXPLICIT[method])
        else:
            _, y = implicit_walk(wave, [1.0, 0.5], 0.0, h, n, method)
        return np.abs(y[-1] - exact).max()

    order = {**EXPLICIT, **IMPLICIT}[method].order
    assert abs(observed_order(error, 0.05) - order) < 0.35


def test_dormand_prince_steps_as_scipy_does():
    ours = dormand_prince(wave, [1.0, 0.5], (0.0, 4.0), rtol=1e-6, atol=1e-9, first_step=0.01)
    theirs = solve_ivp(wave, (0.0, 4.0), [1.0, 0.5], "RK45", rtol=1e-6, atol=1e-9, first_step=0.01, dense_output=True)
    np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-9)
    np.testing.assert_allclose(ours.y, theirs.y.T, rtol=1e-9, atol=1e-12)
    between = np.linspace(0, 4, 57)
    np.testing.assert_allclose(ours(between), theirs.sol(between).T, rtol=1e-8, atol=1e-11)


def test_backward_in_time_comes_home():
    there = dormand_prince(wave, [1.0, 0.5], (0.0, 2.0), rtol=1e-10, atol=1e-12)
    back = dormand_prince(wave, there.y[-1], (2.0, 0.0), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(back.y[-1], [1.0, 0.5], atol=1e-8)
    np.testing.assert_allclose(back(1.3), there(1.3), atol=1e-7)


def test_a_ball_lands_where_it_must():
    fall = Event(lambda t, y: y[0], direction=-1, terminal=True)
    top = Event(lambda t, y: y[1])
    found = dormand_prince(lambda t, y: [y[1], -9.81], [1.0, 5.0], (0.0, 10.0), events=[fall, top])
    landing = (5 + np.sqrt(25 + 2 * 9.81)) / 9.81
    assert found.ended
    assert found.t[-1] == pytest.approx(landing, abs=1e-10)
    assert found.event_times[1] == pytest.approx([5 / 9.81], abs=1e-10)
    assert found(landing - 1e-3)[0] > 0


def test_directions_select_crossings():
    up, down = Event(lambda t, y: y[0], direction=1), Event(lambda t, y: y[0], direction=-1)
    found = dormand_prince(
        lambda t, y: [y[1], -y[0]], [0.5, 1.0], (0.0, 12.0), rtol=1e-9, atol=1e-11, events=[up, down]
    )
    phase = np.arctan2(0.5, 1.0)
    np.testing.assert_allclose(found.event_times[0], 2 * np.pi * np.arange(1, 2) - phase, atol=1e-7)
    np.testing.assert_allclose(found.event_times[1], np.pi * np.array([1, 3]) - phase, atol=1e-7)


def test_a_stiff_problem_needs_few_implicit_steps():
    def robertson(t, y):
        a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return np.array([-a + b, a - b - c, c])

    ours = solve_stiff(robertson, [1.0, 0.0, 0.0], (0.0, 40.0), rtol=1e-6, atol=1e-10)
    exact = solve_ivp(robertson, (0, 40), [1.0, 0, 0], "Radau", rtol=1e-11, atol=1e-14).y[:, -1]
    np.testing.assert_allclose(ours.y[-1], exact, rtol=1e-5)
    explicit = dormand_prince(robertson, [1.0, 0.0, 0.0], (0.0, 1.0), rtol=1e-6, atol=1e-10)
    assert len(ours.t) < 100 < len(explicit.t)


def test_linear_equations_of_higher_order_are_systems():
    x = np.linspace(0, 2, 5)
    # y'' + 2 y' + y - x = 0 with y(0) = 1, y'(0) = 0: y = 3 e^-x + 2 x e^-x + x - 2
    system = linear_system([lambda x: 1.0, lambda x: 2.0, lambda x: 1.0], lambda x: -x)
    exact = 3 * np.exp(-x) + 2 * x * np.exp(-x) + x - 2
    np.testing.assert_allclose(solve_ode(system, [1.0, 0.0], x)[:, 0], exact, atol=1e-7)
    np.testing.assert_allclose(solve_ode(system, [1.0, 0.0], x, method="radau5")[:, 0], exact, atol=1e-7)
    np.testing.assert_allclose(solve_ode(system, [1.0, 0.0], x, method="rk4", steps=40)[:, 0], exact, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve_ode(wave, [1.0, 0.0], [0.0]), "at least two times"),
        (lambda: solve_ode(wave, [1.0, 0.0], [0.0, 1.0, 0.5]), "only rise"),
        (lambda: solve_ode(wave, [1.0, 0.0], [0, 1], method="rk45"), "must be one of euler"),
        (lambda: solve_ode(wave, [1.0, 0.0], [0, 1], method="rk4"), "steps must be given"),
        (lambda: solve_ode(wave, [np.nan, 0.0], [0, 1]), "finite"),
        (lambda: dormand_prince(lambda t, y: [1.0], [1.0, 0.0], (0, 1)), "as many slopes as states"),
        (lambda: dormand_prince(wave, [1.0, 0.0], (0, 1))(2.0), r"must lie in \[0, 1\]"),
        (lambda: linear_system([lambda x: 1.0]), "n at least 1"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_solution_that_escapes_is_said_to():
    with pytest.raises(RuntimeError, match="no way on from t = "), np.errstate(over="ignore", invalid="ignore"):
        dormand_prince(lambda t, y: y**2, [1.0], (0.0, 2.0))
