"""Columns that depend on each other up to the digits they were written with: no model of least squares may explode."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as ScikitLinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import margin
from margin.linear import BasisRegression, HeteroscedasticRegression, LinearRegression, PolynomialRegression, Ridge

N_TRAIN = 1500


def recorded(n_factors, n_columns, seed=0, heavy=3.0):
    """Heavy-tailed columns of ``n_factors`` causes as float32 holds them; rows, targets, and other rows that leave the
    dependence by a hundredth of a standard deviation."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_t(heavy, (2 * N_TRAIN, n_factors))
    X = Z @ rng.normal(size=(n_factors, n_columns)) * 10.0 ** rng.integers(-4, 3, n_columns)
    X = StandardScaler().fit_transform(X.astype(np.float32).astype(np.float64))
    y = Z[:, 0] + 0.3 * np.tanh(Z[:, 1]) + 0.1 * rng.normal(size=len(Z))
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    return X[train], y[train], X[test], y[test], X[test] + 0.01 * rng.normal(size=X[test].shape)


def rmse(model, X, y):
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


@pytest.mark.parametrize("heavy", [1.5, 3.0])
def test_a_polynomial_of_dependent_columns_is_scikit_learns(heavy):
    X, y, X_test, y_test, moved = recorded(16, 18, heavy=heavy)
    ours = PolynomialRegression(2).fit(X, y)
    theirs = make_pipeline(PolynomialFeatures(2), ScikitLinearRegression(tol=1e-6)).fit(X, y)
    assert theirs[-1].rank_ == 152
    assert np.abs(ours.coef_).max() < 100  # they were about 1e6
    assert rmse(ours, X_test, y_test) < 1.05 * rmse(theirs, X_test, y_test)
    assert rmse(ours, moved, y_test) < 1.05 * rmse(theirs, moved, y_test)


def test_a_polynomial_of_dependent_columns_is_numpys_minimum_norm():
    X, y, *_ = recorded(4, 5)
    ours = PolynomialRegression(2).fit(X, y)
    terms = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    centered = terms - terms.mean(axis=0)
    expected = np.linalg.lstsq(centered, y - y.mean(), rcond=1e-6)[0]
    np.testing.assert_allclose(ours.coef_, expected, atol=1e-4 * np.abs(expected).max())


def chunked(X, y):
    model = LinearRegression()
    for part in np.array_split(np.arange(len(X)), 3):
        model.partial_fit(X[part], y[part])
    return model


MODELS = {
    "least squares": lambda X, y: LinearRegression().fit(X, y),
    "in chunks": chunked,
    "polynomial": lambda X, y: PolynomialRegression(2).fit(X, y),
    "basis": lambda X, y: BasisRegression("polynomial", order=2, alpha=1e-12).fit(X, y),
    "heteroscedastic": lambda X, y: HeteroscedasticRegression(degree=2).fit(X, y),
    "kernel ridge": lambda X, y: margin.KernelRidge(alpha=1e-10).fit(X - X.mean(axis=0), y),
    **{
        f"ridge {alpha:g} {solver}": lambda X, y, alpha=alpha, solver=solver: Ridge(alpha, solver=solver).fit(X, y)
        for alpha in (0.0, 1e-14)
        for solver in ("cholesky", "svd", "lsqr", "sparse_cg", "lbfgs")
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_leave_the_dependence_a_little_are_predicted_as_well(name):
    X, y, X_test, y_test, moved = recorded(6, 10)
    model = MODELS[name](X, y)
    assert rmse(model, X_test, y_test) < 0.5
    assert rmse(model, moved, y_test) < 1.2 * rmse(model, X_test, y_test)  # it was thousands of times as much


def test_wide_ridge_with_nearly_equal_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    X = np.vstack([X, X + 1e-8 * rng.normal(size=X.shape)])
    y = rng.normal(size=40)
    model = Ridge(1e-16).fit(X, y)
    assert np.abs(model.coef_).max() < 10
    np.testing.assert_allclose(model.predict(X[:20]), (y[:20] + y[20:]) / 2, atol=1e-4)


def test_the_tolerance_acts_and_the_rank_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 0] + 1e-8 * X[:, 2]
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=300)
    careful, exact = LinearRegression().fit(X, y), LinearRegression(tol=0.0).fit(X, y)
    assert (careful.rank_, exact.rank_) == (2, 3)
    centered = X - X.mean(axis=0)
    expected = np.linalg.lstsq(centered, y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(exact.coef_, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="linearly dependent \\(rank 2 of 3 at tol=1e-06\\)"):
        careful.summary(X, y)


def test_chunks_far_from_zero_do_not_take_rounding_for_a_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)) + 2000.0
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    y = (X - X.mean(axis=0)) @ [1.0, 1.0, 1.0, 0.0] + 0.1 * rng.normal(size=3000)
    model = chunked(X, y)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        PolynomialRegression(2),
        BasisRegression("polynomial", order=2),
        HeteroscedasticRegression(),
        Ridge(1e-6),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("value", [0.1, 1e6])
def test_a_column_that_was_constant_moves_no_prediction(model, value):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    y = x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=500)
    constant = np.full(500, value)
    constant[::3] = np.nextafter(value, 2 * value)  # what sums in another order leave
    model.fit(np.column_stack([x, constant]), y)
    same, moved = (np.column_stack([x, np.full(500, c)]) for c in (value, 1000 * value))
    np.testing.assert_allclose(model.predict(moved), model.predict(same), atol=1e-9)


def test_discriminant_analysis_of_dependent_columns():
    X, y, _, y_test, moved = recorded(6, 10)
    labels, truth = (y > 0).astype(int), (y_test > 0).astype(int)
    for solver in ("svd", "lsqr"):
        model = margin.LinearDiscriminantAnalysis(solver=solver).fit(X, labels)
        assert model.score(moved, truth) > 0.9
    with pytest.raises(np.linalg.LinAlgError, match="singular"):  # it gave coefficients of 5e6
        margin.LinearDiscriminantAnalysis(solver="eigen").fit(X, labels)
