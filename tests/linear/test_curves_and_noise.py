import numpy as np
import pytest
import statsmodels.api as sm
from scipy.interpolate import make_smoothing_spline
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from margin.core.class_weights import ClassWeight, row_weights
from margin.foundations.probability import Laplace, Normal
from margin.linear import (
    BasisRegression,
    HeteroscedasticRegression,
    LinearRegression,
    PolynomialRegression,
    Ridge,
    SplineRegression,
    map_fit,
)
from margin.linear.basis import monomial_powers, monomials, radial_basis
from margin.linear.interpolation import gaussian_outputs_log_likelihood, interpolating_solutions
from margin.linear.recipes import recipe
from margin.linear.spline_regression import natural_spline_design, roughness

RNG = np.random.default_rng(0)


def test_summary_equals_statsmodels_on_diabetes():
    X, y = load_diabetes(return_X_y=True)
    found = LinearRegression().fit(X, y).summary(X, y)
    other = sm.OLS(y, sm.add_constant(X)).fit()
    np.testing.assert_allclose(found.table.estimate, other.params, rtol=1e-8)
    np.testing.assert_allclose(found.table.standard_error, other.bse, rtol=1e-8)
    np.testing.assert_allclose(found.table.p_value, other.pvalues, rtol=1e-6)
    np.testing.assert_allclose(np.column_stack([found.table.low, found.table.high]), other.conf_int(), rtol=1e-7)
    assert found.r2 == pytest.approx(other.rsquared)
    assert found.adjusted_r2 == pytest.approx(other.rsquared_adj)
    assert found.f_statistic == pytest.approx(other.fvalue)
    plain = LinearRegression(fit_intercept=False).fit(X, y).summary(X, y)
    bare = sm.OLS(y, X).fit()
    assert plain.r2 == pytest.approx(bare.rsquared)
    assert plain.adjusted_r2 == pytest.approx(bare.rsquared_adj)
    w = RNG.integers(1, 4, len(y)).astype(float)
    weighted = LinearRegression().fit(X, y, w).summary(X, y, w)
    repeated = sm.OLS(np.repeat(y, w.astype(int)), sm.add_constant(np.repeat(X, w.astype(int), axis=0))).fit()
    np.testing.assert_allclose(weighted.table.standard_error, repeated.bse, rtol=1e-8)
    with pytest.raises(ValueError, match="linearly dependent"):
        LinearRegression().fit(X[:, [0, 0]], y).summary(X[:, [0, 0]], y)


def test_spline_equals_scipys_for_the_same_penalty():
    x = np.sort(RNG.uniform(0, 5, 40))
    y = np.sin(x) + 0.2 * RNG.normal(size=40)
    ours = SplineRegression(smoothing=0.3).fit(x[:, None], y)
    np.testing.assert_allclose(ours.predict(x[:, None]), make_smoothing_spline(x, y, lam=0.3)(x), atol=1e-7)
    chosen = SplineRegression().fit(x[:, None], y)
    assert np.mean((chosen.predict(x[:, None]) - np.sin(x)) ** 2) < 0.01


def test_spline_degrees_of_freedom_are_the_trace_of_the_smoother():
    x = np.sort(RNG.uniform(0, 5, 15))
    rows = np.column_stack([SplineRegression(smoothing=0.1).fit(x[:, None], e).predict(x[:, None]) for e in np.eye(15)])
    model = SplineRegression(smoothing=0.1).fit(x[:, None], np.sin(x))
    assert model.df_ == pytest.approx(np.trace(rows) - 1, abs=1e-6)
    residual = np.sin(x) - model.predict(x[:, None])
    assert model.gcv_ == pytest.approx(15 * residual @ residual / (15 - 1 - model.df_) ** 2, rel=1e-5)


