"""Design matrices, polynomial regression and non-linear least squares against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.optimize as so
from sklearn.utils.estimator_checks import parametrize_with_checks

from margin.linear.design import design_matrix, is_linear_in_parameters
from margin.linear.levenberg import nonlinear_least_squares
from margin.linear.linear_regression import LinearRegression
from margin.linear.polynomial import PolynomialRegression


@parametrize_with_checks([PolynomialRegression()])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_design_matrix_gives_the_same_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    theta = np.linalg.lstsq(design_matrix(X), y)[0]
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(theta, [model.intercept_, *model.coef_], rtol=1e-10)
    assert design_matrix(X, intercept=False).shape == (30, 3)


@pytest.mark.parametrize("bad", [[1.0, 2.0], np.zeros((0, 2)), [[np.nan]]])
def test_design_matrix_names_bad_input(bad):
    with pytest.raises(ValueError, match="design_matrix: X must"):
        design_matrix(bad)
    with pytest.raises(ValueError, match=r"basis\[0\] must give one number per row"):
        design_matrix([[1.0], [2.0]], basis=[lambda x: x])


def test_linearity_is_about_parameters():
    x, rng = np.linspace(0.1, 2, 9), np.random.default_rng(0)
    assert is_linear_in_parameters(lambda x, b: b[0] * np.log(x) + b[1] * x**3, x, 2, rng)
    assert not is_linear_in_parameters(lambda x, b: b[0] * x + 1, x, 1, rng)  # affine, not linear
    assert not is_linear_in_parameters(lambda x, b: np.sin(b[0] * x), x, 1, rng)


@pytest.mark.parametrize("degree", [1, 3, 6])
def test_polynomial_is_least_squares_on_the_vandermonde_matrix(degree):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 50)
    y = np.polynomial.polynomial.polyval(x, np.arange(1.0, degree + 2))
    model = PolynomialRegression(degree).fit(x[:, None], y)
    np.testing.assert_allclose([model.intercept_, *model.coef_], np.arange(1.0, degree + 2), rtol=1e-8)
    noisy = y + rng.normal(size=50)
    again = PolynomialRegression(degree).fit(x[:, None], noisy)
    expected = np.linalg.lstsq(np.vander(x, degree + 1, increasing=True), noisy)[0]
    np.testing.assert_allclose([again.intercept_, *again.coef_], expected, rtol=1e-8)


def test_polynomial_in_two_features_has_products():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = PolynomialRegression(2).fit(X, 1 + X[:, 0] * X[:, 1] - 2 * X[:, 1] ** 2)
    found = {tuple(power): round(value, 8) for power, value in zip(model.powers_.tolist(), model.coef_)}
    assert found == {(1, 0): 0, (0, 1): 0, (2, 0): 0, (1, 1): 1, (0, 2): -2}


def test_nonlinear_least_squares_equals_scipy():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 4, 60)

    def f(x, t):
        return t[0] * np.exp(-t[1] * x) + t[2]

    y = f(x, [3.0, 1.2, 0.5]) + 0.05 * rng.normal(size=60)
    ours = nonlinear_least_squares(f, [1.0, 1.0, 0.0], x, y)
    theirs = so.least_squares(lambda t: y - f(x, t), [1.0, 1.0, 0.0], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert ours.converged
    np.testing.assert_allclose(ours.theta, theirs.x, rtol=1e-6)
    assert (np.diff(ours.sums) < 0).all()

    def slopes(x, t):
        return np.column_stack([np.exp(-t[1] * x), -t[0] * x * np.exp(-t[1] * x), np.ones_like(x)])

    exact = nonlinear_least_squares(f, [1.0, 1.0, 0.0], x, y, jacobian=slopes)
    np.testing.assert_allclose(exact.theta, theirs.x, rtol=1e-6)


def test_nonlinear_names_bad_input():
    with pytest.raises(ValueError, match="finite and of the same shape"):
        nonlinear_least_squares(lambda x, t: t[0] / x, [1.0], np.zeros(3), np.ones(3))
