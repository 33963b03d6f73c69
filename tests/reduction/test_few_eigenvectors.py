"""A few largest eigenvalues against LAPACK, copies of one eigenvalue among them."""

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from margin.reduction import few_eigenvectors
from margin.reduction.few_eigenvectors import few_largest


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
