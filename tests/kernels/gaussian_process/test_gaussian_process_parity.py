"""Side by side with scikit-learn on its own data: likelihoods at least as high, the same predictions."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.gaussian_process import GaussianProcessClassifier as PeerClassifier
from sklearn.gaussian_process import GaussianProcessRegressor as PeerRegressor
from sklearn.gaussian_process import kernels as peer
from sklearn.preprocessing import scale

from margin.kernels import RBF, GaussianProcessClassifier, GaussianProcessRegressor, Matern, WhiteKernel

PAIRS = {
    "rbf": (1.0 * RBF(1.0) + WhiteKernel(0.1), peer.ConstantKernel(1.0) * peer.RBF(1.0) + peer.WhiteKernel(0.1)),
    "ard": (
        1.0 * RBF(np.full(10, 3.0)) + WhiteKernel(0.1),
        peer.ConstantKernel(1.0) * peer.RBF(np.full(10, 3.0)) + peer.WhiteKernel(0.1),
    ),
    "matern32": (
        1.0 * Matern(3.0, nu=1.5) + WhiteKernel(0.1),
        peer.ConstantKernel(1.0) * peer.Matern(3.0, nu=1.5) + peer.WhiteKernel(0.1),
    ),
    "matern52": (
        1.0 * Matern(3.0, nu=2.5) + WhiteKernel(0.1),
        peer.ConstantKernel(1.0) * peer.Matern(3.0, nu=2.5) + peer.WhiteKernel(0.1),
    ),
}


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize("name", PAIRS)
def test_same_likelihood_gradient_and_predictions_at_one_theta(name):
    ours, theirs = PAIRS[name]
    X, y = diabetes()
    model = GaussianProcessRegressor(ours, optimizer=None, normalize_y=True).fit(X[:350], y[:350])
    twin = PeerRegressor(theirs, alpha=1e-10, optimizer=None, normalize_y=True).fit(X[:350], y[:350])
    value, gradient = model.log_marginal_likelihood(ours.theta, eval_gradient=True)
    expected, slope = twin.log_marginal_likelihood(theirs.theta, eval_gradient=True)
    assert value == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(gradient, slope, atol=1e-7)
    mean, std = model.predict(X[350:], return_std=True)
    expected_mean, expected_std = twin.predict(X[350:], return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-7)
    np.testing.assert_allclose(std, expected_std, atol=1e-6)
    np.testing.assert_allclose(
        model.predict(X[350:], return_cov=True)[1],
        twin.predict(X[350:], return_cov=True)[1],
        atol=1e-4,
    )


@pytest.mark.parametrize("name", PAIRS)
def test_learned_likelihood_is_at_least_theirs(name):
    ours, theirs = PAIRS[name]
    X, y = (part[:300] for part in diabetes())
    model = GaussianProcessRegressor(ours, normalize_y=True, random_state=0).fit(X, y)
    twin = PeerRegressor(theirs, alpha=1e-10, normalize_y=True).fit(X, y)
    assert model.log_marginal_likelihood_value_ >= twin.log_marginal_likelihood_value_ - 0.02
    assert np.corrcoef(model.predict(X), twin.predict(X))[0, 1] > 0.999


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer], ids=["iris", "wine", "breast-cancer"])
def test_classification(load):
    X, y = load(return_X_y=True)
    X, y = scale(X)[::2], y[::2]
    model = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    twin = PeerClassifier(peer.ConstantKernel(1.0) * peer.RBF(1.0)).fit(X, y)
    peers = getattr(twin.base_estimator_, "estimators_", [twin.base_estimator_])
    for value, other in zip(model.log_marginal_likelihoods_, peers):
        assert value >= other.log_marginal_likelihood_value_ - 0.01
    assert np.mean(model.predict(X) == twin.predict(X)) > 0.99
    model = GaussianProcessClassifier(2.0 * RBF(2.0), optimizer=None).fit(X, y)
    twin = PeerClassifier(peer.ConstantKernel(2.0) * peer.RBF(2.0), optimizer=None).fit(X, y)
    # They approximate the averaged sigmoid by five error functions; ours is exact.
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X), atol=2e-3)
