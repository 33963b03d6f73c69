"""Distances, kernels, Gaussian processes and random fields against SciPy and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from margin.foundations.probability import is_stationary
from margin.foundations.statistics import (
    GaussianProcess,
    LaplaceCovariance,
    LinearCovariance,
    PeriodicCovariance,
    RBFCovariance,
    correlated_pairs,
    field_from_kernel,
    field_from_spectrum,
    galton_heights,
    mahalanobis,
    metric_axioms,
    quadratic_distance,
    regression_slope,
    spherical_distance,
    whitening,
)

rng = np.random.default_rng(0)
ROOT = rng.normal(size=(3, 3))
SIGMA = ROOT @ ROOT.T + 0.1 * np.eye(3)
P = rng.normal(size=(12, 3))


def test_mahalanobis_matches_scipy_for_points_and_means():
    oracle = cdist(P, P[:1], "mahalanobis", VI=np.linalg.inv(SIGMA))[:, 0]
    np.testing.assert_allclose(mahalanobis(P, P[0], SIGMA), oracle, rtol=1e-9)
    np.testing.assert_allclose(mahalanobis(P, P[::-1], SIGMA), mahalanobis(P[::-1], P, SIGMA))
    np.testing.assert_allclose(quadratic_distance(P, P[0], np.linalg.inv(SIGMA)), oracle, rtol=1e-8, atol=1e-12)


def test_whitening_turns_it_into_euclid():
    J = whitening(SIGMA)
    np.testing.assert_allclose(J.T @ J @ SIGMA, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(cdist(P @ J.T, P @ J.T)[0], mahalanobis(P, P[0], SIGMA), atol=1e-10)


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_mahalanobis_is_a_metric(seed):
    points = np.random.default_rng(seed).normal(size=(6, 3))
    assert metric_axioms(lambda a, b: float(mahalanobis(a, b, SIGMA)), points).is_metric


def test_metric_axioms_tell_the_cases_apart():
    line = np.arange(4.0)[:, None] * np.ones(2)
    assert not metric_axioms(lambda a, b: float(np.sum((a - b) ** 2)), line).triangle
    assert not metric_axioms(lambda a, b: float(a[0] - b[0]), line).non_negative
    assert not metric_axioms(lambda a, b: float(abs(a[0] - 2 * b[0])), line).symmetric
    flat = metric_axioms(lambda a, b: float(quadratic_distance(a, b, [[1.0, -1.0], [-1.0, 1.0]])), line)
    assert flat.is_pseudometric
    assert not flat.is_metric
    one = metric_axioms(lambda a, b: 1.0, line)
    assert (one.triangle, one.symmetric, one.is_pseudometric) == (True, True, False)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (RBFCovariance(0.7), sk.RBF(0.7)),
        (LaplaceCovariance(0.7), sk.Matern(0.7, nu=0.5)),
        (LinearCovariance(), sk.DotProduct(0.0)),
    ],
)
def test_kernels_match_scikit_learn(ours, theirs):
    np.testing.assert_allclose(ours(P, P[:5]), theirs(P, P[:5]), atol=1e-12)
    assert np.linalg.eigvalsh(ours(P, P)).min() > -1e-10


def test_periodic_kernel_matches_on_the_line_and_repeats():
    x = np.linspace(0, 3, 20)
    K = PeriodicCovariance(1.5, 0.8)(x, x)
    np.testing.assert_allclose(K, sk.ExpSineSquared(0.8, 1.5)(x[:, None]), atol=1e-12)
    np.testing.assert_allclose(PeriodicCovariance(1.5, 0.8)(x + 1.5, x), K, atol=1e-12)
    assert np.linalg.eigvalsh(PeriodicCovariance(1.5, 0.8)(P, P)).min() > -1e-10


def test_stationarity():
    found = [
        is_stationary(k, 2, np.random.default_rng(1))
        for k in (RBFCovariance(), LaplaceCovariance(), PeriodicCovariance(), LinearCovariance())
    ]
    assert found == [True, True, True, False]


@pytest.mark.parametrize("noise", [1e-4, 0.3])
def test_regression_matches_scikit_learn(noise):
    y = np.sin(P[:, 0])
    oracle = GaussianProcessRegressor(sk.RBF(0.9), alpha=noise, optimizer=None).fit(P, y)
    at = np.random.default_rng(2).normal(size=(7, 3))
    mean, sd = oracle.predict(at, return_std=True)
    posterior = GaussianProcess(RBFCovariance(0.9)).condition(P, y, noise)
    np.testing.assert_allclose(posterior.predict(at)[0], mean, atol=1e-9)
    np.testing.assert_allclose(posterior.predict(at)[1], sd, atol=1e-8)
    np.testing.assert_allclose(posterior.joint(at)[1], oracle.predict(at, return_cov=True)[1], atol=1e-8)


def test_predicting_many_points_needs_no_square_matrix():
    posterior = GaussianProcess(RBFCovariance(0.9)).condition(P, np.sin(P[:, 0]), 0.1)
    at = np.random.default_rng(9).normal(size=(700, 3))
    mean, covariance = posterior.joint(at)
    np.testing.assert_allclose(posterior.predict(at), [mean, np.sqrt(np.diag(covariance))], atol=1e-9)


def test_conditioning_twice_is_conditioning_once():
    prior = GaussianProcess(LaplaceCovariance(1.0), mean=lambda x: x[:, 0])
    x, y = np.arange(6.0), np.cos(np.arange(6.0))
    at = np.linspace(-1, 7, 9)
    once, twice = prior.condition(x, y, 0.1), prior.condition(x[:3], y[:3], 0.1).condition(x[3:], y[3:], 0.1)
    np.testing.assert_allclose(twice.predict(at), once.predict(at), atol=1e-10)


def test_samples_have_the_kernel_as_covariance():
    x = np.linspace(0, 2, 5)
    draws = GaussianProcess(RBFCovariance(0.5)).sample(x, 20_000, np.random.default_rng(3))
    np.testing.assert_allclose(np.cov(draws.T), RBFCovariance(0.5)(x, x), atol=0.04)
    smooth = GaussianProcess(RBFCovariance(2.0)).sample(np.linspace(0, 1, 200), 3, np.random.default_rng(4))
    assert np.isfinite(smooth).all()


@pytest.mark.parametrize("shape, spacing", [((9,), 0.3), ((5, 4), 0.5)])
def test_random_field_has_the_requested_covariance(shape, spacing):
    fields = field_from_kernel(shape, RBFCovariance(0.6), np.random.default_rng(5), n=20_000, spacing=spacing)
    assert fields.shape == (20_000, *shape)
    grid = np.stack(np.meshgrid(*(np.arange(s) * spacing for s in shape), indexing="ij"), -1).reshape(-1, len(shape))
    np.testing.assert_allclose(np.cov(fields.reshape(20_000, -1).T), RBFCovariance(0.6)(grid, grid), atol=0.05)


def test_spectral_field_has_unit_variance_and_the_slope_asked_for():
    fields = field_from_spectrum((256,), lambda f: f**-2.0, np.random.default_rng(6), n=3000)
    assert fields.var() == pytest.approx(1, abs=0.06)
    power = np.mean(np.abs(np.fft.rfft(fields, axis=1)) ** 2, axis=0)[1:100]
    slope = regression_slope(np.log(np.arange(1, 100)), np.log(power))
    assert slope == pytest.approx(-2, abs=0.02)


def test_galton():
    father, son = galton_heights(200_000, np.random.default_rng(7))
    assert regression_slope(father, son) == pytest.approx(2 / 3, abs=0.006)
    assert son.std() == pytest.approx(father.std(), rel=0.01)
    x, y = correlated_pairs(10, -1.0, np.random.default_rng(8))
    np.testing.assert_allclose(y, -x)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mahalanobis(P, P[0], np.zeros((3, 3))), "positive definite; its smallest eigenvalue is 0"),
        (lambda: mahalanobis(P, P[0], np.eye(2)), "points must have 2 coordinates"),
        (lambda: mahalanobis(P, P[0], [[1.0, 2.0], [0.0, 1.0]]), "square and symmetric"),
        (lambda: quadratic_distance([0.0, 1.0], [0.0, 0.0], [[1.0, 0.0], [0.0, -1.0]]), "positive semi-definite"),
        (lambda: spherical_distance([0.0, 1.0], [0.0, 0.0], 0.0), "sd must be a positive number"),
        (lambda: metric_axioms(lambda a, b: 0.0, [[0.0], [0.0], [1.0]]), "points must be distinct"),
        (lambda: RBFCovariance(-1.0)([0.0], [0.0]), "length_scale must be .*positive"),
        (lambda: RBFCovariance()([0.0], [[0.0, 1.0]]), "as many columns"),
        (lambda: LinearCovariance()([[[1.0]]], [1.0]), "X must be"),
        (lambda: GaussianProcess(RBFCovariance()).condition([0.0, 1.0], [1.0]), "one length; got 2 and 1"),
        (lambda: GaussianProcess(RBFCovariance()).condition([0.0], [1.0], noise=-1), "noise must be a variance"),
        (lambda: GaussianProcess(lambda a, b: -np.ones((len(a), len(b)))).sample([0.0, 1.0], 1, rng), "semi-definite"),
        (lambda: field_from_kernel((8,), LinearCovariance(), rng), "kernel must be stationary"),
        (lambda: field_from_kernel((), RBFCovariance(), rng), "at least one side"),
        (lambda: field_from_spectrum((8,), lambda f: -f, rng), "spectrum must be finite"),
        (lambda: correlated_pairs(5, 1.5, rng), "rho must lie in"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
