"""Evidence and gradients of exact, Laplace and sparse processes against densities, differences and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessClassifier as PeerClassifier
from sklearn.gaussian_process import kernels as peer

from margin.compiled.svm import contract_triangle
from margin.kernels import RBF, ConstantKernel, LaplaceKernel, LinearKernel, Matern, PeriodicKernel, WhiteKernel
from margin.kernels.gaussian_process.inducing import SparseObjective, spread_rows
from margin.kernels.gaussian_process.laplace import LaplaceApproximation, averaged_sigmoid
from margin.kernels.gaussian_process.likelihood import MarginalLikelihood
from margin.kernels.gaussian_process.radial import TILE, noise_variance, radial_form, signal_of
from margin.kernels.gaussian_process.triangular import factorize

KERNELS = {
    "rbf": 1.3 * RBF(np.array([0.8, 1.1, 2.0])) + WhiteKernel(0.1),
    "matern52": WhiteKernel(0.2) + Matern(np.array([0.7, 1.5, 1.0]), nu=2.5) * 2.0,
    "matern32": 0.5 * Matern(1.2, nu=1.5) * 2.0 + WhiteKernel(0.1),
    "laplace": 1.0 * LaplaceKernel(1.0) + WhiteKernel(0.1),
    "fixed": ConstantKernel(2.0, constant_value_bounds="fixed") * RBF(1.0) + WhiteKernel(0.3),
    "sum": 0.5 * RBF(0.7) + 1.0 * LinearKernel() + PeriodicKernel(1.0, 2.0) + WhiteKernel(0.1),
}


def problem(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=n)


def differences(function, theta, step=1e-5):
    return np.array([(function(theta + h) - function(theta - h)) / (2 * step) for h in step * np.eye(len(theta))])


@pytest.mark.parametrize("name", KERNELS)
def test_value_is_the_normal_density_and_gradient_its_slope(name):
    kernel, (X, y) = KERNELS[name], problem()
    alpha = np.linspace(0.01, 0.1, len(y))
    likelihood = MarginalLikelihood(kernel, X, y, alpha)
    found = likelihood.at(kernel.theta)
    assert likelihood.compiled == (name != "sum")
    expected = multivariate_normal.logpdf(y, cov=kernel(X) + np.diag(alpha))
    assert found.value == pytest.approx(expected, abs=1e-9)
    slope = differences(lambda t: likelihood.at(t, gradient=False).value, kernel.theta)
    np.testing.assert_allclose(likelihood.at(kernel.theta).gradient, slope, atol=2e-6)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "sum"])
def test_compiled_and_plain_paths_agree(name):
    kernel, (X, y) = KERNELS[name], problem()
    compiled, plain = (MarginalLikelihood(kernel, X, y, 0.01) for _ in range(2))
    plain.compiled = False
    a, b = compiled.at(kernel.theta), plain.at(kernel.theta)
    assert a.value == pytest.approx(b.value, abs=1e-10)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-9)
    np.testing.assert_allclose(a.factor, b.factor, atol=1e-12)


def test_contraction_equals_its_numpy_twin():
    rng = np.random.default_rng(0)
    n, d = 150, 4  # two tiles and a part of a third
    inverse, slope, X = rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=(n, d))
    left, right, scale = rng.normal(size=(3, n))
    pull = np.outer(left, right) + np.outer(right, left) - np.outer(scale, scale) * inverse
    squares = (X[:, None] - X[None]) ** 2
    expected = np.einsum("ij,ijk->k", np.tril(pull * slope.T, -1), squares)
    found = np.zeros(d)
    contract_triangle(inverse, slope, np.ascontiguousarray(X.T), left, right, scale, np.zeros((d, TILE)), found)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_forms_that_are_radial_and_forms_that_are_not():
    assert radial_form(2.0 * RBF() + WhiteKernel(0.1)).noise == 0.1
    assert radial_form(RBF()).amplitude == 1.0
    assert radial_form(2.0 * (3.0 * Matern())).amplitude == 6.0
    for other in (
        LinearKernel(),
        RBF() + RBF(2.0),
        RBF() * RBF(2.0),
        RBF() + 1.0,
        WhiteKernel(1.0),
        (RBF() + WhiteKernel(0.1)) * 2.0,
    ):
        assert radial_form(other) is None
    assert signal_of(RBF() + WhiteKernel(0.1)).get_params(deep=False) == RBF().get_params(deep=False)
    assert signal_of(WhiteKernel(0.1) + WhiteKernel(0.2)) is None
    assert noise_variance(WhiteKernel(0.1) + RBF() + WhiteKernel(0.2)) == pytest.approx(0.3)


def test_a_kept_factor_survives_later_evaluations():
    kernel, (X, y) = KERNELS["rbf"], problem()
    likelihood = MarginalLikelihood(kernel, X, y, 0.0)
    kept = likelihood.keep(likelihood.at(kernel.theta))
    copy = kept.copy()
    for shift in (0.1, 0.2, 0.3):
        likelihood.at(kernel.theta + shift)
    np.testing.assert_array_equal(kept, copy)
    np.testing.assert_allclose(kept @ kept.T, kernel(X), atol=1e-10)
    assert not np.triu(kept, 1).any()


def test_the_jitter_ladder_reports_what_it_added():
    singular = np.ones((5, 5))
    factor = np.tril(singular)
    jitter = factorize(singular, factor, 0.0)
    assert 0 < jitter <= 1e-6
    np.testing.assert_allclose(factor @ factor.T, singular, atol=1e-5)
    indefinite = -np.eye(3)
    assert factorize(indefinite, np.tril(indefinite), 0.0) is None


@pytest.mark.parametrize("n", [120, 300])
@pytest.mark.parametrize("name", ["rbf", "matern52", "sum"])
def test_laplace_gradient_is_the_slope_of_its_value(name, n):
    X, y = problem(n)
    labels = np.where(y > 0, 1.0, -1.0)
    kernel = KERNELS[name]
    approximation = LaplaceApproximation(kernel, X, labels)
    slope = differences(lambda t: approximation.at(t, gradient=False).value, kernel.theta)
    np.testing.assert_allclose(approximation.at(kernel.theta).gradient, slope, atol=5e-6)


def test_laplace_value_and_gradient_equal_scikit_learn():
    X, y = problem(300)
    labels = np.where(y > 0, 1.0, -1.0)
    kernel = 2.0 * RBF(np.array([1.2, 0.8, 1.0]))
    same = peer.ConstantKernel(2.0) * peer.RBF([1.2, 0.8, 1.0])
    value, gradient = PeerClassifier(same, optimizer=None).fit(X, labels).log_marginal_likelihood(same.theta, True)
    mode = LaplaceApproximation(kernel, X, labels).at(kernel.theta)
    assert mode.value == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(mode.gradient, gradient, atol=1e-4)


@given(mean=st.floats(-30, 30), variance=st.floats(0, 1e4))
def test_averaged_sigmoid_is_the_integral(mean, variance):
    deviation = np.sqrt(variance)
    kink = [float(np.clip(-mean / deviation, -11, 11))] if deviation > 1e-3 else None
    expected = quad(lambda z: expit(mean + deviation * z) * norm.pdf(z), -12, 12, points=kink, limit=400)[0]
    assert averaged_sigmoid(np.array([mean]), np.array([variance]))[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("fitc", [False, True])
@pytest.mark.parametrize("name", ["rbf", "matern52", "laplace", "sum"])
def test_sparse_objective_against_dense_algebra_and_differences(name, fitc):
    kernel, (X, y) = KERNELS[name], problem(150)
    # Beside the rows: distances of zero between two sets are known to half the digits only, and differences show it.
    Z = X[spread_rows(X, 20, np.random.default_rng(0))] + 0.05
    objective = SparseObjective(kernel, X, y, Z, fitc=fitc)
    signal, noise = signal_of(kernel), noise_variance(kernel)
    Q = signal(X, Z) @ np.linalg.solve(signal(Z), signal(Z, X))
    slack = signal.diag(X) - np.diag(Q)
    dense = multivariate_normal.logpdf(y, cov=Q + np.diag(noise + slack * fitc))
    expected = dense - (0.0 if fitc else 0.5 * slack.sum() / noise)
    assert objective.at(kernel.theta).value == pytest.approx(expected, abs=1e-8)
    slope = differences(lambda t: objective.at(t, gradient=False).value, kernel.theta)
    np.testing.assert_allclose(objective.at(kernel.theta).gradient, slope, atol=5e-6, rtol=1e-6)


def test_the_variational_bound_is_below_the_evidence_and_tight_with_all_rows():
    kernel, (X, y) = KERNELS["rbf"], problem(120)
    evidence = MarginalLikelihood(kernel, X, y, 0.0).at(kernel.theta).value
    bounds = [SparseObjective(kernel, X, y, X[:m], fitc=False).at(kernel.theta).value for m in (10, 40, 80, 120)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(evidence, abs=1e-4)
    assert bounds[0] < evidence


def test_spread_rows_are_distinct_and_stop_at_few_values():
    X = np.repeat(np.arange(4.0)[:, None], 10, axis=0)
    rows = spread_rows(X, 8, np.random.default_rng(0))
    assert sorted(X[rows, 0]) == [0.0, 1.0, 2.0, 3.0]
