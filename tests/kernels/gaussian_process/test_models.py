"""The estimators: exact conditioning, noise, restarts, warm-up, resume, files, and what they refuse."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

import margin
from margin.foundations.statistics import GaussianProcess, RBFCovariance
from margin.kernels import (
    RBF,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    Matern,
    SparseGaussianProcessRegressor,
    WhiteKernel,
)
from margin.kernels.gaussian_process.search_runs import Restarts, plan_searches


def curve(n=60, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 8, size=(n, 1)), axis=0)
    return X, np.sin(X[:, 0]) + noise * rng.normal(size=n)


def table(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n)


def test_a_fixed_kernel_is_plain_conditioning():
    X, y = curve()
    at = np.linspace(-1, 9, 40)[:, None]
    model = GaussianProcessRegressor(RBF(0.8), alpha=0.05, optimizer=None, normalize_y=False).fit(X, y)
    process = GaussianProcess(RBFCovariance(0.8)).condition(X, y, noise=0.05)
    mean, std = process.predict(at)
    found_mean, found_std = model.predict(at, return_std=True)
    np.testing.assert_allclose(found_mean, mean, atol=1e-10)
    np.testing.assert_allclose(found_std, std, atol=1e-9)
    np.testing.assert_allclose(model.predict(at, return_cov=True)[1], process.joint(at)[1], atol=1e-9)
    assert model.n_iter_ == 1


def test_one_noise_per_row():
    X, y = curve(30)
    alpha = np.linspace(0.01, 1.0, 30)
    model = GaussianProcessRegressor(RBF(1.0), alpha=alpha, optimizer=None, normalize_y=False).fit(X, y)
    expected = RBF(1.0)(X) @ np.linalg.solve(RBF(1.0)(X) + np.diag(alpha), y)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-10)


def test_noise_is_learned_and_intervals_cover():
    X, y = curve(400, noise=0.3)
    model = GaussianProcessRegressor(random_state=0).fit(X, y)
    assert model.noise_**0.5 == pytest.approx(0.3, rel=0.15)
    X_new, y_new = curve(2000, noise=0.3, seed=1)
    mean, std = model.predict(X_new, return_std=True, with_noise=True)
    assert np.mean(np.abs(y_new - mean) < 1.96 * std) == pytest.approx(0.95, abs=0.025)
    np.testing.assert_allclose(model.log_density(X_new, y_new), norm.logpdf(y_new, mean, std), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X_new, return_std=True)[1], std)
    assert (model.predict(X_new, return_std=True, with_noise=False)[1] < std).all()


def test_a_white_term_of_the_kernel_is_the_noise():
    X, y = curve()
    added = GaussianProcessRegressor(1.0 * RBF(1.0) + WhiteKernel(0.1, (1e-8, 1e3)), alpha=0.0).fit(X, y)
    learned = GaussianProcessRegressor(1.0 * RBF(1.0), alpha="learn").fit(X, y)
    assert added.noise_ == pytest.approx(learned.noise_, rel=1e-12)
    assert repr(added.kernel_) == repr(learned.kernel_)


def test_relevance_is_learned_per_column():
    X, y = table()
    model = GaussianProcessRegressor(ard=True, random_state=0).fit(X, y)
    scales = model.kernel_.k1.k2.length_scale
    assert min(scales[2:]) > 5 * max(scales[:2])
    shared = GaussianProcessRegressor(random_state=0).fit(X, y)
    assert model.log_marginal_likelihood() > shared.log_marginal_likelihood() + 50


def test_the_likelihood_at_theta_and_its_gradient():
    X, y = curve()
    model = GaussianProcessRegressor(tol=1e-8).fit(X, y)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood_value_, abs=1e-10)
    assert np.abs(gradient).max() < 1e-2
    assert model.log_marginal_likelihood(model.kernel_.theta + 0.3) < value


def test_variance_is_never_negative_even_on_repeated_rows_without_noise():
    X = np.repeat(np.linspace(0, 1, 30), 3)[:, None]
    model = GaussianProcessRegressor(RBF(2.0), alpha=0.0, optimizer=None, normalize_y=True).fit(X, X[:, 0])
    assert model.jitter_ > 0
    mean, std = model.predict(np.linspace(-0.1, 1.1, 200)[:, None], return_std=True)
    assert np.isfinite(mean).all()
    assert (std >= 0).all()
    assert (np.diag(model.predict(X, return_cov=True)[1]) >= 0).all()


def test_samples_have_the_law_of_prior_and_posterior():
    X, y = curve(20)
    at = np.array([[0.5], [3.0], [7.9]])
    prior = GaussianProcessRegressor(2.0 * RBF(1.0)).sample_y(at, 20_000, random_state=0)
    np.testing.assert_allclose(np.cov(prior), (2.0 * RBF(1.0))(at), atol=0.07)
    model = GaussianProcessRegressor(random_state=0).fit(X, y)
    draws = model.sample_y(at, 20_000, random_state=0)
    mean, covariance = model.predict(at, return_cov=True)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.05 * covariance.max())
    np.testing.assert_array_equal(model.sample_y(at, 3, random_state=5), model.sample_y(at, 3, random_state=5))


def test_restarts_find_a_better_optimum():
    rng = np.random.default_rng(1)
    X = np.linspace(0, 1, 40)[:, None]
    y = np.sin(40 * X[:, 0]) + 0.1 * rng.normal(size=40)
    stuck = 1.0 * RBF(1.0)  # from here all is noise
    once = GaussianProcessRegressor(stuck, alpha="learn", normalize_y=True, random_state=0).fit(X, y)
    more = GaussianProcessRegressor(stuck, alpha="learn", normalize_y=True, n_restarts_optimizer=8, random_state=0).fit(
        X, y
    )
    assert more.log_marginal_likelihood_value_ > once.log_marginal_likelihood_value_ + 10
    assert more.n_iter_ > once.n_iter_


def test_a_warm_up_ends_on_all_rows_at_the_same_likelihood():
    X, y = table(600)
    plain = GaussianProcessRegressor(ard=True, warm_up=None).fit(X, y)
    model = GaussianProcessRegressor(ard=True, warm_up=200, random_state=0)
    rows = [int(record["rows"]) for record in model.iterate(X, y)]
    assert set(rows) == {200, 600}
    assert rows == sorted(rows)
    assert len(model.X_train_) == 600
    assert rows.count(600) < 0.6 * plain.n_iter_, "most of the way is gone on few rows"
    assert model.log_marginal_likelihood_value_ == pytest.approx(plain.log_marginal_likelihood_value_, abs=0.02)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("stop", [1, 5, 30])
def test_a_resumed_warm_up_has_the_same_bits(stop):
    X, y = table(400)
    build = GaussianProcessRegressor(ard=True, warm_up=100, n_restarts_optimizer=1, random_state=3, max_iter=25)
    whole = clone(build)
    expected = [record.as_dict() for record in whole.iterate(X, y)]
    part = clone(build)
    records = [record.as_dict() for record in itertools.islice(part.iterate(X, y), stop)]
    rest = clone(build)
    records += [record.as_dict() for record in rest.iterate(X, y, state=part.get_state())]
    assert records == expected
    np.testing.assert_array_equal(rest.predict(X, return_std=True)[1], whole.predict(X, return_std=True)[1])


def test_the_best_of_several_runs_is_kept():
    plan = plan_searches(
        np.zeros(1), np.array([[-5.0, 5.0]]), 10, n_restarts=2, warm_up=None, rng=np.random.default_rng(0)
    )
    runs = Restarts(plan, np.array([[-5.0, 5.0]]), 10, tol=1e-8, max_iter=50)
    best, least = None, np.inf
    for asked in runs.evaluations():
        x = asked.theta[0]
        value, slope = np.cos(3 * x) + 0.1 * x**2, np.array([-3 * np.sin(3 * x) + 0.2 * x])
        if runs.tell(value, slope):
            best = x
        least = min(least, value)
    assert np.cos(3 * best) + 0.1 * best**2 == least


@pytest.mark.parametrize(
    "model",
    [
        GaussianProcessRegressor(1.0 * Matern([1.0] * 5, nu=2.5) + 0.5 * RBF(2.0), alpha="learn"),
        SparseGaussianProcessRegressor("matern", n_inducing=40, random_state=0),
    ],
    ids=["exact", "sparse"],
)
def test_a_saved_model_says_the_same(model, tmp_path):
    X, y = table(150)
    model.fit(X, y)
    margin.save(model, tmp_path / "model.safetensors")
    again = margin.load(tmp_path / "model.safetensors")
    for a, b in zip(again.predict(X, return_std=True), model.predict(X, return_std=True)):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(again.log_density(X, y), model.log_density(X, y))


@pytest.mark.parametrize("method", ["vfe", "fitc"])
def test_a_sparse_model_approaches_the_exact_one(method):
    X, y = table(600, d=2)
    exact = GaussianProcessRegressor(warm_up=None).fit(X, y)
    gaps = []
    for m in (10, 100):
        sparse = SparseGaussianProcessRegressor(n_inducing=m, method=method, random_state=0).fit(X, y)
        gaps.append(np.abs(sparse.predict(X) - exact.predict(X)).mean())
        if method == "vfe":
            assert sparse.bound_ <= exact.log_marginal_likelihood_value_ + 1e-6
    assert gaps[1] < 0.2 * gaps[0]
    std = sparse.predict(X, return_std=True)[1]
    np.testing.assert_allclose(std, exact.predict(X, return_std=True)[1], atol=0.03)


def test_inducing_points_may_be_given_or_drawn():
    X, y = curve()
    points = np.linspace(0, 8, 12)[:, None]
    model = SparseGaussianProcessRegressor(inducing=points).fit(X, y)
    np.testing.assert_array_equal(model.inducing_points_, points)
    model = SparseGaussianProcessRegressor(n_inducing=9, inducing="random", random_state=0, noise=0.05).fit(X, y)
    assert model.inducing_points_.shape == (9, 1)
    assert model.noise_ == pytest.approx(0.05 * y.var())


def test_several_classes_are_learned_one_against_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.array(["left", "middle", "right"])[np.digitize(X[:, 0] + 0.1 * rng.normal(size=150), [-0.5, 0.5])]
    model = GaussianProcessClassifier(random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert model.score(X, y) > 0.9
    assert len(model.kernels_) == 3
    far = model.predict_proba([[0.0, 50.0]])
    assert far.max() < 0.7, "far from the rows the model is unsure"


def test_probabilities_of_two_classes_know_their_uncertainty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    truth = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.uniform(size=300) < truth
    model = GaussianProcessClassifier().fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1] - truth).mean() < 0.08
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X)[:, 1] > 0.5)
    value, gradient = model.log_marginal_likelihood(model.kernels_[0].theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood_value_, abs=1e-9)
    assert np.abs(gradient).max() < 0.1


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (GaussianProcessRegressor(alpha=[0.1, 0.2]), "one variance of at least 0 per row, 60; got 2"),
        (GaussianProcessRegressor(RBF([1.0, 2.0])), "one number per column, 1; got 2"),
        (GaussianProcessRegressor(kernel="cubic"), "kernel must be"),
        (SparseGaussianProcessRegressor(inducing=[[1.0, 2.0]]), "with 1 columns; got shape"),
        (SparseGaussianProcessRegressor(WhiteKernel(0.1)), "more than white noise"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_a_sentence(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(*curve())


def test_bad_questions_to_a_fitted_model():
    X, y = curve()
    model = GaussianProcessRegressor(optimizer=None).fit(X, y)
    with pytest.raises(RuntimeError, match="return_std or return_cov"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="theta must have the shape"):
        model.log_marginal_likelihood([0.0])
    with pytest.raises(ValueError, match="one y per row"):
        model.log_density(X, y[:3])
    with pytest.raises(ValueError, match="at least two classes"):
        GaussianProcessClassifier().fit(X, np.zeros(len(X)))
    constant = GaussianProcessRegressor().fit(X, np.full(len(X), 7.0))
    np.testing.assert_allclose(constant.predict(X), 7.0)
