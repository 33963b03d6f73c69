"""Gaussian mixtures against scikit-learn from the same start, SciPy's densities, and numerical maximization."""

import warnings

import numpy as np
import pytest
import scipy.optimize as so
import scipy.stats as ss
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

from margin.core.watching import watch
from margin.mixture import GaussianMixture
from margin.mixture.covariances import SHAPES
from margin.mixture.em import MixtureParameters, expectation, mixture_of, q_function, responsibilities, sums_of

TYPES = ["full", "tied", "diag", "spherical"]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks([GaussianMixture(), GaussianMixture(n_components=2, covariance_type="tied")])
def test_estimator_checks(estimator, check):
    check(estimator)


def sample(n=500, d=3, k=3, seed=0):
    rng = np.random.default_rng(seed)
    A = 0.4 * rng.normal(size=(k, d, d)) + np.eye(d)
    label = rng.integers(k, size=n)
    return np.einsum("nd,nde->ne", rng.normal(size=(n, d)), A[label]) + 3 * rng.normal(size=(k, d))[label]


def start(X, kind, k=3):
    d = X.shape[1]
    precisions = {
        "full": np.stack([np.eye(d)] * k),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }
    return {"weights_init": np.full(k, 1 / k), "means_init": X[:k], "precisions_init": precisions[kind]}


@pytest.mark.parametrize("kind", TYPES)
def test_same_steps_as_scikit_learn_from_the_same_start(kind):
    X = sample()
    options = {"n_components": 3, "covariance_type": kind, "max_iter": 7, "tol": 0.0, **start(X, kind)}
    ours, theirs = GaussianMixture(**options).fit(X), Reference(**options).fit(X)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-9)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.precisions_cholesky_, theirs.precisions_cholesky_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.bic(X) == pytest.approx(theirs.bic(X), rel=1e-10)
    assert ours.aic(X) == pytest.approx(theirs.aic(X), rel=1e-10)
    assert ours.log_likelihood_ == pytest.approx(theirs.score(X), rel=1e-12)


@pytest.mark.parametrize("kind", TYPES)
def test_density_is_the_sum_of_scipy_densities(kind):
    X = sample()
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    d = X.shape[1]
    matrices = {
        "full": lambda c: model.covariances_[c],
        "tied": lambda c: model.covariances_,
        "diag": lambda c: np.diag(model.covariances_[c]),
        "spherical": lambda c: model.covariances_[c] * np.eye(d),
    }
    density = sum(
        w * ss.multivariate_normal(model.means_[c], matrices[kind](c)).pdf(X) for c, w in enumerate(model.weights_)
    )
    np.testing.assert_allclose(model.score_samples(X), np.log(density), rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(TYPES), st.sampled_from(["kmeans", "random", "k-means++"]))
