"""Derivatives, kinds of critical points, landscapes, gradient flow and implicit regularization."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize import gradient_error, gradient_flow, numerical_gradient, numerical_hessian
from margin.optimize.flow import modified_field, modified_loss, modified_sgd_field, modified_sgd_loss
from margin.optimize.landscapes import BEALE, LANDSCAPES, quadratic
from margin.optimize.quadratics import (
    best_momentum,
    classify_critical_point,
    classify_quadratic,
    is_singular,
    momentum_matrix,
    nesterov_matrix,
    rate_limit,
    spectral_radius,
)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(LANDSCAPES)), st.floats(-2, 2), st.floats(-2, 2))
def test_landscape_derivatives(name, x, y):
    land, p = LANDSCAPES[name], np.array([x, y])
    assert gradient_error(land.f, land.grad, p) < 1e-6
    np.testing.assert_allclose(numerical_hessian(land.f, p, grad=land.grad), land.hess(p), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", LANDSCAPES)
def test_landscape_minima_are_minima_and_grids_work(name):
    land = LANDSCAPES[name]
    for minimum in land.minima:
        assert classify_critical_point(land.grad(np.array(minimum)), land.hess(np.array(minimum))).kind == "minimum"
    assert land.f(np.zeros((2, 3, 4))).shape == (3, 4)


def test_gradient_check_finds_a_wrong_sign():
    assert gradient_error(BEALE.f, lambda p: -BEALE.grad(p), [1.0, 0.3]) > 0.5
    with pytest.raises(ValueError, match="shape"):
        gradient_error(BEALE.f, lambda p: p[:1], [1.0, 0.3])


def test_differences_of_matrices():
    X = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(numerical_gradient(lambda M: np.sum(M**2), X), 2 * X, atol=1e-8)


def test_hessian_of_values_alone():
    np.testing.assert_allclose(numerical_hessian(BEALE.f, [1.0, 0.3]), BEALE.hess(np.array([1.0, 0.3])), atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5000), st.integers(1, 5))
def test_kinds_follow_the_eigenvalues(seed, d):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    signs = rng.choice([-1.0, 0.0, 1.0], d)
    A = Q @ np.diag(signs) @ Q.T
    A = (A + A.T) / 2
    kind = classify_quadratic(A)
    assert is_singular(A) == bool(np.any(signs == 0))
    assert ("indefinite" in kind and "semi" not in kind) == bool(np.any(signs > 0) and np.any(signs < 0))
    assert (kind == "positive definite") == bool(np.all(signs > 0))


def test_a_point_that_is_not_critical():
    with pytest.raises(ValueError, match="not critical"):
        classify_critical_point([1.0, 0.0], np.eye(2))


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 0.98), st.floats(0.1, 20.0))
def test_stability_limits(gamma, curvature):
    for method, matrix in (("momentum", momentum_matrix), ("nesterov", nesterov_matrix)):
        limit = rate_limit(method, curvature, gamma)
        assert spectral_radius(matrix(0.999 * limit, curvature, gamma)) < 1
        assert spectral_radius(matrix(1.001 * limit, curvature, gamma)) > 1


def test_best_momentum_contracts_both_ends_equally():
    rate, gamma = best_momentum(1.0, 100.0)
    ends = [spectral_radius(momentum_matrix(rate, c, gamma)) for c in (1.0, 10.0, 100.0)]
    np.testing.assert_allclose(ends, np.sqrt(gamma), atol=1e-6)
    with pytest.raises(ValueError, match="low"):
        best_momentum(0.0, 1.0)


def test_one_descent_step_follows_the_modified_loss_with_a_plus():
    """Local error: order 2 for the plain flow, 3 for the modified one; a minus sign is worse than nothing."""
    start = np.array([1.0, 0.4])

    def gap(field, rate):
        return np.linalg.norm(gradient_flow(field, start, rate)[-1] - (start - rate * BEALE.grad(start)))

    errors = {"plain": [], "plus": [], "minus": []}
    for rate in (0.004, 0.002, 0.001):
        errors["plain"].append(gap(BEALE.grad, rate))
        errors["plus"].append(gap(lambda t, r=rate: modified_field(BEALE.grad(t), BEALE.hess(t), r), rate))
        errors["minus"].append(gap(lambda t, r=rate: modified_field(BEALE.grad(t), BEALE.hess(t), -r), rate))
    order = {name: np.log2(np.divide(e[:-1], e[1:])) for name, e in errors.items()}
    np.testing.assert_allclose(order["plain"], 2, atol=0.1)
    np.testing.assert_allclose(order["plus"], 3, atol=0.1)
    assert errors["plus"][-1] < errors["plain"][-1] < errors["minus"][-1]


def test_modified_fields_are_gradients_of_the_modified_losses():
    theta, rate = np.array([1.0, 0.4]), 0.05
    field = modified_field(BEALE.grad(theta), BEALE.hess(theta), rate)
    numeric = numerical_gradient(lambda t: modified_loss(float(BEALE.f(t)), BEALE.grad(t), rate), theta)
    np.testing.assert_allclose(field, numeric, rtol=1e-7)
    parts = [quadratic(np.diag(d), b) for d, b in (((1.0, 3.0), (1.0, 0.0)), ((2.0, 0.5), (0.0, -1.0)))]
    field = modified_sgd_field([g(theta) for _, g, _ in parts], [h(theta) for _, _, h in parts], rate)
    numeric = numerical_gradient(
        lambda t: modified_sgd_loss([f(t) for f, _, _ in parts], [g(t) for _, g, _ in parts], rate), theta
    )
    np.testing.assert_allclose(field, numeric, rtol=1e-7)


def test_the_mean_over_batch_orders_follows_the_sgd_loss():
    """Over one epoch of three quadratic batches: order 3 with the variance term, order 2 without."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(3):
        M = rng.standard_normal((2, 2))
        parts.append(quadratic(M @ M.T + np.eye(2), rng.standard_normal(2)))
    start = np.array([1.0, -1.0])
    gaps = {"with": [], "without": []}
    for rate in (0.02, 0.01, 0.005):
        ends = []
        for order in permutations(range(3)):
            x = start
            for b in order:
                x = x - rate * parts[b][1](x)
            ends.append(x)
        epoch = np.mean(ends, axis=0)

        def spread(t, r=rate):
            return modified_sgd_field([g(t) for _, g, _ in parts], [h(t) for _, _, h in parts], r)

        def mean_only(t, r=rate):
            gradient = np.mean([g(t) for _, g, _ in parts], axis=0)
            return modified_field(gradient, np.mean([h(t) for _, _, h in parts], axis=0), r)

        gaps["with"].append(np.linalg.norm(gradient_flow(spread, start, 3 * rate)[-1] - epoch))
        gaps["without"].append(np.linalg.norm(gradient_flow(mean_only, start, 3 * rate)[-1] - epoch))
    np.testing.assert_allclose(np.log2(np.divide(gaps["with"][:-1], gaps["with"][1:])), 3, atol=0.15)
    np.testing.assert_allclose(np.log2(np.divide(gaps["without"][:-1], gaps["without"][1:])), 2, atol=0.15)


def test_flow_refuses_nonsense():
    with pytest.raises(ValueError, match="time"):
        gradient_flow(lambda t: t, [1.0], -1.0)
