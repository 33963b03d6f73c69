"""Claims about ordinary least squares: its design matrix, its solution, what its linearity means, the patients."""

from __future__ import annotations

import numpy as np
import scipy.optimize as so

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data import load
from margin.linear.basis import monomials
from margin.linear.design import design_matrix, is_linear_in_parameters
from margin.linear.least_squares import solve_moments, solve_rows
from margin.linear.levenberg import nonlinear_least_squares
from margin.linear.linear_regression import LinearRegression
from margin.linear.moments import moments
from margin.linear.polynomial import PolynomialRegression
from margin.notes.claims import claim
from margin.optimize import minimize
from margin.optimize.problems import least_squares as squared_error

# The worked example to six digits, and with the two decimals that the notes print.
THETA, ROUNDED = [25.684211, 0.936842, 5.789474], [25.68, 0.94, 5.79]


def _patients() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    patients = load("cholesterol")
    assert patients.split is not None
    assert patients.y is not None
    train, test = patients.split
    X = np.asarray(patients.X)
    return X[train], patients.y[train], X[test], patients.y[test]


@claim("dataset-patients-cholesterol")
def ten_patients_with_a_fixed_split() -> Verdict:
    X_train, y_train, X_test, y_test = _patients()
    return every(
        train=near(np.column_stack([X_train, y_train])[[0, 4]], [[25, 22.5, 180], [65, 33.5, 280]], tolerance=0),
        test=near(np.column_stack([X_test, y_test])[[0, 4]], [[30, 24.0, 190], [70, 34.0, 290]], tolerance=0),
        sizes=equal([len(X_train), len(X_test)], [5, 5]),
    )


@claim("linear-regression")
def four_ways_to_one_solution_whose_graph_is_the_hyperplane() -> Verdict:
    X, y, _, _ = _patients()
    model = LinearRegression().fit(X, y)
    theta = np.array([model.intercept_, *model.coef_])
    A = design_matrix(X)
    rows, normal = solve_rows(X, y[:, None]), solve_moments(moments(X, y[:, None]))
    assert normal is not None
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = squared_error(design_matrix(scaled), y)
    descent = minimize(problem.value, np.zeros(3), method="lbfgs", grad=problem.gradient, tol=1e-10).x
    slopes = descent[1:] / X.std(axis=0)
    return corrected(
        every(
            normal_equations=near(A.T @ A @ theta, A.T @ y, tolerance=1e-6),
            svd=near(theta, np.linalg.lstsq(A, y)[0], tolerance=1e-8),
            orthogonal=near(rows.coef[:, 0], model.coef_, tolerance=1e-8),
            cholesky=near(normal.coef[:, 0], model.coef_, tolerance=1e-8),
            descent=near([descent[0] - slopes @ X.mean(axis=0), *slopes], theta, tolerance=1e-5),
            on_the_graph=below(float(np.abs(y - model.predict(X)).max()), 2.0),
        ),
        # The set f(x) = 0 would be a hyperplane among the features, on which every prediction is zero.
        printed=near(model.predict(X), np.zeros(5), tolerance=2.0),
    )


@claim("design-matrix")
def a_column_of_ones_makes_the_intercept_a_coefficient() -> Verdict:
    X, y, _, _ = _patients()
    A = design_matrix(X)
    theta = np.linalg.lstsq(A, y)[0]
    curve = design_matrix(X[:, :1], basis=[lambda x: x[:, 0], lambda x: np.log(x[:, 0])])
    model = LinearRegression().fit(X, y)
    return every(
        shape=equal(A.shape, (5, 3)),
        ones=near(A[:, 0], np.ones(5), tolerance=0),
        error=near(np.sum((y - A @ theta) ** 2), np.sum((y - model.predict(X)) ** 2), tolerance=1e-8),
        basis=near(curve[:, 2], np.log(X[:, 0]), tolerance=0),
        as_run=near(
            monomials(X[:, :1], np.array([[0], [1], [2]])),
            design_matrix(X[:, :1], basis=[lambda x: x[:, 0], lambda x: x[:, 0] ** 2]),
            tolerance=1e-9,
        ),
    )


