"""Numbers whose squares leave the range of a float."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from margin.bayes import GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from margin.cluster import KMeans
from margin.core.number_range import in_safe_units, power_of_two, require_squares, safe_units, within_float32
from margin.linear import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from margin.mixture import GaussianMixture
from margin.neural.scaling import Scaling
from margin.reduction import TSNE, FastICA


@pytest.fixture(autouse=True)
def no_raw_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def by_column(X):
    return X.mean(axis=0), X.std(axis=0)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_means_and_deviations_of_any_size(unit):
    X = np.random.default_rng(0).normal(5.0, 2.0, size=(50, 3))
    X[:, 1] = 7.0  # constant
    mean, deviation = in_safe_units(by_column, X * [unit, unit, 1.0])
    np.testing.assert_allclose(mean, X.mean(axis=0) * [unit, unit, 1.0], rtol=1e-14)
    np.testing.assert_allclose(deviation[[0, 2]], X.std(axis=0)[[0, 2]] * [unit, 1.0], rtol=1e-14)
    assert deviation[1] <= 1e-14 * 7.0 * unit


def test_ordinary_columns_keep_the_bits_of_the_rule():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1e-9, 1.0, 1e9]
    for got, expected in zip(in_safe_units(by_column, X), by_column(X)):
        np.testing.assert_array_equal(got, expected)


def test_units_are_powers_of_two_and_one_where_squares_are_safe():
    X = np.array([[0.0, 1e-300, -3.0, 1e300, 5e-324], [0.0, 0.0, 1e100, -1e308, 0.0]])
    units = safe_units(X)
    np.testing.assert_array_equal(np.frexp(units)[0], 0.5)
    assert units[0] == units[2] == 1.0
    scaled = np.abs(X / units).max(axis=0)
    assert ((scaled[[1, 3]] >= 0.5) & (scaled[[1, 3]] <= 2)).all()
    np.testing.assert_array_equal(safe_units(sp.csr_array(X)), units)
    assert power_of_two(np.float32(3.0)) == 1.0


@pytest.mark.parametrize("unit", [1e-160, 1e200])
def test_sparse_columns_are_standardized_as_dense_ones(unit):
    X = np.random.default_rng(0).normal(size=(30, 4)) * (np.random.default_rng(1).random((30, 4)) < 0.3) * unit
    for got, expected in zip(Scaling.of(sp.csr_array(X)), Scaling.of(X)):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_what_is_refused_is_told_apart():
    rows = np.ones((3, 2))
    require_squares("Model", "X", rows)
    require_squares("Model", "X", sp.csr_array(rows))
    require_squares("Model", "X", np.array([["a"]], dtype=object))  # for kernels of other things
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            require_squares("Model", "X", np.array([[1.0, bad]]))
    for huge in (np.array([[1.0, -1e160]]), sp.csr_array([[0.0, -1e160]])):
        with pytest.raises(ValueError, match=r"^Model: X must hold numbers whose squares .* 1e\+300; got 1e\+160; "):
            require_squares("Model", "X", huge)
    with pytest.raises(ValueError, match=r"at most 1e\+37; got 1e\+19; "):
        require_squares("Model", "X", np.array([[1e19]], dtype=np.float32))
    assert within_float32("Model", "X", np.array([1e30])).dtype == np.float32


@pytest.mark.parametrize("model", [Lasso(), ElasticNet(), Ridge(alpha="loo")], ids=str)
def test_the_error_names_the_argument_that_overflows(model):
    X = np.random.default_rng(0).normal(size=(30, 2))
    name = type(model).__name__
    for rows, target, blamed in ((1e200, 1.0, "X"), (1.0, 1e200, "y")):
        with pytest.raises(ValueError, match=rf"^{name}: {blamed} must hold numbers whose squares"):
            model.fit(X * rows, X[:, 0] * target)


@pytest.mark.parametrize("solver", ["svd", "cholesky", "lsqr", "sparse_cg", "lbfgs"])
def test_every_solver_of_ridge_refuses_rows_whose_squares_overflow(solver):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"^Ridge: X must hold numbers whose squares"):
        Ridge(solver=solver).fit(X * 1e200, X[:, 0])


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(solver="lsqr"),
        LinearDiscriminantAnalysis(solver="eigen"),
        QuadraticDiscriminantAnalysis(solver="eigen"),
        QuadraticDiscriminantAnalysis(),
    ],
    ids=str,
)
def test_covariances_that_overflow_are_refused(model):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=rf"^{type(model).__name__}: X must hold numbers"):
        model.fit(X * 1e156, y)


def test_chunks_and_predictions_that_overflow_name_the_argument():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"^LinearRegression: y must hold numbers whose squares"):
        LinearRegression().partial_fit(X, X[:, 0] * 1e200)
    steep = LinearRegression().fit(X * 1e-200, X[:, 0])
    with pytest.raises(ValueError, match=r"^LinearRegression: X must be small enough that predictions"):
        steep.predict(X * 1e200)
    with pytest.raises(ValueError, match=r"^LogisticRegression: X must hold numbers .*; got numbers up to 5e\+306"):
        LogisticRegression(C=1e6).fit(X, X[:, 0] > 0).predict(np.sign(X) * 5e306)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_mixtures_refuse_rows_whose_squares_overflow(covariance_type):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = GaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(X)
    means = model.means_
    for ask in (model.fit, model.predict_proba, model.score_samples):
        with pytest.raises(ValueError, match=r"^GaussianMixture: X must hold numbers whose squares"):
            ask(X * 1e154)
    assert model.means_ is means


def test_distances_to_centers_that_overflow_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KMeans(2, random_state=0).fit(X)
    for unit in (1e-300, 1e140):
        assert np.isfinite(model.transform(X * unit)).all()
    with pytest.raises(ValueError, match=r"^KMeans: X must hold numbers whose squares"):
        model.transform(X * 1e154)


def test_naive_bayes_of_tiny_columns():
    X, y = load_iris(return_X_y=True)
    expected = GaussianNB().fit(X, y).predict_proba(X)
    # Variances of 1e-320 have four digits, of 1e-304 all.
    np.testing.assert_allclose(GaussianNB().fit(X * 1e-152, y).predict_proba(X * 1e-152), expected, atol=1e-9)
    np.testing.assert_array_equal(GaussianNB().fit(X * 1e-160, y).predict(X * 1e-160), expected.argmax(axis=1))
    with pytest.raises(ValueError, match=r"^GaussianNB: X must have a column whose variance is above 0"):
        GaussianNB().fit(X * 1e-200, y).predict(X * 1e-200)


@pytest.mark.parametrize("unit", [1e-300, 1e154, 1e300])
def test_directions_and_sources_have_no_unit(unit):
    X, y = load_iris(return_X_y=True)
    plain, scaled = (LinearDiscriminantAnalysis().fit(X * u, y) for u in (1.0, unit))
    np.testing.assert_allclose(scaled.predict_proba(X * unit), plain.predict_proba(X), atol=1e-10)
    rng = np.random.default_rng(0)
    mixed = rng.laplace(size=(300, 3)) @ rng.normal(size=(3, 3))
    plain, scaled = (FastICA(random_state=0).fit(mixed * u) for u in (1.0, unit))
    np.testing.assert_allclose(scaled.transform(mixed * unit), plain.transform(mixed), atol=1e-9)
    np.testing.assert_allclose(scaled.inverse_transform(plain.transform(mixed)) / unit, mixed, atol=1e-9)


def test_steps_of_t_sne_that_run_away_are_refused_and_change_nothing():
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = TSNE(perplexity=5.0, max_iter=30, random_state=0).fit(X)
    before = dict(vars(model))
    for model.learning_rate in (1e6, 1e12):
        with pytest.raises(ValueError, match=r"^TSNE: learning_rate must be small enough .*; got 1e\+\d+, by which"):
            model.fit(X)
    model.learning_rate = "auto"
    assert vars(model) == before


@pytest.mark.parametrize("exponent", [-300, -480, 300])
def test_t_sne_has_no_unit(exponent):
    X = np.random.default_rng(0).normal(size=(60, 4))
    units = 1.0, 2.0**exponent  # which rounds nothing
    plain, scaled = (TSNE(perplexity=5.0, max_iter=30, random_state=0).fit(X * unit) for unit in units)
    np.testing.assert_allclose(scaled.embedding_, plain.embedding_, rtol=1e-4)


def test_t_sne_of_rows_whose_squares_vanish_is_finite():
    X = np.random.default_rng(0).normal(size=(60, 4)) * 1e-160
    assert np.isfinite(TSNE(perplexity=5.0, max_iter=30, random_state=0).fit_transform(X)).all()
