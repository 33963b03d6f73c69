"""Student's t, Cauchy, Lévy and the alpha-stable family; stability and heavy tails."""

from math import factorial, gamma

import numpy as np
from scipy import stats

from margin.core.verdict import Verdict, below, corrected, equal, every, near, raises
from margin.foundations.probability import (
    AlphaStable,
    Cauchy,
    Exponential,
    Levy,
    Normal,
    StudentT,
    gamma_function,
    heavy_tail_report,
    kolmogorov_p_value,
    stability_test,
)
from margin.foundations.statistics import p_value
from margin.notes.claims import claim
from margin.notes.claims.chance import plausible


@claim("gamma-function")
def gamma_function_continues_the_factorial() -> Verdict:
    x = np.array([-2.5, 0.1, 0.5, 1.7, 6.0, 20.5])
    n = np.arange(1, 12)
    exact = np.array([gamma(v) for v in x])
    return every(
        library=near(gamma_function(x) / exact, np.ones(6), tolerance=1e-12),
        factorials=near(gamma_function(n) / [factorial(k - 1) for k in n], np.ones(11), tolerance=1e-12),
        root_pi=near(gamma_function(0.5), np.sqrt(np.pi), tolerance=1e-13),
    )


@claim("student-t-distribution")
def student_t_lies_between_cauchy_and_normal(seed: int) -> Verdict:
    law, x = StudentT(3.5), np.linspace(-6, 6, 25)
    formula = gamma(2.25) / (np.sqrt(3.5 * np.pi) * gamma(1.75)) * (1 + x**2 / 3.5) ** -2.25
    q = np.array([0.01, 0.3, 0.9])
    return every(
        formula=near(law.pdf(x), formula, tolerance=1e-14),
        cdf=near(law.cdf(x), stats.t(3.5).cdf(x), tolerance=1e-13),
        as_run=near([p_value(t, 3.5) for t in (0.4, 2.5)], 2 * (1 - law.cdf(np.array([0.4, 2.5]))), tolerance=1e-12),
        quantile=near(law.quantile(q), stats.t(3.5).ppf(q), tolerance=1e-9),
        sample=plausible(kolmogorov_p_value(law.sample(5000, np.random.default_rng(seed)), law.cdf)),
        cauchy=near(StudentT(1).pdf(x), Cauchy().pdf(x), tolerance=1e-14),
        normal=near(StudentT(1e6).pdf(x), Normal().pdf(x), tolerance=1e-6),
    )


@claim("stable-property")
def sums_of_stable_laws_keep_their_shape(seed: int) -> Verdict:
    rng, a, b = np.random.default_rng(seed), 1.0, 2.0
    normal = stability_test(Normal(0, 1), a, b, 40_000, rng)
    cauchy = stability_test(Cauchy(0, 1), a, b, 40_000, rng)
    exponential = stability_test(Exponential(1), a, b, 200_000, rng)
    shifted = stability_test(Normal(3, 1), a, b, 40_000, rng)  # stable, but not strictly: d is not 0
    return every(
        normal=plausible(normal.p_value),
        normal_c=near(normal.c, np.hypot(a, b), tolerance=0.07),
        cauchy=plausible(cauchy.p_value),
        cauchy_c=near(cauchy.c, a + b, tolerance=0.15),
        shift=near(shifted.d, 3 * (a + b - np.hypot(a, b)), tolerance=0.3),
        exponential_fails=below(exponential.p_value, 1e-6),
    )


@claim("cauchy-distribution")
def cauchy_is_a_t_with_one_degree_of_freedom(seed: int) -> Verdict:
    law, x, rng = Cauchy(1, 2), np.linspace(-50, 50, 41), np.random.default_rng([seed, 1])
    return every(
        scipy=near(law.pdf(x), stats.cauchy(1, 2).pdf(x), tolerance=1e-15),
        cdf=near(law.cdf(x), stats.cauchy(1, 2).cdf(x), tolerance=1e-14),
        student=near(law.pdf(x), StudentT(1, 1, 2).pdf(x), tolerance=1e-15),
        sample=plausible(kolmogorov_p_value(law.sample(5000, np.random.default_rng(seed)), law.cdf)),
        # Stable: the mean of twenty draws has the very law of one; that of a finite variance would be far narrower.
        stable=plausible(kolmogorov_p_value(law.sample(60_000, rng).reshape(20, -1).mean(axis=0), law.cdf)),
        heavy=near(1e8 * (1 - law.cdf(1 + 2e8)), 1 / np.pi, tolerance=1e-6),  # the tail falls like 1 / x
        no_mean=raises(ValueError, lambda: law.expectation(lambda v: v), match="does not converge"),
    )


