"""scikit-learn's parameters, kernels and answers: each acts as it does there."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.gaussian_process import GaussianProcessClassifier as PeerClassifier
from sklearn.gaussian_process import GaussianProcessRegressor as PeerRegressor
from sklearn.gaussian_process import kernels as peer

from margin.kernels import RBF, GaussianProcessClassifier, GaussianProcessRegressor, WhiteKernel
from margin.kernels.gaussian_process.sklearn_kernels import translated

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=60)
AT = RNG.uniform(-3, 3, size=(25, 2))

KERNELS = [
    peer.ConstantKernel(2.0) * peer.RBF(0.8),
    peer.RBF([0.5, 2.0], [(0.1, 1.0), (0.2, 20.0)]) + peer.WhiteKernel(0.05),
    peer.Matern(0.9, nu=2.5) + peer.WhiteKernel(0.05, "fixed"),
    peer.Matern(0.9, nu=0.7),
    peer.RationalQuadratic(0.8, 1.3) * 2.0,
    peer.DotProduct(0.7) ** 2 + peer.WhiteKernel(0.3),
    None,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("normalize_y", [False, True])
def test_a_fixed_kernel_of_the_peer_gives_the_peers_answers(kernel, normalize_y):
    settings = {"alpha": 1e-3, "optimizer": None, "normalize_y": normalize_y}
    ours = GaussianProcessRegressor(kernel, **settings).fit(X, Y)
    theirs = PeerRegressor(kernel, **settings).fit(X, Y)
    for question in ({"return_std": True}, {"return_cov": True}):
        for mine, other in zip(ours.predict(AT, **question), theirs.predict(AT, **question)):
            np.testing.assert_allclose(mine, other, atol=1e-7)
    theta = theirs.kernel_.theta
    np.testing.assert_allclose(ours.kernel_.theta, theta)
    np.testing.assert_allclose(ours.kernel_.bounds, np.asarray(theirs.kernel_.bounds).reshape(-1, 2))
    value, gradient = ours.log_marginal_likelihood(theta + 0.1, eval_gradient=True)
    expected, slope = theirs.log_marginal_likelihood(theta + 0.1, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", [k for k in KERNELS if k is not None][:6], ids=str)
def test_a_learned_kernel_is_at_least_as_likely(kernel):
    ours = GaussianProcessRegressor(kernel, alpha=1e-3, n_restarts_optimizer=2, random_state=0).fit(X, Y)
    theirs = PeerRegressor(kernel, alpha=1e-3, n_restarts_optimizer=2, random_state=0).fit(X, Y)
    assert ours.log_marginal_likelihood_value_ >= theirs.log_marginal_likelihood_value_ - 0.05


def test_a_periodic_kernel_of_the_peer_on_a_line():
    line, at = X[:, :1], AT[:, :1]
    kernel = peer.ExpSineSquared(1.2, 4.0) + peer.WhiteKernel(0.1)
    ours, theirs = (cls(kernel, optimizer=None).fit(line, Y) for cls in (GaussianProcessRegressor, PeerRegressor))
    for mine, other in zip(ours.predict(at, return_std=True), theirs.predict(at, return_std=True)):
        np.testing.assert_allclose(mine, other, atol=1e-7)
    parts = zip(*(m.log_marginal_likelihood(kernel.theta + 0.1, eval_gradient=True) for m in (ours, theirs)))
    for mine, other in parts:
        np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_an_object_without_noise_interpolates_as_there():
    ours = GaussianProcessRegressor(RBF(), optimizer=None).fit(X, Y)
    theirs = PeerRegressor(peer.RBF(), optimizer=None).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), Y, atol=1e-2)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_several_targets_share_a_kernel(normalize_y):
    targets = np.column_stack([Y, 3 + 2 * np.cos(X[:, 0]), 10 * Y**2])
    kernel = peer.ConstantKernel(1.0) * peer.RBF([1.0, 1.0]) + peer.WhiteKernel(0.1)
    ours = GaussianProcessRegressor(kernel, normalize_y=normalize_y, tol=1e-8, random_state=0).fit(X, targets)
    theirs = PeerRegressor(kernel, normalize_y=normalize_y).fit(X, targets)
    assert ours.log_marginal_likelihood_value_ >= theirs.log_marginal_likelihood_value_ - 1e-2
    fixed = GaussianProcessRegressor(theirs.kernel_, optimizer=None, normalize_y=normalize_y).fit(X, targets)
    for question, shape in (({"return_std": True}, (25, 3)), ({"return_cov": True}, (25, 25, 3))):
        mean, spread = fixed.predict(AT, **question)
        other_mean, other_spread = theirs.predict(AT, **question)
        assert spread.shape == other_spread.shape == shape
        np.testing.assert_allclose(mean, other_mean, atol=1e-6)
        np.testing.assert_allclose(spread, other_spread, atol=1e-6)
    assert fixed.sample_y(AT, 4).shape == theirs.sample_y(AT, 4).shape == (25, 3, 4)
    value, gradient = fixed.log_marginal_likelihood(theirs.kernel_.theta + 0.2, eval_gradient=True)
    expected, slope = theirs.log_marginal_likelihood(theirs.kernel_.theta + 0.2, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-3)


def test_many_rows_and_targets_take_the_compiled_way():
    rows, targets = make_regression(300, 3, n_targets=2, random_state=0)
    kernel = peer.ConstantKernel(1.0) * peer.RBF([1.0, 2.0, 3.0]) + peer.WhiteKernel(0.1)
    ours = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(rows, targets)
    theirs = PeerRegressor(kernel, optimizer=None, normalize_y=True).fit(rows, targets)
    for mine, other in zip(*(m.log_marginal_likelihood(kernel.theta, eval_gradient=True) for m in (ours, theirs))):
        np.testing.assert_allclose(mine, other, rtol=1e-7)


def test_samples_before_and_after_a_fit_have_the_peers_shapes():
    prior = GaussianProcessRegressor(RBF(), n_targets=2)
    assert prior.sample_y(AT, 3).shape == PeerRegressor(peer.RBF(), n_targets=2).sample_y(AT, 3).shape == (25, 2, 3)
    assert GaussianProcessRegressor(RBF()).sample_y(AT, 3).shape == (25, 3)
    with pytest.raises(ValueError, match="n_targets=2 but y has 1"):
        prior.fit(X, Y)
    noisy = GaussianProcessRegressor(RBF() + WhiteKernel(4.0)).sample_y(AT[:1], 20_000, random_state=0)
    assert noisy.var() == pytest.approx(5.0, rel=0.05)


def test_copy_x_train_keeps_or_does_not_keep_the_rows():
    rows = np.ascontiguousarray(X)
    kept = GaussianProcessRegressor(RBF(), copy_X_train=False, optimizer=None).fit(rows, Y)
    assert np.shares_memory(kept.X_train_, rows)
    assert not np.shares_memory(GaussianProcessRegressor(RBF(), optimizer=None).fit(rows, Y).X_train_, rows)


def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2, :2], y[::2]


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_several_classes_as_there(multi_class):
    rows, y = iris()
    kernel = peer.ConstantKernel(2.0) * peer.RBF(1.5)
    settings = {"optimizer": None, "multi_class": multi_class}
    ours = GaussianProcessClassifier(kernel, **settings).fit(rows, y)
    theirs = PeerClassifier(kernel, **settings).fit(rows, y)
    assert np.mean(ours.predict(rows) == theirs.predict(rows)) > 0.98
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-5)
    assert ours.log_marginal_likelihood(kernel.theta + 0.1) == pytest.approx(
        theirs.log_marginal_likelihood(kernel.theta + 0.1), rel=1e-5
    )
    if multi_class == "one_vs_one":
        with pytest.raises(ValueError, match="no probabilities"):
            ours.predict_proba(rows)


def test_newton_steps_and_where_they_begin():
    rows, y = iris()
    rows, y = rows[y < 2], y[y < 2]
    kernel = peer.ConstantKernel(50.0) * peer.RBF(1.0)
    few = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1).fit(rows, y)
    there = PeerClassifier(kernel, optimizer=None, max_iter_predict=1).fit(rows, y)
    full = GaussianProcessClassifier(kernel, optimizer=None).fit(rows, y)
    assert few.log_marginal_likelihood_value_ < full.log_marginal_likelihood_value_ - 0.1
    assert there.log_marginal_likelihood_value_ < full.log_marginal_likelihood_value_ - 0.1
    cold, warm = (GaussianProcessClassifier(kernel, warm_start=w, tol=1e-8).fit(rows, y) for w in (False, True))
    assert warm.log_marginal_likelihood_value_ == pytest.approx(cold.log_marginal_likelihood_value_, abs=1e-6)
    one_step = [GaussianProcessClassifier(kernel, warm_start=w, max_iter_predict=1) for w in (False, True)]
    values = [[record["log_marginal_likelihood"] for record in model.iterate(rows, y)] for model in one_step]
    assert values[0][0] == values[1][0]
    assert values[0] != values[1], "later modes begin where earlier ones ended"


def test_a_resumed_warm_start_has_the_same_bits():
    rows, y = iris()
    build = GaussianProcessClassifier(warm_start=True, random_state=0, n_jobs=2)
    whole, part, rest = clone(build), clone(build), clone(build)
    expected = [record.as_dict() for record in whole.iterate(rows, y)]
    records = [record.as_dict() for record in itertools.islice(part.iterate(rows, y), 4)]
    records += [record.as_dict() for record in rest.iterate(rows, y, state=part.get_state())]
    assert records == expected
    one = clone(build).set_params(n_jobs=1).fit(rows, y)
    np.testing.assert_array_equal(one.predict_proba(rows), whole.predict_proba(rows))


def test_several_kernels_side_by_side_are_refused_and_nested_ones_translated():
    with pytest.raises(ValueError, match="kernel must be"):
        GaussianProcessRegressor(peer.CompoundKernel([peer.RBF(), peer.RBF(2.0)])).fit(X, Y)
    nested = translated(peer.RBF([1.0, 2.0]) * 2.0 + peer.WhiteKernel())
    np.testing.assert_allclose(nested(X), (peer.RBF([1.0, 2.0]) * 2.0 + peer.WhiteKernel())(X), atol=1e-12)
