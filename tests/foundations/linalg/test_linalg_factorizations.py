import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.foundations.linalg import (
    backward_substitution,
    cholesky,
    determinant,
    forward_substitution,
    inverse,
    is_diagonally_dominant,
    is_positive_definite,
    lu,
    principal_submatrices,
    random_positive_definite,
    solve,
    svd_solve,
)
from margin.foundations.linalg.solving import cholesky_solve, lu_solve

SIZES = [1, 2, 5, 63, 64, 65, 150]  # around and beyond one block


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_substitution_against_scipy(n, columns):
    rng = np.random.default_rng(n)
    T = rng.standard_normal((n, n)) / n + np.diag(rng.choice([-1, 1], n) * rng.uniform(1, 2, n))
    b = rng.standard_normal(n if columns is None else (n, columns))
    for ours, lower in ((forward_substitution, True), (backward_substitution, False)):
        np.testing.assert_allclose(ours(T, b), scipy.linalg.solve_triangular(T, b, lower=lower), atol=1e-11)
    unit = scipy.linalg.solve_triangular(T, b, lower=True, unit_diagonal=True)
    np.testing.assert_allclose(forward_substitution(T, b, unit_diagonal=True), unit, atol=1e-9 * np.abs(unit).max())


def test_substitution_leaves_its_arguments_alone():
    L, b = np.tril(np.ones((3, 3))), np.ones(3)
    before = L.copy(), b.copy()
    forward_substitution(L, b)
    backward_substitution(L.T, b)
    np.testing.assert_array_equal(L, before[0])
    np.testing.assert_array_equal(b, before[1])


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_against_lapack(n):
    A = random_positive_definite(n, np.random.default_rng(n))
    before = A.copy()
    L = cholesky(A)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), atol=1e-11 * n)
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_array_equal(A, before)
    assert np.all(np.diag(L) > 0)


@pytest.mark.parametrize("n", SIZES)
def test_pivoted_lu_reconstructs_and_matches_lapack(n):
    A = np.random.default_rng(n).standard_normal((n, n))
    order, L, U, sign = lu(A)
    np.testing.assert_allclose(L @ U, A[order], atol=1e-12 * n)
    P, L_scipy, U_scipy = scipy.linalg.lu(A)
    np.testing.assert_allclose(np.eye(n)[order].T, P)
    np.testing.assert_allclose(L, L_scipy, atol=1e-9)
    np.testing.assert_allclose(U, U_scipy, atol=1e-9)
    assert np.abs(L).max() <= 1
    assert sign * np.prod(np.sign(np.diag(U))) == np.linalg.slogdet(A)[0]


@pytest.mark.parametrize("n", SIZES)
def test_unpivoted_lu_of_a_dominant_matrix(n):
    A = np.random.default_rng(n).uniform(-1, 1, (n, n)) + n * np.eye(n)
    assert is_diagonally_dominant(A, strict=True)
    order, L, U, _ = lu(A, pivot=False)
    np.testing.assert_array_equal(order, np.arange(n))
    np.testing.assert_allclose(L @ U, A, atol=1e-12 * n)


def test_unpivoted_lu_does_not_need_dominance():
    assert not is_diagonally_dominant([[1, 2], [3, 4]])
    _, L, U, _ = lu([[1, 2], [3, 4]], pivot=False)
    np.testing.assert_array_equal(L, [[1, 0], [3, 1]])
    np.testing.assert_array_equal(U, [[1, 2], [0, -2]])


@pytest.mark.parametrize(("A", "order"), [([[0, 1], [1, 0]], 1), ([[1, 2, 3], [2, 4, 1], [1, 1, 1]], 2)])
def test_unpivoted_lu_names_the_zero_minor(A, order):
    with pytest.raises(np.linalg.LinAlgError, match=f"leading principal minor of order {order} is zero"):
        lu(A, pivot=False)
    factors = lu(A)
    np.testing.assert_allclose(factors.L @ factors.U, np.array(A)[factors.order], atol=1e-14)


def test_singular_matrices_have_a_factorization_but_no_solution():
    A = np.arange(1.0, 10.0).reshape(3, 3)
    factors = lu(A)
    np.testing.assert_allclose(factors.L @ factors.U, A[factors.order], atol=1e-14)
    with pytest.raises(np.linalg.LinAlgError, match="singular to working precision"):
        solve(A, [1, 2, 3])
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        inverse(np.zeros((2, 2)))


