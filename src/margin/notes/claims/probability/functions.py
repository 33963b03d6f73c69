"""Mass, density, support and cumulative distribution function, and the moments taken from them."""

import numpy as np
from scipy import integrate

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.probability import (
    AlphaStable,
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    Exponential,
    Gamma,
    Geometric,
    Laplace,
    Levy,
    Logistic,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    absolute_central_moment,
    expectation,
    moment,
    sample_moment,
    skewness,
)
from margin.foundations.statistics import variance
from margin.notes.claims import claim

DISCRETE = [Bernoulli(0.3), Binomial(8, 0.4), Categorical([0.2, 0.5, 0.3]), Geometric(0.4), NegativeBinomial(3, 0.5)]
DISCRETE += [Geometric(0.4, start=1), Poisson(2.5)]
CONTINUOUS = [Normal(1, 2), Uniform(-1, 3), Exponential(0.5), Gamma(2.5, 3), Laplace(-1, 0.7), Logistic(2, 0.5)]
CONTINUOUS += [StudentT(3), Cauchy(1, 2), Levy(-1, 2), AlphaStable(1.5, 0.5, 2, 1)]


@claim("probability-mass-function")
def masses_sum_to_one_and_are_frequencies(seed: int) -> Verdict:
    draws = Poisson(2.5).sample(100_000, np.random.default_rng(seed))
    frequencies = [np.mean(draws == k) for k in range(8)]
    return every(
        sums=near([law.pmf(law.atoms()).sum() for law in DISCRETE], np.ones(len(DISCRETE)), tolerance=1e-12),
        non_negative=equal(all(np.all(law.pmf(np.arange(-3, 20)) >= 0) for law in DISCRETE), True),
        frequencies=near(frequencies, Poisson(2.5).pmf(np.arange(8)), tolerance=0.006),
    )


@claim("probability-density-function")
def density_gives_probabilities_only_over_intervals() -> Verdict:
    total = [
        integrate.quad(law.pdf, *law.quantile([1e-9, 1 - 1e-9]), points=law.quantile([0.05, 0.5, 0.95]), limit=500)
        for law in CONTINUOUS[:7]
    ]
    area = [integrate.quad(law.pdf, *law.quantile([0.2, 0.9]))[0] for law in CONTINUOUS]
    peak = Normal(0, 0.1).pdf(0)
    at_the_jump = Uniform(4, 6).pdf(np.array([4 - 1e-9, 4 + 1e-9]))
    truth = every(
        integral=near([value for value, _ in total], np.ones(7), tolerance=1e-7),
        interval=near([law.probability(*law.quantile([0.2, 0.9])) for law in CONTINUOUS], area, tolerance=1e-8),
        a_density_is_no_probability=above(float(peak), 1),
    )
    return corrected(truth, densities_are_continuous=near(at_the_jump[0], at_the_jump[1], tolerance=1e-3))


@claim("bacteria-lifetime-example")
def a_point_has_probability_zero_and_an_interval_has_not() -> Verdict:
    uniform, bell = Uniform(4, 6), Gamma(500, rate=100)
    return every(
        below_a_point=near(uniform.cdf([4.5, 5.7]), [0.25, 0.85], tolerance=1e-14),
        point=equal([law.probability(5, 5) for law in (uniform, bell)], [0.0, 0.0]),
        interval=near(uniform.probability(5, 5.01), 0.005, tolerance=1e-14),
        any_density=above(bell.probability(5, 5.01), 0),
    )


