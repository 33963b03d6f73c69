"""Moments, conditioning, limits and sampled estimates against SciPy's integrals, sums written out and exact laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, special, stats
from sklearn.metrics import pairwise

from margin.claims.chance import plausible, rate
from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, equal, every, near, raises
from margin.foundations import probability as ours
from margin.foundations.probability import feature_maps, kernels

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
    found = ours.binomial_normal_approximation(40, 0.3, 9, 14)
    exact, bell = stats.binom(40, 0.3), stats.norm(12, np.sqrt(8.4))
    wanted = [exact.cdf(14) - exact.cdf(8), bell.cdf(14) - bell.cdf(9), bell.cdf(14.5) - bell.cdf(8.5)]
    return every(
        gamma=near(ours.gamma_function(x) / special.gamma(x), np.ones_like(x), tolerance=1e-11),
        orderings=near(ours.multinomial_coefficient([3, 2, 4]), 1260.0, tolerance=1e-9),
        approximation=near(list(found), wanted, tolerance=1e-9),
    )


@oracle(*(f"{PATH}.{name}" for name in ("bayes", "posterior", "grid_posterior", "normal_posterior", "DiscreteBayes")))
def posteriors(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    prior, likelihood = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), size=3)
    joint = np.array([[prior[r] * likelihood[r, o] for o in range(4)] for r in range(3)])
    model = ours.DiscreteBayes(prior, likelihood)
    wanted = joint[:, 2] / joint[:, 2].sum()
    grid = np.linspace(-6.0, 8.0, 1401) ** 3 / 40  # uneven
    start, noise = stats.norm(0.5, 1.3), stats.norm(scale=0.8)
    told = ours.normal_posterior(ours.Normal(0.5, 1.3), 2.0, 0.8)
    density = ours.grid_posterior(grid, start.logpdf(grid), noise.logpdf(2.0 - grid))
    weight = start.pdf(grid) * noise.pdf(2.0 - grid)
    area = integrate.simpson(weight, x=grid)
    both = integrate.simpson(np.array([weight * grid, weight * grid**2]), x=grid) / area
    logs = np.log(prior) + np.log(likelihood[:, 2])
    return every(
        joint=near(model.joint, joint, tolerance=1e-12),
        evidence=near(model.evidence, joint.sum(axis=0), tolerance=1e-12),
        posterior=near(model.posterior(2), wanted, tolerance=1e-12),
        rule=near(ours.bayes(prior, likelihood[:, 2], joint[:, 2].sum()), wanted, tolerance=1e-12),
        logs=near(
            ours.posterior(np.log(prior), np.log(likelihood.T)), joint.T / joint.sum(0)[:, None], tolerance=1e-12
        ),
        shifted=near(ours.posterior(np.zeros(3), logs - 2000), wanted, tolerance=1e-10),
        normal=near([told.mean, told.mean**2 + told.variance], both, tolerance=1e-4),
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


@oracle(*(f"{PATH}.{name}" for name in ("monte_carlo", "monte_carlo_pi", "jensen_gap", "running_mean")))
def averages(seed: int) -> Verdict:
    found = ours.monte_carlo(np.square, lambda n, rng: rng.normal(1.0, 2.0, size=n), 40, np.random.default_rng(seed))
    again = np.random.default_rng(seed).normal(1.0, 2.0, size=40) ** 2
    circle = ours.monte_carlo_pi(500, np.random.default_rng(seed))
    points = np.random.default_rng(seed).random((500, 2))
    inside = 4.0 * np.array([a * a + b * b <= 1 for a, b in points])
    x, w = np.array([[2.0, 3.0, 7.0], [1.0, -1.0, 6.0]]), np.array([0.2, 0.5, 0.3])
    return every(
        average=near([found.value, found.standard_error], [again.mean(), stats.sem(again)], tolerance=1e-12),
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
        found = ours.stability_test(law, 0.7, 1.8, 100_000, np.random.default_rng(seed))
        again = ours.stability_test(law, 0.7, 1.8, 100_000, np.random.default_rng(seed + 1))
        parts[name] = near([found.c, found.d], [c, d], tolerance=0.15)
        parts[f"{name}_holds"] = equal(max(found.p_value, again.p_value) > 1e-4, True)
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


@oracle(
    *(f"{PATH}.feature_maps.{name}" for name in ("polynomial_features", "product_features", "rbf_taylor_features")),
    *(f"{PATH}.kernels.{name}" for name in ("rbf_kernel", "is_positive_semidefinite")),
    f"{PATH}.is_stationary",
)
def features_of_kernels(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    poly = [feature_maps.polynomial_features(A, 3, 1.7) for A in (X, Z)]
    taylor = [feature_maps.rbf_taylor_features(A, 28, 1.4) for A in (X, Z)]
    gauss = pairwise.rbf_kernel(X, Z, gamma=0.5 / 1.4**2)
    gram = X @ X.T  # of rank 3
    mixed = gram - 1e-3 * np.eye(4)
    return every(
        polynomial=near(poly[0] @ poly[1].T, (X @ Z.T + 1.7) ** 3, tolerance=1e-8),
        number=equal(poly[0].shape, (4, 20)),
        taylor=near(taylor[0] @ taylor[1].T, gauss, tolerance=1e-6),
        product=near(feature_maps.product_features(X[:, :2])[:, 2], [a * b for a, b in X[:, :2]], tolerance=1e-12),
        gauss=near(kernels.rbf_kernel(X, Z, 1.4), gauss, tolerance=1e-10),
        square=near(kernels.rbf_kernel(X, length_scale=1.4), pairwise.rbf_kernel(X, gamma=0.5 / 1.96), tolerance=1e-10),
        definite=equal(
            [kernels.is_positive_semidefinite(c * M) for c in (1.0, 1e9) for M in (gram, mixed, -gram)],
            [True, False, False] * 2,
        ),
        stationary=equal(
            [
                ours.is_stationary(k, 2, np.random.default_rng(seed))
                for k in (pairwise.rbf_kernel, pairwise.linear_kernel, lambda a, b: pairwise.rbf_kernel(a, -b))
            ],
            [True, False, False],
        ),
    )
