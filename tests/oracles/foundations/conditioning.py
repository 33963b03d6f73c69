"""Tables of probabilities, chains and posteriors against sums written out and exact laws."""

from __future__ import annotations

import numpy as np
from scipy import integrate, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near, raises
from margin.foundations import probability as ours
from margin.notes.claims.chance import plausible, rate

PATH = "margin.foundations.probability"


@oracle(f"{PATH}.Categorical", f"{PATH}.Empirical")
def tables_of_masses(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    p, data = np.array([0.2, 0.5, 0.3]), np.array([3.0, 1.0, 1.0, 5.0, 2.5])
    law, seen = ours.Categorical(p), ours.Empirical(data)
    rows = np.eye(3)[[[2, 0], [1, 1]]]
    counts = np.bincount(law.sample(4000, rng).astype(int), minlength=3)
    drawn = seen.sample(4000, rng)
    return every(
        support=equal((law.support.low, law.support.high, seen.support.low, seen.support.high), (0, 2, 1.0, 5.0)),
        moments=near([law.mean, law.variance], [1.1, 0.2 * 1.21 + 0.5 * 0.01 + 0.3 * 0.81], tolerance=1e-12),
        masses=near(law.pmf([0, 1, 2]), p, tolerance=1e-12),
        ladder=near(law.cdf([0, 1, 1.7, 2]), [0.2, 0.7, 0.7, 1.0], tolerance=1e-12),
        one_hot=near(law.log_prob_one_hot(rows), np.log(p[[[2, 0], [1, 1]]]), tolerance=1e-12),
        drawn=plausible(stats.chisquare(counts, 4000 * p).pvalue),
        fit=near(ours.Categorical.fit([0, 2, 2, 0, 2]).p, [0.4, 0.0, 0.6], tolerance=1e-12),
        too_few_classes=raises(ValueError, lambda: ours.Categorical.fit([0, 3], n_classes=3), match="n_classes=3"),
        more_classes=near(ours.Categorical.fit([0, 2, 2, 0, 2], n_classes=4).p, [0.4, 0, 0.6, 0], tolerance=1e-12),
        seen_moments=near([seen.mean, seen.variance], [data.mean(), data.var()], tolerance=1e-12),
        seen_masses=near(seen.pmf([1.0, 2.5, 4.0]), [0.4, 0.2, 0.0], tolerance=1e-12),
        seen_ladder=near(seen.cdf([0.9, 1.0, 2.9, 5.0]), [0.0, 0.4, 0.6, 1.0], tolerance=1e-12),
        quantiles=near(seen.quantile([0.0, 0.4, 0.41, 0.8, 1.0]), [1.0, 1.0, 2.5, 3.0, 5.0], tolerance=1e-12),
        resampled=rate(float(np.mean(drawn == 1.0)), 0.4, 4000),
        ends=equal(
            (ours.Empirical([4.0, 2.0, 7.0]).support.low, ours.Empirical([4.0, 2.0, 7.0]).support.high), (2.0, 7.0)
        ),
        again=equal(np.sort(ours.Empirical.fit(data).data).tolist(), np.sort(data).tolist()),
    )


@oracle(*(f"{PATH}.Joint.{name}" for name in ("chain_factors", "conditional", "conditional_expectation", "marginal")))
def joint_tables(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    table[1, 2], table[0, 0, 1] = 0.0, 0.0  # a pair that never occurs
    table /= table.sum()
    joint, values = ours.Joint(table), rng.normal(size=(2, 3, 4))
    ends = np.einsum("ijk->ki", table)
    given = np.array([[table[i, :, k] / table[i, :, k].sum() for k in range(4)] for i in range(2)])  # (2, 4, 3)
    expected = np.einsum("ijk,ijk->j", table, values) / table.sum(axis=(0, 2))
    factors = joint.chain_factors([2, 0, 1])
    return every(
        marginal=near(joint.marginal([2, 0]).table, ends, tolerance=1e-12),
        conditional=near(joint.conditional(given=[0, 2]), given.transpose(0, 2, 1), tolerance=1e-12),
        expected=near(joint.conditional_expectation(values, given=1).ravel(), expected, tolerance=1e-12),
        product=near(np.prod(np.broadcast_arrays(*factors), axis=0), table, tolerance=1e-12),
        first=near(factors[0].ravel(), table.sum(axis=(0, 1)), tolerance=1e-12),
        second=near(factors[1][:, 0].T, ends / ends.sum(axis=1, keepdims=True), tolerance=1e-12),
        never=near(joint.chain_factors()[2][1, 2], np.zeros(4), tolerance=1e-12),
    )


@oracle(f"{PATH}.MarkovChain", f"{PATH}.partial_correlation")
def chains(seed: int) -> Verdict:
    """A chain whose rows sum to 1 only nearly, its long run by powers, and what is left of a correlation by inverse."""
    rng = np.random.default_rng(seed)
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.4, 0.1, 0.5]])
    chain = ours.MarkovChain(P * (1 + 5e-7))
    path = chain.simulate(20001, rng, start=2)
    moves = np.zeros((3, 3))
    np.add.at(moves, (path[:-1], path[1:]), 1)
    long_run = np.linalg.matrix_power(P, 200)[0]
    leaking = ours.MarkovChain([[0.5, 0.25, 0.25], [0.0, 0.4, 0.6], [0.0, 0.3, 0.7]])
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3)) + 4.0
    precision = np.linalg.inv(np.cov(X.T))
    left = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
    return every(
        rows=near(chain.P, P, tolerance=1e-12),
        powers=near(chain.after(3), P @ P @ P, tolerance=1e-12),
        length=equal((path.shape, int(path[0])), ((20001,), 2)),
        moves=plausible(min(stats.chisquare(row, row.sum() * p).pvalue for row, p in zip(moves, P))),
        long_run=near(chain.stationary(), long_run, tolerance=1e-10),
        transient=near(leaking.stationary(), [0.0, 1 / 3, 2 / 3], tolerance=1e-12),
        partial=near(ours.partial_correlation(X[:, 0], X[:, 1], X[:, 2]), left, tolerance=1e-9),
    )