@claim("support-of-a-distribution")
def draws_stay_inside_and_nothing_lies_outside(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    laws = [Uniform(4, 6), Exponential(2), Levy(1, 2), Poisson(3), Binomial(5, 0.5), AlphaStable(0.7, 1.0, 1, 2)]
    inside = [bool(np.all(law.support.contains(law.sample(2000, rng)))) for law in laws]
    outside = [float(np.exp(law.log_prob(law.support.low - 0.5))) for law in laws]
    return every(
        draws_inside=equal(inside, [True] * 6),
        nothing_below=equal(outside, [0.0] * 6),
        nothing_between_integers=equal(float(Poisson(3).pmf(1.5)), 0.0),
        closed=equal(bool(Uniform(4, 6).support.contains(4)), True),
    )


@claim("cumulative-distribution-function")
def every_law_has_a_cdf_and_it_is_no_density() -> Verdict:
    law, k = Poisson(2.5), np.arange(6)
    jumps = law.cdf(k) - law.cdf(k - 1e-9)
    integral = integrate.quad(Normal().pdf, -10, 0.7)[0]
    rising = [bool(np.all(np.diff(law.cdf(np.linspace(-20, 40, 500))) >= 0)) for law in [*DISCRETE, *CONTINUOUS]]
    truth = every(
        integral_of_density=near(float(Normal().cdf(0.7)), integral, tolerance=1e-10),
        rising=equal(rising, [True] * len(rising)),
        from_zero_to_one=near(law.cdf([-1e-9, 1e3]), [0, 1], tolerance=1e-12),
        jumps_are_masses=near(jumps, law.pmf(k), tolerance=1e-12),
        right_continuous=near(law.cdf(k + 1e-9), law.cdf(k), tolerance=1e-12),
    )
    area_under_cdf = integrate.quad(Uniform(0, 1).cdf, -5, 5, points=[0, 1])[0]
    return corrected(
        truth,
        density=near(area_under_cdf, 1.0, tolerance=0.1),
        continuous=near(jumps, np.zeros(6), tolerance=0.01),
    )


@claim("claim-pdf-is-derivative-of-cdf")
def slope_of_the_cdf_is_the_density() -> Verdict:
    h, gaps = 1e-5, []
    for law in CONTINUOUS:
        x = law.quantile(np.array([0.1, 0.35, 0.6, 0.9]))
        gaps.append(np.max(np.abs((law.cdf(x + h) - law.cdf(x - h)) / (2 * h) - law.pdf(x))))
    return below(float(max(gaps)), 1e-6)


@claim("expectation")
def mean_is_the_integral_and_the_long_run_average(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    laws = [Normal(1, 2), Uniform(-1, 3), Exponential(0.5), Poisson(2.5), Binomial(8, 0.4), Geometric(0.4)]
    averages = [law.sample(200_000, rng).mean() for law in laws]
    return every(
        integral=near([expectation(law) for law in laws], [law.mean for law in laws], tolerance=1e-8),
        average=near(averages, [law.mean for law in laws], tolerance=0.03),
        of_a_function=near(expectation(Normal(0, 1), np.exp), np.exp(0.5), tolerance=1e-8),
    )


@claim("variance")
def variance_is_mean_square_minus_squared_mean(seed: int) -> Verdict:
    x = Normal(2, 3).sample(1_000_000, np.random.default_rng(seed))
    first, second = x.mean(), np.mean(x**2)
    truth = every(
        identity=near(second - first**2, variance(x), tolerance=1e-8),
        unbiased=near(variance(x[:50], ddof=1), np.var(x[:50], ddof=1), tolerance=1e-12),
        law=near(Normal(2, 3).variance, moment(Normal(2, 3), 2), tolerance=1e-8),
        sample=near(second - first**2, 9.0, tolerance=0.05),
    )
    return corrected(truth, printed=near(2 * second - 2 * first**2, variance(x), tolerance=1.0))


@claim("moments")
def skewness_is_standardized(seed: int) -> Verdict:
    law = Exponential(rate=0.5)
    x = law.sample(1_000_000, np.random.default_rng(seed))
    third = moment(law, 3)
    truth = every(
        third_central=near(third, 16.0, tolerance=1e-6),
        skewness=near(skewness(law), 2.0, tolerance=1e-7),
        sample=near(sample_moment(x, 3, standardized=True), 2.0, tolerance=0.05),
        second_central=near(moment(law, 2), law.variance, tolerance=1e-7),
    )
    as_printed = {
        "variance": near(moment(law, 2, central=False), law.variance, tolerance=0.1),
        "skewness": near(third, skewness(law), tolerance=0.1),
    }
    return corrected(truth, **as_printed)


@claim("claim-variance-additive")
def independent_second_and_third_central_moments_add(seed: int) -> Verdict:
    x, y = Exponential(1), Gamma(2)
    total = Gamma(3)  # the law of their sum when they are independent
    absolute = absolute_central_moment(x, 3) + absolute_central_moment(y, 3)
    truth = every(
        second=near(moment(x, 2) + moment(y, 2), moment(total, 2), tolerance=1e-6),
        third=near(moment(x, 3) + moment(y, 3), moment(total, 3), tolerance=1e-6),
        absolute_third_does_not=above(abs(absolute_central_moment(total, 3) - absolute), 1.0),
    )
    rng = np.random.default_rng(seed)
    drawn = x.sample(100_000, rng) - x.mean
    flipped = drawn * rng.choice([-1, 1], size=100_000)  # uncorrelated with drawn, and not independent of it
    return corrected(
        truth,
        variance_of_equal_summands=near(np.var(drawn + drawn), 2 * x.variance, tolerance=0.5),
        third_moment_of_uncorrelated_summands=near(np.mean((drawn + flipped) ** 3), moment(x, 3), tolerance=2.0),
    )