def test_log_likelihood_never_decreases(seed, kind, init):
    X = sample(n=120, seed=seed)
    reg = 1e-6 if init == "k-means++" else 0.0  # one row per component has no covariance of its own to start with
    model = GaussianMixture(2, covariance_type=kind, reg_covar=reg, tol=1e-8, init_params=init, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        changes = [record["change"] for record in model.iterate(X)]
    assert min(changes) >= (-1e-10 if reg == 0 else -1e-6)


@pytest.mark.parametrize("kind", TYPES)
def test_m_step_maximizes_q(kind):
    X = sample(n=80, d=2, k=2)
    rng = np.random.default_rng(1)
    resp = rng.dirichlet([1, 1], size=len(X))
    shape = SHAPES[kind]
    best = mixture_of(X, resp, shape, 0.0)
    top = q_function(X, best, resp)

    def minus_q(v):
        weights = np.exp(v[:2]) / np.exp(v[:2]).sum()
        roots = v[6:].reshape(shape.shape_of(2, 2))
        covariances = roots @ np.swapaxes(roots, -1, -2) if kind in {"full", "tied"} else roots**2
        return -q_function(
            X, MixtureParameters(weights, shape(v[2:6].reshape(2, 2), covariances), X.mean(axis=0)), resp
        )

    roots = np.array(np.broadcast_to(np.eye(2) if kind in {"full", "tied"} else 1.0, shape.shape_of(2, 2)))
    first = np.concatenate([np.zeros(6), roots.ravel()])
    numerical = -so.minimize(minus_q, first, method="BFGS", options={"gtol": 1e-7}).fun
    assert top == pytest.approx(numerical, rel=1e-8)
    assert top >= numerical - 1e-8


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("stop", [1, 5, 9])
def test_resuming_anywhere_gives_the_same_bits(kind, stop):
    X = sample(n=300)
    options = {
        "n_components": 3,
        "covariance_type": kind,
        "n_init": 3,
        "max_iter": 4,
        "tol": 1e-9,
        "init_params": "random",
    }
    whole = GaussianMixture(**options, random_state=1)
    records = [record.as_dict() for record in whole.iterate(X)]
    first = GaussianMixture(**options, random_state=1)
    for record in first.iterate(X):
        if record.iteration == stop:
            break
    resumed = GaussianMixture(**options, random_state=5)
    rest = [record.as_dict() for record in resumed.iterate(X, state=first.get_state())]
    assert rest == records[stop:]
    for name in ("weights_", "means_", "covariances_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert (resumed.log_likelihood_, resumed.n_iter_) == (whole.log_likelihood_, whole.n_iter_)


def test_the_best_of_several_runs_is_kept():
    X = sample(n=300, k=6)
    model = GaussianMixture(6, n_init=5, init_params="random", random_state=0)
    best = {}
    for record in model.iterate(X):
        best[record["run"]] = record["log_likelihood"]
        assert model.log_likelihood_ >= max(best.values()) - 1e-15
    assert len(best) == 5
    assert len(set(np.round(list(best.values()), 3))) > 1  # starts differ in where they end
    assert model.score(X) == pytest.approx(max(best.values()), rel=1e-12)


def test_planted_parameters_are_recovered():
    rng = np.random.default_rng(0)
    weights, means, sd = np.array([0.3, 0.7]), np.array([[-2.0, 0.0], [2.0, 1.0]]), np.array([0.5, 1.0])
    label = rng.choice(2, size=20_000, p=weights)
    X = means[label] + sd[label, None] * rng.normal(size=(20_000, 2))
    model = GaussianMixture(2, random_state=0, tol=1e-6).fit(X)
    order = model.means_[:, 0].argsort()
    np.testing.assert_allclose(model.weights_[order], weights, atol=0.01)
    np.testing.assert_allclose(model.means_[order], means, atol=0.03)
    np.testing.assert_allclose(model.covariances_[order], sd[:, None, None] ** 2 * np.eye(2), atol=0.03)


@pytest.mark.parametrize("kind", TYPES)
def test_samples_come_from_the_density(kind):
    X = sample()
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    drawn = model.sample(40_000, random_state=1)
    np.testing.assert_array_equal(drawn[:10], model.sample(40_000, random_state=1)[:10])
    assert drawn.shape == (40_000, 3)
    np.testing.assert_allclose(drawn.mean(axis=0), model.weights_ @ model.means_, atol=0.08)
    np.testing.assert_allclose(model.score(drawn), model.score(model.sample(40_000, random_state=2)), atol=0.03)
    # The estimator on its own samples comes back to itself: the density is that of the samples.
    again = GaussianMixture(3, covariance_type=kind, means_init=model.means_, random_state=0).fit(drawn)
    assert again.score(drawn) - model.score(drawn) == pytest.approx(0, abs=2e-3)


def test_narrow_components_far_apart_keep_their_digits():
    rng = np.random.default_rng(0)
    X = np.vstack([1e-5 * rng.normal(size=(200, 2)) - 1e3, 1e-5 * rng.normal(size=(200, 2)) + 1e3])
    model = GaussianMixture(2, reg_covar=0, random_state=0, tol=1e-12).fit(X)
    for c in range(2):
        mine = X[model.predict(X) == c]
        np.testing.assert_allclose(model.covariances_[c], np.cov(mine.T, bias=True), rtol=1e-5, atol=1e-15)


def test_chunks_and_blocks_add_up():
    X = sample(n=40_000)
    mixture = MixtureParameters(
        np.full(3, 1 / 3), SHAPES["full"](X[:3] - X.mean(axis=0), np.stack([np.eye(3)] * 3)), X.mean(axis=0)
    )
    mean, sums = expectation(X, mixture)
    log_density, resp = responsibilities(X, mixture)
    assert mean == pytest.approx(log_density.mean(), rel=1e-12)
    np.testing.assert_allclose(sums.second, sums_of(X, resp, mixture).second, rtol=1e-10)
    np.testing.assert_allclose(sums.weight.sum(), len(X), rtol=1e-12)


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_all_starts_run(init):
    X = sample(n=300)
    model = GaussianMixture(3, init_params=init, random_state=0).fit(X)
    assert np.isfinite(model.score(X))
    np.testing.assert_array_equal(model.means_, GaussianMixture(3, init_params=init, random_state=0).fit(X).means_)


def test_given_means_keep_their_order():
    X = np.vstack([np.random.default_rng(0).normal(size=(50, 2)) * s + m for s, m in ((0.1, 0), (1.0, 10), (3.0, -30))])
    model = GaussianMixture(3, means_init=[[-30.0, -30.0], [0.0, 0.0], [10.0, 10.0]], max_iter=1, random_state=0).fit(X)
    np.testing.assert_allclose(model.covariances_.diagonal(axis1=1, axis2=2)[:, 0], [9, 0.01, 1], rtol=0.5)


def test_a_watcher_stops_the_fit():
    X, seen = sample(), set()
    with watch(lambda estimator, record: seen.add(type(estimator).__name__) or record.iteration == 2):
        model = GaussianMixture(3, tol=0, random_state=0).fit(X)
    assert model.n_iter_ == 2
    assert seen == {"GaussianMixture"}  # the k-means behind the start is not the watched fit
    assert model.score(X) == pytest.approx(model.log_likelihood_, rel=1e-12)


def test_running_out_of_iterations_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        GaussianMixture(3, max_iter=1, tol=1e-12, random_state=0).fit(sample())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer at least 1"),
        ({"n_components": 501}, "n_components=501 needs as many rows; got 500"),
        ({"covariance_type": "round"}, "covariance_type must be one of"),
        ({"weights_init": [0.5, 0.5]}, "weights_init must have shape"),
        ({"weights_init": [0.5, 0.2, 0.2]}, "sum to 1; the sum is 0.9"),
        ({"means_init": np.zeros((3, 4))}, "means_init must have shape"),
        ({"precisions_init": np.ones(3)}, "precisions_init must have shape"),
        ({"precisions_init": np.stack([-np.eye(3)] * 3)}, "precisions_init must be symmetric and positive definite"),
        ({"reg_covar": -1.0}, "reg_covar must be a number at least 0"),
    ],
)
def test_bad_parameters_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(**{"n_components": 3, **change}).fit(sample())


