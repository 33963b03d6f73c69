"""Kernels of scikit-learn's form that have no translation: classes of users, and those over things that are no rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier as PeerClassifier
from sklearn.gaussian_process import GaussianProcessRegressor as PeerRegressor
from sklearn.gaussian_process import kernels as theirs

from margin import store
from margin.kernels import GaussianProcessClassifier, GaussianProcessRegressor
from margin.kernels.gaussian_process.sklearn_kernels import GivenKernel, translated


class Cubic(theirs.Kernel):
    """(scale + x z)^3 on the first column: a kernel that nobody else has, with one parameter to learn."""

    def __init__(self, scale=1.0, scale_bounds=(1e-3, 1e3)):
        self.scale, self.scale_bounds = scale, scale_bounds

    @property
    def hyperparameter_scale(self):
        return theirs.Hyperparameter("scale", "numeric", self.scale_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        base = self.scale + np.outer(X[:, 0], (X if Y is None else Y)[:, 0])
        return (base**3, 3 * self.scale * base[:, :, None] ** 2) if eval_gradient else base**3

    def diag(self, X):
        return (self.scale + X[:, 0] ** 2) ** 3

    def is_stationary(self):
        return False


class SharedLetters(theirs.GenericKernelMixin, theirs.Kernel):
    """How many pairs of letters two words share, and a part of the others."""

    def __init__(self, other=0.3, other_bounds=(1e-5, 1.0)):
        self.other, self.other_bounds = other, other_bounds

    @property
    def hyperparameter_other(self):
        return theirs.Hyperparameter("other", "numeric", self.other_bounds)

    def _counts(self, X, Y):
        return np.array([[sum(a == b for a in x for b in y) for y in Y] for x in X], dtype=float)

    def _pairs(self, X, Y):
        return np.array([[len(x) * len(y) for y in Y] for x in X], dtype=float)

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        same, rest = self._counts(X, Y), self._pairs(X, Y) - self._counts(X, Y)
        K = same + self.other * rest
        return (K, self.other * rest[:, :, None]) if eval_gradient else K

    def diag(self, X):
        return np.array([self([x])[0, 0] for x in X])

    def is_stationary(self):
        return False


@pytest.mark.parametrize(
    "kernel",
    [Cubic(2.0) + theirs.WhiteKernel(0.5), theirs.PairwiseKernel(metric="laplacian") * 2.0 + theirs.WhiteKernel(0.5)],
    ids=["a class of the user's", "scikit-learn's own"],
)
def test_a_kernel_without_translation_is_called_and_learned(kernel):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 2))
    y = (1.5 + X[:, 0]) ** 3 + 0.3 * rng.normal(size=40)
    ours, peer = GaussianProcessRegressor(kernel=kernel).fit(X, y), PeerRegressor(kernel=clone(kernel)).fit(X, y)
    assert ours.log_marginal_likelihood_value_ > peer.log_marginal_likelihood_value_ - 1e-3
    settings = {"kernel": peer.kernel_, "optimizer": None}
    mean, std = GaussianProcessRegressor(**settings).fit(X, y).predict(X[:7] + 0.1, return_std=True)
    expected, spread = PeerRegressor(**settings).fit(X, y).predict(X[:7] + 0.1, return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-7)
    np.testing.assert_allclose(std, spread, atol=1e-7)


def test_the_gradient_of_a_given_kernel_is_that_of_its_values():
    rng = np.random.default_rng(0)
    X, weights = rng.uniform(-1, 1, size=(8, 2)), rng.normal(size=(8, 8))
    kernel = translated(theirs.ConstantKernel(2.0) * Cubic(1.5))
    assert isinstance(kernel.k2, GivenKernel)
    found = kernel.gradient(X, weights + weights.T)
    for j, step in enumerate(1e-6 * np.eye(2)):
        up, down = (kernel.clone_with_theta(kernel.theta + sign * step)(X) for sign in (1, -1))
        expected = ((weights + weights.T) * (up - down)).sum() / 2e-6
        assert found[j] == pytest.approx(expected, rel=1e-6)


def test_rows_may_be_words():
    words, y = ["a", "ab", "abc", "bcd", "cde", "dd"], np.array([1.0, 1.2, 1.1, 0.3, -0.4, -0.6])
    kernel = SharedLetters(0.2) + theirs.WhiteKernel(0.1)
    ours, peer = GaussianProcessRegressor(kernel=kernel).fit(words, y), PeerRegressor(kernel=kernel).fit(words, y)
    np.testing.assert_allclose(ours.predict(["ad", "bb"]), peer.predict(["ad", "bb"]), atol=1e-3)
    classes = GaussianProcessClassifier(kernel=SharedLetters(0.2, "fixed")).fit(words, y > 0.5)
    expected = PeerClassifier(kernel=SharedLetters(0.2, "fixed")).fit(words, y > 0.5)
    np.testing.assert_allclose(classes.predict_proba(words), expected.predict_proba(words), atol=1e-3)


def test_several_matrices_are_no_kernel_and_foreign_ones_are_not_stored(tmp_path):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="kernel must be"):
        GaussianProcessRegressor(kernel=theirs.CompoundKernel([theirs.RBF(), theirs.RBF()])).fit(X, y)
    model = GaussianProcessRegressor(kernel=Cubic()).fit(X[:20], y[:20])
    with pytest.raises((TypeError, ValueError), match="not in the registry of classes"):
        store.save(model, tmp_path / "model.safetensors")
