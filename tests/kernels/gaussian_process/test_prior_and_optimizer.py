"""The prior before a fit, and searches by a function of the user's, against scikit-learn's Gaussian processes."""

import numpy as np
import pytest
import scipy.optimize as so
from sklearn import gaussian_process as theirs
from sklearn.gaussian_process import kernels as their_kernels

from margin.kernels import RBF, ConstantKernel, GaussianProcessClassifier, GaussianProcessRegressor, WhiteKernel

X = np.linspace(0, 5, 25)[:, None]
Y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=25)


def ours():
    return ConstantKernel(2.0) * RBF(0.7) + WhiteKernel(0.1)


def other():
    return their_kernels.ConstantKernel(2.0) * their_kernels.RBF(0.7) + their_kernels.WhiteKernel(0.1)


@pytest.mark.parametrize("n_targets", [None, 1, 3])
def test_before_a_fit_the_prior_answers(n_targets):
    model = GaussianProcessRegressor(ours(), n_targets=n_targets)
    peer = theirs.GaussianProcessRegressor(other(), n_targets=n_targets)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    for options in ({"return_std": True}, {"return_cov": True}):
        for mine, its in zip(model.predict(X, **options), peer.predict(X, **options), strict=True):
            np.testing.assert_allclose(mine, its, atol=1e-12)
    assert model.sample_y(X, 4).shape == peer.sample_y(X, 4).shape
    _, smooth = model.predict(X, return_std=True, with_noise=False)
    np.testing.assert_allclose(smooth, np.sqrt(2.0))


def minimize(objective, start, bounds):
    found = so.minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return found.x, found.fun


def without_gradient(objective, start, bounds):
    found = so.minimize(lambda theta: objective(theta, eval_gradient=False), start, bounds=bounds, method="Powell")
    return found.x, found.fun


@pytest.mark.parametrize("optimizer", [minimize, without_gradient])
def test_a_function_learns_the_kernel(optimizer):
    model = GaussianProcessRegressor(ours(), optimizer=optimizer, n_restarts_optimizer=1, random_state=0).fit(X, Y)
    peer = theirs.GaussianProcessRegressor(other(), n_restarts_optimizer=1, random_state=0).fit(X, Y)
    value = peer.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-3)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-2)
    assert model.n_iter_ == 2


def test_a_fit_by_a_function_resumes():
    model = GaussianProcessRegressor(ours(), optimizer=minimize, n_restarts_optimizer=2, random_state=0)
    whole = GaussianProcessRegressor(ours(), optimizer=minimize, n_restarts_optimizer=2, random_state=0).fit(X, Y)
    next(model.iterate(X, Y))
    again = GaussianProcessRegressor(ours(), optimizer=minimize, n_restarts_optimizer=2, random_state=0)
    assert len(list(again.iterate(X, Y, state=model.get_state()))) == 2
    np.testing.assert_array_equal(again.kernel_.theta, whole.kernel_.theta)


def test_classifiers_take_a_function_and_show_the_latent_function():
    labels = (Y > 0).astype(int)
    model = GaussianProcessClassifier(1.0 * RBF(0.7), optimizer=minimize).fit(X, labels)
    kernel = 1.0 * their_kernels.RBF(0.7)
    peer = theirs.GaussianProcessClassifier(kernel).fit(X, labels)
    assert model.log_marginal_likelihood_value_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-3)
    fixed = GaussianProcessClassifier(1.0 * RBF(0.7), optimizer=None).fit(X, labels)
    fixed_peer = theirs.GaussianProcessClassifier(kernel, optimizer=None).fit(X, labels)
    for mine, its in zip(fixed.latent_mean_and_variance(X), fixed_peer.latent_mean_and_variance(X), strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-6)
    three = GaussianProcessClassifier(1.0 * RBF(0.7), optimizer=None).fit(X, np.arange(25) % 3)
    with pytest.raises(ValueError, match="latent_mean_and_variance needs two classes; got 3"):
        three.latent_mean_and_variance(X)


def test_a_function_must_give_a_theta():
    with pytest.raises(ValueError, match="optimizer must give a theta of shape"):
        GaussianProcessRegressor(ours(), optimizer=lambda objective, start, bounds: (start[:1], 0.0)).fit(X, Y)
