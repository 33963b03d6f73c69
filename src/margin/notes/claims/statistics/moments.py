"""Running means, variances and covariances."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.foundations.statistics import (
    CoMoments,
    Moments,
    correlation,
    covariance,
    covariance_matrix,
    least_squares,
    r_squared_forms,
    updated_mean,
    updated_squares,
    updated_squares_from_means,
    variance,
    variance_shortcut,
    with_intercept,
)
from margin.metrics import squared_correlation
from margin.notes.claims import claim


@claim("running-mean")
def the_streamed_mean_is_the_mean_at_every_step(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(5, 2, size=(200, 3))
    state, worst = Moments.empty((3,)), 0.0
    for n, x in enumerate(X, start=1):
        state = state.push(x)
        worst = max(worst, float(np.abs(state.mean - X[:n].mean(axis=0)).max()))
    stored = sum(part.size for part in (state.mean, state.tail, state.squares)) + 1
    blocks = reduce(CoMoments.update, np.array_split(X, 7)[1:], CoMoments.of(np.array_split(X, 7)[0]))
    return every(
        vectors=below(worst, 1e-12),
        as_run=near(blocks.mean, state.mean, tolerance=1e-12),
        scalar=near(Moments.of(X[:, 0]).mean, X[:, 0].mean(), tolerance=1e-12),
        numbers_kept=equal(stored, 10),
    )


@claim("running-mean-identities")
def a_step_of_the_mean_names_both_deviations(seed: int) -> Verdict:
    values = np.random.default_rng(seed).normal(size=300)
    mean, before, after = values[0], [], []
    for n, x in enumerate(values[1:], start=2):
        moved = updated_mean(mean, x, n)
        before.append(x - mean - n * (moved - mean))
        after.append(x - moved - (n - 1) * (moved - mean))
        mean = moved
    return every(before=near(before, np.zeros(299), tolerance=1e-12), after=near(after, np.zeros(299), tolerance=1e-12))


def _average_over_all_samples(population: np.ndarray, n: int, statistic: Callable[[np.ndarray], Any]) -> float:
    """The exact expectation over every sample of size n drawn with replacement."""
    return float(np.mean([statistic(population[list(rows)]) for rows in product(range(len(population)), repeat=n)]))


@claim("sample-variance")
def dividing_by_n_minus_one_is_unbiased() -> Verdict:
    population = np.array([1.0, 2.0, 4.0, 9.0])
    true, n = population.var(), 4
    unbiased = _average_over_all_samples(population, n, lambda x: variance(x, ddof=1))
    low = _average_over_all_samples(population, n, lambda x: variance(x, ddof=0))
    run = [CoMoments.of(population[:, None]).covariance(ddof)[0, 0] for ddof in (0, 1)]
    return every(
        as_run=near(run, [variance(population, ddof=d) for d in (0, 1)], tolerance=1e-12),
        ddof_1=near(unbiased, true, tolerance=1e-10),
        ddof_0=near(low, true * (n - 1) / n, tolerance=1e-10),
    )


@claim("variance-shortcut-formula")
def mean_of_squares_minus_squared_mean(seed: int) -> Verdict:
    x = np.random.default_rng(seed).normal(3, 3, size=30)
    n, mean, true = len(x), x.mean(), float(variance(x))
    far = x + 1e9
    printed_third_line = np.mean(x**2 - 2 * n * mean**2 + n * mean**2)  # the constants inside the sum
    truth = every(
        identity=near(variance_shortcut(x), true, tolerance=1e-10),
        sum_of_squares=near(np.sum(x**2) - n * mean**2, n * true, tolerance=1e-9),
        cancels_far_from_zero=above(abs(variance_shortcut(far) - true), 1.0),
    )
    return corrected(truth, printed=near(printed_third_line, true, tolerance=1e-6))


@claim("running-variance")
def welford_is_exact_where_the_shortcut_fails(seed: int) -> Verdict:
    x = 1e9 + np.random.default_rng(seed).normal(size=5000)
    exact = float(np.var(x.astype(np.longdouble)))
    streamed = reduce(Moments.push, x, Moments.empty())
    halves = Moments.of(x[:1234]).merge(Moments.of(x[1234:]))
    small = x[:9] - 1e9
    last, before = small[-1], small[:-1]
    increment = 9 * small.var() - 8 * before.var()
    # Both sums to n: the squares cancel and the last observation disappears.
    both_sums_to_n = -9 * small.mean() ** 2 + 8 * before.mean() ** 2
    truth = every(
        increment=near(updated_squares(0.0, last, before.mean(), small.mean()), increment, tolerance=1e-10),
        streamed=near(streamed.variance(), exact, tolerance=1e-12),
        unbiased=near(streamed.variance(ddof=1), exact * 5000 / 4999, tolerance=1e-12),
        merged=near(halves.variance(), exact, tolerance=1e-12),
        with_a_second_variable=near(
            CoMoments.of(np.column_stack([x, -x])).covariance(), [[exact, -exact], [-exact, exact]], tolerance=1e-10
        ),
        shortcut_is_off_by_half=above(abs(variance_shortcut(x) - exact) / exact, 0.5),
    )
    return corrected(truth, printed=near(both_sums_to_n, increment, tolerance=1e-6))


@claim("running-variance-alternative")
def the_change_of_the_mean_is_enough(seed: int) -> Verdict:
    x = np.random.default_rng(seed).normal(size=100)
    mean, welford, other = x[0], 0.0, 0.0
    for n in range(2, len(x) + 1):
        after = updated_mean(mean, x[n - 1], n)
        welford = updated_squares(welford, x[n - 1], mean, after)
        other = updated_squares_from_means(other, n, mean, after)
        previous, mean = mean, after
    step = len(x) * (mean - previous) ** 2
    truth = every(
        same=near(other, welford, tolerance=1e-10),
        numpy=near(other, len(x) * x.var(), tolerance=1e-10),
        as_run=near(reduce(CoMoments.update, np.split(x[:, None], 10)[1:], CoMoments.of(x[:10, None])).products,
                    [[other]], tolerance=1e-10),
        middle_term=near(np.sum(np.full(len(x), (mean - previous) ** 2)), step, tolerance=1e-12),
    )  # fmt: skip
    return corrected(truth, printed=near(np.sum((x - previous) ** 2), step, tolerance=1e-6))


@claim("covariance")
def the_sample_covariance_estimates_the_population_one() -> Verdict:
    population = np.array([[0.0, 1.0], [1.0, 3.0], [4.0, 2.0]])
    x, y = population.T
    true = covariance(x, y)  # the population's own, every point counted once
    divisor_n = _average_over_all_samples(population, 3, lambda s: covariance(s[:, 0], s[:, 1], ddof=0))
    unbiased = _average_over_all_samples(population, 3, lambda s: covariance(s[:, 0], s[:, 1], ddof=1))
    truth = every(
        numpy=near([covariance(x, y, ddof=d) for d in (0, 1)],
                   [np.cov(population.T, ddof=d)[0, 1] for d in (0, 1)], tolerance=1e-12),
        as_run=near(CoMoments.of(population).covariance(1)[0, 1], covariance(x, y, ddof=1), tolerance=1e-12),
        unbiased=near(unbiased, true, tolerance=1e-10),
        divisor_n=near(divisor_n, true * 2 / 3, tolerance=1e-10),
    )  # fmt: skip
    return corrected(truth, printed=near(divisor_n, true, tolerance=1e-6))


@claim("covariance-matrix")
def covariance_matrices_are_symmetric_and_semidefinite(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(500, 4)) @ np.random.default_rng([seed, 1]).normal(size=(4, 4)) + 100
    S = covariance_matrix(X)
    parts = reduce(CoMoments.merge, map(CoMoments.of, np.array_split(X, 7)))
    return every(
        numpy=near(S, np.cov(X.T, bias=True), tolerance=1e-10),
        unbiased=near(covariance_matrix(X, ddof=1), np.cov(X.T), tolerance=1e-10),
        symmetric=near(S, S.T, tolerance=0.0),
        smallest_eigenvalue=above(np.linalg.eigvalsh(S).min(), -1e-10),
        diagonal=near(np.diag(S), variance(X), tolerance=1e-10),
        partitions=near(parts.covariance(), S, tolerance=1e-10),
    )


@claim("pearson-correlation")
def correlation_squared_is_the_r_squared_of_the_line(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=80)
    y = 2 * x + rng.normal(size=80)
    design = with_intercept(x)
    fitted = least_squares(design, y).predict(design)
    return every(
        as_run=near(squared_correlation(y, x), correlation(x, y) ** 2, tolerance=1e-12),
        numpy=near(correlation(x, y), np.corrcoef(x, y)[0, 1], tolerance=1e-12),
        r_squared=near(correlation(x, y) ** 2, r_squared_forms(y, fitted).unexplained, tolerance=1e-12),
        bound=equal(correlation(x, 3 * x + 1) <= 1.0, True),
        constant=raises(ValueError, lambda: correlation(np.ones(5), x[:5]), match="must vary"),
    )
