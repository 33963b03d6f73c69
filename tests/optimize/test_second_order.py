"""Newton, trust regions and quasi-Newton against SciPy, linear algebra and brute force."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize import OptimizationError, follow, minimize, newton_root
from margin.optimize.landscapes import LANDSCAPES, SADDLE, quadratic
from margin.optimize.problems import LogisticProblem
from margin.optimize.quasi_newton import Pair, bfgs_hessian_update, bfgs_inverse_update, lbfgs, stored_numbers, two_loop
from margin.optimize.second_order import damped_newton, newton_step
from margin.optimize.trust import boundary_step, newton_cg, solve_subproblem, steihaug, trust_region

SECOND_ORDER = ("damped_newton", "trust_region", "newton_cg")


def logistic(n=300, d=20):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)
    return LogisticProblem(X, y, 1e-2)


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "nonlinear_cg", *SECOND_ORDER])
@pytest.mark.parametrize("name", ["ravine", "Rosenbrock", "saddle", "Beale", "Himmelblau"])
def test_minima_of_the_landscapes(method, name):
    land = LANDSCAPES[name]
    options = {"hess": land.hess} if method in SECOND_ORDER else {}
    result = minimize(land.f, land.start, method=method, grad=land.grad, **options)
    assert result.converged
    assert np.min(np.linalg.norm(np.array(land.minima) - result.x, axis=1)) < 1e-5


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "nonlinear_cg", "newton", *SECOND_ORDER])
def test_logistic_minimum_equals_scipy(method):
    model = logistic()
    peer = scipy.optimize.minimize(
        model.value_and_gradient, np.zeros(20), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    options = {"hess": model.hessian} if method in ("newton", *SECOND_ORDER) else {}
    result = minimize(model.value_and_gradient, np.zeros(20), method=method, grad=True, tol=1e-8, **options)
    assert result.value == pytest.approx(peer.fun, abs=1e-12)
    np.testing.assert_allclose(result.x, peer.x, atol=1e-6)


def test_logistic_derivatives():
    model, rng = logistic(50, 4), np.random.default_rng(1)
    w, v = rng.standard_normal(4), rng.standard_normal(4)
    assert (
        scipy.optimize.check_grad(lambda t: model.value_and_gradient(t)[0], lambda t: model.value_and_gradient(t)[1], w)
        < 1e-6
    )
    np.testing.assert_allclose(model.hessian(w) @ v, model.hessian_product(w, v), atol=1e-12)
    step = 1e-6
    difference = (model.value_and_gradient(w + step * v)[1] - model.value_and_gradient(w - step * v)[1]) / (2 * step)
    np.testing.assert_allclose(model.hessian_product(w, v), difference, atol=1e-7)


def test_newton_cg_works_from_products_differences_and_matrices():
    model = logistic()
    runs = [
        minimize(model.value_and_gradient, np.zeros(20), method="newton_cg", grad=True, **options)
        for options in ({"hessp": model.hessian_product}, {"hess": model.hessian}, {})
    ]
    for run in runs:
        assert run.converged
        np.testing.assert_allclose(run.x, runs[0].x, atol=1e-4)


def test_large_problem_needs_no_more_evaluations_than_scipy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 200)) * np.geomspace(1, 0.05, 200)
    model = LogisticProblem(X, np.where(X @ rng.standard_normal(200) > 0, 1.0, -1.0), 1e-3)
    ours = minimize(model.value_and_gradient, np.zeros(200), method="lbfgs", grad=True, tol=1e-5)
    peer = scipy.optimize.minimize(
        model.value_and_gradient,
        np.zeros(200),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-7, "ftol": 0, "maxiter": 10_000},
    )
    assert ours.converged
    assert ours.value <= peer.fun + 1e-8
    assert ours.evaluations <= 1.1 * peer.nfev


@pytest.mark.parametrize("method", SECOND_ORDER)
@pytest.mark.parametrize("start", [(-1.6, 0.0), (0.0, 0.0), (1e-9, 0.0)])
def test_no_march_to_the_saddle(method, start):
    result = minimize(SADDLE.f, start, method=method, grad=SADDLE.grad, hess=SADDLE.hess)
    assert result.converged
    assert result.value == pytest.approx(-1.0, abs=1e-9)


def test_newton_cg_leaves_a_saddle_in_many_dimensions():
    d = 60
    curvature = np.ones(d)
    curvature[-1] = -1.0

    def f(x):
        return float(0.5 * curvature @ x**2 + 0.25 * x[-1] ** 4)

    def grad(x):
        return curvature * x + np.r_[np.zeros(d - 1), x[-1] ** 3]

    start = np.r_[np.ones(d - 1), 0.0]  # descent from here ends exactly on the saddle at 0
    assert minimize(f, start, method="lbfgs", grad=grad).value == pytest.approx(0.0, abs=1e-9)
    result = minimize(
        f,
        start,
        method="newton_cg",
        grad=grad,
        hessp=lambda x, v: curvature * v + np.r_[np.zeros(d - 1), 3 * x[-1] ** 2 * v[-1]],
    )
    assert result.value == pytest.approx(-0.25, abs=1e-9)
    held = minimize(f, start, method="newton_cg", grad=grad, escape_saddles=False)
    assert held.value == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 5.0), st.booleans())
def test_subproblem_is_globally_solved(seed, radius, hard):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((2, 2))
    H, g = (M + M.T) / 2, rng.standard_normal(2)
    if hard:  # no part of the gradient along the lowest eigenvector
        lowest = np.linalg.eigh(H)[1][:, 0]
        g = g - lowest * (lowest @ g)
    p = solve_subproblem(g, H, radius)
    assert np.linalg.norm(p) <= radius * (1 + 1e-6)
    angles, radii = np.linspace(0, 2 * np.pi, 721), np.linspace(0, radius, 60)
    ring = np.stack([np.outer(radii, np.cos(angles)).ravel(), np.outer(radii, np.sin(angles)).ravel()])
    brute = np.min(g @ ring + 0.5 * np.sum(ring * (H @ ring), axis=0))
    assert g @ p + 0.5 * p @ H @ p <= brute + 1e-6 * (1 + abs(brute))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 10.0))
def test_steihaug_predicts_its_own_decrease(seed, radius):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((6, 6))
    H, g = (M + M.T) / 2 + 0.5 * np.eye(6), rng.standard_normal(6)
    p, decrease = steihaug(lambda d: H @ d, g, radius, 1e-10, 50)
    known, _ = steihaug(lambda d: H @ d, g, radius, 1e-10, 50, H @ g)
    assert np.linalg.norm(p) <= radius * (1 + 1e-9)
    assert decrease == pytest.approx(-(g @ p + 0.5 * p @ H @ p), rel=1e-7, abs=1e-9)
    cauchy = -g * min(radius / np.linalg.norm(g), (g @ g) / max(g @ H @ g, 1e-300) if g @ H @ g > 0 else np.inf)
    assert decrease >= -(g @ cauchy + 0.5 * cauchy @ H @ cauchy) - 1e-9
    np.testing.assert_allclose(known, p)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_boundary_step_lands_on_the_sphere(seed):
    rng = np.random.default_rng(seed)
    p, d = rng.standard_normal(4) * 0.3, rng.standard_normal(4)
    radius = float(np.linalg.norm(p)) + rng.uniform(0.01, 3)
    tau = boundary_step(p, d, radius)
    assert tau > 0
    assert np.linalg.norm(p + tau * d) == pytest.approx(radius, rel=1e-10)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_two_loop_equals_the_dense_recursion(seed, count):
    from collections import deque

    rng = np.random.default_rng(seed)
    pairs = deque()
    for _ in range(count):
        s = rng.standard_normal(5)
        y = s + 0.3 * rng.standard_normal(5)
        if y @ s > 0.1:
            pairs.append(Pair(s, y, 1 / (y @ s)))
    g = rng.standard_normal(5)
    H = np.eye(5)
    if pairs:
        H *= (pairs[-1].s @ pairs[-1].y) / (pairs[-1].y @ pairs[-1].y)
    for pair in pairs:
        H = bfgs_inverse_update(H, pair.s, pair.y)
    np.testing.assert_allclose(two_loop(g, pairs), H @ g, rtol=1e-8, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_bfgs_updates_are_inverse_to_each_other_and_satisfy_the_secant(seed):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((4, 4))
    B = M @ M.T + np.eye(4)
    s, y = rng.standard_normal(4), rng.standard_normal(4)
    y = y if y @ s > 0 else -y
    if y @ s < 0.05:
        y = y + s
    new, inverse = bfgs_hessian_update(B, s, y), bfgs_inverse_update(np.linalg.inv(B), s, y)
    np.testing.assert_allclose(new @ s, y, atol=1e-9)
    np.testing.assert_allclose(new @ inverse, np.eye(4), atol=1e-6)
    assert np.linalg.eigvalsh(new)[0] > 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 5))
def test_newton_solves_any_definite_quadratic_in_one_step(seed, d):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((d, d))
    A, b = M @ M.T + np.eye(d), rng.standard_normal(d)
    f, grad, hess = quadratic(A, b)
    result = minimize(f, rng.standard_normal(d) * 5, method="newton", grad=grad, hess=hess, tol=1e-7)
    assert result.iterations == 1
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), atol=1e-8)


def test_singular_and_wrong_hessians():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        newton_step(np.ones(2), np.diag([1.0, 0.0]))
    f, grad, _ = quadratic(np.eye(2))
    with pytest.raises(OptimizationError, match="Hessian must have 2 x 2"):
        follow(damped_newton(f, grad, np.ones(2), hess=lambda x: np.eye(3)))
    with pytest.raises(OptimizationError, match="Hessian product must have the shape"):
        follow(newton_cg(f, grad, np.ones(2), hessp=lambda x, v: v[:1]))


def test_unbounded_functions_end_with_a_sentence():
    f, grad, hess = quadratic(np.diag([1.0, -1.0]))
    for method in (damped_newton, trust_region):
        result = follow(method(f, grad, [1.0, 1.0], hess=hess, max_iter=60))
        assert not result.converged
        assert np.all(np.isfinite(result.x))
    result = follow(lbfgs(lambda x: -float(x @ x), lambda x: -2 * x, np.ones(2)))
    assert not result.converged
    assert np.all(np.isfinite(result.x))


def test_roots():
    *_, last = newton_root(np.cos, lambda x: -np.sin(x), 1.0)
    assert last["x"] == pytest.approx(np.pi / 2, abs=1e-12)
    with pytest.raises(OptimizationError, match="flat"):
        list(newton_root(lambda x: x * x + 1, lambda x: 2 * x, 0.0))
    with pytest.raises(OptimizationError, match="no root"):
        list(newton_root(lambda x: x * x + 1, lambda x: 2 * x, 0.3, max_iter=20))


def test_stored_numbers():
    assert stored_numbers("bfgs", 1000) == 10**6
    assert stored_numbers("lbfgs", 1000, memory=10) == 20_000
    with pytest.raises(ValueError, match="bfgs or lbfgs"):
        stored_numbers("newton", 3)
    with pytest.raises(ValueError, match="memory"):
        next(lbfgs(lambda x: 0.0, None, [1.0], memory=0))