def test_badly_scaled_columns_are_not_mistaken_for_singular():
    np.testing.assert_allclose(solve(np.diag([1.0, 1e-20]), [1.0, 1e-20]), [1, 1])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8), st.sampled_from(["cholesky", "lu", "svd"]))
def test_solve_against_numpy(seed, n, method):
    rng = np.random.default_rng(seed)
    A, b = random_positive_definite(n, rng), rng.standard_normal((n, 2))
    np.testing.assert_allclose(solve(A, b, method), np.linalg.solve(A, b), atol=1e-10)
    np.testing.assert_allclose(solve(A, b[:, 0], method), np.linalg.solve(A, b[:, 0]), atol=1e-10)


def test_intermediate_vectors_solve_the_lower_systems():
    rng = np.random.default_rng(0)
    A, b = random_positive_definite(6, rng), rng.standard_normal(6)
    np.testing.assert_allclose(cholesky(A) @ cholesky_solve(A, b).z, b, atol=1e-12)
    factors = lu(A)
    np.testing.assert_allclose(factors.L @ lu_solve(A, b).z, b[factors.order], atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_svd_solve_is_the_pseudo_inverse(shape):
    rng = np.random.default_rng(1)
    A = rng.standard_normal(shape)
    A[:, -1] = A[:, 0]  # rank deficient
    b = rng.standard_normal(shape[0])
    np.testing.assert_allclose(svd_solve(A, b), np.linalg.pinv(A) @ b, atol=1e-12)
    assert np.allclose(svd_solve(np.zeros(shape), b), 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_determinant_and_inverse_against_numpy(seed, n):
    A = np.random.default_rng(seed).standard_normal((n, n))
    assert determinant(A) == pytest.approx(np.linalg.det(A), rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(inverse(A) @ A, np.eye(n), atol=1e-14 * n * np.linalg.cond(A) * 10)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8), st.floats(-3, 3))
def test_definiteness_agrees_with_the_smallest_eigenvalue(seed, n, shift):
    M = np.random.default_rng(seed).standard_normal((n, n))
    A = M @ M.T + shift * np.eye(n)
    smallest = np.linalg.eigvalsh(A)[0]
    if abs(smallest) > 1e-10 * np.abs(A).max():
        assert is_positive_definite(A) == (smallest > 0)


def test_semidefinite_is_not_definite():
    rng = np.random.default_rng(0)
    for n in (2, 5, 80):
        v = rng.standard_normal((n, n - 1))
        assert not is_positive_definite(v @ v.T)
    assert not is_positive_definite([[0.0]])


def test_principal_submatrices_are_all_there():
    found = dict(principal_submatrices(np.arange(16.0).reshape(4, 4)))
    assert len(found) == 15
    np.testing.assert_array_equal(found[(1, 3)], [[5, 7], [13, 15]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cholesky([[1, 2], [0, 1]]), "cholesky: A must be symmetric; it differs from its transpose by 2."),
        (lambda: cholesky([[1, 2], [2, 1]]), "cholesky: A is not positive definite; column 1 leaves the pivot -3."),
        (lambda: cholesky([[1, 2, 3]]), "cholesky: A must be square; got shape (1, 3)."),
        (lambda: cholesky([[1j]]), "cholesky: A must be real; got complex numbers."),
        (lambda: lu("abc"), "lu: A must hold numbers"),
        (
            lambda: forward_substitution([[0.0]], [1.0]),
            "forward_substitution: L is singular; diagonal entry 0 is zero.",
        ),
        (lambda: backward_substitution([[1.0]], [1.0, 2.0]), "backward_substitution: b must have 1 rows"),
        (lambda: solve([[1.0]], [1.0], "qr"), "solve: method must be 'cholesky', 'lu' or 'svd'; got 'qr'."),
        (lambda: solve([[1.0]], [1.0, 2.0]), "solve: b must have 1 rows; got shape (2,)."),
        (lambda: svd_solve([[1.0]], [1.0], rcond=2), "svd_solve: rcond must be in [0, 1); got 2."),
        (lambda: random_positive_definite(0, np.random.default_rng(0)), "n must be an integer of at least 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)
