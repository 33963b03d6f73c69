"""Kernels and feature maps against scikit-learn, brute force and each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import ExpSineSquared
from sklearn.metrics import pairwise

from margin.foundations.probability import (
    gamma_from_length_scale,
    is_positive_semidefinite,
    is_stationary,
    laplace_kernel,
    length_scale_from_gamma,
    linear_kernel,
    pair_matrices,
    periodic_kernel,
    polynomial_features,
    polynomial_kernel,
    product_features,
    random_fourier_features,
    rbf_kernel,
    rbf_taylor_features,
    squared_distances,
)

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(23, 3)), RNG.normal(size=(31, 3))
KERNELS = [linear_kernel, polynomial_kernel, rbf_kernel, laplace_kernel, periodic_kernel]


def test_kernels_agree_with_scikit_learn():
    np.testing.assert_allclose(linear_kernel(X, Z), pairwise.linear_kernel(X, Z), rtol=1e-13)
    np.testing.assert_allclose(
        rbf_kernel(X, Z, 0.7), pairwise.rbf_kernel(X, Z, gamma_from_length_scale(0.7)), rtol=1e-12
    )
    np.testing.assert_allclose(
        polynomial_kernel(X, Z, 3, 0.5),
        pairwise.polynomial_kernel(X, Z, degree=3, gamma=1, coef0=0.5),
        rtol=1e-11,
        atol=1e-13,
    )
    np.testing.assert_allclose(laplace_kernel(X, Z, 0.8), np.exp(-cdist(X, Z) / 0.8), rtol=1e-12)
    line = ExpSineSquared(length_scale=1.3, periodicity=0.8)
    np.testing.assert_allclose(periodic_kernel(X[:, :1], Z[:, :1], 0.8, 1.3), line(X[:, :1], Z[:, :1]), rtol=1e-11)
    np.testing.assert_allclose(squared_distances(X, Z), cdist(X, Z, "sqeuclidean"), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_pairs_of_one_set_are_symmetric_and_semidefinite(kernel, monkeypatch):
    whole = kernel(X)
    np.testing.assert_allclose(whole, kernel(X, X), atol=1e-7 if kernel is laplace_kernel else 1e-12)
    assert np.array_equal(whole, whole.T)
    assert is_positive_semidefinite(whole)
    monkeypatch.setattr(pair_matrices, "BLOCK_ENTRIES", 60)
    monkeypatch.setattr(pair_matrices, "SYMMETRIC_ROWS", 2)
    np.testing.assert_allclose(kernel(X), whole, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(X, Z), kernel(Z, X).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_single_precision_stays_single(kernel):
    single = kernel(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel(X, Z), rtol=2e-3, atol=2e-5)


def test_a_common_offset_costs_no_digits():
    far = X + 1e6
    np.testing.assert_allclose(rbf_kernel(far, Z + 1e6), rbf_kernel(X, Z), atol=1e-8)
    assert np.all(np.diag(squared_distances(far)) == 0)
    assert np.all(np.diag(laplace_kernel(far)) == 1)


def test_stationarity():
    rng = np.random.default_rng(1)
    assert [is_stationary(k, 2, rng) for k in KERNELS] == [False, False, True, True, True]


def test_the_sine_of_the_euclidean_distance_is_no_kernel_in_the_plane():
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 7)), -1).reshape(-1, 2)
    bad = np.exp(-2 * np.sin(np.pi * cdist(grid, grid)) ** 2 / 1.0)
    assert not is_positive_semidefinite(bad)
    assert is_positive_semidefinite(periodic_kernel(grid))


def test_the_two_meanings_of_gamma():
    assert length_scale_from_gamma(gamma_from_length_scale(1.7)) == pytest.approx(1.7)


@given(st.integers(1, 4), st.sampled_from([0.0, 1.0, 0.3]))
def test_polynomial_features_make_the_polynomial_kernel(degree, offset):
    product = polynomial_features(X, degree, offset) @ polynomial_features(Z, degree, offset).T
    np.testing.assert_allclose(product, polynomial_kernel(X, Z, degree, offset), rtol=1e-9, atol=1e-11)


def test_other_feature_maps():
    x, z = np.linspace(-2, 2, 9), np.linspace(-1, 3, 7)
    errors = [
        np.abs(rbf_taylor_features(x, order) @ rbf_taylor_features(z, order).T - rbf_kernel(x, z)).max()
        for order in (3, 10, 40)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-8
    phi = product_features(X[:, :2])
    np.testing.assert_allclose(
        phi @ phi.T, X[:, :2] @ X[:, :2].T + np.outer(X[:, 0] * X[:, 1], X[:, 0] * X[:, 1]), rtol=1e-10, atol=1e-12
    )
    features = random_fourier_features(X, 20_000, 1.5, np.random.default_rng(0))
    assert np.abs(features @ features.T - rbf_kernel(X, length_scale=1.5)).max() < 0.05


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: rbf_kernel(X, Z[:, :2]), "X and Z must have as many columns; got 3 and 2."),
        (lambda: rbf_kernel(X, length_scale=0), "rbf_kernel: length_scale must be a positive number; got 0."),
        (lambda: rbf_kernel([[np.nan]]), "rbf_kernel: X must be finite; got nan"),
        (lambda: rbf_kernel("text"), "rbf_kernel: X must be"),
        (lambda: linear_kernel(np.empty((0, 2))), "non-empty matrix of rows"),
        (lambda: polynomial_kernel(X, degree=0), "degree must be an integer of at least 1; got 0."),
        (lambda: polynomial_kernel(X, offset=-1), "offset must not be negative; got -1."),
        (lambda: product_features(X), "must have two columns; got 3."),
        (lambda: is_positive_semidefinite(X), "finite square matrix"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
