"""Laws: supports, moments, sums, tails and sampled means against SciPy's integrals and sums written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, special, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import probability as ours
from margin.notes.claims.chance import plausible

PATH = "margin.foundations.probability"


@oracle(f"{PATH}.Univariate", f"{PATH}.Univariate.cdf", f"{PATH}.Continuous.pdf", f"{PATH}.Continuous.probability")
def on_and_off_the_support(seed: int) -> Verdict:
    """A law on [1, 4] seen from before, inside, after and at NaN, and one on integers between its steps."""
    del seed
    x, k = np.array([-2.0, 0.5, 1.7, 3.9, 4.0, 9.0, np.inf, -np.inf]), np.array([-1.0, 0.0, 0.4, 1.9, 2.0, 7.5])
    law, theirs = ours.Uniform(1.0, 4.0), stats.uniform(1.0, 3.0)
    steps, their_steps = ours.Binomial(3, 0.4), stats.binom(3, 0.4)
    inner = x[1:4]
    return every(
        cdf=near(law.cdf(x), theirs.cdf(x), tolerance=1e-12),
        tail=near(law.survival(x), theirs.sf(x), tolerance=1e-12),
        log_tail=near(np.exp(law.log_survival(x)), theirs.sf(x), tolerance=1e-12),
        density=near(law.pdf(inner), theirs.pdf(inner), tolerance=1e-12),
        outside=equal(law.log_prob([0.9, 4.1]).tolist(), [-np.inf, -np.inf]),
        unknown=equal([bool(np.isnan(f(np.nan))) for f in (law.log_prob, law.cdf, law.survival)], [True] * 3),
        steps=near(steps.cdf(k), their_steps.cdf(k), tolerance=1e-12),
        falling=near(steps.survival(k), their_steps.sf(k), tolerance=1e-12),
        entropy=near([law.entropy(), steps.entropy()], [np.log(3), their_steps.entropy()], tolerance=1e-6),
        between=near([law.probability(0.0, 1.6), law.probability(3.0, 2.0)], [0.2, 0.0], tolerance=1e-12),
    )


@oracle(
    *(f"{PATH}.{name}" for name in ("expectation", "moment", "absolute_central_moment", "sample_moment", "skewness"))
)
def moments_of_laws(seed: int) -> Verdict:
    law, theirs = ours.Normal(0.7, 1.6), stats.norm(0.7, 1.6)
    waits, their_waits = ours.Exponential(0.5), stats.expon(scale=2.0)
    data = np.random.default_rng(seed).gamma(2.0, size=30)
    absolute = integrate.quad(lambda x: abs(x - 2.0) ** 3 * their_waits.pdf(x), 0, 80, points=[2.0])[0]
    return every(
        mean=near([ours.expectation(law), ours.expectation(waits)], [0.7, 2.0], tolerance=1e-7),
        raw=near(ours.moment(law, 3, central=False), theirs.moment(3), tolerance=1e-6),
        central=near([ours.moment(waits, 2), ours.moment(waits, 3)], [4.0, 16.0], tolerance=1e-5),
        standardized=near(ours.moment(waits, 3, standardized=True), their_waits.stats("s"), tolerance=1e-6),
        skewed=near(ours.skewness(waits), 2.0, tolerance=1e-6),
        absolute=near(ours.absolute_central_moment(waits, 3), absolute, tolerance=1e-5),
        sample=near(ours.sample_moment(data, 3), stats.moment(data, 3), tolerance=1e-10),
        sample_raw=near(ours.sample_moment(data, 3, central=False), np.mean(data**3), tolerance=1e-10),
        skewness=near(ours.sample_moment(data, 3, standardized=True), stats.skew(data), tolerance=1e-10),
    )


@oracle(*(f"{PATH}.{name}" for name in ("convolve_densities", "noised_density", "convolve_masses")))
def densities_of_sums(seed: int) -> Verdict:
    """Two normals of their own means add to a normal; noise makes a normal wider."""
    del seed
    f, g = stats.norm(0.4, 0.5), stats.norm(-0.2, 0.7)
    z, density = ours.convolve_densities(f.pdf, g.pdf, -5.0, 6.0, 1500)
    total = stats.norm(0.2, np.sqrt(0.25 + 0.49))
    grid = np.linspace(-6, 7, 1301)
    noised = ours.noised_density(f.pdf, 0.9, grid)
    wide = ours.noised_density(f.pdf, 2.5, np.linspace(-20, 21, 2000))
    narrow = ours.noised_density(f.pdf, 0.02, np.linspace(-1.5, 2.4, 3000))
    return every(
        places=near([z[0], z[-1], len(z)], [-10 + 11 / 1500, 12 - 11 / 1500, 2999], tolerance=1e-9),
        sums=near(density, total.pdf(z), tolerance=1e-6),
        noised=near(noised, stats.norm(0.4, np.sqrt(0.25 + 0.81)).pdf(grid), tolerance=1e-6),
        wide=near(wide, stats.norm(0.4, np.sqrt(0.25 + 6.25)).pdf(np.linspace(-20, 21, 2000)), tolerance=1e-6),
        narrow=near(narrow, stats.norm(0.4, np.sqrt(0.2504)).pdf(np.linspace(-1.5, 2.4, 3000)), tolerance=3e-4),
        masses=near(ours.convolve_masses([0.2, 0.8], [0.1, 0.3, 0.6]), [0.02, 0.14, 0.36, 0.48], tolerance=1e-12),
    )


@oracle(f"{PATH}.gamma_function", f"{PATH}.multinomial_coefficient", f"{PATH}.binomial_normal_approximation")
def special_values(seed: int) -> Verdict:
    x = np.random.default_rng(seed).uniform(-3.9, 18.0, size=40)
    x = x[np.abs(x - np.round(x)) > 0.02]
    approximation = ours.binomial_normal_approximation(40, 0.3, 9, 14)
    exact, bell = stats.binom(40, 0.3), stats.norm(12, np.sqrt(8.4))
    expected = [exact.cdf(14) - exact.cdf(8), bell.cdf(14) - bell.cdf(9), bell.cdf(14.5) - bell.cdf(8.5)]
    return every(
        gamma=near(ours.gamma_function(x) / special.gamma(x), np.ones_like(x), tolerance=1e-11),
        orderings=near(ours.multinomial_coefficient([3, 2, 4]), 1260.0, tolerance=1e-9),
        approximation=near(list(approximation), expected, tolerance=1e-9),
    )


@oracle(*(f"{PATH}.{name}" for name in ("monte_carlo", "monte_carlo_pi", "jensen_gap", "running_mean")))
def averages(seed: int) -> Verdict:
    estimate = ours.monte_carlo(np.square, lambda n, rng: rng.normal(1.0, 2.0, size=n), 40, np.random.default_rng(seed))
    again = np.random.default_rng(seed).normal(1.0, 2.0, size=40) ** 2
    circle = ours.monte_carlo_pi(500, np.random.default_rng(seed))
    points = np.random.default_rng(seed).random((500, 2))
    inside = 4.0 * np.array([a * a + b * b <= 1 for a, b in points])
    x, w = np.array([[2.0, 3.0, 7.0], [1.0, -1.0, 6.0]]), np.array([0.2, 0.5, 0.3])
    return every(
        average=near([estimate.value, estimate.standard_error], [again.mean(), stats.sem(again)], tolerance=1e-12),
        circle=near([circle.value, circle.standard_error], [inside.mean(), stats.sem(inside)], tolerance=1e-12),
        running=near(ours.running_mean(x), [[2.0, 2.5, 4.0], [1.0, 0.0, 2.0]], tolerance=1e-12),
        jensen=near(ours.jensen_gap(np.exp, x[0], w), w @ np.exp(x[0]) - np.exp(4.0), tolerance=1e-9),
        even=near(ours.jensen_gap(np.square, x[0]), np.var(x[0]), tolerance=1e-12),
    )


@oracle(*(f"{PATH}.{name}" for name in ("means_of_samples", "standardized_means", "kolmogorov_distance")))
def means_and_their_law(seed: int) -> Verdict:
    """In blocks of a million draws and in small ones alike: as many means as asked, each of its own draws."""
    rng = np.random.default_rng(seed)
    law, few = ours.Exponential(0.5), ours.means_of_samples(ours.Exponential(0.5), 3, 4000, rng)
    long = ours.means_of_samples(law, 300_000, 7, rng)  # three rows to a block
    scaled = ours.standardized_means(law, 3, 4000, rng)
    data = rng.normal(size=25)
    return every(
        law=plausible(stats.kstest(few, stats.gamma(3, scale=2 / 3).cdf).pvalue),
        number=equal((len(few), len(long), len(np.unique(long))), (4000, 7, 7)),
        near_the_mean=near(long, np.full(7, 2.0), tolerance=6 * 2 / np.sqrt(3e5)),
        scaled=plausible(stats.kstest(scaled, lambda z: stats.gamma(3).cdf(3 + np.sqrt(3) * z)).pvalue),
        distance=near(
            ours.kolmogorov_distance(data, stats.norm.cdf), stats.kstest(data, "norm").statistic, tolerance=1e-12
        ),
    )


@oracle(f"{PATH}.pathwise_derivative", f"{PATH}.marginal_density")
def derivatives_and_integrals(seed: int) -> Verdict:
    """A draw of N(m, s) moves by (z - m)/s with s; a marginal of two normals by SciPy."""
    z = np.random.default_rng(seed).normal(size=6)
    slope = ours.pathwise_derivative(lambda s: ours.Normal(30.0, s), 40.0, 30 + 40 * z)
    law = stats.multivariate_normal([0.3, -0.5], [[1.2, 0.4], [0.4, 0.8]])
    marginal = ours.marginal_density(lambda x, y: float(law.pdf([x, y])), 0.9)
    return every(
        slope=near(slope, z, tolerance=1e-7),
        marginal=near(marginal, stats.norm(0.3, np.sqrt(1.2)).pdf(0.9), tolerance=1e-8),
    )


@oracle(f"{PATH}.heavy_tail_report", f"{PATH}.stability_test")
def tails(seed: int) -> Verdict:
    """Rates are per interquartile range, so that units do not matter; sums of Cauchys have the sum of the scales."""
    laws = {"normal": ours.Normal(1e5, 1e3), "cauchy": ours.Cauchy(1e5, 1e3), "levy": ours.Levy(-3.0, 1e-3)}
    wide = {name: ours.heavy_tail_report(law) for name, law in laws.items()}
    theirs = stats.cauchy(1e5, 1e3)
    rates = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0]) / 2e3  # a Cauchy law has half its mass within one scale
    far = np.array([1e3, 1e4, 1e5, 1e6])
    exponents = np.array([far + theirs.logsf(1e5 + far / r) for r in rates])
    parts: dict[str, Any] = {}
    for name, law, c, d in (
        ("cauchy", ours.Cauchy(0.5, 2.0), 2.5, 0.0),
        ("normal", ours.Normal(2.0, 1.0), np.sqrt(0.49 + 3.24), 2.5 * 2 - 2 * np.sqrt(3.73)),
    ):
        test = ours.stability_test(law, 0.7, 1.8, 100_000, np.random.default_rng(seed))
        again = ours.stability_test(law, 0.7, 1.8, 100_000, np.random.default_rng(seed + 1))
        parts[name] = near([test.c, test.d], [c, d], tolerance=0.15)
        parts[f"{name}_holds"] = equal(max(test.p_value, again.p_value) > 1e-4, True)
    unstable = ours.stability_test(ours.Exponential(1.0), 1.0, 1.0, 100_000, np.random.default_rng(seed))
    weights, levels = _weights_of_quantiles(), np.linspace(0.02, 0.98, 49)
    drawn, law = np.random.default_rng(seed), ours.Normal(2.0, 1.0)
    sums = 0.7 * law.sample(2200, drawn) + 1.8 * law.sample(2200, drawn)
    line = np.polynomial.Polynomial.fit(
        stats.norm(2, 1).ppf(levels), np.quantile(sums[:2000], levels), 1, w=weights
    ).convert()
    exact = ours.stability_test(ours.Normal(2.0, 1.0), 0.7, 1.8, 2000, np.random.default_rng(seed))
    return every(
        heavy=equal([report.heavy for report in wide.values()], [False, True, True]),
        rates=near(wide["cauchy"].rates * 2e3, rates * 2e3, tolerance=1e-9),
        exponents=near(wide["cauchy"].exponents / far, exponents / far, tolerance=1e-9),
        **parts,
        refuted=equal(unstable.p_value < 1e-4, True),
        fitted=near([exact.d, exact.c], line.coef, tolerance=1e-9),
    )


def _weights_of_quantiles() -> np.ndarray:
    """One over the deviation of a sample quantile of a normal law, up to a factor."""
    levels = np.linspace(0.02, 0.98, 49)
    return np.array([stats.norm.pdf(stats.norm.ppf(q)) / (q * (1 - q)) ** 0.5 for q in levels])
