"""Likelihood, generalized linear models, Bayesian regression, heights of fathers and sons."""

from __future__ import annotations

import numpy as np

from margin import linear
from margin.bayes import GaussianNB
from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.foundations.statistics import (
    fit_conditional,
    fit_glm,
    galton_heights,
    least_squares,
    linear_posterior,
    mle,
    mle_numerical,
    regression_slope,
    with_intercept,
)
from margin.kernels import GaussianProcessRegressor, LinearKernel
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS, plausible, rate


@claim("maximum-likelihood-estimation")
def closed_forms_are_the_maxima(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    data = {
        "bernoulli": rng.integers(2, size=60), "categorical": rng.choice(3, size=90, p=[0.2, 0.3, 0.5]),
        "poisson": rng.poisson(3, 60), "geometric": rng.geometric(0.4, 60), "exponential": rng.exponential(2, 60),
        "normal": rng.normal(1, 2, 60), "laplace": rng.laplace(1, 2, 61),
    }  # fmt: skip
    gaps = [np.abs(mle(f, x).parameters - mle_numerical(f, x).parameters).max() for f, x in data.items()]
    design, y = with_intercept(rng.normal(size=60)), data["normal"]

    def network(X: np.ndarray, phi: np.ndarray) -> np.ndarray:
        return np.column_stack([X @ phi[:2], np.full(len(X), phi[2])])

    fit = fit_conditional("normal", network, design, y, np.zeros(3))
    theta = network(design, fit.parameters)  # one mean and one log-deviation per row
    tosses = data["bernoulli"]
    constant = fit_conditional("bernoulli", lambda X, phi: np.full((len(X), 1), phi[0]), design, tosses, [0.0])
    frequency = 1 / (1 + np.exp(-constant.parameters))
    bayes = GaussianNB(var_smoothing=0.0).fit(y[:, None], tosses)
    by_class = [mle("normal", y[tosses == label]).parameters for label in (0, 1)]
    return every(
        as_run=near(np.column_stack([bayes.theta_, np.sqrt(bayes.var_)]), by_class, tolerance=1e-12),
        closed_against_numerical=near(np.max(gaps), 0.0, tolerance=2e-6),
        linear_model=near(fit.parameters[:2], least_squares(design, y).coefficients, tolerance=1e-6),
        constant_network=near(frequency, mle("bernoulli", tosses).parameters, tolerance=1e-6),
        two_symbols=equal([theta.shape, fit.parameters.shape], [(60, 2), (3,)]),
    )


@claim("coin-maximum-likelihood")
def forty_nine_heads_in_eighty() -> Verdict:
    tosses = np.repeat([1.0, 0.0], [49, 31])
    estimate = mle("bernoulli", tosses)
    grid = np.linspace(0.01, 0.99, 981)
    curve = 49 * np.log(grid) + 31 * np.log1p(-grid)
    # The derivative of p^49 (1 - p)^31 is p^48 (1 - p)^30 (49 - 80 p).
    roots = np.array([0.0, 49 / 80, 1.0])
    slopes, heights = roots**48 * (1 - roots) ** 30 * (49 - 80 * roots), roots**49 * (1 - roots) ** 31
    truth = every(
        estimate=near(estimate.parameters, [0.6125], tolerance=1e-12),
        numerical=near(mle_numerical("bernoulli", tosses).parameters, [0.6125], tolerance=1e-6),
        peak_of_the_curve=near(grid[curve.argmax()], 0.6125, tolerance=0.0011),
        height=near(estimate.log_likelihood, curve.max(), tolerance=1e-4),
        three_roots=near(slopes, np.zeros(3), tolerance=1e-18),
        two_are_minima=equal((heights == 0).tolist(), [True, False, True]),
    )
    return corrected(truth, every_root_is_the_maximum=near(heights / heights.max(), np.ones(3), tolerance=0.5))


@claim("example-poisson-mle")
def a_wrong_model_still_finds_the_mean(seed: int) -> Verdict:
    from scipy import optimize

    k = np.random.default_rng(seed).geometric(0.5, size=100_000)  # support 1, 2, ...
    support = np.arange(1, 60)
    p = 0.5**support

    def cross_entropy(rate: float, values: np.ndarray) -> float:  # up to a term without the rate
        return float(p @ (rate - values * np.log(rate)))

    minima = [
        optimize.minimize_scalar(cross_entropy, bounds=(0.1, 5), args=(v,), method="bounded", options={"xatol": 1e-9}).x
        for v in (support, support - 1)
    ]
    estimates = [mle("poisson", values).parameters[0] for values in (k, k - 1)]
    truth = every(
        sample_mean=near(estimates[0], k.mean(), tolerance=1e-12),
        minimizers=near(minima, [2.0, 1.0], tolerance=1e-5),
        estimates=near(estimates, minima, tolerance=0.02),
    )
    return corrected(truth, printed=near(estimates[0], 1.0, tolerance=0.02))  # E[K] = 1 on the support k >= 1


@claim("claim-mle-minimises-cross-entropy")
def misspecified_likelihood_tends_to_the_nearest_member(seed: int) -> Verdict:
    from scipy import optimize

    center, scale = 0.5, 2.0
    x = np.random.default_rng(seed).laplace(center, scale, size=100_000)
    grid = np.linspace(-60, 60, 24_001)
    weight = np.exp(-np.abs(grid - center) / scale) / (2 * scale) * (grid[1] - grid[0])

    def cross_entropy(free: np.ndarray) -> float:
        sd = np.exp(free[1])
        return float(weight @ (0.5 * ((grid - free[0]) / sd) ** 2 + free[1]))

    nearest = optimize.minimize(cross_entropy, [0.0, 0.0], method="BFGS").x
    nearest = np.array([nearest[0], np.exp(nearest[1])])
    errors = nearest[1] * np.sqrt([1 / len(x), 5 / (4 * len(x))])  # of mean and deviation; the kurtosis is 6
    return every(
        nearest_normal=near(nearest, [center, np.sqrt(2) * scale], tolerance=1e-3),
        estimate=near((mle("normal", x).parameters - nearest) / errors, [0.0, 0.0], tolerance=ERRORS),
    )


@claim("dataset-galton-heights")
def sons_deviate_by_two_thirds(seed: int) -> Verdict:
    father, son = galton_heights(100_000, np.random.default_rng(seed))
    tall = father > father.mean() + 2 * father.std()
    kept = (son[tall].mean() - son.mean()) / (father[tall].mean() - father.mean())
    return every(
        slope=near(regression_slope(father, son), 2 / 3, tolerance=0.01),
        deviation_kept=near(kept, 2 / 3, tolerance=0.03),
        equal_spread=near(son.std() / father.std(), 1.0, tolerance=0.01),
    )


@claim("wald-test-logistic")
def a_null_coefficient_has_uniform_p_values(seed: int) -> Verdict:
    from scipy import stats

    rng = np.random.default_rng(seed)
    p_values, z = [], []
    for _ in range(400):
        X = with_intercept(rng.normal(size=(200, 2)))
        y = rng.random(200) < 1 / (1 + np.exp(-X @ [0.3, 1.0, 0.0]))
        table = fit_glm(X, y.astype(float), "bernoulli").summary()
        p_values.append(table.p_value[2])
        z.append(table.p_value[1] < 0.05)
    return every(
        rejected_at_5_percent=rate(float(np.mean(np.array(p_values) < 0.05)), 0.05, 400),
        uniform=plausible(stats.kstest(p_values, "uniform").pvalue),
        true_effect_found=above(float(np.mean(z)), 0.99),
    )


@claim("glm-exponential-family")
def three_families_three_known_answers(seed: int) -> Verdict:
    from scipy.stats import poisson as poisson_law
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(seed)
    X = with_intercept(rng.normal(size=(200, 2)))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=200)
    labels, counts = (y > 1).astype(float), rng.poisson(4, size=200).astype(float)
    oracle = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, labels)
    logistic = fit_glm(X, labels, "bernoulli").coefficients
    ours_logistic = linear.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, labels)
    intercept = fit_glm(np.ones((200, 1)), counts, "poisson").coefficients
    probit = fit_glm(np.ones((200, 1)), labels, "bernoulli", "probit")
    ours, fit = fit_glm(X, y), np.linalg.lstsq(X, y)
    dispersion = float(fit[1][0]) / (200 - 3)
    poisson = fit_glm(X, counts, "poisson")
    information = X.T @ (poisson.predict(X)[:, None] * X)
    return every(
        dispersion=near(ours.dispersion, dispersion, tolerance=1e-10),
        covariance=near(ours.covariance, dispersion * np.linalg.inv(X.T @ X), tolerance=1e-10),
        likelihood=near(poisson.log_likelihood, poisson_law.logpmf(counts, poisson.predict(X)).sum(), tolerance=1e-8),
        information=near(poisson.covariance, np.linalg.inv(information), tolerance=1e-8),
        degrees=equal((ours.df, poisson.df, poisson.dispersion), (197, None, 1.0)),
        gaussian_is_least_squares=near(fit_glm(X, y).coefficients, least_squares(X, y).coefficients, tolerance=1e-10),
        bernoulli_is_logistic=near(logistic, oracle.coef_[0], tolerance=1e-4),
        as_run=near(ours_logistic.coef_[0], logistic, tolerance=1e-4),
        poisson_is_log_mean=near(intercept, [np.log(counts.mean())], tolerance=1e-10),
        other_link=near(probit.predict([[1.0]]), [labels.mean()], tolerance=1e-8),
    )