@claim("levy-distribution")
def levy_is_the_stable_law_of_index_one_half(seed: int) -> Verdict:
    law, x = Levy(1, 2), np.array([0.5, 1.1, 1.5, 3.0, 40.0, 1e6])
    return every(
        scipy=near(law.pdf(x), stats.levy(1, 2).pdf(x), tolerance=1e-14),
        cdf=near(law.cdf(x), stats.levy(1, 2).cdf(x), tolerance=1e-14),
        stable=near(AlphaStable(0.5, 1, 2, 1).pdf(x), law.pdf(x), tolerance=1e-11),
        sample=plausible(kolmogorov_p_value(law.sample(5000, np.random.default_rng(seed)), law.cdf)),
    )


@claim("claim-normal-cauchy-levy-stable")
def the_scale_of_a_sum_follows_the_index(seed: int) -> Verdict:
    rng, parts = np.random.default_rng(seed), {}
    for law, alpha in ((Normal(0, 1), 2.0), (Cauchy(0, 1), 1.0), (Levy(0, 1), 0.5)):
        test = stability_test(law, 1.0, 2.0, 60_000, rng)
        name = type(law).__name__.lower()
        parts[name] = near(test.c**alpha / (1 + 2**alpha), 1.0, tolerance=0.03)
        parts[f"{name}_shape"] = plausible(test.p_value)
    x = np.linspace(0.8, 9, 12)
    pairs = (
        (Normal(0.7, 1.3), stats.norm(0.7, 1.3)),
        (Cauchy(0.7, 1.3), stats.cauchy(0.7, 1.3)),
        (Levy(0.7, 1.3), stats.levy(0.7, 1.3)),
    )
    for law, oracle in pairs:
        parts[f"density_of_{type(law).__name__}"] = near(law.log_prob(x), oracle.logpdf(x), tolerance=1e-12)
        parts[f"cdf_of_{type(law).__name__}"] = near(law.cdf(x), oracle.cdf(x), tolerance=1e-12)
    return every(**parts)


@claim("alpha-stable-distribution")
def only_beta_zero_is_symmetric(seed: int) -> Verdict:
    x = np.array([-6.0, -1.0, 0.4, 2.0, 9.0])
    law, skewed = AlphaStable(1.7, 0.3, 1.2, -0.5), AlphaStable(0.5, 1.0)
    lopsided = AlphaStable(1.3, 0.9, 1.2, -0.5)
    tails = [float(AlphaStable(alpha).survival(20.0)) for alpha in (2.0, 1.8, 1.4, 1.0, 0.6)]
    oracle = stats.levy_stable(1.7, 0.3, loc=-0.5, scale=1.2)
    truth = every(
        scipy=near(law.pdf(x), oracle.pdf(x), tolerance=1e-9),
        sample=plausible(kolmogorov_p_value(lopsided.sample(3000, np.random.default_rng(seed)), lopsided.cdf)),
        gaussian=near(AlphaStable(2, 0.7, 1.5, 1).pdf(x), Normal(1, 1.5 * np.sqrt(2)).pdf(x), tolerance=1e-14),
        tails_get_heavier=equal(bool(np.all(np.diff(tails) > 0)), True),
        levy=near([skewed.quantile(0.5), Levy().quantile(0.5)], [2.198, 2.198], tolerance=5e-4),
        symmetric_at_zero=near(AlphaStable(1.7).pdf(x), AlphaStable(1.7).pdf(-x), tolerance=1e-14),
        alpha_zero=raises(ValueError, lambda: AlphaStable(0.0), match="must be a positive number"),
    )
    return corrected(
        truth,
        symmetric=near(skewed.pdf(np.abs(x)), skewed.pdf(-np.abs(x)), tolerance=0.01),
        # A characteristic function is continuous, and 1 at 0; exp(-|t|^0) is 1/e at every other t.
        alpha_zero_has_a_law=near(np.exp(-(np.abs(1e-9) ** 0.0)), 1.0, tolerance=0.1),
    )


@claim("heavy-tailed-distribution")
def heavy_means_no_exponential_bounds_the_tail() -> Verdict:
    report = heavy_tail_report(Exponential(1))
    return every(
        heavy=equal([heavy_tail_report(law).heavy for law in (Cauchy(), Levy(), StudentT(3))], [True] * 3),
        light=equal([heavy_tail_report(law).heavy for law in (Normal(), Exponential(1))], [False] * 2),
        some_t_is_not_enough=equal(report.diverges.tolist(), [bool(t > 1) for t in report.rates]),
    )


@claim("claim-levy-cauchy-t-heavy-tailed")
def the_three_named_laws_are_heavy_for_any_parameters() -> Verdict:
    laws = [Levy(0, 0.1), Levy(5, 100), Cauchy(3, 0.01), *(StudentT(nu) for nu in (0.5, 2, 10, 100))]
    return every(
        heavy=equal([heavy_tail_report(law).heavy for law in laws], [True] * len(laws)),
        normal=equal(heavy_tail_report(Normal(0, 1000)).heavy, False),
    )
