"""Sums of independent variables, their limits, and Monte Carlo."""

from itertools import pairwise

import numpy as np
from scipy import stats

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.foundations.probability import (
    Cauchy,
    Exponential,
    Mixture,
    Normal,
    Uniform,
    binomial_normal_approximation,
    convolve_densities,
    convolve_masses,
    kolmogorov_distance,
    means_of_samples,
    monte_carlo,
    monte_carlo_pi,
    noised_density,
    running_mean,
    standardized_means,
)
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS


@claim("convolution-of-distributions")
def densities_of_independent_variables_convolve(seed: int) -> Verdict:
    z, triangle = convolve_densities(Uniform(0, 1).pdf, Uniform(0, 1).pdf, 0, 1, n=2000)
    w, bell = convolve_densities(Normal(0, 1).pdf, Normal(0, 1).pdf, -12, 12)
    draws = Normal(0, 1).sample(200_000, np.random.default_rng(seed)) + Normal(0, 1).sample(
        200_000, np.random.default_rng([seed, 1])
    )
    heights, edges = np.histogram(draws, bins=20, range=(-3, 3), density=False)
    share = [np.trapezoid(bell[(w >= a) & (w <= b)], w[(w >= a) & (w <= b)]) for a, b in pairwise(edges)]
    predicted = float(np.trapezoid(w**2 * bell, w))
    truth = every(
        triangle=near(triangle, np.minimum(z, 2 - z), tolerance=1e-3),
        two_dice=near(
            convolve_masses([1 / 6] * 6, [1 / 6] * 6), [*range(1, 7), *range(5, 0, -1)] / np.array(36), tolerance=1e-15
        ),
        normal=near(bell, Normal(0, np.sqrt(2)).pdf(w), tolerance=1e-9),
        histogram=near(heights / draws.size, share, tolerance=0.004),
    )
    same = 2 * Normal(0, 1).sample(200_000, np.random.default_rng(seed))  # Y = X
    return corrected(truth, printed=near(same.var(), predicted, tolerance=0.5))


@claim("convolution-of-densities")
def noise_blurs_a_density(seed: int) -> Verdict:
    law, sigma = Mixture([0.4, 0.6], [Normal(-1, 0.2), Normal(1.5, 0.3)]), 0.5
    grid = np.linspace(-6, 6, 2401)
    blurred = noised_density(law.pdf, sigma, grid)
    rng = np.random.default_rng(seed)
    x = law.sample(200_000, rng) + sigma * rng.standard_normal(200_000)
    heights, edges = np.histogram(x, bins=24, range=(-3, 3))
    exact = np.diff(law.add_noise(sigma).cdf(edges))
    return every(
        total=near(np.trapezoid(blurred, grid), 1.0, tolerance=1e-9),
        variances_grow=near(blurred, law.add_noise(sigma).pdf(grid), tolerance=1e-8),
        simulated=near(heights / x.size, exact, tolerance=0.004),
    )


@claim("law-of-large-numbers")
def means_settle_only_when_the_expectation_is_finite(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    path = running_mean(Exponential(1).sample(100_000, rng))
    spreads = [
        np.subtract(*np.quantile(means_of_samples(Cauchy(), n, 2000, rng), [0.75, 0.25])) for n in (1, 100, 1000)
    ]
    errors = [np.abs(means_of_samples(Exponential(1), n, 500, rng) - 1).mean() for n in (10, 100, 1000)]
    truth = every(
        as_many_means_as_asked=equal([len(means_of_samples(Exponential(1), m, 7, rng)) for m in (3, 10**6)], [7, 7]),
        settles=near(path[-1], 1.0, tolerance=0.02),
        tightens=equal(bool(errors[0] > 2 * errors[1] > 4 * errors[2]), True),
        cauchy_does_not=within(spreads[2] / spreads[0], 0.8, 1.25),
    )
    return corrected(truth, printed=below(spreads[2], 0.3 * spreads[0]))  # "any i.i.d. samples"


@claim("central-limit-theorem")
def standardized_sums_become_normal_when_the_variance_is_finite(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    distances = [
        [kolmogorov_distance(standardized_means(law, m, 20_000, rng), Normal().cdf) for m in (1, 4, 64)]
        for law in (Uniform(0, 1), Exponential(1))
    ]
    falling = [bool(row[0] > 1.5 * row[1]) for row in distances] + [bool(distances[1][1] > 2 * distances[1][2])]
    cauchy = means_of_samples(Cauchy(), 100, 20_000, rng)
    scaled = cauchy / np.subtract(*np.quantile(cauchy, [0.75, 0.25])) * (2 * 0.6744898)  # the quartiles of a normal
    truth = every(
        falls=equal(falling, [True, True, True]),
        close=below(max(row[2] for row in distances), 0.04),
        cauchy_stays_cauchy=near(kolmogorov_distance(cauchy, Cauchy().cdf), 0.0, tolerance=0.015),
    )
    return corrected(truth, printed=below(kolmogorov_distance(scaled, Normal().cdf), 0.04))


@claim("central-limit-resampling-example")
def means_of_repeated_samples_spread_by_sigma_over_root_m(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    means = means_of_samples(Exponential(0.5), 100, 5000, rng)
    fitted = Normal.fit(means)
    return every(
        mean=near(fitted.mu, 2.0, tolerance=ERRORS * 0.2 / np.sqrt(5000)),
        deviation=near(fitted.sigma, 2 / np.sqrt(100), tolerance=ERRORS * 0.2 / np.sqrt(2 * 5000)),
        nearly_normal=below(kolmogorov_distance(means, fitted.cdf), 0.04),
        population_is_not=above(kolmogorov_distance(Exponential(0.5).sample(5000, rng), Normal(2, 2).cdf), 0.1),
    )


@claim("example-die-normal-approximation")
def six_thousand_rolls() -> Verdict:
    approximation = binomial_normal_approximation(6000, 1 / 6, 990, 1020)
    oracle = stats.binom(6000, 1 / 6)
    return every(
        moments=near(oracle.stats(), [1000, 833.3333], tolerance=1e-3),
        exact=near(approximation.exact, oracle.cdf(1020) - oracle.cdf(989), tolerance=1e-11),
        printed_numbers=near(approximation, [0.40250, 0.39127, 0.40316], tolerance=5e-6),
        correction_helps=above(
            abs(approximation.plain - approximation.exact), 5 * abs(approximation.corrected - approximation.exact)
        ),
    )


@claim("monte-carlo-method")
def averages_miss_by_one_over_root_n(seed: int) -> Verdict:
    rng, truth = np.random.default_rng(seed), np.exp(0.5)
    # Squares of misses scatter by their own size and more: the root of a mean of 400 of them scatters by 5 %.
    estimates = [[monte_carlo(np.exp, Normal().sample, n, rng) for _ in range(400)] for n in (100, 10_000)]
    misses = [np.sqrt(np.mean([(e.value - truth) ** 2 for e in row])) for row in estimates]
    claimed = [np.sqrt(np.mean([e.standard_error**2 for e in row])) for row in estimates]
    return every(
        ratio=within(misses[0] / misses[1], 7, 14),
        standard_error_is_honest=within(misses[1] / claimed[1], 0.75, 1.3),
    )


@claim("monte-carlo-pi")
def quarter_disc_gives_pi(seed: int) -> Verdict:
    estimate = monte_carlo_pi(1_000_000, np.random.default_rng(seed))
    return every(
        value=near(estimate.value, np.pi, tolerance=ERRORS * estimate.standard_error),
        error=near(estimate.standard_error, np.sqrt(np.pi * (4 - np.pi) / 1e6), tolerance=1e-5),
    )
