import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.foundations.linalg import (
    characteristic_polynomial,
    diagonalize,
    eig,
    eigendecompose,
    eigh,
    is_diagonalizable,
    is_eigenpair,
    is_orthogonal,
    stored_numbers,
    svd,
    svd_compress,
    svd_terms,
)
from margin.foundations.linalg.jacobi import tournament
from margin.foundations.linalg.qr_algorithm import hessenberg, schur

seeds = st.integers(0, 10_000)
sizes = st.integers(1, 12)


@settings(max_examples=30, deadline=None)
@given(seeds, sizes)
def test_jacobi_eigenvalues_against_lapack(seed, n):
    A = np.random.default_rng(seed).standard_normal((n, n))
    A = A + A.T
    values, vectors = eigh(A, "jacobi")
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(A), atol=1e-12 * n)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, A, atol=1e-12 * n)
    assert is_orthogonal(vectors)


@pytest.mark.parametrize("method", ["lapack", "jacobi"])
def test_repeated_eigenvalues_still_give_an_orthonormal_basis(method):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    A = Q @ np.diag([2.0, 2.0, 2.0, -1.0, 0.0]) @ Q.T
    values, vectors = eigh((A + A.T) / 2, method)
    np.testing.assert_allclose(values, [-1, 0, 2, 2, 2], atol=1e-13)
    assert is_orthogonal(vectors)


def test_jacobi_finds_tiny_eigenvalues_of_a_graded_matrix():
    scale = np.diag(10.0 ** -np.arange(0, 24, 4))
    A = scale @ (np.eye(6) + 0.1) @ scale
    exact = [1.1, 1.0909090909e-8]  # the two largest of the graded problem, by its 2 x 2 Schur complements
    values = eigh(A, "jacobi").values[::-1]
    np.testing.assert_allclose(values[:2], exact, rtol=1e-6)
    assert np.all(values > 0)


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, sizes)
def test_jacobi_singular_values_against_lapack(seed, m, n):
    A = np.random.default_rng(seed).standard_normal((m, n))
    for full in (False, True):
        U, s, V = svd(A, "jacobi", full=full)
        r = min(m, n)
        np.testing.assert_allclose(s, scipy.linalg.svdvals(A), atol=1e-12 * max(m, n))
        np.testing.assert_allclose((U[:, :r] * s) @ V[:, :r].T, A, atol=1e-12 * max(m, n))
        np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-12)
        assert U.shape == (m, m if full else r)
        assert V.shape == (n, n if full else r)


@pytest.mark.parametrize("method", ["lapack", "jacobi"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_rank_deficient_svd_keeps_orthonormal_factors(method, shape):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    for matrix, rank in ((A, 2), (np.zeros(shape), 0)):
        U, s, V = svd(matrix, method)
        assert np.sum(s > 1e-12) == rank
        np.testing.assert_allclose(U.T @ U, np.eye(min(shape)), atol=1e-12)
        np.testing.assert_allclose(V.T @ V, np.eye(min(shape)), atol=1e-12)
        np.testing.assert_allclose((U * s) @ V.T, matrix, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_tournament_meets_every_pair_once(n):
    rounds = [list(zip(p.tolist(), q.tolist())) for p, q in tournament(n)]
    met = [pair for pairs in rounds for pair in pairs]
    assert sorted(met) == [(i, j) for i in range(n) for j in range(i + 1, n)]
    for pairs in rounds:
        players = [player for pair in pairs for player in pair]
        assert len(players) == len(set(players))


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, st.booleans())
def test_qr_algorithm_against_lapack(seed, n, complex_valued):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if complex_valued else 0)
    ours, lapack = eig(A, "qr"), eig(A)
    np.testing.assert_allclose(ours.values, lapack.values, atol=1e-8)
    for values, vectors in (ours, lapack):
        assert np.linalg.norm(A @ vectors - vectors * values) < 1e-10
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1)


def test_schur_and_hessenberg_forms():
    A = np.random.default_rng(5).standard_normal((8, 8))
    H, Q = hessenberg(A)
    T, Z = schur(A)
    np.testing.assert_allclose(Q @ H @ Q.conj().T, A, atol=1e-12)
    np.testing.assert_array_equal(np.tril(H, -2), 0)
    np.testing.assert_allclose(Z @ T @ Z.conj().T, A, atol=1e-12)
    np.testing.assert_array_equal(np.tril(T, -1), 0)
    np.testing.assert_allclose(Z.conj().T @ Z, np.eye(8), atol=1e-12)


