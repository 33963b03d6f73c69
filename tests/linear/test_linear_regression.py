"""Least squares against NumPy's SVD, statsmodels and scikit-learn, on easy, dependent, huge, tiny and sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression as Reference
from sklearn.linear_model import RANSACRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from margin.linear import LinearRegression
from margin.linear.least_squares import least_squares, solve_moments, solve_rows
from margin.linear.moments import moments


@parametrize_with_checks([LinearRegression()])
def test_estimator_checks(estimator, check):
    check(estimator)


def problem(n=300, p=5, q=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p) * 3
    Y = X @ rng.normal(size=(p, q)) + rng.normal(size=q) + rng.normal(size=(n, q))
    return X, Y


def minimum_norm(X, Y, weights=None):
    """Intercept and coefficients by NumPy's SVD on centered, weighted rows."""
    w = np.ones(len(X)) if weights is None else weights
    mx, my = w @ X / w.sum(), w @ Y / w.sum()
    root = np.sqrt(w)[:, None]
    coef = np.linalg.lstsq(root * (X - mx), root * (Y - my), rcond=None)[0]
    return coef, my - mx @ coef


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_svd_solution(q, weighted):
    X, Y = problem(q=q)
    w = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    coef, intercept = minimum_norm(X, Y, w)
    model = LinearRegression().fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(model.coef_, coef.T, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), X @ coef + intercept, rtol=1e-10)


def test_without_intercept():
    X, Y = problem()
    model = LinearRegression(fit_intercept=False).fit(X, Y[:, 0])
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, Y[:, 0], rcond=None)[0], rtol=1e-10)
    assert model.intercept_ == 0.0


def test_residual_variance_is_that_of_statsmodels():
    X, Y = problem()
    model = LinearRegression().fit(X, Y[:, 0])
    assert model.residual_variance_ == pytest.approx(sm.OLS(Y[:, 0], sm.add_constant(X)).fit().scale, rel=1e-10)
    exact = LinearRegression().fit(X, X @ np.arange(1.0, 6.0) + 4)
    assert exact.residual_variance_ < 1e-20  # summed from residuals, not by cancellation of large sums


def test_dependent_columns_give_the_minimum_norm_and_the_rank():
    X, Y = problem(n=60)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(60), np.zeros(60)])
    model = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.coef_.T, minimum_norm(X, Y)[0], atol=1e-10)
    assert model.rank_ == 5


@pytest.mark.parametrize("shape", [(4, 9), (9, 9), (10, 9), (1, 3)])
def test_more_columns_than_rows(shape):
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=shape), rng.normal(size=(shape[0], 2))
    coef, intercept = minimum_norm(X, Y)
    model = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.coef_.T, coef, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-10)
    assert model.rank_ == shape[0] - 1
    assert shape[0] > 9 or np.isnan(model.residual_variance_).all()


def test_a_mean_far_from_zero_costs_no_digits():
    X, Y = problem()
    coef = LinearRegression().fit(X, Y).coef_
    far = LinearRegression().fit(X + 1e7, Y)
    np.testing.assert_allclose(far.coef_, coef, rtol=1e-7)  # 1e7 itself leaves nine digits of X
    assert far.rank_ == 5


def test_nearly_dependent_columns_go_through_orthogonal_triangularization():
    X, Y = problem(n=3000)
    X[:, 1] = X[:, 0] + 1e-5 * X[:, 1]
    assert solve_moments(moments(X, Y)) is None
    np.testing.assert_allclose(LinearRegression().fit(X, Y).coef_.T, minimum_norm(X, Y)[0], rtol=1e-7)
    X[:, 1] = X[:, 0] + 1e-3 * (X[:, 1] - X[:, 0])  # now 1e-8 apart: only without a tolerance is that a direction
    np.testing.assert_allclose(LinearRegression(tol=0.0).fit(X, Y).coef_.T, minimum_norm(X, Y)[0], rtol=1e-5)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e300])
@pytest.mark.parametrize("target", [1.0, 1e200])
def test_squares_that_overflow_or_vanish(scale, target):
    X, Y = problem()
    coef, intercept = minimum_norm(X, Y)
    if target / scale > 1e308:
        with pytest.raises(ValueError, match="too large for float64"):
            LinearRegression().fit(X * scale, Y * target)
        return
    model = LinearRegression().fit(X * scale, Y * target)
    np.testing.assert_allclose(model.coef_.T, coef / scale * target, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, intercept * target, rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_chunks_equal_the_whole(seed, sizes):
    X, Y = problem(n=sum(sizes) + 10, seed=seed)
    w = np.random.default_rng(seed).uniform(0.1, 2, len(X))
    cuts = np.cumsum([10, *sizes])
    model = LinearRegression()
    for part in np.split(np.arange(len(X)), cuts[:-1]):
        model.partial_fit(X[part], Y[part], sample_weight=w[part])
    whole = LinearRegression().fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.residual_variance_, whole.residual_variance_, rtol=1e-6)


