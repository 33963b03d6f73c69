"""Proximal, coordinate, conjugate-gradient and quadratic-program solvers against scikit-learn and SciPy."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize import (
    OptimizationError,
    conjugate_gradient,
    coordinate_descent,
    fista,
    follow,
    lasso_coordinate_descent,
    proximal_gradient,
    quadratic_program,
    soft_threshold,
    steepest_descent,
)
from margin.optimize.interior_point import hard_margin_primal, svm_dual
from margin.optimize.landscapes import quadratic
from margin.optimize.proximal import project_box

ALPHA = 0.1


@pytest.fixture(scope="module")
def lasso():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    y = X[:, :3] @ [2.0, -1.5, 1.0] + 0.3 * rng.standard_normal(80)
    return X, y


def lasso_parts(X, y):
    n = len(y)
    return (
        lambda w: float(np.sum((X @ w - y) ** 2) / (2 * n)),
        lambda w: X.T @ (X @ w - y) / n,
        {"g": lambda w: ALPHA * float(np.abs(w).sum()), "prox": lambda v, t: soft_threshold(v, ALPHA * t)},
    )


@pytest.mark.parametrize("method", [proximal_gradient, fista])
def test_lasso_equals_scikit_learn(lasso, method):
    from sklearn.linear_model import Lasso

    X, y = lasso
    f, grad, parts = lasso_parts(X, y)
    result = follow(method(f, grad, np.zeros(12), tol=1e-9, **parts))
    peer = Lasso(ALPHA, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    assert result.converged
    np.testing.assert_allclose(result.x, peer.coef_, atol=1e-7)
    coordinates = follow(lasso_coordinate_descent(X, y, ALPHA))
    np.testing.assert_allclose(coordinates.x, peer.coef_, atol=1e-7)
    assert coordinates.value == pytest.approx(result.value, abs=1e-10)


def test_fista_is_faster_on_an_ill_conditioned_problem():
    A = np.diag(np.geomspace(1e-3, 1, 20))
    f, grad, _ = quadratic(A, np.ones(20))
    parts = {"g": lambda x: 0.0, "prox": lambda v, t: v, "tol": 1e-5, "max_iter": 20_000}
    slow, fast = (follow(method(f, grad, np.zeros(20), **parts)) for method in (proximal_gradient, fista))
    assert slow.converged
    assert fast.converged
    assert fast.iterations < slow.iterations / 5


def test_box_constraint_equals_scipy():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((5, 5))
    f, grad, _ = quadratic(M @ M.T + np.eye(5), 5 * rng.standard_normal(5))
    peer = scipy.optimize.minimize(
        f, np.zeros(5), jac=grad, bounds=[(-0.5, 0.5)] * 5, options={"ftol": 1e-15, "gtol": 1e-10}
    )
    result = follow(fista(f, grad, np.zeros(5), g=lambda x: 0.0, prox=lambda v, t: project_box(v, -0.5, 0.5)))
    np.testing.assert_allclose(result.x, peer.x, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(-5, 5), st.floats(0, 3))
def test_soft_threshold_is_the_proximal_map(v, tau):
    grid = np.linspace(-6, 6, 24_001)
    brute = grid[np.argmin(tau * np.abs(grid) + 0.5 * (grid - v) ** 2)]
    assert soft_threshold(v, tau) == pytest.approx(brute, abs=1e-3)


def test_coordinate_descent_reaches_the_minimum_of_a_quadratic():
    A, b = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]]), np.array([1.0, -2.0, 0.5])
    f, grad, _ = quadratic(A, b)
    result = follow(coordinate_descent(f, grad, np.zeros(3)))
    assert result.converged
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 12))
def test_conjugate_gradients_solve_in_d_steps(seed, d):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((d, d))
    A, b = M @ M.T + d * np.eye(d), rng.standard_normal(d)
    result = follow(conjugate_gradient(A, b, tol=1e-7))
    assert result.iterations <= d
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), atol=1e-6)
    matrix_free = follow(conjugate_gradient(lambda v: A @ v, b, tol=1e-7))
    np.testing.assert_array_equal(matrix_free.x, result.x)


def test_quadratic_solvers_report_what_they_cannot_solve():
    for solver in (steepest_descent, conjugate_gradient):
        with pytest.raises(OptimizationError, match="not positive") as failure:
            follow(solver(np.diag([1.0, -2.0]), [1.0, 1.0]))
        assert failure.value.x.shape == (2,)
        with pytest.raises(ValueError, match="symmetric 2 x 2"):
            follow(solver(np.array([[1.0, 1.0], [0.0, 1.0]]), [1.0, 1.0]))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_quadratic_programs_equal_slsqp(seed):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((4, 4))
    P, q = M @ M.T + 0.1 * np.eye(4), rng.standard_normal(4)
    A, G = rng.standard_normal((1, 4)), rng.standard_normal((5, 4))
    inside = rng.standard_normal(4)  # so that the constraints can be met
    b, h = A @ inside, G @ inside + rng.uniform(0.1, 1, 5)
    ours = quadratic_program(P, q, A, b, G, h)
    peer = scipy.optimize.minimize(
        lambda x: 0.5 * x @ P @ x + q @ x,
        inside,
        jac=lambda x: P @ x + q,
        constraints=[{"type": "eq", "fun": lambda x: A @ x - b}, {"type": "ineq", "fun": lambda x: h - G @ x}],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert ours.value == pytest.approx(peer.fun, abs=1e-6)
    np.testing.assert_allclose(P @ ours.x + q + A.T @ ours.equality + G.T @ ours.inequality, 0, atol=1e-6)
    assert np.all(G @ ours.x <= h + 1e-7)
    assert np.all(ours.inequality >= 0)


def test_svm_dual_and_primal_agree():
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 10)
    X = rng.standard_normal((20, 2)) + 3 * y[:, None]
    w, _ = hard_margin_primal(X, y)
    dual = svm_dual(X @ X.T, y, C=1e3)
    np.testing.assert_allclose(X.T @ (dual.x * y), w, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0]), "symmetric"),
        (([[-1.0]], [0.0]), "semidefinite"),
        (([[1.0]], [0.0], [[1.0]], None), "given together"),
        (([[1.0]], [0.0], None, None, [[1.0, 2.0]], [1.0]), "shape"),
        (([[1.0]], [0.0], None, None, [[1.0], [-1.0]], [-1.0, -1.0]), "contradict"),
    ],
)
def test_bad_programs(arguments, match):
    with pytest.raises(ValueError, match=match):
        quadratic_program(*arguments)
