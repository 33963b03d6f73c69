"""Planes, explicit feature maps and passes over tall tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import make_blobs

from margin.foundations.probability.feature_maps import polynomial_features, radial_features, rbf_taylor_features
from margin.kernels import RBF, HardMarginSVC, PolynomialKernel
from margin.kernels.blocked_products import times, transposed_times, weighted_gram
from margin.kernels.geometry import (
    distance_from_origin,
    margin_width,
    parallel_distance,
    radius_margin_bound,
    side_of_plane,
)
from margin.kernels.word_kernel import word_kernel

normals = arrays(np.float64, 3, elements=st.floats(-5, 5)).filter(lambda w: np.linalg.norm(w) > 0.1)


@given(w=normals, a=st.floats(-5, 5), b=st.floats(-5, 5))
def test_distance_between_planes_is_that_of_points_on_them(w, a, b):
    unit = w / (w @ w)
    assert parallel_distance(w, a, b) == pytest.approx(np.linalg.norm((b - a) * unit), abs=1e-9)
    assert distance_from_origin(w, -a) == pytest.approx(np.linalg.norm(a * unit), abs=1e-9)


def test_numbers_of_the_notes():
    assert parallel_distance([3.0, 4.0], -1, 1) == pytest.approx(0.4, abs=1e-15)
    assert distance_from_origin([3.0, 4.0], -5.0) == 1.0
    assert margin_width([3.0, 4.0]) == pytest.approx(0.4)
    assert side_of_plane([[1.0, 1.0], [0.0, 0.0]], [3.0, 4.0], -5.0).tolist() == [1, -1]


def test_bound_holds_for_leave_one_out():
    X, y = make_blobs(40, 2, centers=[[-2, 0], [2, 0]], cluster_std=0.7, random_state=0)
    model = HardMarginSVC().fit(X, y)
    wrong = [HardMarginSVC().fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] != y[i] for i in range(40)]
    radius = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    assert np.mean(wrong) <= radius_margin_bound(radius, 1 / model.margin_[0], 40)
    with pytest.raises(ValueError, match="radius_margin_bound: radius, norm and n must be positive"):
        radius_margin_bound(-1.0, 1.0, 3)


@given(X=arrays(np.float64, (4, 3), elements=st.floats(-2, 2)), degree=st.integers(1, 4), offset=st.floats(0, 3))
def test_monomials_multiply_to_the_polynomial_kernel(X, degree, offset):
    phi = polynomial_features(X, degree, offset)
    np.testing.assert_allclose(phi @ phi.T, PolynomialKernel(degree, coef0=offset)(X), atol=1e-9 * 15**degree)


def test_taylor_features_multiply_to_the_gaussian():
    X = np.random.default_rng(0).uniform(-1, 1, size=(10, 3))
    phi = rbf_taylor_features(X, 14, length_scale=1.2)
    np.testing.assert_allclose(phi @ phi.T, RBF(1.2)(X), atol=1e-10)


def test_lifts_and_words():
    assert radial_features([[3.0, 4.0]]).tolist() == [[3.0, 4.0, 25.0]]
    texts = ["a b b", "b c", ""]
    K = word_kernel(texts)
    np.testing.assert_allclose(K, [[1, 2 / np.sqrt(10), 0], [2 / np.sqrt(10), 1, 0], [0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(word_kernel(texts[:1], texts), K[:1])


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("n", [50, 20_000])
def test_passes_are_matrix_products(ones, n):
    rng = np.random.default_rng(0)
    X, r, w = rng.normal(size=(n, 4)), rng.normal(size=n), np.maximum(rng.normal(size=n), 0)
    full = np.column_stack([X, np.ones(n)]) if ones else X
    theta = rng.normal(size=full.shape[1])
    np.testing.assert_allclose(times(X, theta, ones=ones), full @ theta, atol=1e-12)
    np.testing.assert_allclose(transposed_times(X, r, ones=ones), full.T @ r, atol=1e-9)
    np.testing.assert_allclose(weighted_gram(X, w, ones=ones), (full.T * w) @ full, rtol=1e-10, atol=1e-9)
