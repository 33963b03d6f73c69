"""A search that begins where the kernel matrix is the identity has no slope to follow; another begins at the spread."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier as PeerClassifier
from sklearn.gaussian_process import GaussianProcessRegressor as PeerRegressor
from sklearn.gaussian_process import kernels as peer

from margin.kernels import RBF, ConstantKernel, GaussianProcessClassifier, GaussianProcessRegressor, WhiteKernel
from margin.kernels.gaussian_process.initial_kernel import start_at_spread


def far_apart(n=40, p=10, seed=0):
    """Rows that are several units apart, on which the target is nearly linear."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, p)).astype(float)
    return X, X @ rng.normal(size=p) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("scale", [1.0, np.ones(10)])
def test_a_regressor_finds_the_best_of_ten_searches_of_the_peer(scale):
    X, y = far_apart()
    ours = GaussianProcessRegressor(ConstantKernel() * RBF(scale) + WhiteKernel(), normalize_y=True).fit(X, y)
    kernel = peer.ConstantKernel() * peer.RBF(scale) + peer.WhiteKernel()
    best = PeerRegressor(kernel, n_restarts_optimizer=10, normalize_y=True, random_state=0).fit(X, y)
    assert ours.log_marginal_likelihood_value_ > best.log_marginal_likelihood_value_ - 0.1


def test_a_classifier_finds_the_best_of_five_searches_of_the_peer():
    X, y = far_apart()
    ours = GaussianProcessClassifier(ConstantKernel() * RBF()).fit(X, y > 0)
    kernel = peer.ConstantKernel() * peer.RBF()
    best = PeerClassifier(kernel, n_restarts_optimizer=5, random_state=0).fit(X, y > 0)
    assert ours.log_marginal_likelihood_value_ > best.log_marginal_likelihood_value_ - 0.1


def test_the_second_start_moves_learned_length_scales_only():
    X, _ = far_apart()
    kernel = ConstantKernel(2.0) * RBF() + RBF(1.0, length_scale_bounds="fixed") + WhiteKernel(0.3)
    ((amplitude, scale, noise),) = np.exp(start_at_spread(kernel, X))
    assert (amplitude, noise) == (pytest.approx(2.0), pytest.approx(0.3))
    assert scale == pytest.approx(np.sqrt(X.var(axis=0).sum()))
    assert len(start_at_spread(ConstantKernel() * RBF(0.9 * scale), X)) == 0, "near enough: one search is enough"
    assert np.exp(start_at_spread(RBF(1.0, length_scale_bounds=(0.1, 2.0)), X)) == pytest.approx(2.0), "inside bounds"


def test_with_more_rows_the_start_is_chosen_on_a_part_of_them():
    X, y = far_apart(n=400)
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    runs = {record.values["run"] for record in model.iterate(X, y)}
    assert runs == {0}, "one search on all rows"
    wide = ConstantKernel() * RBF(float(np.sqrt(X.var(axis=0).sum()))) + WhiteKernel()
    exact = GaussianProcessRegressor(wide, normalize_y=True).fit(X, y)
    assert model.log_marginal_likelihood_value_ == pytest.approx(exact.log_marginal_likelihood_value_, abs=0.05)
