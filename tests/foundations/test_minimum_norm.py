"""The shortest least-squares solution against NumPy's pseudo-inverse, with columns of unequal units and near ties."""

import numpy as np
import pytest

from margin.foundations.linalg.minimum_norm import minimum_norm, minimum_norm_from_gram, row_space


def dependent(noise=0.0, n=40, seed=0):
    """Six columns of rank four, up to ``noise``."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 6))
    return A + noise * rng.normal(size=A.shape), rng.normal(size=(n, 2))


@pytest.mark.parametrize("units", [np.ones(6), np.array([1.0, 3.0, 0.01, 1.0, 50.0, 1.0])])
def test_exactly_dependent_columns_have_the_pseudo_inverse(units):
    A, B = dependent()
    found = minimum_norm(A * units, B)
    assert found.rank == 4
    np.testing.assert_allclose(found.solution, np.linalg.pinv(A * units, rcond=1e-10) @ B, atol=1e-10)
    both = (A * units).T @ (A * units), (A * units).T @ B
    from_gram = minimum_norm_from_gram(*both)
    assert from_gram.rank == 4
    np.testing.assert_allclose(from_gram.solution, found.solution, atol=1e-6 * np.abs(found.solution).max())


@pytest.mark.parametrize("noise", [1e-7, 1e-9, 1e-12])
def test_nearly_dependent_columns_count_as_dependent(noise):
    A, B = dependent(noise)
    found = minimum_norm(A, B)
    assert found.rank == 4
    exact = np.linalg.lstsq(A, B, rcond=1e-6)[0]
    np.testing.assert_allclose(found.solution, exact, atol=1e-5)
    assert np.abs(found.solution).max() < 10 < np.abs(np.linalg.lstsq(A, B, rcond=None)[0]).max()
    assert minimum_norm(A, B, tol=0.0).rank == 6


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_a_column_does_not_make_it_dependent(unit):
    rng = np.random.default_rng(1)
    Z, truth, units = rng.normal(size=(50, 3)), np.array([[1.0], [-2.0], [0.5]]), np.array([1.0, unit, 1.0])
    A, b = Z * units, Z @ truth
    found = minimum_norm(A, b)
    assert found.rank == 3
    np.testing.assert_allclose(found.solution, truth / units[:, None], rtol=1e-9)
    from_gram = minimum_norm_from_gram(A.T @ A, A.T @ b)
    assert from_gram.rank == 3
    np.testing.assert_allclose(from_gram.solution, truth / units[:, None], rtol=1e-9)


def test_a_tiny_column_that_nearly_repeats_another_gets_no_huge_coefficient():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 1))
    A = np.hstack([x, 1e-13 * x * (1 + 1e-9 * rng.normal(size=x.shape))])
    solution = minimum_norm(A, 3 * x).solution
    assert solution[0, 0] == pytest.approx(3.0)
    assert np.abs(solution[1, 0]) < 0.01  # half of 3 on a column of 1e-13 would be a coefficient of 1.5e13


def test_units_over_many_powers_of_ten_keep_their_digits():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 3))
    A = np.column_stack([Z, Z[:, 0] + Z[:, 1], Z[:, 2]]) * np.array([1.0, 1e-20, 1e20, 1e-20, 1e20])
    b = Z @ [[1.0], [2.0], [3.0]]
    found = minimum_norm(A, b)
    assert found.rank == 3
    np.testing.assert_allclose(A @ found.solution, b, atol=1e-9)
    assert found.solution[2, 0] == pytest.approx(1.5e-20)  # two equal columns share alike
    assert found.solution[4, 0] == pytest.approx(1.5e-20)


def test_a_triangle_and_its_unit_stand_for_the_rows():
    A, B = dependent()
    unit = np.array([4.0, 1.0, 0.25, 2.0, 16.0, 1.0])
    Q, R = np.linalg.qr(A / unit)
    found = minimum_norm(R, Q.T @ B, rows=len(A), unit=unit).solution / unit[:, None]
    np.testing.assert_allclose(found, np.linalg.pinv(A, rcond=1e-10) @ B, atol=1e-10)


def test_zeros_have_rank_zero():
    found = minimum_norm(np.zeros((5, 2)), np.ones((5, 1)))
    assert found.rank == 0
    np.testing.assert_array_equal(found.solution, np.zeros((2, 1)))
    assert minimum_norm_from_gram(np.zeros((2, 2)), np.zeros((2, 1))).rank == 0


def test_the_row_space_is_that_of_the_kept_directions():
    A, _ = dependent(1e-9)
    Q = row_space(A * np.array([1.0, 5.0, 0.1, 1.0, 1.0, 2.0]))
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
    exact, _ = dependent()
    rows = (exact * np.array([1.0, 5.0, 0.1, 1.0, 1.0, 2.0])).T
    np.testing.assert_allclose(Q @ (Q.T @ rows), rows, atol=1e-6)