def test_roughness_is_the_integral_of_the_squared_second_derivative():
    knots, g = np.sort(RNG.uniform(0, 3, 7)), RNG.normal(size=7)
    t, h = np.linspace(knots[0], knots[-1], 200_001), 1e-3
    curve = lambda u: natural_spline_design(u, knots) @ g  # noqa: E731
    second = (curve(t[1:-1] + h) - 2 * curve(t[1:-1]) + curve(t[1:-1] - h)) / h**2
    assert g @ roughness(knots) @ g == pytest.approx(np.trapezoid(second**2, t[1:-1]), rel=1e-2)
    outside = np.array([knots[-1] + 1.0, knots[-1] + 2.0, knots[-1] + 3.0])
    assert np.diff(curve(outside), 2) == pytest.approx([0.0], abs=1e-9)


def test_heteroscedastic_fit_is_the_maximum_of_the_likelihood():
    x = RNG.uniform(-1, 1, 300)
    y = 1 + 2 * x + np.exp(0.5 + x) * RNG.normal(size=300)
    model = HeteroscedasticRegression(tol=1e-10).fit(x[:, None], y)

    def nll(t):
        log_variance = t[2] + t[3] * x
        return 0.5 * np.mean(np.log(2 * np.pi) + log_variance + (y - t[0] - t[1] * x) ** 2 * np.exp(-log_variance))

    best = minimize(nll, np.zeros(4), method="BFGS", options={"gtol": 1e-10})
    assert model.nll_ == pytest.approx(best.fun, abs=1e-8)
    mean, std = model.predict([[0.3]], return_std=True)
    assert mean[0] == pytest.approx(best.x[0] + 0.3 * best.x[1], abs=1e-4)
    assert std[0] == pytest.approx(np.exp(0.5 * (best.x[2] + 0.3 * best.x[3])), rel=1e-4)
    records = [r["nll"] for r in HeteroscedasticRegression().iterate(x[:, None], y)]
    assert records == sorted(records, reverse=True)


def test_bases():
    x = np.linspace(0.5, 2, 12)[:, None]
    exact = BasisRegression(basis=("exp", "log"), alpha=0.0).fit(x, 1 + 2 * np.exp(x[:, 0]) - np.log(x[:, 0]))
    np.testing.assert_allclose(exact.coef_, [2.0, -1.0], rtol=1e-7)
    with pytest.raises(ValueError, match="'log' is not finite"):
        exact.predict([[-1.0]])
    wave = BasisRegression(basis="fourier", order=2, alpha=0.0).fit(x, np.sin(2 * np.pi * (x[:, 0] - 0.5) / 1.5))
    np.testing.assert_allclose(wave.coef_, [1, 0, 0, 0], atol=1e-9)
    bumps = BasisRegression(order=12, alpha=1e-8).fit(x, np.sin(3 * x[:, 0]))
    np.testing.assert_allclose(bumps.predict(x), np.sin(3 * x[:, 0]), atol=1e-3)
    A, powers = RNG.normal(size=(4, 3)), monomial_powers(3, 3)
    assert len(powers) == 19  # C(6, 3) - 1
    np.testing.assert_allclose(monomials(A, powers), np.array([[np.prod(a**q) for q in powers] for a in A]))
    np.testing.assert_allclose(radial_basis(A, A, 1.0).diagonal(), 1.0)
    with pytest.raises(ValueError, match="terms"):
        BasisRegression(basis="polynomial", order=12).fit(np.zeros((3, 12)), [1, 2, 3])


def test_map_refuses_and_interpolants_interpolate():
    X, y = RNG.normal(size=(10, 2)), RNG.normal(size=10)
    with pytest.raises(ValueError, match="centered at zero"):
        map_fit(X, y, noise=1.0, prior=Normal(1.0, 1.0))
    with pytest.raises(ValueError, match="noise"):
        map_fit(X, y, noise=0.0, prior=Laplace(0.0, 1.0))
    A, b = RNG.normal(size=(5, 12)), RNG.normal(size=5)
    solutions = interpolating_solutions(A, b, 3, RNG)
    np.testing.assert_allclose(solutions @ A.T, np.tile(b, (4, 1)), atol=1e-10)
    assert np.linalg.norm(solutions[0]) < np.linalg.norm(solutions[1:], axis=1).min()
    with pytest.raises(ValueError, match="covariance"):
        gaussian_outputs_log_likelihood(np.eye(3), "round")


