"""Estimates against general optimizers, exact laws and formulas written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, special, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import statistics as ours
from margin.notes.claims.chance import plausible

PATH = "margin.foundations.statistics"


@oracle(*(f"{PATH}.{name}" for name in ("mle", "mle_numerical", "fit_conditional")))
def likelihoods(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    samples: dict[str, tuple[np.ndarray, Any, Any]] = {  # data, parameters, law with these parameters
        "bernoulli": (rng.binomial(1, 0.3, size=41), lambda x: [x.mean()], lambda t: stats.bernoulli(t[0]).logpmf),
        "poisson": (rng.poisson(2.4, size=40), lambda x: [x.mean()], lambda t: stats.poisson(t[0]).logpmf),
        "geometric": (rng.geometric(0.3, size=40), lambda x: [1 / x.mean()], lambda t: stats.geom(t[0]).logpmf),
        "exponential": (rng.exponential(2.0, size=40), lambda x: [1 / x.mean()],
                        lambda t: stats.expon(scale=1 / t[0]).logpdf),
        "normal": (rng.normal(2, 3, size=40), stats.norm.fit, lambda t: stats.norm(*t).logpdf),
        "laplace": (rng.laplace(2, 3, size=41), stats.laplace.fit, lambda t: stats.laplace(*t).logpdf),
        "categorical": (np.repeat([0, 1, 2], [7, 12, 21]), lambda x: np.bincount(x) / len(x),
                        lambda t: lambda x: np.log(np.asarray(t)[x])),
    }  # fmt: skip
    parts: dict[str, Verdict] = {}
    for name, (data, estimate, law) in samples.items():
        theta, closed_form, searched = list(estimate(data)), ours.mle(name, data), ours.mle_numerical(name, data)
        height = float(law(theta)(data).sum())
        parts[name] = near([*closed_form.parameters, closed_form.log_likelihood], [*theta, height], tolerance=1e-8)
        parts[f"{name}_searched"] = near(
            [*searched.parameters, searched.log_likelihood], [*theta, height], tolerance=1e-3
        )
    X, y = rng.normal(size=(30, 2)), rng.poisson(2.0, size=30)
    best = optimize.minimize(lambda p: -stats.poisson(np.exp(X @ p[:2] + p[2])).logpmf(y).sum(), np.zeros(3))
    fitted = ours.fit_conditional("poisson", lambda rows, p: (rows @ p[:2] + p[2])[:, None], X, y, np.zeros(3))
    return every(
        **parts,
        conditional=near(fitted.parameters, best.x, tolerance=1e-4),
        height=near(fitted.log_likelihood, -best.fun, tolerance=1e-6),
    )


@oracle(f"{PATH}.linear_posterior", f"{PATH}.LinearPosterior", f"{PATH}.elliptical_slice_samples")
def posteriors(seed: int) -> Verdict:
    """Closed form by the inverse of a matrix, and a chain that must have this law."""
    rng = np.random.default_rng(seed)
    X, y, at = rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=(3, 2))
    S = np.linalg.inv(X.T @ X / 0.6 + np.eye(2) / 1.7)
    m = S @ X.T @ y / 0.6
    law = ours.linear_posterior(X, y, prior_variance=1.7, noise_variance=0.6)
    mean, deviation = law.predict(at)
    height = lambda beta: float(-((y - X @ beta) ** 2).sum() / 1.2)  # noqa: E731
    chain = ours.elliptical_slice_samples(height, [np.sqrt(1.7)] * 2, 800, rng, burn_in=50, thin=5)
    start = int(rng.integers(2**30))
    every_state, some = (
        ours.elliptical_slice_samples(height, [1.0, 2.0], n, np.random.default_rng(start), burn_in=k, thin=m)
        for n, k, m in ((30, 0, 1), (5, 7, 4))
    )
    depths = np.einsum("ij,jk,ik->i", chain - m, np.linalg.inv(S), chain - m)
    return every(
        mean=near(law.mean, m, tolerance=1e-9),
        covariance=near(law.covariance, S, tolerance=1e-9),
        told=near(mean, at @ m, tolerance=1e-9),
        error=near(deviation, np.sqrt([r @ S @ r + 0.6 for r in at]), tolerance=1e-9),
        # Neighbors in the chain are still a little alike, so that the p-value of 800 draws is taken of every fourth.
        thinned=near(some, every_state[10:27:4], tolerance=1e-12),
        chain=plausible(stats.kstest(depths[::4], stats.chi2(2).cdf).pvalue),
    )


@oracle(
    f"{PATH}.regression_slope",
    f"{PATH}.correlated_pairs",
    f"{PATH}.galton_heights",
)
def back_to_the_mean(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(3, 2, size=30), rng.normal(-1, 1, size=30)
    pairs = np.array(ours.correlated_pairs(4000, 0.6, rng))
    heights = np.array(ours.galton_heights(4000, rng, slope=0.5, mean=170.0, sd=6.0))
    depth = (pairs[0] ** 2 - 1.2 * pairs[0] * pairs[1] + pairs[1] ** 2) / (1 - 0.36)
    scaled = (heights - 170) / 6
    tall = (scaled[0] ** 2 - scaled[0] * scaled[1] + scaled[1] ** 2) / 0.75
    return every(
        slope=near(ours.regression_slope(x, y), stats.linregress(x, y).slope, tolerance=1e-12),
        far=near(ours.regression_slope(x, y + 1e13), stats.linregress(x, y + 1e13 - 1e13).slope, tolerance=1e-3),
        pairs=plausible(stats.kstest(depth, stats.chi2(2).cdf).pvalue),
        heights=plausible(stats.kstest(tall, stats.chi2(2).cdf).pvalue),
        fathers=plausible(stats.kstest(heights[0], stats.norm(170, 6).cdf).pvalue),
    )


@oracle("margin.foundations.statistics.GLMFit", f"{PATH}.fit_glm")
def scored_models(seed: int) -> Verdict:
    """Coefficients by a general optimizer, covariance as the inverse of the curvature by differences."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    eta, parts = X @ [0.3, 0.8, -0.5], {}
    cases: dict[str, tuple[np.ndarray, Any]] = {
        "poisson": (rng.poisson(np.exp(eta)), lambda m: stats.poisson(np.exp(m)).logpmf),
        "bernoulli": (rng.binomial(1, special.expit(eta)), lambda m: stats.bernoulli(special.expit(m)).logpmf),
    }
    for family, (y, law) in cases.items():
        fit = ours.fit_glm(X, y, family)
        loss = lambda b, y=y, law=law: -law(X @ b)(y).sum()  # noqa: E731
        best = optimize.minimize(loss, np.zeros(3), tol=1e-10)
        mean = np.exp(X @ best.x) if family == "poisson" else special.expit(X @ best.x)
        weight = mean if family == "poisson" else mean * (1 - mean)
        parts[family] = near(fit.coefficients, best.x, tolerance=1e-3)
        parts[f"{family}_height"] = near(fit.log_likelihood, -best.fun, tolerance=1e-6)
        parts[f"{family}_spread"] = near(fit.covariance, np.linalg.inv(X.T * weight @ X), tolerance=1e-3)
    y = eta + 0.7 * rng.normal(size=40)
    normal, line = ours.fit_glm(X, y), np.linalg.lstsq(X, y, rcond=None)
    dispersion = line[1][0] / 37
    return every(
        **parts,
        line=near(normal.coefficients, line[0], tolerance=1e-8),
        dispersion=near(normal.dispersion, dispersion, tolerance=1e-8),
        spread=near(normal.covariance, dispersion * np.linalg.inv(X.T @ X), tolerance=1e-8),
        degrees=equal((normal.df, fit.df), (37, None)),
    )


@oracle(*(f"{PATH}.{name}" for name in ("bic", "t_test_from_error", "mean_interval", "f_test_from_sums")))
def tests_from_sums(seed: int) -> Verdict:
    """Against SciPy's laws and tests, from sums formed here."""
    x = np.random.default_rng(seed).normal(0.7, 2.0, size=11)
    error, theirs = x.std(ddof=1) / np.sqrt(11), stats.ttest_1samp(x, 0.4)
    f = ours.f_test_from_sums("x", 7.5, 3, 1.8, 14)
    return every(
        criterion=near(ours.bic(-12.5, 3, 40), 3 * np.log(40) + 25, tolerance=1e-10),
        t=near(ours.t_test_from_error("x", x.mean() - 0.4, error, 10).p_value, theirs.pvalue, tolerance=1e-12),
        interval=near(ours.mean_interval(x.mean(), error, 10, 0.9), theirs.confidence_interval(0.9), tolerance=1e-10),
        f=near([f.statistic, f.p_value], [7.5 / 3 / 1.8, stats.f(3, 14).sf(7.5 / 3 / 1.8)], tolerance=1e-12),
    )