def test_degenerate_data_are_named():
    X = np.repeat(sample(n=5), 4, axis=0)
    with pytest.raises(ValueError, match="raise reg_covar"):
        GaussianMixture(5, reg_covar=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_samples must be an integer at least 1; got 0"):
        GaussianMixture(random_state=0).fit(X).sample(0)


def test_a_state_of_other_data_is_refused():
    X = sample()
    model = GaussianMixture(3, random_state=0)
    next(model.iterate(X))
    with pytest.raises(ValueError, match="state belongs to X with 3 columns; got 2"):
        next(GaussianMixture(3).iterate(X[:, :2], state=model.get_state()))


def test_a_warm_start_continues_the_last_fit():
    X = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [1.5, 1]], 150, axis=0)
    model = GaussianMixture(2, warm_start=True, max_iter=3, tol=0, n_init=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        first = model.fit(X).log_likelihood_
    with pytest.warns(ConvergenceWarning):
        records = list(model.iterate(X))
    assert len(records) == 3, "one run, though n_init is 2"
    assert records[0]["log_likelihood"] >= first - 1e-12
    straight = GaussianMixture(2, max_iter=6, tol=0, means_init=None, n_init=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        assert straight.fit(X).log_likelihood_ == pytest.approx(model.log_likelihood_, abs=1e-9)


def test_records_are_printed_at_an_interval(capsys):
    X = np.random.default_rng(1).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning):
        GaussianMixture(2, tol=0, max_iter=9, verbose=1, verbose_interval=4, random_state=0).fit(X)
    assert [line.split(":")[1] for line in capsys.readouterr().out.splitlines()] == [
        " iteration 4 of 9",
        " iteration 8 of 9",
    ]


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_precisions_are_inverse_covariances(kind):
    from sklearn.mixture import GaussianMixture as Reference

    X = np.random.default_rng(2).normal(size=(200, 3)) + np.repeat([[0.0], [5.0]], 100, axis=0)
    options = {"covariance_type": kind, "means_init": [[0.0] * 3, [5.0] * 3], "tol": 1e-9, "max_iter": 500}
    ours, their = (cls(2, **options).fit(X) for cls in (GaussianMixture, Reference))
    np.testing.assert_allclose(ours.precisions_, their.precisions_, rtol=1e-3, atol=1e-5)
    assert ours.lower_bound_ == pytest.approx(their.lower_bound_, rel=1e-6)


@pytest.mark.parametrize("init", ["k-means++", "random_from_data"])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_rows_start_without_regularization(init, seed):
    """The drawn rows' own covariances are zero: the start is the limit of a small reg_covar, one step later."""
    X = sample(n=400)
    model = GaussianMixture(3, init_params=init, reg_covar=0, random_state=seed, max_iter=3, tol=0).fit(X)
    limit = GaussianMixture(3, init_params=init, reg_covar=1e-8, random_state=seed, max_iter=4, tol=0).fit(X)
    np.testing.assert_allclose(model.means_, limit.means_, atol=1e-5)
    np.testing.assert_allclose(model.covariances_, limit.covariances_, atol=1e-5)


def test_no_iterations_leave_the_start():
    X = sample()
    first = start(X, "full")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GaussianMixture(3, max_iter=0, **first).fit(X)
    np.testing.assert_allclose(model.means_, first["means_init"])
    np.testing.assert_allclose(model.precisions_, first["precisions_init"])
    assert model.n_iter_ == 0


def test_the_bounds_of_the_best_run_are_kept():
    X = sample()
    model = GaussianMixture(3, n_init=3, init_params="random", random_state=0)
    runs = [[], [], []]
    for record in model.iterate(X):
        runs[int(record["run"])].append(record["log_likelihood"])
    assert model.lower_bounds_.tolist() == max(runs, key=lambda bounds: bounds[-1])
    assert model.lower_bounds_[-1] == model.lower_bound_
    assert GaussianMixture(3, max_iter=0).fit(X).lower_bounds_.shape == (0,)


@pytest.mark.parametrize("kind", TYPES)
def test_first_precisions_must_be_positive(kind):
    X = sample()
    shape = SHAPES[kind].shape_of(2, 3)
    wrong = -np.broadcast_to(np.eye(3), shape) if kind in ("full", "tied") else np.zeros(shape)
    with pytest.raises(ValueError, match="precisions_init must be symmetric and positive definite"):
        GaussianMixture(2, covariance_type=kind, precisions_init=wrong).fit(X)
    if kind in ("full", "tied"):
        lopsided = np.broadcast_to(np.eye(3) + np.diag([0.5, 0.5], 1), shape)
        with pytest.raises(ValueError, match="precisions_init must be symmetric"):
            GaussianMixture(2, covariance_type=kind, precisions_init=lopsided).fit(X)