@claim("bayesian-inference-over-parameters")
def the_posterior_is_ridge_with_honest_intervals(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, x_new = rng.normal(size=(6, 4)), rng.normal(size=(1, 4))  # barely more rows than coefficients
    covered = 0
    for _ in range(2000):
        beta = rng.normal(size=4)
        posterior = linear_posterior(X, X @ beta + 0.5 * rng.normal(size=6), 1.0, 0.25)
        mean, sd = posterior.predict(x_new)
        covered += abs(x_new[0] @ beta + 0.5 * rng.normal() - mean[0]) <= 1.96 * sd[0]
    y = rng.normal(size=6)
    ridge = np.linalg.solve(X.T @ X + 0.25 * np.eye(4), X.T @ y)
    posterior = linear_posterior(X, y, 1.0, 0.25)
    both = np.vstack([x_new, 10 * x_new])
    far = posterior.predict(both)[1]
    process = GaussianProcessRegressor(kernel=LinearKernel(), alpha=0.25, optimizer=None, normalize_y=False).fit(X, y)
    return every(
        as_run=near(process.predict(both, return_std=True, with_noise=True), posterior.predict(both), tolerance=1e-8),
        ridge=near(linear_posterior(X, y, 1.0, 0.25).mean, ridge, tolerance=1e-10),
        predictive_coverage=rate(covered / 2000, 0.95, 2000),
        widens_away_from_the_data=above(far[1] / far[0], 2.0),
    )
