"""First-order loops, results, and what happens when something is wrong."""

import numpy as np
import pytest

from margin.core.records import Record
from margin.optimize import (
    METHODS,
    Diverged,
    OptimizationError,
    adam,
    follow,
    gradient_descent,
    minimize,
    rate_range_test,
)
from margin.optimize.landscapes import BEALE, ravine


def bowl(x):
    return float(x @ x / 2)


def bowl_gradient(x):
    return x


def test_records_are_records_and_hold_the_path():
    steps = list(gradient_descent(bowl, bowl_gradient, [2.0, 0.0], learning_rate=0.5, max_iter=3))
    assert all(isinstance(step, Record) for step in steps)
    assert [step.iteration for step in steps] == [0, 1, 2, 3]
    assert [step.x[0] for step in steps] == [2.0, 1.0, 0.5, 0.25]
    assert steps[1].as_dict() == {
        "iteration": 1,
        "value": 0.5,
        "gradient_norm": 1.0,
        "step_size": 1.0,
        "evaluations": 2.0,
    }
    assert steps[0].total == 3


def test_a_loop_can_be_left_at_any_step():
    for step in adam(bowl, bowl_gradient, np.ones(3), learning_rate=0.1):
        if step.value < 0.5:
            break
    assert step.value < 0.5


def test_matrices_and_scalars_keep_their_shape():
    target = np.arange(6.0).reshape(2, 3)
    result = minimize(lambda X: np.sum((X - target) ** 2), np.zeros((2, 3)), grad=lambda X: 2 * (X - target))
    np.testing.assert_allclose(result.x, target, atol=1e-6)
    assert result.path.shape == (result.iterations + 1, 2, 3)
    assert minimize(lambda t: (t - 3) ** 2, 1.0).x.shape == ()


@pytest.mark.parametrize("method", ["gradient_descent", "lbfgs", "newton_cg", "damped_newton", "coordinate_descent"])
def test_sources_of_gradients_agree(method):
    options = {"learning_rate": 0.1} if method == "gradient_descent" else {}
    kinds = {
        "given": (lambda x: (x[0] - 1) ** 2 + 3 * x[1] ** 4, lambda x: np.array([2 * (x[0] - 1), 12 * x[1] ** 3])),
        "differences": (lambda x: (x[0] - 1) ** 2 + 3 * x[1] ** 4, None),
        "torch": (lambda x: (x[0] - 1) ** 2 + 3 * x[1] ** 4, "torch"),
        "joint": (lambda x: ((x[0] - 1) ** 2 + 3 * x[1] ** 4, np.array([2 * (x[0] - 1), 12 * x[1] ** 3])), True),
    }
    ends = [minimize(f, [0.0, 0.5], method=method, grad=grad, max_iter=60, **options).x for f, grad in kinds.values()]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=2e-3)


def test_evaluations_are_counted():
    calls = {"f": 0, "g": 0}

    def f(x):
        calls["f"] += 1
        return bowl(x)

    def g(x):
        calls["g"] += 1
        return x

    result = minimize(f, [1.0, 1.0], method="lbfgs", grad=g)
    assert result.evaluations == calls["f"]


def test_divergence_says_where_and_keeps_the_last_finite_iterate():
    land = ravine(30.0)
    result = minimize(land.f, [1.0, 1.0], method="gradient_descent", grad=land.grad, learning_rate=0.5)
    assert not result.converged
    assert f"diverged at step {result.iterations + 1}" in result.message
    assert "smaller" in result.message
    assert np.all(np.isfinite(result.x))
    steps = gradient_descent(land.f, land.grad, [1.0, 1.0], learning_rate=0.5)
    with pytest.raises(Diverged) as failure:
        for step in steps:
            last = step
    np.testing.assert_array_equal(failure.value.x, last.x)
    assert failure.value.iteration == last.iteration


def test_slow_divergence_is_named_too():
    result = minimize(bowl, np.ones(2), method="gradient_descent", grad=bowl_gradient, learning_rate=2.001, max_iter=50)
    assert not result.converged
    assert "learning rate is too large" in result.message


@pytest.mark.parametrize("method", ["adam", "lbfgs", "bfgs", "newton_cg", "nonlinear_cg", "coordinate_descent"])
def test_wrong_gradient_shape_is_one_sentence(method):
    with pytest.raises(
        OptimizationError, match=rf"{method}: the gradient must have the shape \(3,\) of x; got .*, after step 0\."
    ):
        minimize(bowl, np.ones(3), method=method, grad=lambda x: x[:2])