@claim("least-squares-method")
def residuals_are_least_for_lines_and_for_curves(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 3, 40)

    def decay(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        return t[0] * np.exp(-t[1] * x)

    y = decay(x, np.array([2.0, 1.3])) + 0.05 * rng.normal(size=40)
    ours = nonlinear_least_squares(decay, [1.0, 1.0], x, y)
    theirs = so.least_squares(lambda t: y - decay(x, t), [1.0, 1.0], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    line = nonlinear_least_squares(lambda x, t: t[0] + t[1] * x, [0.0, 0.0], x, y)
    closed = LinearRegression().fit(x[:, None], y)
    return every(
        curve=near(ours.theta, theirs.x, tolerance=1e-6),
        line=near(line.theta, [closed.intercept_, closed.coef_[0]], tolerance=1e-7),
        never_rises=below(float(np.diff(ours.sums).max()), 1e-12),
    )


@claim("linear-in-parameters")
def linear_means_linear_in_the_parameters_and_in_the_responses(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 2, 30)
    basis = [lambda x: np.exp(x[:, 0])]
    y, other = rng.normal(size=(2, 30))

    def beta(y: np.ndarray, scale: float = 1.0) -> np.ndarray:
        return np.linalg.lstsq(scale * design_matrix(x[:, None], basis=basis), y)[0]

    exact = LinearRegression().fit(np.exp(x)[:, None], 1 + 2 * np.exp(x))
    return corrected(
        every(
            exponential=equal(is_linear_in_parameters(lambda x, b: b[0] + b[1] * np.exp(x), x, 2, rng), True),
            exponent=equal(is_linear_in_parameters(lambda x, b: b[0] + np.exp(b[1]) * x, x, 2, rng), False),
            closed_form=near([exact.intercept_, exact.coef_[0]], [1, 2], tolerance=1e-9),
            linear_in_y=near(beta(3 * y - 2 * other), 3 * beta(y) - 2 * beta(other), tolerance=1e-10),
        ),
        # A sum over basis functions, as printed, would double with them; the true one is halved.
        printed=near(beta(y, scale=2.0), 2 * beta(y), tolerance=1e-6),
    )


@claim("polynomial-regression")
def polynomials_are_least_squares_on_the_vandermonde_matrix(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, truth = rng.uniform(-2, 2, 40), np.array([1.0, -2.0, 0.5, 3.0])
    y = np.polynomial.polynomial.polyval(x, truth)
    perturbed = y + rng.normal(size=40)
    exact = PolynomialRegression(3).fit(x[:, None], y)
    noisy = PolynomialRegression(3).fit(x[:, None], perturbed)
    expected = np.linalg.lstsq(np.vander(x, 4, increasing=True), perturbed)[0]
    return every(
        noiseless=near([exact.intercept_, *exact.coef_], truth, tolerance=1e-8),
        noisy=near([noisy.intercept_, *noisy.coef_], expected, tolerance=1e-8),
    )


@claim("claim-exact-fit-from-minimal-points")
def affinely_independent_points_determine_the_hyperplane(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    theta, fresh = rng.normal(size=4), rng.normal(size=(1000, 3))

    def error(points: np.ndarray) -> float:
        p = points.shape[1]
        model = LinearRegression().fit(points, theta[0] + points @ theta[1 : p + 1])
        return float(np.abs(model.predict(fresh[:, :p]) - theta[0] - fresh[:, :p] @ theta[1 : p + 1]).max())

    t = np.linspace(-1, 1, 4)[:, None]
    cubic = PolynomialRegression(3).fit(t, (1 - t + 2 * t**3).ravel())
    collinear = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])  # three different points on one line of the plane
    return corrected(
        every(
            enough=below(error(rng.normal(size=(4, 3))), 1e-8),
            too_few=above(error(rng.normal(size=(3, 3))), 1e-2),
            rank=equal(int(np.linalg.matrix_rank(design_matrix(collinear))), 2),
            degree_three=near([cubic.intercept_, *cubic.coef_], [1, -1, 0, 2], tolerance=1e-8),
        ),
        printed=below(error(collinear), 1e-2),
    )


@claim("example-cholesterol-regression")
def the_worked_example_from_age_and_bmi() -> Verdict:
    X_train, y_train, X_test, y_test = _patients()
    model = LinearRegression().fit(X_train, y_train)
    errors = [float(np.mean((y - model.predict(X)) ** 2)) for X, y in ((X_train, y_train), (X_test, y_test))]
    rounded = [float(np.mean((y - design_matrix(X) @ ROUNDED) ** 2)) for X, y in ((X_train, y_train), (X_test, y_test))]
    return every(
        theta=near([model.intercept_, *model.coef_], THETA, tolerance=1e-6),
        errors=near(np.round(errors, 2), [1.26, 12.24], tolerance=1e-9),
        with_rounded_theta=near(rounded, [1.289, 12.011], tolerance=1e-3),
        features=equal(load("cholesterol").feature_names, ("age", "bmi")),
    )
