"""Claims about regression models that say more than a line: curves, noise, several outputs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from margin import bayes, kernels, linear, neighbors, trees
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises, within
from margin.data import frame, preprocessor, random_split
from margin.linear import HeteroscedasticRegression, LinearRegression, LogisticRegression, Ridge, SplineRegression
from margin.linear.heteroscedastic import GaussianPrediction, gaussian_nll
from margin.linear.interpolation import gaussian_outputs_log_likelihood
from margin.linear.recipes import recipe
from margin.metrics import expected_calibration_error, mse, r2
from margin.notes.claims import claim
from margin.notes.claims.chance import rate
from margin.notes.claims.supervised.stand_ins import life_expectancy
from margin.trees import DecisionTreeRegressor


def _models_that_take(arguments: list[Any]) -> list[str]:
    """Names of the classical models for regression and classification whose fit does not refuse these arguments."""
    taken = []
    for package in (linear, kernels, neighbors, bayes, trees):
        for name in package.__all__:
            member = getattr(package, name)
            if not isinstance(member, type) or not issubclass(member, ClassifierMixin | RegressorMixin):
                continue
            try:
                member().fit(*arguments)
            except (ValueError, TypeError):
                continue
            taken.append(name)
    return taken


@claim("supervised-learning")
def one_interface_learns_from_pairs(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, fresh = rng.normal(size=(240, 3)), rng.normal(size=(1000, 3))
    line, side = (lambda A: A @ [1.0, 2.0, 3.0]), (lambda A: (A[:, 0] > 0).astype(int))
    real, label = line(X), side(X)
    models: list[tuple[Any, Any]] = [
        (LinearRegression(), real),
        (Ridge(), real),
        (SplineRegression(), real),
        (LogisticRegression(), label),
    ]
    predictions = [model.fit(X, y).predict(fresh) for model, y in models]
    targets = [real, np.column_stack([real, label]), label, np.arange(240) % 3, (X > 0).astype(int)]
    problems = ["univariate regression", "multivariate regression", "binary classification"]
    return every(
        learned=near(predictions[0], line(fresh), tolerance=1e-9),
        nearly=every(
            **{type(m).__name__: above(m.score(fresh, (side if y is label else line)(fresh)), 0.9) for m, y in models}
        ),
        shapes=equal([s.shape for s in predictions], [(1000,)] * 4),
        problems=equal(
            [recipe(y).problem for y in targets],
            [*problems, "multiclass classification", "multilabel classification"],
        ),
        losses=equal(
            [recipe(y).loss for y in targets[:4]], ["squared error"] * 2 + ["binary cross-entropy", "cross-entropy"]
        ),
        lengths=every(**{type(m).__name__: raises(ValueError, partial(m.fit, X, y[:-1])) for m, y in models}),
        needs_y=equal(_models_that_take([X, None]), []),
        needs_as_many=equal(_models_that_take([X, label[:-1]]), []),
    )


@claim("problem-types")
def targets_tell_the_problem(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    targets = [rng.normal(size=30), rng.normal(size=(30, 2)), rng.integers(0, 2, 30), np.repeat([1, 2, 3], 10)]
    recipes = [recipe(y) for y in targets]
    return every(
        problems=equal([r.problem.split()[0] for r in recipes], ["univariate", "multivariate", "binary", "multiclass"]),
        laws=equal([r.distribution for r in recipes], ["normal", "multivariate normal", "Bernoulli", "categorical"]),
        outputs=equal([r.activation for r in recipes], ["identity", "identity", "sigmoid", "softmax"]),
    )


@claim("deterministic-model")
def a_point_is_all_and_confidence_is_not_evidence(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, fresh = rng.normal(size=(40, 30)), 3 * rng.normal(size=(2000, 30))
    labels = rng.integers(0, 2, 40)
    model = LogisticRegression(C=1e4).fit(X, labels)  # over-trained: the labels are noise
    truth = rng.integers(0, 2, 2000)
    proba = model.predict_proba(fresh)
    accuracy = float(np.mean(model.predict(fresh) == truth))
    point = LinearRegression().fit(X, X[:, 0]).predict(fresh)
    return every(
        point=equal(point.shape, (2000,)),
        confidence_above_accuracy=above(float(proba.max(axis=1).mean()) - accuracy, 0.3),
        calibration_error=above(expected_calibration_error(truth, proba), 0.3),
    )


@claim("probabilistic-model")
def a_predictive_law_covers_what_it_says(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, 4000)[:, None]
    y = 1 + 2 * x[:, 0] + np.exp(0.5 * x[:, 0]) * rng.normal(size=4000)
    law = HeteroscedasticRegression().fit(x[:2000], y[:2000]).predict_distribution(x[2000:])
    low, high = law.interval()
    draws = law.sample(500, rng)
    return every(
        law=equal(type(law), GaussianPrediction),
        coverage=rate(float(np.mean((low <= y[2000:]) & (y[2000:] <= high))), 0.95, len(y) - 2000),
        draws_have_its_mean=near(draws.mean(axis=0), law.mean, tolerance=5 * float(law.std.max()) / np.sqrt(500)),
        density=near(np.exp(law.logpdf(law.mean)), 1 / np.sqrt(2 * np.pi * law.variance), tolerance=1e-12),
    )


@claim("homoscedastic-regression")
def the_learned_variance_is_the_mean_squared_residual(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 2))
    y = x @ [1.0, -1.0] + 0.7 * rng.normal(size=200)
    model = HeteroscedasticRegression(degree=1, variance_degree=0).fit(x, y)
    mean, std = model.predict(x, return_std=True)
    return every(
        variance=near(std**2, np.full(200, np.mean((y - mean) ** 2)), tolerance=1e-6),
        mean_is_least_squares=near(mean, LinearRegression().fit(x, y).predict(x), tolerance=1e-6),
    )


@claim("heteroscedastic-regression")
def noise_may_depend_on_the_input_of_one_output(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 3, 4000)[:, None]
    sigma = 0.1 + 0.3 * x[:, 0]
    y = np.sin(x[:, 0]) + sigma * rng.normal(size=4000)
    varying = HeteroscedasticRegression(degree=5, variance_degree=3).fit(x[:3000], y[:3000])
    constant = HeteroscedasticRegression(degree=5, variance_degree=0).fit(x[:3000], y[:3000])
    grid = np.linspace(0.1, 2.9, 50)[:, None]
    mean, std = varying.predict(grid, return_std=True)
    held_out = [-float(m.predict_distribution(x[3000:]).logpdf(y[3000:]).mean()) for m in (varying, constant)]
    floor = HeteroscedasticRegression(degree=1, variance_degree=1).fit(grid, 2 * grid[:, 0])  # no noise at all
    law = varying.predict_distribution(x[3000:])
    z = (y[3000:] - law.mean) / law.std
    draws, log_variance = rng.normal(size=(2, 50))
    with np.errstate(divide="ignore", invalid="ignore"):
        at_zero = norm.logpdf(0.1, 0.0, 0.0**2)  # f_2 = 0, squared, as the variance
    return corrected(
        every(
            sigma=below(float(np.max(np.abs(std / (0.1 + 0.3 * grid[:, 0]) - 1))), 0.2),
            mean=below(float(np.max(np.abs(mean - np.sin(grid[:, 0])) / std)), 0.5),
            held_out=below(held_out[0], held_out[1]),
            standardized=near([z.mean(), z.std()], [0.0, 1.0], tolerance=0.2),
            density=near(
                gaussian_nll(draws, 0.3 * draws, log_variance),
                -norm.logpdf(draws, 0.3 * draws, np.exp(log_variance / 2)),
                tolerance=1e-12,
            ),
            finite_without_noise=above(float(floor.predict_distribution(grid).variance.min()), 0.0),
        ),
        # As headed, only several outputs could differ in their variance: this one output would have a single one.
        one_output_one_variance=near(std.max() / std.min(), 1.0, tolerance=1.0),
        square_is_enough=equal(bool(np.isfinite(at_zero)), True),
        bracket_is_missing=below(_without_bracket(y, np.sin(x[:, 0]), sigma), _without_bracket(y, y + 10.0, sigma)),
    )


def _without_bracket(y: np.ndarray, mean: np.ndarray, sigma: np.ndarray) -> float:
    """-sum log[...] - (y - f_1)^2 / (2 f_2^2), summed over the rows, as it is printed."""
    return float(np.sum(np.log(np.sqrt(2 * np.pi) * sigma) - (y - mean) ** 2 / (2 * sigma**2)))


@claim("multivariate-regression")
def several_outputs_and_their_covariance(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    noise = rng.multivariate_normal([0, 0], [[1.0, 0.9], [0.9, 1.0]], size=300)
    Y = X @ rng.normal(size=(3, 2)) + noise
    model = LinearRegression().fit(X, Y)
    residual = Y - model.predict(X)
    shifted = residual + 0.1
    n, q = residual.shape
    spherical = [gaussian_outputs_log_likelihood(r, "spherical") for r in (residual, shifted)]
    squares = [float(np.sum(r**2)) for r in (residual, shifted)]
    return every(
        outputs=equal(model.predict(X).shape, (300, 2)),
        same_as_one_by_one=near(model.coef_[1], LinearRegression().fit(X, Y[:, 1]).coef_, tolerance=1e-10),
        loss_is_the_sum_of_squares=near(
            spherical[0] - spherical[1], n * q / 2 * np.log(squares[1] / squares[0]), tolerance=1e-8
        ),
        covariance_explains_more=above(
            gaussian_outputs_log_likelihood(residual) - gaussian_outputs_log_likelihood(residual, "diagonal"), 100.0
        ),
    )


@claim("cubic-spline-smoother")
def smooth_cubic_pieces_recover_a_sine(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 2 * np.pi, 200))[:, None]
    model = SplineRegression().fit(x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=200))
    grid = np.linspace(0.2, 6.0, 300)
    knots = model.knots_[0]
    h = 1e-4
    curve = lambda t: model.predict(np.asarray(t)[:, None])  # noqa: E731
    second = lambda t: (curve(t + h) - 2 * curve(t) + curve(t - h)) / h**2  # noqa: E731
    jump = np.abs(second(knots[1:-1] + 2 * h) - second(knots[1:-1] - 2 * h)).max()
    line = SplineRegression(smoothing=1e12).fit(x, 3 * x[:, 0] + rng.normal(size=200))
    return every(
        sine=below(float(np.abs(curve(grid) - np.sin(grid)).max()), 0.1),
        second_derivative_is_continuous=below(float(jump), 0.1),
        between_line_and_interpolation=within(model.df_, 2.0, 40.0),
        heavy_smoothing_is_a_line=near(line.df_, 1.0, tolerance=1e-3),
    )


@claim("dataset-life-expectancy")
def a_table_of_people_in_a_number_of_years_out(seed: int) -> Verdict:
    table, years = life_expectancy(600, seed=seed)
    train, test = random_split(600, test_size=0.25, seed=seed)
    features = frame(table)
    scores = []
    for model in (LinearRegression(), DecisionTreeRegressor(max_depth=5)):
        pipeline = make_pipeline(preprocessor(table), model).fit(features.iloc[train], years[train])
        predicted = pipeline.predict(features.iloc[test])
        scores.append((mse(years[test], predicted), r2(years[test], predicted)))
    folds = cross_val_score(make_pipeline(preprocessor(table), LinearRegression()), features, years, cv=3)
    return every(
        linear_r2=above(scores[0][1], 0.6),
        tree_r2=above(scores[1][1], 0.4),
        linear_mse=below(scores[0][0], float(np.var(years[test]))),
        stable=above(float(folds.min()), 0.5),
    )
