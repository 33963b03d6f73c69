"""Claims about the parts of the expected error: bias, variance and noise, and when they add up."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data.generators import noisy_function
from margin.linear import LinearRegression, PolynomialRegression, Ridge
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS, average
from margin.selection import RegressionProblem, bias_variance, expected_risk
from margin.selection.known_truth import on_interval
from margin.selection.loss_parts import cross_entropy_parts, geometric_mean, squared_parts
from margin.selection.ridge_tradeoff import ridge_tradeoff


def _sine(noise: float = 0.3) -> RegressionProblem:
    return RegressionProblem(on_interval(-3, 3), lambda X: np.sin(X[:, 0]), noise=noise)


def _plane(p: int, noise: float) -> RegressionProblem:
    """A linear truth in p standard normal columns: the parts of least squares are known exactly."""
    return RegressionProblem(lambda rng, n: rng.standard_normal((n, p)), lambda X: X.sum(axis=1), noise=noise)


@claim("expected-risk")
def risk_of_least_squares_has_a_formula(seed: int) -> Verdict:
    n, p, noise = 20, 5, 0.7
    model, problem = LinearRegression(fit_intercept=False), _plane(p, noise)
    risk, error = expected_risk(model, problem, n_rows=n, n_sets=400, n_test=200, random_state=seed)
    exact = noise**2 * (1 + p / (n - p - 1))  # for normal columns
    return every(
        formula=near(risk, exact, tolerance=ERRORS * error),
        error_is_small=below(error, 0.03 * exact),
        above_the_noise=above(risk, noise**2),
    )


@claim("noisy-regression-data")
def observations_scatter_around_a_fixed_function(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    function = lambda x: np.sin(3 * x)  # noqa: E731
    x, y = noisy_function(rng, function, 4000, noise=0.5)
    again_x, again_y = noisy_function(rng, function, 4000, noise=0.5)
    residuals = y - function(x[:, 0])
    printed = (y - x[:, 0]) ** 2  # as if the function were x itself
    truth = every(
        mean=average(residuals, 0.0),
        variance=average(residuals**2, 0.25),
        same_law_again=average((again_y - function(again_x[:, 0])) ** 2, 0.25),
        new_data=above(float(np.abs(again_y - y).max()), 0.1),
    )
    return corrected(truth, printed=average(printed, 0.25))


@claim("irreducible-noise")
def no_model_goes_below_the_noise(seed: int) -> Verdict:
    spread = lambda X: 0.1 + X[:, 0]  # noqa: E731
    problem = RegressionProblem(on_interval(0, 1), lambda X: np.sin(5 * X[:, 0]), noise=spread)
    models = (PolynomialRegression(1), PolynomialRegression(6), Ridge())
    decompositions = [bias_variance(m, problem, n_rows=60, n_sets=40, n_test=4000, random_state=seed) for m in models]
    exact = (1.1**3 - 0.1**3) / 3  # the mean of (0.1 + x)^2
    X, y = problem.sample(np.random.default_rng([seed, 1]), 20_000)
    return every(
        same_for_all=near([part.noise for part in decompositions], [decompositions[0].noise] * 3, tolerance=1e-12),
        mean_of_the_variance=average(decompositions[0].parts.noise, exact),
        the_truth_itself=average((y - problem.mean(X)) ** 2, exact),
        none_below=above(min(part.total for part in decompositions), decompositions[0].noise),
    )


@claim("bias-variance-decomposition")
def three_parts_sum_to_the_risk(seed: int) -> Verdict:
    problem = _sine()
    decompositions = [
        bias_variance(PolynomialRegression(degree), problem, n_rows=30, n_sets=200, random_state=seed)
        for degree in (1, 3)
    ]
    rng = np.random.default_rng(seed)
    X_test = problem.inputs(rng, 200)
    predictions = np.array([PolynomialRegression(1).fit(*problem.sample(rng, 30)).predict(X_test) for _ in range(100)])
    mean, truth = predictions.mean(axis=0), problem.mean(X_test)
    variance = float(predictions.var(axis=0).mean())
    error = float(np.mean((predictions - truth) ** 2))
    x, y = problem.sample(rng, 2000)
    return corrected(
        every(
            sums=near([f.total / f.risk for f in decompositions], [1.0, 1.0], tolerance=0.02),
            within_error=below(max(abs(f.total - f.risk) / f.risk_error for f in decompositions), ERRORS),
            line_is_biased=above(decompositions[0].bias, decompositions[0].variance),
            by_hand=near(variance + float(np.mean((mean - truth) ** 2)), error, tolerance=1e-10),
        ),
        bias_not_squared=near(variance + float(np.mean(np.abs(mean - truth))), error, tolerance=0.01),
        difference_of_squares=near(variance + float(np.mean(mean**2 - truth**2)), error, tolerance=0.01),
        truth_is_x=average((y - x[:, 0]) ** 2, 0.09),
    )


@claim("claim-cross-term-vanishes")
def the_noise_must_be_fresh(seed: int) -> Verdict:
    notes = atlas.row("claim-cross-term-vanishes").values
    n, p, sigma, sets = notes["n"], notes["p"], notes["sigma"], 4000
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    f = X.sum(axis=1)[:, None]
    noise, fresh = sigma * rng.normal(size=(2, n, sets))
    fit = LinearRegression(fit_intercept=False).fit(X, f + noise).predict(X)  # one column per training set
    cross = [2 * np.sum(e * (f - fit), axis=0) for e in (noise, fresh)]
    second = 2 * np.sum((f - fit.mean(axis=1, keepdims=True)) * (fit.mean(axis=1, keepdims=True) - fit), axis=0)
    costs = [np.sum((f + e - fit) ** 2, axis=0) for e in (noise, fresh)]
    truth = every(
        fresh_noise=average(cross[1], 0.0),
        around_the_mean_fit=near(second.mean(), 0.0, tolerance=1e-9),
        training_noise=average(cross[0], -2 * sigma**2 * p),
        training_cost=average(costs[0], sigma**2 * (n - p)),
        fresh_cost=average(costs[1], sigma**2 * (n + p)),
        as_measured_before=near([costs[0].mean(), costs[1].mean()], [notes["train"], notes["fresh"]], tolerance=0.5),
    )
    return corrected(truth, printed=average(cross[0], 0.0))


@claim("claim-average-model-is-not-infinite-data-model")
def the_mean_of_small_fits_is_not_the_large_fit(seed: int) -> Verdict:
    notes = atlas.row("claim-average-model-is-not-infinite-data-model").values
    n, rng = notes["n"], np.random.default_rng(seed)
    rates = 1 / rng.exponential(size=(20_000, n)).mean(axis=1)
    large = 1 / rng.exponential(size=1_000_000).mean()
    parts = squared_parts(rates[:, None], mean=[notes["infinite"]])
    X, noise = rng.normal(size=(n, 1)), rng.normal(size=(n, 4000))
    slopes = LinearRegression(fit_intercept=False).fit(X, 2 * X + noise).coef_[:, 0]
    truth = every(
        small=average(rates, n / (n - 1)),
        as_told=near(n / (n - 1), notes["mean"], tolerance=1e-12),
        large=near(large, notes["infinite"], tolerance=0.006),
        squared_bias=near(float(parts.bias[0]), (notes["mean"] - 1) ** 2, tolerance=0.03),
        linear_least_squares_agrees=average(slopes, 2.0),
    )
    return corrected(truth, printed=average(rates, notes["infinite"]))


@claim("claim-bias-remains-with-infinite-data")
def only_complexity_removes_bias(seed: int) -> Verdict:
    problem = _sine()
    by_rows = [
        bias_variance(PolynomialRegression(1), problem, n_rows=n, n_sets=30, random_state=seed)
        for n in (10, 100, 1000, 10_000)
    ]
    by_degree = [
        bias_variance(PolynomialRegression(degree), problem, n_rows=100, n_sets=30, random_state=seed)
        for degree in (1, 3, 5, 7)
    ]
    bias = [decomposition.bias for decomposition in by_degree]
    return every(
        plateau=near(by_rows[3].bias / by_rows[2].bias, 1.0, tolerance=0.02),
        positive=above(by_rows[3].bias, 0.1),
        variance_gone=below(by_rows[3].variance, 0.001),
        falls_with_degree=equal(bias[0] > bias[1] > bias[2], True),
        towards_zero=below(abs(bias[3]), 0.005 * bias[0]),
    )


@claim("claim-more-data-less-variance")
def variance_falls_like_one_over_n(seed: int) -> Verdict:
    p, noise, sizes = 4, 0.7, np.array([40, 80, 160, 320, 640])
    least_squares = LinearRegression(fit_intercept=False)
    variances = [
        bias_variance(
            least_squares, _plane(p, noise), n_rows=int(n), n_sets=300, n_test=100, random_state=seed
        ).variance
        for n in sizes
    ]
    slope = float(np.polyfit(np.log(sizes), np.log(variances), 1)[0])
    few, many = (
        [bias_variance(m, _plane(8, 2.0), n_rows=n, n_sets=60, random_state=seed).total for m in _stiff_and_flexible()]
        for n in (12, 1000)
    )
    return every(
        slope=near(slope, -1.0, tolerance=0.15),
        formula=near(variances[-1] / (noise**2 * p / sizes[-1]), 1.0, tolerance=0.25),
        few_rows_want_the_stiff_one=below(few[0], few[1]),
        many_rows_want_the_flexible_one=below(many[1], many[0]),
    )


def _stiff_and_flexible() -> tuple[Ridge, LinearRegression]:
    return Ridge(alpha=50.0, fit_intercept=False), LinearRegression(fit_intercept=False)


@claim("claim-regularisation-trades-bias-for-variance")
def some_penalty_helps_and_too_much_harms(seed: int) -> Verdict:
    notes = atlas.row("claim-regularisation-trades-bias-for-variance").values
    n, m, noise = notes["n"], notes["m"], float(np.sqrt(notes["variance"]))
    rng = np.random.default_rng(seed)
    strengths = [0.0, 0.01, 1.0, *notes["strengths"][1:], 1000.0]
    designs = [ridge_tradeoff(rng.normal(size=(n, m)), np.full(m, 1.1), noise, strengths) for _ in range(200)]
    one = designs[0]
    mse = np.mean([design.mse for design in designs], axis=0)
    plain, chosen, large = (mse[strengths.index(s)] for s in notes["strengths"])
    truth = every(
        variance_falls=below(float(np.diff(one.variance).max()), 0.0),
        bias_rises=above(float(np.diff(one.bias).min()), 0.0),
        least_squares_is_unbiased=near(one.bias[0], 0.0, tolerance=1e-20),
        a_little_always_helps=equal(all(design.mse[1] < design.mse[0] for design in designs), True),
        least_squares=near(plain, noise**2 * m / (n - m - 1), tolerance=0.3),  # standard errors are 0.04
        errors=near([plain, chosen, large], notes["errors"], tolerance=0.3),
    )
    return corrected(truth, printed=below(float(large), float(plain)))


@claim("claim-bias-variance-beyond-mse")
def cross_entropy_has_parts_too(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    p, predicted = rng.dirichlet([2, 1, 1], size=6), rng.dirichlet([2, 2, 1], size=(9, 6))
    parts = cross_entropy_parts(predicted, p)
    expected = -np.mean(np.sum(p * np.log(predicted), axis=2), axis=0)
    center = geometric_mean(predicted)
    kl = lambda a, b: np.sum(a * np.log(a / b), axis=-1)  # noqa: E731
    arithmetic = predicted.mean(axis=0)
    wrong_center = parts.noise + kl(p, arithmetic) + np.mean(kl(arithmetic, predicted), axis=0)
    truth = every(
        sum=near(parts.total, expected, tolerance=1e-8),
        bias=near(parts.bias, kl(p, center), tolerance=1e-12),
        variance=near(parts.variance, np.mean(kl(center, predicted), axis=0), tolerance=1e-12),
        all_positive=above(float(min(parts.bias.min(), parts.variance.min(), parts.noise.min())), 0.0),
        only_the_geometric_mean=above(float(np.abs(wrong_center - expected).max()), 1e-3),
    )
    # Were squared error the only loss with such parts, those of cross-entropy would not sum to it.
    return corrected(truth, printed=above(float(np.abs(parts.total - expected).max()), 1e-6))