def test_chunks_with_dependent_columns():
    X, Y = problem()
    X = np.column_stack([X, X[:, 0] - X[:, 2]])
    model = LinearRegression()
    for part in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[part], Y[part])
    np.testing.assert_allclose(model.coef_.T, minimum_norm(X, Y)[0], atol=1e-8)
    assert model.rank_ == 5


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_equals_dense(intercept, weighted):
    X, Y = problem(p=8)
    X[np.random.default_rng(3).random(X.shape) < 0.7] = 0
    w = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    dense = LinearRegression(fit_intercept=intercept).fit(X, Y, sample_weight=w)
    sparse = LinearRegression(fit_intercept=intercept).fit(sp.csr_array(X), Y, sample_weight=w)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), rtol=1e-9)


def test_very_wide_sparse_rows():
    X = sp.random_array((60, 5000), density=0.01, rng=np.random.default_rng(0), format="csr")
    Y = np.random.default_rng(1).normal(size=(60, 2))
    model = LinearRegression(tol=1e-12).fit(X, Y)
    coef, _ = minimum_norm(X.toarray(), Y)
    np.testing.assert_allclose(model.coef_.T, coef, atol=1e-8)
    assert model.rank_ is None
    with pytest.raises(ValueError, match="at most 4096 columns"):
        LinearRegression().partial_fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, bool])
def test_other_types_are_computed_in_double(dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype is bool else 50, size=(200, 4)).astype(dtype)
    y = X.astype(float) @ [1.0, 2.0, 3.0, 4.0] + 5
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3, 4], rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-10)


def test_orders_and_views_agree_and_inputs_stay_untouched():
    X, Y = problem(n=50_000)
    before = X.copy()
    expected = least_squares(X, Y).coef
    np.testing.assert_allclose(least_squares(np.asfortranarray(X), Y).coef, expected, rtol=1e-11)
    np.testing.assert_allclose(least_squares(X[::-1], Y[::-1]).coef, expected, rtol=1e-11)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["fit", "partial_fit", "predict", "weights", "target"])
def test_not_finite_is_named_and_changes_nothing(bad, where):
    X, Y = problem()
    model = LinearRegression().fit(X, Y)
    before = model.coef_.copy()
    X, Y, w = X.copy(), Y.copy(), np.ones(len(X))
    {"weights": w, "target": Y}.get(where, X)[7] = bad
    call = model.predict if where == "predict" else getattr(model, "partial_fit" if where == "partial_fit" else "fit")
    arguments = (X,) if where == "predict" else (X, Y, w)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        call(*arguments)
    np.testing.assert_array_equal(model.coef_, before)


def test_bad_weights_and_changed_columns_are_named():
    X, Y = problem()
    with pytest.raises(ValueError, match="at least one non-zero"):
        LinearRegression().fit(X, Y, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        LinearRegression().fit(X, Y, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="1 columns as in earlier chunks; got 2"):
        LinearRegression().partial_fit(X, Y).partial_fit(X, np.hstack([Y, Y]))
    with pytest.raises(ValueError, match="fit_intercept must be True or False"):
        LinearRegression(fit_intercept="yes").fit(X, Y)


def test_same_answers_as_scikit_learn_on_its_own_data():
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    ours, theirs = LinearRegression().fit(X, y), Reference().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-12)


def test_two_ways_agree():
    X, Y = problem(n=40_000, p=7, q=2)
    normal, rows = solve_moments(moments(X, Y)), solve_rows(X, Y)
    np.testing.assert_allclose(normal.coef, rows.coef, rtol=1e-9)
    np.testing.assert_allclose(normal.rss, rows.rss, rtol=1e-9)


@pytest.mark.parametrize(
    ("constant", "positive"), [(3.0, False), (0.1, False), (-1e6, False), (-1e6, True), (3.0, True)]
)
def test_a_constant_column_gets_no_coefficient_whatever_the_weights(constant, positive):
    """Its weighted mean is off by a rounding, and what is left of it must not pass for a column."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(400, constant), rng.normal(size=(400, 5))])
    y = X[:, 1:] @ rng.normal(size=5) + rng.normal(size=400)
    for seed in range(20):
        weights = np.random.default_rng(seed).random(400)
        model = LinearRegression(positive=positive).fit(X, y, sample_weight=weights)
        without = LinearRegression(positive=positive).fit(X[:, 1:], y, sample_weight=weights)
        assert abs(model.coef_[0]) < 1e-10
        np.testing.assert_allclose(model.predict(X), without.predict(X[:, 1:]), atol=1e-9)


def test_scikit_learns_consensus_takes_it_for_a_straight_line():
    """RANSACRegressor knows by the kind of the estimator how many rows it needs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = X @ [2.0, -1.0] + 0.5
    y[::6] += 20.0
    model = RANSACRegressor(LinearRegression(), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.estimator_.coef_, [2.0, -1.0], atol=1e-9)
    assert isinstance(model.estimator_, LinearRegression)