@oracle(*(f"{PATH}.{name}" for name in ("bayes", "posterior", "grid_posterior", "normal_posterior", "DiscreteBayes")))
def posteriors(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    prior, likelihood = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), size=3)
    joint = np.array([[prior[r] * likelihood[r, o] for o in range(4)] for r in range(3)])
    model = ours.DiscreteBayes(prior, likelihood)
    expected = joint[:, 2] / joint[:, 2].sum()
    grid = np.linspace(-6.0, 8.0, 1401) ** 3 / 40  # uneven
    start, noise = stats.norm(0.5, 1.3), stats.norm(scale=0.8)
    posterior = ours.normal_posterior(ours.Normal(0.5, 1.3), 2.0, 0.8)
    density = ours.grid_posterior(grid, start.logpdf(grid), noise.logpdf(2.0 - grid))
    weight = start.pdf(grid) * noise.pdf(2.0 - grid)
    area = integrate.simpson(weight, x=grid)
    both = integrate.simpson(np.array([weight * grid, weight * grid**2]), x=grid) / area
    logs = np.log(prior) + np.log(likelihood[:, 2])
    return every(
        joint=near(model.joint, joint, tolerance=1e-12),
        evidence=near(model.evidence, joint.sum(axis=0), tolerance=1e-12),
        posterior=near(model.posterior(2), expected, tolerance=1e-12),
        rule=near(ours.bayes(prior, likelihood[:, 2], joint[:, 2].sum()), expected, tolerance=1e-12),
        logs=near(
            ours.posterior(np.log(prior), np.log(likelihood.T)), joint.T / joint.sum(0)[:, None], tolerance=1e-12
        ),
        shifted=near(ours.posterior(np.zeros(3), logs - 2000), expected, tolerance=1e-10),
        normal=near([posterior.mean, posterior.mean**2 + posterior.variance], both, tolerance=1e-4),
        grid=near(density, weight / area, tolerance=1e-3),
    )


@oracle(*(f"{PATH}.{name}" for name in ("tweedie", "denoised_mean")))
def posterior_means_by_scores(seed: int) -> Verdict:
    """For a normal prior the posterior mean is known, and so is the score of the marginal."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2))
    S, T = root @ root.T + 0.3 * np.eye(2), np.array([[0.9, 0.2], [0.2, 0.4]])  # of the value and of its noise
    z, m = rng.normal(size=(4, 2)), np.array([0.5, -1.0])
    gain, score = S @ np.linalg.inv(S + T), -(z - m) @ np.linalg.inv(S + T)
    alpha = 0.36  # x_t = 0.6 x_0 + 0.8 noise with x_0 of mean 0.5 and deviation 1.3
    x, variance = rng.normal(size=5), 0.36 * 1.69 + 0.64
    clean = 0.5 + 0.6 * 1.69 / variance * (x - 0.3)
    return every(
        rows=near(ours.tweedie(z, T, score), m + (z - m) @ gain.T, tolerance=1e-10),
        numbers=near(ours.tweedie(x, 0.5, -x / 2), 0.75 * x, tolerance=1e-12),
        denoised=near(ours.denoised_mean(x, alpha, -(x - 0.3) / variance), clean, tolerance=1e-10),
    )


@oracle(*(f"{PATH}.{name}" for name in ("natural_parameter_mean", "poisson_rate_mean")))
def posterior_means_in_exponential_families(seed: int) -> Verdict:
    """Two rates with given weights, summed over; a normal prior, where both slopes are known."""
    rng = np.random.default_rng(seed)
    rates, weights, z = np.array([0.6, 3.1, 7.4]), rng.dirichlet([2.0, 3.0, 1.5]), np.arange(6)
    mass = weights * stats.poisson.pmf(np.arange(7)[:, None], rates)
    sums = mass.sum(axis=1)
    x, m, prior, noise = rng.normal(size=4), 0.7, 1.9, 0.6  # means and variances
    gap = np.append(sums[:3], 0.0)  # of the counts 0, 1, 2 and of none with 3
    return every(
        rates=near(ours.poisson_rate_mean(sums), (mass @ rates / sums)[:6], tolerance=1e-12),
        length=equal(ours.poisson_rate_mean(sums).shape, z.shape),
        nobody_after=equal(ours.poisson_rate_mean(gap)[-1], 0.0),
        nobody=equal(np.isnan(ours.poisson_rate_mean([0.5, 0.0, 0.5])).tolist(), [False, True]),
        normal=near(
            noise * ours.natural_parameter_mean(-(x - m) / (prior + noise), -x / noise),
            (noise * m + prior * x) / (prior + noise),
            tolerance=1e-12,
        ),
    )