@pytest.mark.parametrize(
    "A",
    [
        np.zeros((3, 3)),
        np.eye(4),
        [[0, 1], [-1, 0]],  # purely imaginary
        [[0, 0, 1], [1, 0, 0], [0, 1, 0]],  # a cycle: unshifted QR never moves
        [[1, 1], [0, 1]],  # defective
        np.diag(np.ones(5), 1),  # nilpotent
    ],
)
def test_qr_algorithm_on_hard_cases(A):
    A = np.array(A, dtype=float)
    values, vectors = eig(A, "qr")
    expected = np.sort_complex(np.linalg.eigvals(A))
    np.testing.assert_allclose(np.sort_complex(values), expected, atol=1e-7)
    assert np.linalg.norm(A @ vectors - vectors * values) < 1e-12


@pytest.mark.parametrize("scale", [1e-290, 1e-160, 1.0, 1e160, 1e290])
def test_own_algorithms_survive_extreme_scales(scale):
    A = np.random.default_rng(0).standard_normal((6, 6))
    np.testing.assert_allclose(svd(scale * A, "jacobi").s / scale, svd(A).s, rtol=1e-12)
    np.testing.assert_allclose(eig(scale * A, "qr").values / scale, eig(A).values, rtol=1e-10)
    np.testing.assert_allclose(eigh(scale * (A + A.T), "jacobi").values / scale, eigh(A + A.T).values, rtol=1e-10)


def test_real_eigenvalues_come_back_real():
    A = np.random.default_rng(0).standard_normal((6, 6))
    A = A + A.T
    for method in ("lapack", "qr"):
        assert np.isrealobj(eig(A, method).values)
        assert np.isrealobj(eig(A, method).vectors)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 6))
def test_characteristic_polynomial_against_numpy(seed, n):
    A = np.random.default_rng(seed).standard_normal((n, n))
    np.testing.assert_allclose(characteristic_polynomial(A), np.poly(A), atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seeds, sizes)
def test_random_matrices_are_diagonalizable(seed, n):
    A = np.random.default_rng(seed).standard_normal((n, n))
    assert is_diagonalizable(A)
    P, D = diagonalize(A)
    np.testing.assert_allclose(np.linalg.solve(P, A @ P), D, atol=1e-8)
    Q, Lambda = eigendecompose(A)
    np.testing.assert_allclose(np.linalg.solve(Q.T, (Q @ Lambda).T).T, A, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 6))
def test_a_jordan_block_is_recognized_in_any_basis(seed, n):
    rng = np.random.default_rng(seed)
    J = np.diag(np.full(n, 2.0)) + np.diag(np.ones(n - 1), 1)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = Q @ J @ Q.T
    assert not is_diagonalizable(A)
    with pytest.raises(np.linalg.LinAlgError, match="A is defective"):
        eigendecompose(A)


def test_defective_message_counts_dimensions():
    with pytest.raises(np.linalg.LinAlgError, match="eigenvectors span 1 of 2 dimensions"):
        eigendecompose([[1, 1], [0, 1]])


def test_truncation_error_is_the_rest_of_the_spectrum_and_best():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((7, 5))
    s = scipy.linalg.svdvals(A)
    for k in range(6):
        B = svd_terms(A, k)
        assert np.linalg.norm(A - B) == pytest.approx(np.sqrt(np.sum(s[k:] ** 2)), abs=1e-12)
        assert np.linalg.matrix_rank(B) == k
        if k:
            other = rng.standard_normal((7, k))
            other = other @ np.linalg.lstsq(other, A)[0]  # the best for a random column space
            assert np.linalg.norm(A - B) <= np.linalg.norm(A - other)


def test_numbers_of_the_compression_example():
    image = np.random.default_rng(0).random((450, 333))
    compressed = svd_compress(image, 50)
    assert image.size == 149_850
    assert compressed.stored == stored_numbers((450, 333), 50) == 39_200
    assert round(compressed.ratio, 4) == 0.2616
    assert svd_compress(np.zeros((3, 3)), 1).relative_error == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eig([[1, 2]]), "eig: A must be square; got shape (1, 2)."),
        (lambda: eig([[1.0]], "jacobi"), "eig: method must be 'lapack' or 'qr'; got 'jacobi'."),
        (lambda: eigh([[0, 1], [-1, 0]]), "eigh: A must be symmetric"),
        (lambda: svd([1, 2]), "svd: A must be a matrix; got shape (2,)."),
        (lambda: svd_terms([[1.0]], 2), "svd_terms: k must be an integer from 0 to 1; got 2."),
        (lambda: svd_compress([[1.0]], 0.5), "svd_compress: k must be an integer from 1 to 1; got 0.5."),
        (lambda: is_eigenpair([[1.0]], [1.0], [1.0]), "is_eigenpair: value must be one number"),
        (lambda: is_eigenpair([[1.0]], 1.0, [1.0, 2.0]), "is_eigenpair: vector must have 1 numbers"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)
