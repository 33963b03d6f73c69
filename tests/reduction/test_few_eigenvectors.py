"""A few largest eigenvalues against LAPACK, copies of one eigenvalue among them; of products without the product."""

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from margin.reduction import few_eigenvectors
from margin.reduction.few_eigenvectors import few_largest, few_largest_of_product
from margin.reduction.principal import principal_components


def with_spectrum(values, dtype, seed=0):
    basis, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    return ((basis * values) @ basis.T).astype(dtype)


SPECTRA = {
    "flat": np.linspace(1.0, 1.3, 420),
    "falling": 1 / np.arange(1.0, 421),
    "several copies": np.r_[np.linspace(0, 1, 413), 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0],
    "low rank": np.r_[np.zeros(415), 1.0, 2.0, 3.0, 4.0, 5.0],
    "all alike": np.ones(420),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-10), (np.float32, 2e-5)])
def test_the_largest_are_found_with_their_vectors(spectrum, dtype, accuracy):
    matrix = with_spectrum(SPECTRA[spectrum], dtype)
    values, vectors = few_largest(matrix, 9)
    assert values.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(values, np.sort(SPECTRA[spectrum])[-9:], atol=accuracy)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(9), atol=accuracy)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=accuracy)


@pytest.mark.parametrize("failure", ["stops", "misses"])
def test_what_iterations_do_not_find_is_found_all_the_same(failure, monkeypatch):
    matrix = with_spectrum(SPECTRA["falling"], np.float64)
    values, vectors = np.linalg.eigh(matrix)

    def bad(*_, k, **__):
        if failure == "stops":
            raise ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))
        kept = [*range(420 - k - 1, 418), 419]  # all but the second largest
        return values[kept], vectors[:, kept]

    monkeypatch.setattr(few_eigenvectors, "eigsh", bad)
    np.testing.assert_allclose(few_largest(matrix, 5)[0], values[-5:], rtol=1e-12)


def wide(values, dtype, columns=1100, seed=1):
    """A table of 1000 rows whose squared singular values are ``values``, then zeros."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(size, len(values))))[0] for size in (1000, columns))
    return ((left * np.sqrt(values)) @ right.T).astype(dtype)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("kind", ["falling", "copies", "fewer than wanted"])
def test_products_alone_are_enough_where_the_spectrum_falls(kind, dtype, accuracy):
    values = 1 / np.arange(1.0, 61) ** 2
    if kind == "copies":
        values[1:4] = values[1]
    B = wide(values[:5] if kind == "fewer than wanted" else values, dtype)
    found, vectors = few_largest_of_product(B, 8)
    expected = np.linalg.eigvalsh(B.astype(float) @ B.T.astype(float))[-8:]
    assert vectors.dtype == dtype
    np.testing.assert_allclose(found, expected, atol=accuracy)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=accuracy)
    np.testing.assert_allclose(B @ (B.T @ vectors), vectors * found, atol=3 * accuracy)


def test_the_matrix_is_made_where_iterations_would_be_many():
    flat = np.random.default_rng(0).normal(size=(1000, 1100)).astype(np.float32)
    assert few_largest_of_product(flat, 8) is None
    assert few_largest_of_product(flat[:900], 8) is None  # few rows
    assert few_largest_of_product(flat, 30) is None  # many values
    assert few_largest_of_product(flat.T, 8) is None  # the other product is the smaller one


@pytest.mark.parametrize("kind", ["falling", "flat"])
def test_principal_components_of_wide_tables_are_those_of_the_decomposition(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 1200)) * (1 / np.arange(1.0, 1201) if kind == "falling" else 1.0) + 5.0
    ours, exact = (principal_components(X, 6, solver=solver) for solver in ("auto", "full"))
    np.testing.assert_allclose(ours.variances, exact.variances, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(ours.components * exact.components, axis=1)), 1.0, atol=1e-6)
    assert ours.total_variance == pytest.approx(exact.total_variance, rel=1e-12)
