"""Every named solver of ridge regression reaches one minimum; non-negative coefficients satisfy their conditions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression as ReferenceRegression
from sklearn.linear_model import Ridge as ReferenceRidge

from margin.linear import LinearRegression, Ridge

SOLVERS = ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"]


def table(seed, n=80, p=5, q=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    Y = X @ rng.normal(size=(p, q)) + rng.normal(size=(n, q)) + 3
    return X, Y[:, 0] if q == 1 else Y, rng.uniform(0.2, 2, n)


def gradient(model, X, Y, w, alpha):
    """The derivatives of the objective by coefficients and constants, relative to the size of the targets."""
    residual = w[:, None] * (Y.reshape(len(Y), -1) - model.predict(X).reshape(len(Y), -1))
    by_coef = X.T @ residual - alpha * np.atleast_2d(model.coef_).T
    return np.abs(by_coef).max() / len(X), np.abs(residual.sum(axis=0)).max() / len(X)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_solver_reaches_the_minimum(solver, sparse):
    X, Y, w = table(1, q=2)
    rows = sp.csr_array(X) if sparse else X
    model = Ridge(alpha=3.0, solver=solver, tol=1e-10, max_iter=20_000, random_state=0)
    if solver == "svd" and sparse:
        with pytest.raises(ValueError, match="Ridge: solver='svd' takes a dense X"):
            model.fit(rows, Y, w)
        return
    model.fit(rows, Y, w)
    assert max(gradient(model, X, Y, w, 3.0)) < 1e-6
    exact = Ridge(alpha=3.0).fit(X, Y, w)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, atol=1e-6)
    assert (model.n_iter_ == 1).all() == (solver in ("auto", "cholesky", "svd"))


@pytest.mark.parametrize("solver", ["lsqr", "sparse_cg", "sag", "saga", "lbfgs"])
def test_iterations_and_precision_act(solver):
    X, y, _ = table(2)
    short = Ridge(solver=solver, max_iter=1, tol=1e-12, random_state=0).fit(X, y)
    long = Ridge(solver=solver, max_iter=5000, tol=1e-12, random_state=0).fit(X, y)
    assert short.n_iter_[0] == 1 < long.n_iter_[0]
    assert gradient(short, X, y, np.ones(80), 1.0)[0] > 1e3 * gradient(long, X, y, np.ones(80), 1.0)[0]


def test_random_state_draws_the_rows():
    X, y, _ = table(3)
    fits = [Ridge(solver="sag", max_iter=2, random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_positive_coefficients_satisfy_the_conditions_of_optimality(seed, alpha, solver):
    X, y, w = table(seed, p=6)
    model = Ridge(alpha=alpha, positive=True, solver=solver, tol=1e-10).fit(X, y, w)
    slope = X.T @ (w * (y - model.predict(X))) - alpha * model.coef_
    assert (model.coef_ >= 0).all()
    assert (model.coef_ == 0).any()
    np.testing.assert_allclose(slope[model.coef_ > 1e-8], 0, atol=1e-5)
    assert (slope[model.coef_ <= 1e-8] < 1e-5).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_positive_linear_regression_is_the_reference(intercept):
    X, Y, w = table(4, p=6, q=3)
    ours = LinearRegression(positive=True, fit_intercept=intercept).fit(X, Y, w)
    theirs = ReferenceRegression(positive=True, fit_intercept=intercept).fit(X, Y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)
    sparse = LinearRegression(positive=True, fit_intercept=intercept).fit(sp.csr_array(X), Y, w)
    np.testing.assert_allclose(sparse.coef_, ours.coef_, atol=1e-9)


def test_one_penalty_per_target():
    X, Y, w = table(5, q=3)
    ours = Ridge(alpha=[0.1, 1.0, 10.0]).fit(X, Y, w)
    theirs = ReferenceRidge(alpha=[0.1, 1.0, 10.0]).fit(X, Y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="alpha must be one number or one per target, 3; got 2"):
        Ridge(alpha=[0.1, 1.0]).fit(X, Y)


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_shapes_are_those_of_scikit_learn(columns):
    X, Y, _ = table(6, q=2)
    y = Y[:, 0] if columns == 0 else Y[:, :columns]
    for intercept in (True, False):
        ours, theirs = Ridge(fit_intercept=intercept).fit(X, y), ReferenceRidge(fit_intercept=intercept).fit(X, y)
        assert ours.coef_.shape == theirs.coef_.shape
        assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
        assert ours.predict(X).shape == theirs.predict(X).shape


def test_positive_needs_a_solver_that_can():
    X, y, _ = table(7)
    with pytest.raises(ValueError, match="Ridge: positive=True needs solver 'auto' or 'lbfgs'; got 'svd'"):
        Ridge(positive=True, solver="svd").fit(X, y)


@pytest.mark.parametrize("solver", ["sag", "saga"])
def test_a_stochastic_solver_finds_the_intercept_beside_many_columns(solver):
    """A tenth as many rows as columns and an offset: the intercept must not lag behind the coefficients."""
    X = np.random.default_rng(0).normal(size=(10, 100))
    y = X @ np.random.default_rng(1).normal(size=100) * 10 + 50
    exact = Ridge(alpha=10.0, solver="svd").fit(X, y)
    found = Ridge(alpha=10.0, solver=solver, tol=1e-7, max_iter=10_000, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-4)
    assert found.intercept_ == pytest.approx(exact.intercept_, abs=1e-3)
    assert found.n_iter_[0] < 200
    sparse = Ridge(alpha=10.0, solver=solver, tol=1e-7, max_iter=10_000, random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, exact.coef_, atol=1e-2)
    assert sparse.n_iter_[0] < 2000
