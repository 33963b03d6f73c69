"""Claims about penalties on linear models, the priors behind them, and what descent prefers without any."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.probability import Laplace, Normal
from margin.linear import Lasso, LinearRegression, LogisticRegression, PolynomialRegression, Ridge, map_fit
from margin.linear.interpolation import interpolating_solutions, minimum_norm_solution, null_space_part
from margin.linear.map_estimation import log_posterior
from margin.linear.penalized_least_squares import leave_one_out, ridge
from margin.linear.sparse_problem import elastic_net_objective
from margin.notes.claims import claim
from margin.optimize import minimize


def _regression(
    seed: int, n: int = 60, p: int = 20, relevant: int = 3, noise: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, :relevant] @ np.array([3.0, -2.0, 1.5])[:relevant] + noise * rng.normal(size=n)


@claim("regularisation")
def a_penalty_trades_training_error_for_test_error(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, 20))[:, None]
    fresh = rng.uniform(-1, 1, 500)[:, None]
    truth = lambda t: np.sin(3 * t[:, 0])  # noqa: E731
    y, y_new = truth(x) + 0.3 * rng.normal(size=20), truth(fresh) + 0.3 * rng.normal(size=500)
    powers = np.arange(1, 13)
    plain = LinearRegression().fit(x**powers, y)
    shrunk = Ridge(alpha=0.1).fit(x**powers, y)
    error = lambda model, t, target: float(np.mean((model.predict(t**powers) - target) ** 2))  # noqa: E731
    labels = rng.permutation(np.repeat([0, 1], 20))  # pure noise: any confidence is overfitting
    columns = rng.normal(size=(40, 15))
    losses = []
    for C in (100.0, 0.01):
        log_proba = LogisticRegression(C=C).fit(columns[:20], labels[:20]).predict_log_proba(columns[20:])
        losses.append(-float(log_proba[range(20), labels[20:]].mean()))
    return every(
        training_rises=above(error(shrunk, x, y) / error(plain, x, y), 1.0 + 1e-6),
        test_falls=below(error(shrunk, fresh, y_new), error(plain, fresh, y_new)),
        logistic_test_falls=below(losses[1], losses[0]),
    )


@claim("regularised-loss")
def loss_plus_penalty_is_minimized(seed: int) -> Verdict:
    X, y = _regression(seed)
    strengths = [0.0, 0.1, 1.0, 10.0, 100.0]
    models = [Ridge(alpha=s).fit(X, y) for s in strengths]
    penalties = np.array([float(m.coef_ @ m.coef_) for m in models])
    total = lambda coef, b: float(np.sum((y - X @ coef - b) ** 2) + 10 * coef @ coef)  # noqa: E731
    at = total(models[3].coef_, models[3].intercept_)
    moves = 0.1 * np.random.default_rng([seed, 1]).normal(size=(50, 20))
    near_by = [total(models[3].coef_ + move, models[3].intercept_) for move in moves]
    return corrected(
        every(
            zero_is_unpenalized=near(models[0].coef_, LinearRegression().fit(X, y).coef_, tolerance=1e-9),
            penalty_falls=below(float(np.diff(penalties).max()), 0.0),
            minimum=above(min(near_by) - at, 0.0),
        ),
        printed=above(at - max(near_by), 0.0),  # as printed, the fit would be a maximum of the same sum
    )


@claim("l2-ridge")
def ridge_solves_penalized_normal_equations_and_leaves_the_intercept(seed: int) -> Verdict:
    X, y = _regression(seed)
    design = np.column_stack([np.ones(len(X)), X])
    penalty = 5.0 * np.diag([0.0] + [1.0] * 20)
    by_hand = np.linalg.solve(design.T @ design + penalty, design.T @ y)
    model = Ridge(alpha=5.0).fit(X, y)
    shifted = Ridge(alpha=5.0).fit(X, y + 1000.0)
    lengths = [float(np.linalg.norm(Ridge(alpha=a).fit(X, y).coef_)) for a in (0.1, 1.0, 10.0, 100.0)]
    left_out = [y[i] - Ridge(alpha=5.0).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] for i in range(3)]
    w, rate, lam = model.coef_.copy(), 1e-3, 5.0
    gradient = -2 * X.T @ (y - X @ w)
    step = w - rate * (gradient + 2 * lam * w)
    return corrected(
        every(
            normal_equations=near(np.append(model.intercept_, model.coef_), by_hand, tolerance=1e-10),
            shift_moves_intercept_only=near(shifted.coef_, model.coef_, tolerance=1e-9),
            lengths_fall=below(float(np.diff(lengths).max()), -1e-6),
            left_out=near(left_out, leave_one_out(X, y[:, None], [5.0])[:3, 0, 0], tolerance=1e-9),
            step_shrinks=near(step, (1 - 2 * rate * lam) * w - rate * gradient, tolerance=1e-12),
            squared_length=near(float(np.sum(w**2)), float(np.linalg.norm(w)) ** 2, tolerance=1e-9),
        ),
        printed=near(float(np.sum(w**2)), float(np.linalg.norm(w)), tolerance=0.1),
    )


@claim("weight-decay")
def weight_decay_is_ridge_with_n_times_the_strength(seed: int) -> Verdict:
    X, y = _regression(seed)
    n, lam = len(y), 0.05
    model = Ridge(alpha=n * lam, fit_intercept=False).fit(X, y)
    loss = lambda w: float(np.mean((y - X @ w) ** 2) + lam * w @ w)  # noqa: E731
    slope = lambda w: -2 / n * X.T @ (y - X @ w) + 2 * lam * w  # noqa: E731
    descended = minimize(loss, np.zeros(20), method="lbfgs", grad=slope, tol=1e-10)
    lengths = [np.linalg.norm(Ridge(alpha=n * s, fit_intercept=False).fit(X, y).coef_) for s in (0.0, 0.1, 1.0, 10.0)]
    return every(
        same_minimum=near(model.coef_, descended.x, tolerance=1e-7),
        flat=below(float(np.abs(slope(model.coef_)).max()), 1e-10),
        lengths_fall=below(float(np.diff(lengths).max()), 0.0),
    )


@claim("l1-lasso")
def the_lasso_has_exact_zeros_and_a_laplace_prior(seed: int) -> Verdict:
    X, y = _regression(seed)
    largest = float(np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()) / len(y)  # from here on all are zero
    fractions = (0.001, 0.2, 0.999, 1.001)
    zeros = [int(np.sum(Lasso(alpha=f * largest, tol=1e-10).fit(X, y).coef_ == 0)) for f in fractions]
    Q, _ = np.linalg.qr(X - X.mean(axis=0))
    target = Q @ np.linspace(-2, 2, 20)
    orthonormal = Lasso(alpha=0.5 / len(y), tol=1e-14).fit(Q, target)
    soft = np.sign(Q.T @ target) * np.maximum(np.abs(Q.T @ target) - 0.5, 0.0)
    lam = 1.7

    def variance(density: float, rate: float) -> float:
        return 2 * quad(lambda t: t**2 * density * np.exp(-rate * t), 0, np.inf)[0]

    return corrected(
        every(
            zeros_grow=equal(zeros[0] < zeros[1] < zeros[2], True),
            all_zero_from_the_largest_correlation_on=equal((zeros[2] < 20, zeros[3]), (True, 20)),
            soft_threshold=near(orthonormal.coef_, soft, tolerance=1e-7),
            prior_variance=near(variance(lam / 2, lam), Laplace(0.0, 1 / lam).variance, tolerance=1e-8),
            closed_form=near(variance(lam / 2, lam), 2 / lam**2, tolerance=1e-8),
        ),
        variance=near(variance(lam, 2 * lam), 2 / lam, tolerance=0.1),
        penalty=near(np.log(lam) - np.log(lam * np.exp(-2 * lam)), lam, tolerance=0.1),  # from theta = 0 to 1
    )


@claim("claim-l1-sparser-than-l2")
def absolute_values_select_and_squares_only_shrink(seed: int) -> Verdict:
    X, y = _regression(seed)
    sparse, dense = Lasso(alpha=0.3).fit(X, y), Ridge(alpha=0.3 * len(y)).fit(X, y)
    Q, _ = np.linalg.qr(X - X.mean(axis=0))
    theta = np.linspace(-2, 2, 20)
    shrunk = ridge(Q, (Q @ theta)[:, None], 0.5).coef[:, 0]
    raised = []  # what the penalty adds to the loss close to the origin and far from it
    for point in (0.5 * theta, 3.0 * theta):
        square = float(np.mean((y - y.mean() - (X - X.mean(axis=0)) @ point) ** 2))
        raised.append(elastic_net_objective(square, point, 0.3, 0.0) - elastic_net_objective(square, point, 0.0, 0.0))
    return corrected(
        every(
            lasso_zeros=above(float(np.sum(sparse.coef_[3:] == 0)), 12.0),
            relevant_stay=equal(int(np.sum(sparse.coef_[:3] != 0)), 3),
            ridge_zeros=equal(int(np.sum(dense.coef_ == 0)), 0),
            ridge_scales=near(shrunk, theta / 1.5, tolerance=1e-10),
            far_is_raised_more=above(raised[1], raised[0]),
            raised_selects=above(_zeros_of_minimizers(theta, 0.5), 3.0),
        ),
        # As drawn, with points far from the origin sinking, the lowest points would have zeros.
        printed=above(_zeros_of_minimizers(theta, -0.5), 0.0),
    )


def _zeros_of_minimizers(theta: np.ndarray, weight: float) -> int:
    """How many of the numbers z that minimize (z - theta)^2 / 2 + weight |z|, found on a grid, are 0?"""
    grid = np.linspace(-4, 4, 8001)
    heights = (grid - theta[:, None]) ** 2 / 2 + weight * np.abs(grid)
    return int(np.sum(np.abs(grid[heights.argmin(axis=1)]) < 1e-9))


@claim("map-estimation")
def priors_are_penalties_with_a_minus_sign(seed: int) -> Verdict:
    X, y = _regression(seed, noise=0.7)
    normal, laplace = Normal(0.0, 0.8), Laplace(0.0, 0.5)
    by_normal, by_laplace = (map_fit(X, y, noise=0.7, prior=prior) for prior in (normal, laplace))
    ridge_fit, lasso_fit = Ridge(alpha=0.7**2 / 0.8**2).fit(X, y), Lasso(alpha=0.7**2 / (60 * 0.5), tol=1e-12).fit(X, y)
    value = lambda w: log_posterior(X, y, w, by_normal.intercept, noise=0.7, prior=normal)  # noqa: E731
    slope = X.T @ (y - X @ by_normal.coef - by_normal.intercept) / 0.7**2 - by_normal.coef / 0.8**2
    moves = 1e-2 * np.random.default_rng([seed, 1]).normal(size=(30, 20))
    around = [log_posterior(X, y, by_laplace.coef + d, by_laplace.intercept, noise=0.7, prior=laplace) for d in moves]
    w = by_normal.coef
    constant = float(normal.log_prob(np.zeros(20)).sum())
    penalty = float(w @ w) / (2 * 0.8**2)
    prior_part = float(normal.log_prob(w).sum()) - constant

    def evaluate_printed(coef: np.ndarray) -> float:
        """What the notes maximize, up to a constant: the sum of the losses times the prior."""
        return float(np.sum((y - X @ coef - by_normal.intercept) ** 2) * np.exp(-coef @ coef / (2 * 0.8**2)))

    return corrected(
        every(
            ridge=near(w, ridge_fit.coef_, tolerance=1e-10),
            lasso=near(by_laplace.coef, lasso_fit.coef_, tolerance=1e-6),
            flat=below(float(np.abs(slope).max()), 1e-10),
            highest=below(max(around) - by_laplace.log_posterior, 0.0),
            sum_of_logs=near(value(w), by_normal.log_posterior, tolerance=1e-9),
            sign=near(prior_part, -penalty, tolerance=1e-9),
        ),
        sign_of_the_penalty=near(prior_part, penalty, tolerance=0.1),
        losses_times_prior=above(evaluate_printed(w), evaluate_printed(np.zeros(20))),
    )


@claim("claim-overparametrised-models-choose-smooth-fits")
def the_shortest_interpolant_generalizes_best(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    errors, training = [], 0.0
    for _ in range(50):
        theta = rng.normal(size=100) * np.r_[np.ones(10), 0.05 * np.ones(90)]
        A, fresh = rng.normal(size=(20, 100)), rng.normal(size=(200, 100))
        solutions = interpolating_solutions(A, A @ theta, 4, rng)
        training = max(training, float(np.abs(A @ solutions.T - (A @ theta)[:, None]).max()))
        errors.append(np.mean((fresh @ solutions.T - (fresh @ theta)[:, None]) ** 2, axis=0))
    mean = np.mean(errors, axis=0)
    return every(all_interpolate=below(training, 1e-10), shortest_is_best=below(float(mean[0]), float(mean[1:].min())))


@claim("claim-gd-favours-low-norm")
def descent_from_zero_is_shortest_and_from_elsewhere_is_not(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(10, 30)), rng.normal(size=10)
    rate = 1 / np.linalg.norm(A, 2) ** 2

    def descend(theta: np.ndarray) -> np.ndarray:
        for _ in range(3000):
            theta = theta - rate * A.T @ (A @ theta - b)
        return theta

    start = rng.normal(size=30)
    from_zero, from_start, shortest = descend(np.zeros(30)), descend(start), minimum_norm_solution(A, b)
    distance = float(np.linalg.norm(from_start - shortest))
    return corrected(
        every(
            from_zero=near(from_zero, shortest, tolerance=1e-8),
            also_interpolates=below(float(np.abs(A @ from_start - b).max()), 1e-8),
            offset_is_null_part=near(from_start - shortest, null_space_part(A, start), tolerance=1e-7),
        ),
        printed=below(distance, 1e-3),  # "descent picks low-norm solutions", from a random start
    )


@claim("figure-regularisation-motivation")
def two_fits_without_training_error(seed: int) -> Verdict:
    from margin.notes.experiments import two_interpolants

    data = two_interpolants.run(seed, fast=True)
    wiggly = PolynomialRegression(degree=len(data["x"]) - 1).fit(data["x"][:, None], data["y"])
    residual = float(np.abs(wiggly.predict(data["x"][:, None]) - data["y"]).max())
    return every(picture=two_interpolants.check(data), polynomial_interpolates=below(residual, 1e-6))
