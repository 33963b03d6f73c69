import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.foundations.linalg import adjoint, adjoint_pair, adjugate, column_images, matmul_inner, matmul_outer

seeds = st.integers(0, 10_000)
sizes = st.integers(1, 7)


@settings(max_examples=25, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_both_readings_of_a_product_agree_with_blas(seed, m, k, n):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((m, k)) + 1j * rng.standard_normal((m, k)), rng.standard_normal((k, n))
    total, terms = matmul_outer(A, B)
    np.testing.assert_allclose(matmul_inner(A, B), A @ B, atol=1e-12)
    np.testing.assert_allclose(total, A @ B, atol=1e-12)
    assert terms.shape == (k, m, n)
    assert all(np.linalg.matrix_rank(term) == 1 for term in terms)


def test_columns_are_images_of_the_basis():
    assert [image.tolist() for image in column_images([[3, 1], [1, 2]])] == [[3, 1], [1, 2]]
    assert len(column_images(np.ones((2, 5)))) == 5


def test_complex_example_of_the_notes():
    A = np.array([[1, -2 - 1j, 5], [1 + 1j, 1j, 4 - 2j]])
    np.testing.assert_array_equal(adjoint(A), [[1, 1 - 1j], [-2 + 1j, -1j], [5, 4 + 2j]])


def test_adjoint_is_not_adjugate():
    np.testing.assert_array_equal(adjoint([[1, 2], [3, 4]]), [[1, 3], [2, 4]])
    np.testing.assert_allclose(adjugate([[1, 2], [3, 4]]), [[4, -2], [-3, 1]], atol=1e-14)


@settings(max_examples=25, deadline=None)
@given(seeds, sizes, sizes)
def test_dot_product_test_accepts_the_adjoint_and_refuses_the_plain_transpose(seed, m, n):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))
    right = adjoint_pair(lambda f: A @ f, lambda g: adjoint(A) @ g, (n,), (m,), rng, complex_valued=True)
    wrong = adjoint_pair(lambda f: A @ f, lambda g: A.T @ g, (n,), (m,), rng, complex_valued=True)
    assert right.gap < 1e-12
    assert wrong.gap > 1e-6


def test_dot_product_test_names_a_wrong_shape():
    with pytest.raises(ValueError, match=r"candidate must return shape \(3,\); got \(2,\)"):
        adjoint_pair(lambda f: f[:2], lambda g: g, (3,), (2,), np.random.default_rng(0))


def test_zero_operator_is_its_own_adjoint():
    test = adjoint_pair(np.zeros_like, np.zeros_like, (3,), (3,), np.random.default_rng(0))
    assert test.gap == 0
    assert test.factor == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[1, np.nan]], "matmul_inner: A must be finite; got NaN or infinity."),
        ([[1, 2], [3]], "matmul_inner: A must be a rectangular array of numbers; got ragged rows."),
        ([["a"]], "matmul_inner: A must hold numbers"),
        ([], "matmul_inner: A must not be empty; got shape (0,)."),
        ([1, 2], "matmul_inner: A must be a matrix; got shape (2,)."),
        ([[1, 2]], "matmul_inner: A and B must share their inner size; got shapes (1, 2) and (3, 1)."),
        (None, "matmul_inner: A must hold numbers"),
    ],
)
def test_bad_input_is_named(bad, message):
    with pytest.raises(ValueError) as caught:
        matmul_inner(bad, np.ones((3, 1)))
    assert message in str(caught.value)