def test_recipes_and_class_weights():
    assert recipe(np.array([[0, 1], [1, 1]])).problem == "multilabel classification"
    assert recipe([1.5, 2.5]).loss == "squared error"
    assert not ClassWeight().accepts("unbalanced")
    assert ClassWeight().parse("balanced") == "balanced"
    assert ClassWeight().parse("None") is None
    np.testing.assert_allclose(
        row_weights("m", {1: 2.0}, np.array([0, 1]), np.array([0, 1, 1]), np.array([1.0, 1.0, 0.5])), [1.0, 2.0, 1.0]
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_huge_penalty_leaves_a_line_per_column_whatever_the_units(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=300)
    units = np.array([1e-3, 1.0, 1e4])
    line = LinearRegression().fit(X, y).predict(X)
    for penalty in (1e12, 1e20):
        model = SplineRegression(smoothing=penalty).fit(X * units, y)
        assert model.df_ == pytest.approx(3.0, abs=1e-3)
        np.testing.assert_allclose(model.predict(X * units), line, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_lines_are_found_with_more_knots_than_rows(seed):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(50, 3))
    model = SplineRegression().fit(X, X @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.predict(new), new @ [1.0, 2.0, 3.0], atol=1e-8)


def test_columns_of_two_values_have_lines_only():
    X = RNG.integers(0, 2, size=(80, 2)).astype(float)
    y = X @ [1.0, -2.0] + RNG.normal(size=80)
    line = LinearRegression().fit(X, y).predict(X)
    constant_and_double = np.column_stack([X, np.ones(80), X[:, 0]])
    for rows in (X, constant_and_double):
        model = SplineRegression().fit(rows, y)
        assert model.df_ == pytest.approx(2.0)
        np.testing.assert_allclose(model.predict(rows), line, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        HeteroscedasticRegression(degree=2**40),
        HeteroscedasticRegression(variance_degree=2**40),
        PolynomialRegression(degree=2**40),
        BasisRegression(basis="polynomial", order=2**40),
        BasisRegression(basis="polynomial", order=40),
        BasisRegression(basis="fourier", order=2**40),
    ],
    ids=str,
)
def test_an_expansion_without_end_is_refused_at_once(model):
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match=f"{type(model).__name__}: .* terms; at most 20000 are possible"):
        model.fit(X, X[:, 0])


@pytest.mark.parametrize("basis", ["radial", "polynomial"])
def test_rows_whose_squares_overflow_are_refused_in_one_sentence(basis):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"^BasisRegression: X must .*; got .*e\+\d\d\d; scale it first\.$"):
        BasisRegression(basis, order=2, alpha=1.0).fit(X * 1e200, X[:, 0])


@pytest.mark.parametrize("unit", [1e-300, 1e300])
@pytest.mark.parametrize(
    "model", [BasisRegression(alpha=1.0), Ridge(), Ridge(solver="svd"), SplineRegression()], ids=str
)
def test_coefficients_are_proportional_to_targets_of_any_size(model, unit):
    """So are scikit-learn's of Ridge; the error that a spline minimizes is a square, which must be a number."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] + np.sin(3 * X[:, 1])
    expected = clone(model).fit(X, y).predict(X)
    if isinstance(model, SplineRegression) and unit > 1:
        with pytest.raises(ValueError, match=r"^SplineRegression: y must hold numbers"):
            model.fit(X, y * unit)
    else:
        np.testing.assert_allclose(model.fit(X, y * unit).predict(X) / unit, expected, rtol=1e-10)
