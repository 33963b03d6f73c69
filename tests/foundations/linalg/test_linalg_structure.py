"""Orthogonality, singularity, identities, least squares, hyperplanes, function space."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.foundations.linalg import (
    INFINITE_COUNTERPART,
    adjugate,
    brownian_kernel,
    classify_orthogonal,
    determinant,
    discretized_operator,
    inverse,
    is_orthogonal,
    loaded_least_squares,
    midpoints,
    normal_equations,
    operator_eigenvalues,
    project_to_hyperplane,
    random_orthogonal,
    rotation,
    signed_distance,
    singularity_report,
    squared_error,
    squared_error_gradient,
)
from margin.foundations.linalg.identities import IDENTITIES, check

seeds = st.integers(0, 10_000)


@settings(max_examples=25, deadline=None)
@given(st.floats(-10, 10), st.floats(-10, 10))
def test_rotations_compose(a, b):
    np.testing.assert_allclose(rotation(a) @ rotation(b), rotation(a + b), atol=1e-12)
    assert classify_orthogonal(rotation(a)) == "rotation"


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 7))
def test_random_orthogonal_matrices(seed, n):
    Q = random_orthogonal(n, np.random.default_rng(seed))
    assert is_orthogonal(Q)
    assert abs(abs(determinant(Q)) - 1) < 1e-12
    flipped = Q.copy()
    flipped[:, 0] *= -1
    assert {classify_orthogonal(Q), classify_orthogonal(flipped)} == {"rotation", "reflection"}
    np.testing.assert_array_equal(inverse(Q, structure="orthogonal"), Q.T)
    np.testing.assert_allclose(inverse(Q), Q.T, atol=1e-10)


def test_random_orthogonal_is_uniform():
    # The first entry of a uniform 3 x 3 orthogonal matrix is uniform on [-1, 1] (Archimedes).
    rng = np.random.default_rng(0)
    entries = [random_orthogonal(3, rng)[0, 0] for _ in range(1500)]
    assert scipy.stats.kstest(entries, "uniform", args=(-1, 2)).pvalue > 0.01


def test_what_is_not_orthogonal():
    for A in (2 * np.eye(2), [[1, 1], [0, 1]], np.eye(3)[:, :2]):
        assert not is_orthogonal(A)
    with pytest.raises(ValueError, match="inverse: A is not orthogonal"):
        inverse([[1, 1], [0, 1]], structure="orthogonal")


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 5), st.integers(0, 5))
def test_conditions_of_singularity_agree(seed, n, rank):
    rng = np.random.default_rng(seed)
    rank = min(rank, n)
    U, V = random_orthogonal(n, rng), random_orthogonal(n, rng)
    A = (U[:, :rank] * rng.uniform(0.5, 2, rank)) @ V[:, :rank].T
    A = np.diag(10.0 ** rng.uniform(-20, 20, n)) @ A @ np.diag(10.0 ** rng.uniform(-20, 20, n))
    report = singularity_report(A)
    assert report.agree
    assert report.rank == rank
    assert report.invertible == (rank == n)
    if report.null_vector is not None:
        # Relative to what cancels: rows of |A| |x|.
        size = np.abs(A) @ np.abs(report.null_vector)
        assert np.all(np.abs(A @ report.null_vector) <= 1e-9 * np.maximum(size, np.finfo(float).tiny))


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 5))
def test_adjugate_identity(seed, n):
    A = np.random.default_rng(seed).standard_normal((n, n))
    np.testing.assert_allclose(A @ adjugate(A), determinant(A) * np.eye(n), atol=1e-10)
    A[:, 0] = 0 if n == 1 else A[:, -1]
    np.testing.assert_allclose(A @ adjugate(A), 0, atol=1e-10)


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_hold_and_their_variants_do_not(name):
    report = check(name, seed=7)
    assert report.holds
    assert report.gap < 1e-9
    if report.refutation:
        assert report.refutation.gap > 0.1
        left, right = IDENTITIES[name].variant(*report.refutation.matrices)
        assert np.abs(left - right).max() > 0.01


def test_check_names_an_unknown_identity():
    with pytest.raises(ValueError, match="check: no identity 'trace'"):
        check("trace")


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 4))
def test_gradient_of_the_squared_error(seed, d):
    rng = np.random.default_rng(seed)
    X, y, theta = rng.standard_normal((8, d)), rng.standard_normal(8), rng.standard_normal(d)
    step = 1e-6
    numeric = [
        (squared_error(X, y, theta + step * e) - squared_error(X, y, theta - step * e)) / (2 * step) for e in np.eye(d)
    ]
    np.testing.assert_allclose(squared_error_gradient(X, y, theta), numeric, atol=1e-5)
    best = normal_equations(X, y)
    np.testing.assert_allclose(best, np.linalg.lstsq(X, y)[0], atol=1e-8)


def test_diagonal_loading_tends_to_the_pseudo_inverse():
    X, y = np.array([[1, 1, 2], [1, 2, 4], [1, 3, 6], [1, 4, 8.0]]), np.array([1, 2, 2, 5.0])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        normal_equations(X, y)
    gaps = [np.abs(loaded_least_squares(X, y, delta) - np.linalg.pinv(X) @ y).max() for delta in (1e-2, 1e-5, 1e-8)]
    assert gaps[0] > gaps[1] > gaps[2]
    np.testing.assert_allclose(loaded_least_squares(X, y, 1e-8), [-0.5, 0.24, 0.48], atol=1e-7)
    expected = np.linalg.solve(X.T @ X + 0.3 * np.eye(3), X.T @ y)
    np.testing.assert_allclose(loaded_least_squares(X, y, 0.3), expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 5))
def test_projection_lies_on_the_plane_at_the_signed_distance(seed, d):
    rng = np.random.default_rng(seed)
    x, weights, intercept = rng.standard_normal((6, d)), rng.standard_normal(d) + 0.1, float(rng.standard_normal())
    projected = project_to_hyperplane(x, weights, intercept)
    assert np.abs(projected @ weights + intercept).max() < 1e-10
    distances = signed_distance(x, weights, intercept)
    np.testing.assert_allclose(np.linalg.norm(x - projected, axis=1), np.abs(distances), atol=1e-10)
    labels = np.sign(distances)
    np.testing.assert_allclose(signed_distance(x, weights, intercept, labels), np.abs(distances))
    assert project_to_hyperplane(x[0], weights, intercept).shape == (d,)


def test_brownian_eigenvalues_settle_on_the_exact_ones():
    exact = 1 / ((np.arange(1, 6) - 0.5) * math.pi) ** 2
    errors = [np.abs(operator_eigenvalues(brownian_kernel, n, 5) - exact).max() for n in (20, 80, 320)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_a_matrix_on_samples_is_the_operator_on_the_function():
    t = midpoints(400)
    image = discretized_operator(brownian_kernel, 400) @ np.ones(400)
    np.testing.assert_allclose(image, t - t**2 / 2, atol=1e-5)
    assert INFINITE_COUNTERPART["matrix"] == "operator"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rotation(math.nan), "rotation: theta must be finite; got nan."),
        (lambda: classify_orthogonal([[2.0]]), "classify_orthogonal: A must be orthogonal"),
        (lambda: inverse([[1.0]], structure="diagonal"), "structure must be 'general' or 'orthogonal'"),
        (lambda: loaded_least_squares([[1.0]], [1.0], 0.0), "delta must be positive and finite; got 0.0."),
        (lambda: loaded_least_squares([[1.0]], [1.0], -1e-8), "delta must be positive and finite; got -1e-08."),
        (lambda: normal_equations([[1.0]], [1.0, 2.0]), "normal_equations: y must be a vector of 1 numbers"),
        (lambda: signed_distance([1.0], [0.0], 1.0), "signed_distance: weights must not be zero"),
        (lambda: signed_distance([[1.0]], [1.0], 1.0, [2]), "signed_distance: labels must be -1 or 1"),
        (lambda: project_to_hyperplane([1.0, 2.0], [1.0], 0.0), "x must hold points of 1 coordinates"),
        (lambda: midpoints(0), "midpoints: n must be an integer of at least 1; got 0."),
        (lambda: operator_eigenvalues(brownian_kernel, 3, 4), "k must be an integer from 1 to 3; got 4."),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)
