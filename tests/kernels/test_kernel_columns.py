"""Panels write the same numbers as calling the kernel."""

import numpy as np
import pytest

from margin.kernels import (
    RBF,
    ConstantKernel,
    LaplaceKernel,
    LinearKernel,
    PeriodicKernel,
    PolynomialKernel,
    WhiteKernel,
)
from margin.kernels.kernel_columns import columns_of, columns_of_matrix, full_matrix

X = np.random.default_rng(0).normal(size=(300, 4)) + 3.0
CHOSEN = np.array([5, 0, 299, 17])

EVERY = [
    LinearKernel(),
    PolynomialKernel(3, 0.1, 1.0),
    RBF(1.7),
    RBF([0.5, 1.0, 2.0, 4.0]),
    LaplaceKernel(2.0),
    PeriodicKernel(1.3, 2.1),
    ConstantKernel(2.0),
    WhiteKernel(0.3),
    2.0 * RBF(1.0) + WhiteKernel(0.1),
    (LinearKernel() + 1.0) * LaplaceKernel(1.5),
]


@pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: repr(kernel)[:30])
def test_columns_are_those_of_the_kernel_matrix(kernel):
    out = np.empty((4, 300))
    columns_of(kernel, X).fill(CHOSEN, out)
    expected = kernel(X)[CHOSEN]
    # The root of a distance computed by a product carries the root of the rounding where points coincide.
    tolerance = 1e-6 if "Laplace" in repr(kernel) else 1e-11
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", [RBF(1.7), LinearKernel(), PolynomialKernel(2, 0.1)], ids=repr)
def test_single_precision_is_close(kernel):
    single = full_matrix(columns_of(kernel, X, np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel(X), rtol=1e-5, atol=1e-5)


def test_same_bits_whatever_the_threads(monkeypatch):
    tall = np.random.default_rng(1).normal(size=(20_000, 3))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MARGIN_NUM_THREADS", threads)
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        out = np.empty((4, 20_000))
        columns_of(RBF(1.0), tall).fill(CHOSEN, out)
        found.append(out)
    np.testing.assert_array_equal(found[0], found[1])


def test_a_given_matrix_is_read_by_columns():
    K = RBF(1.0)(X)
    out = np.empty((4, 300))
    columns_of_matrix(K).fill(CHOSEN, out)
    np.testing.assert_array_equal(out, K[:, CHOSEN].T)