def test_a_gradient_that_breaks_later_keeps_the_iterate():
    def breaks(x):
        return x if x @ x > 0.5 else x[:1]

    with pytest.raises(OptimizationError, match=r"after step \d+") as failure:
        minimize(bowl, np.ones(2), method="gradient_descent", grad=breaks)
    assert failure.value.iteration > 0
    assert failure.value.x.shape == (2,)


@pytest.mark.parametrize("method", ["gradient_descent", "adam", "lbfgs", "trust_region"])
def test_a_function_that_becomes_nan(method):
    def f(x):
        return np.nan if x[0] < 0.5 else float(x[0])

    result = minimize(f, [2.0], method=method, grad=lambda x: np.array([1.0 if x[0] >= 0.5 else np.nan]), max_iter=5000)
    assert not result.converged
    assert np.isfinite(result.value)
    assert result.x[0] >= 0.5


@pytest.mark.parametrize("x0", [[np.nan, 1.0], [], "start", [np.inf]])
def test_unusable_starts(x0):
    with pytest.raises(ValueError, match="x0 must"):
        minimize(bowl, x0)


def test_a_start_where_the_function_is_not_finite():
    with pytest.raises(Diverged, match="the start is not usable"):
        minimize(lambda x: np.log(x[0]), [-1.0], grad=lambda x: 1 / x)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: minimize(bowl, [1.0], method="sgdd"), "method must be one of"),
        (lambda: minimize(bowl, [1.0], method="adam", rate=0.1), "adam has no option 'rate'"),
        (lambda: minimize(bowl, [1.0], method="adam", learning_rate=-0.1), "rate must be a positive"),
        (lambda: minimize(bowl, [1.0], method="adam", learning_rate="fast"), "rate must be a positive"),
        (lambda: minimize(bowl, [1.0], grad="autodiff"), "grad must be"),
        (lambda: minimize(lambda x: x, [1.0, 2.0]), "f must return one real number"),
        (lambda: minimize(lambda x: "low", [1.0]), "f must return one real number"),
        (lambda: minimize(bowl, [1.0], grad=True), r"must return \(value, gradient\)"),
        (lambda: minimize(bowl, [1.0], max_iter=-1), "max_iter"),
        (lambda: minimize(bowl, [1.0], max_iter=2.5), "max_iter"),
        (lambda: rate_range_test(bowl, bowl_gradient, [1.0], [0.0]), "rates must be positive"),
    ],
)
def test_bad_arguments_are_named(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_every_method_is_named_like_its_function_and_ends_at_a_minimum_it_starts_in():
    for name, method in METHODS.items():
        assert method.__name__ == name
        options = {"g": lambda x: 0.0, "prox": lambda v, t: v} if name in ("fista", "proximal_gradient") else {}
        start = np.zeros((2, 3)) if name == "muon" else np.zeros(2)
        result = minimize(lambda x: np.vdot(x, x) / 2, start, method=name, grad=lambda x: x, **options)
        assert result.converged
        assert result.iterations == 0


def test_clipping_bounds_the_step():
    result = minimize(
        BEALE.f, BEALE.start, method="gradient_descent", grad=BEALE.grad, learning_rate=0.1, max_norm=1.0, max_iter=30
    )
    assert max(result.history("step_size")) <= 0.1 + 1e-12


def test_range_test_finds_the_limit():
    land = ravine(50.0)
    sweep = rate_range_test(land.f, land.grad, [1.0, 1.0], np.geomspace(1e-3, 1, 121))
    assert sweep.limit == pytest.approx(2 / 50, rel=0.06)
    assert sweep.suggestion < sweep.best < sweep.limit


def test_follow_rethrows_bad_arguments():
    with pytest.raises(OptimizationError):
        follow(gradient_descent(bowl, lambda x: x[:1], np.ones(2)))


@pytest.mark.parametrize("method", ["lbfgs", "bfgs", "nonlinear_cg", "newton_cg"])
def test_a_gradient_that_reuses_its_buffer(method):
    buffer = np.empty(2)

    def grad(x):
        buffer[:] = BEALE.grad(x)
        return buffer

    result = minimize(BEALE.f, BEALE.start, method=method, grad=grad)
    np.testing.assert_allclose(result.x, [3.0, 0.5], atol=1e-5)


def test_steps_compare_as_records():
    first, second = (list(adam(bowl, bowl_gradient, np.ones(2), max_iter=3)) for _ in range(2))
    assert first == second
    assert first[0] != first[1]
