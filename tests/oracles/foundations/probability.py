"""Laws of probability against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, optimize, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import probability as ours
from margin.notes.claims.chance import ERRORS, plausible

PATH = "margin.foundations.probability"
LEVELS = np.array([0.03, 0.2, 0.45, 0.7, 0.94])


def as_scipy(law: Any, theirs: Any, seed: int) -> dict[str, Verdict]:
    """Density or mass, distribution function, tail, quantiles, moments, entropy and draws."""
    draws = law.sample(1500, np.random.default_rng(seed))
    x = theirs.ppf(LEVELS)
    log_density = theirs.logpmf if hasattr(theirs.dist, "pmf") else theirs.logpdf
    parts = {
        "density": near(law.log_prob(x), log_density(x), tolerance=1e-8),
        "cdf": near(law.cdf(x), theirs.cdf(x), tolerance=1e-8),
        "tail": near(law.survival(x), theirs.sf(x), tolerance=1e-8),
        "quantiles": near(law.quantile(LEVELS), x, tolerance=1e-6),
    }
    far = theirs.isf(1e-6)
    if theirs.sf(far) > 0:
        parts["log_tail"] = near(law.log_survival(far), theirs.logsf(far), tolerance=1e-5)
    if np.isfinite(theirs.var()):
        parts["mean"] = near(law.mean, theirs.mean(), tolerance=1e-8)
        parts["variance"] = near(law.variance, theirs.var(), tolerance=1e-8)
    parts["number"] = equal(draws.shape, (1500,))
    if hasattr(theirs.dist, "pmf"):
        parts["draws"] = near(draws.mean(), theirs.mean(), tolerance=6 * float(theirs.std()) / np.sqrt(1500))
    else:
        parts["ends"] = equal(law.quantile([0.0, 1.0]).tolist(), [float(end) for end in theirs.support()])
        parts["draws"] = plausible(stats.kstest(draws, theirs.cdf).pvalue)
    return parts


def entropy_of(law: Any, theirs: Any) -> Verdict:
    return near(law.entropy(), float(theirs.entropy()), tolerance=1e-5)


def likelihood_at_most(fitted: Any, theirs: Any, data: np.ndarray) -> Verdict:
    """The fit has a likelihood that SciPy's does not exceed, both measured by SciPy's density."""
    return near(min(float(fitted.log_prob(data).sum()) - theirs, 0.0), 0.0, tolerance=1e-4)


@oracle(f"{PATH}.Normal")
def normal(seed: int) -> Verdict:
    law, data = ours.Normal(0.7, 1.6), np.random.default_rng(seed).normal(2, 3, size=40)
    fitted, x = ours.Normal.fit(data), np.array([-1.0, 0.4, 3.0])
    together, apart = law.add(ours.Normal(-2.0, 0.5), 0.3), law.subtract(ours.Normal(-2.0, 0.5), 0.3)
    return every(
        **as_scipy(law, stats.norm(0.7, 1.6), seed),
        entropy=entropy_of(law, stats.norm(0.7, 1.6)),
        score=near(law.score(x), (0.7 - x) / 1.6**2, tolerance=1e-12),
        scaled=near([(-3 * law + 2).mu, (-3 * law + 2).sigma], [-0.1, 4.8], tolerance=1e-12),
        sum=near([together.mu, together.sigma**2], [-1.3, 1.6**2 + 0.25 + 2 * 0.3 * 1.6 * 0.5], tolerance=1e-12),
        difference=near([apart.mu, apart.sigma**2], [2.7, 1.6**2 + 0.25 - 2 * 0.3 * 1.6 * 0.5], tolerance=1e-12),
        fit=near([fitted.mu, fitted.sigma], [data.mean(), data.std()], tolerance=1e-12),
    )


@oracle(f"{PATH}.StudentT")
def student(seed: int) -> Verdict:
    law, theirs = ours.StudentT(4.5, 0.7, 1.6), stats.t(4.5, 0.7, 1.6)
    data = theirs.rvs(300, random_state=seed)
    nu, mu, sigma = stats.t.fit(data)
    far = np.array([3.0, 40.0, 1e4])
    fitted = ours.StudentT.fit(data)
    known = float(stats.t(*stats.t.fit(data, f0=4.5)).logpdf(data).sum())
    return every(
        **as_scipy(law, theirs, seed),
        entropy=entropy_of(law, theirs),
        far_tail=near(law.log_survival(far), theirs.logsf(far), tolerance=1e-6),
        fit=likelihood_at_most(fitted, float(stats.t(nu, mu, sigma).logpdf(data).sum()), data),
        known_freedom=likelihood_at_most(ours.StudentT.fit(data, nu=4.5), known, data),
    )


@oracle(f"{PATH}.Cauchy")
def cauchy(seed: int) -> Verdict:
    law, theirs = ours.Cauchy(0.7, 1.6), stats.cauchy(0.7, 1.6)
    data = theirs.rvs(200, random_state=seed)
    best = stats.cauchy(*stats.cauchy.fit(data)).logpdf(data).sum()
    return every(
        **as_scipy(law, theirs, seed),
        entropy=entropy_of(law, theirs),
        fit=likelihood_at_most(ours.Cauchy.fit(data), float(best), data),
    )


@oracle(f"{PATH}.Levy")
def levy(seed: int) -> Verdict:
    law, theirs = ours.Levy(0.7, 1.6), stats.levy(0.7, 1.6)
    data = theirs.rvs(200, random_state=seed)
    scale = len(data) / np.sum(1 / (data - 0.7))  # where the slope of the likelihood in the scale is zero
    return every(
        **as_scipy(law, theirs, seed),
        entropy=entropy_of(law, theirs),
        outside=near(law.cdf([0.0, 0.7]), [0.0, 0.0], tolerance=0.0),
        fit=near(ours.Levy.fit(data, loc=0.7).scale, scale, tolerance=1e-9),
    )


@oracle(f"{PATH}.Laplace")
def laplace(seed: int) -> Verdict:
    law, theirs = ours.Laplace(0.7, 1.6), stats.laplace(0.7, 1.6)
    data = theirs.rvs(101, random_state=seed)
    fitted = ours.Laplace.fit(data)
    return every(
        **as_scipy(law, theirs, seed),
        entropy=entropy_of(law, theirs),
        fit=near([fitted.mu, fitted.b], stats.laplace.fit(data), tolerance=1e-10),
        middle=near(law.quantile(0.5), 0.7, tolerance=1e-12),
        survival=near(law.log_survival(data), theirs.logsf(data), tolerance=1e-10),
    )


@oracle(f"{PATH}.Uniform", f"{PATH}.DiscreteUniform")
def uniform(seed: int) -> Verdict:
    law, theirs = ours.Uniform(-1.3, 4.2), stats.uniform(-1.3, 5.5)
    counts, their_counts = ours.DiscreteUniform(-2, 7), stats.randint(-2, 8)
    data = np.array([0.4, 3.0, -0.2])
    fitted, discrete = ours.Uniform.fit(data), ours.DiscreteUniform.fit([4, -1, 2])
    return every(
        continuous=every(**as_scipy(law, theirs, seed), entropy=entropy_of(law, theirs)),
        discrete=every(**as_scipy(counts, their_counts, seed), entropy=entropy_of(counts, their_counts)),
        fit=near([fitted.a, fitted.b, discrete.low, discrete.high], [-0.2, 3.0, -1, 4], tolerance=0.0),
    )


@oracle(f"{PATH}.Bernoulli", f"{PATH}.Binomial", f"{PATH}.Poisson", f"{PATH}.Geometric", f"{PATH}.NegativeBinomial")
def counts(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    trials, rare = rng.binomial(9, 0.3, size=80), rng.poisson(2.4, size=80)
    failures = rng.geometric(0.3, size=80) - 1
    pairs = {
        "bernoulli": (ours.Bernoulli(0.3), stats.bernoulli(0.3)),
        "binomial": (ours.Binomial(9, 0.3), stats.binom(9, 0.3)),
        "poisson": (ours.Poisson(2.4), stats.poisson(2.4)),
        "geometric": (ours.Geometric(0.3), stats.geom(0.3, loc=-1)),
        "geometric_from_one": (ours.Geometric(0.3, start=1), stats.geom(0.3)),
        "negative_binomial": (ours.NegativeBinomial(3.5, 0.4), stats.nbinom(3.5, 0.4)),
    }
    return every(
        **{name: every(**as_scipy(law, theirs, seed)) for name, (law, theirs) in pairs.items()},
        **{f"entropy_of_{name}": entropy_of(law, theirs) for name, (law, theirs) in pairs.items()},
        fit_binomial=near(ours.Binomial.fit(trials, 9).p, trials.mean() / 9, tolerance=1e-12),
        fit_poisson=near(ours.Poisson.fit(rare).rate, rare.mean(), tolerance=1e-12),
        fit_geometric=near(ours.Geometric.fit(failures).p, 1 / (1 + failures.mean()), tolerance=1e-12),
        fit_from_one=near(ours.Geometric.fit(failures + 1, start=1).p, 1 / (1 + failures.mean()), tolerance=1e-12),
        fit_known_r=near(ours.NegativeBinomial.fit(failures, r=3.5).p, 3.5 / (3.5 + failures.mean()), tolerance=1e-9),
    )


@oracle(f"{PATH}.Multinomial")
def multinomial(seed: int) -> Verdict:
    p = np.array([0.2, 0.5, 0.3])
    law, theirs = ours.Multinomial(6, p), stats.multinomial(6, p)
    rows = np.array([[1, 3, 2], [0, 6, 0], [6, 0, 0]])
    draws = law.sample(4000, np.random.default_rng(seed))
    return every(
        mass=near(law.log_prob(rows), theirs.logpmf(rows), tolerance=1e-10),
        impossible=equal(law.log_prob(np.array([[7, 0, 0], [5.5, 0.5, 0], [8, -2, 0]])).tolist(), [-np.inf] * 3),
        mean=near(law.mean, 6 * p, tolerance=1e-12),
        covariance=near(law.covariance, theirs.cov(), tolerance=1e-12),
        draws=near(draws.mean(axis=0), 6 * p, tolerance=6 * np.sqrt(6 / 4 / 4000)),
        fit=near(ours.Multinomial.fit(rows).p, rows.sum(axis=0) / rows.sum(), tolerance=1e-12),
    )


@oracle(f"{PATH}.MultivariateNormal")
def multivariate_normal(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    mean, S = np.array([0.5, -1.0, 2.0]), root @ root.T + 0.5 * np.eye(3)
    law, theirs = ours.MultivariateNormal(mean, S), stats.multivariate_normal(mean, S)
    x = rng.normal(size=(5, 3))
    known, free = [2, 0], [1]
    gain = S[np.ix_(free, known)] @ np.linalg.inv(S[np.ix_(known, known)])
    given = law.condition(known, x[0, known])
    draws = law.sample(3000, rng)
    shift = np.linalg.solve(S, (draws - mean).T).T
    return every(
        density=near(law.log_prob(x), theirs.logpdf(x), tolerance=1e-9),
        score=near(law.score(x), -np.linalg.solve(S, (x - mean).T).T, tolerance=1e-9),
        entropy=near(law.entropy(), theirs.entropy(), tolerance=1e-9),
        marginal=near(law.marginal([2, 0]).covariance, S[np.ix_(known, known)], tolerance=1e-12),
        conditional_mean=near(given.mean, mean[free] + gain @ (x[0, known] - mean[known]), tolerance=1e-9),
        conditional=near(given.covariance, S[np.ix_(free, free)] - gain @ S[np.ix_(known, free)], tolerance=1e-9),
        draws=plausible(stats.kstest(((draws - mean) * shift).sum(axis=1), stats.chi2(3).cdf).pvalue),
        fit=near(ours.MultivariateNormal.fit(draws).covariance, np.cov(draws.T, bias=True), tolerance=1e-9),
    )


@oracle(f"{PATH}.AlphaStable")
def alpha_stable(seed: int) -> Verdict:
    parts: dict[str, Verdict] = {}
    for alpha, beta in ((1.4, 0.8), (0.7, -0.6), (1.0, 0.5), (2.0, 0.3)):
        law = ours.AlphaStable(alpha, beta, 1.3, -0.4)
        x = np.array([-2.0, -0.4, 0.9, 4.0])  # the second is the center, where the integral has another form
        by_inversion = [_density_by_inversion(alpha, beta, 1.3, -0.4, v) for v in x]
        draws, quantiles = law.sample(20_000, np.random.default_rng(seed)), law.quantile(LEVELS)
        parts[f"{alpha:g}"] = every(
            density=near(law.pdf(x), by_inversion, tolerance=1e-5),
            tails_add=near(law.cdf(x) + law.survival(x), np.ones(4), tolerance=1e-9),
            slope=near((law.cdf(x + 1e-4) - law.cdf(x - 1e-4)) / 2e-4, law.pdf(x), tolerance=1e-4),
            quantiles=near(law.cdf(quantiles), LEVELS, tolerance=1e-6),
            draws=near(np.mean(draws[:, None] <= quantiles, axis=0), LEVELS, tolerance=ERRORS * 0.5 / np.sqrt(20_000)),
        )
    return every(**parts)


def _density_by_inversion(alpha: float, beta: float, gamma: float, delta: float, x: float) -> float:
    """The integral of the characteristic function, in the parametrization in which delta is a shift."""

    def log_characteristic(t: float) -> complex:
        size = (gamma * t) ** alpha
        bend = -2 / np.pi * np.log(t) if alpha == 1 else np.tan(np.pi * alpha / 2)
        return -size * (1 - 1j * beta * bend) + 1j * delta * t

    def integrand(t: float) -> float:
        return float(np.exp(log_characteristic(t) - 1j * x * t).real / np.pi)

    end = optimize.brentq(lambda t: (gamma * t) ** alpha - 40, 1e-6, 1e6)
    return float(integrate.quad(integrand, 1e-12, end, limit=2000)[0])
