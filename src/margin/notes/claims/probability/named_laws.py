"""Bernoulli to Poisson, uniform, empirical, normal and Laplace."""

from math import factorial
from typing import Any

import numpy as np
from scipy import integrate, stats

from margin.bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from margin.core.verdict import Verdict, above, corrected, equal, every, near, raises
from margin.foundations.probability import (
    Bernoulli,
    Binomial,
    Categorical,
    DiscreteUniform,
    Empirical,
    Geometric,
    Laplace,
    Multinomial,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Uniform,
    kolmogorov_p_value,
    marginal_density,
    multinomial_coefficient,
    self_convolve_masses,
)
from margin.mixture import GaussianMixture
from margin.notes.claims import claim
from margin.notes.claims.chance import plausible

COINS = np.array([[0.0], [1.0]])


def densities(model: Any, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The log-density of ``at`` that a naive Bayes classifier learns from ``rows``, one of two classes."""
    labels = np.repeat([0, 1], [len(rows), len(at)])
    fitted = model.fit(np.concatenate([rows, at]), labels)
    return fitted.predict_joint_log_proba(at)[:, 0] - np.log(len(rows) / len(labels))


@claim("bernoulli-distribution")
def bernoulli_in_both_forms(seed: int) -> Verdict:
    law, draws = Bernoulli(0.3), Bernoulli(0.3).sample(1000, np.random.default_rng(seed))
    power_form = [0.3**x * 0.7 ** (1 - x) for x in (0, 1)]
    smoothed = Bernoulli((draws.sum() + 1) / (len(draws) + 2))
    return every(
        as_run=near(densities(BernoulliNB(), draws[:, None], COINS), smoothed.log_prob([0, 1]), tolerance=1e-12),
        forms=near(law.pmf([0, 1]), power_form, tolerance=1e-15),
        scipy=near(law.log_prob([0, 1]), stats.bernoulli(0.3).logpmf([0, 1]), tolerance=1e-14),
        moments=near([law.mean, law.variance], [0.3, 0.21], tolerance=1e-15),
        entropy=near(law.entropy(), stats.bernoulli(0.3).entropy(), tolerance=1e-14),
        mle=equal(Bernoulli.fit(draws).p, float(draws.mean())),
    )


@claim("binomial-distribution")
def binomial_is_a_sum_of_bernoullis_and_includes_all_successes() -> Verdict:
    law, k = Binomial(9, 0.3), np.arange(10)
    p = np.linspace(0.5, 0.7, 81)
    best = p[int(np.argmax([Binomial(80, q).log_prob(49) for q in p]))]
    truth = every(
        convolution=near(law.pmf(k), self_convolve_masses([0.7, 0.3], 9), tolerance=1e-12),
        scipy=near(law.cdf(k), stats.binom(9, 0.3).cdf(k), tolerance=1e-13),
        sums_over_all_k=near(law.pmf(k).sum(), 1.0, tolerance=1e-13),
        coin=near(best, 49 / 80, tolerance=1e-12),
    )
    # Counting arrangements only for k < n, as "n > k" says, leaves out the case of nothing but successes.
    return corrected(truth, printed=near(Binomial(3, 0.8).pmf([0, 1, 2]).sum(), 1.0, tolerance=0.01))


@claim("categorical-distribution")
def categorical_has_as_many_values_as_classes(seed: int) -> Verdict:
    law = Categorical([0.2, 0.5, 0.3])
    draws = law.sample(100_000, np.random.default_rng(seed))
    smoothed = Categorical((np.bincount(draws.astype(int)) + 1) / (len(draws) + 3))
    learned = densities(CategoricalNB(), draws[:, None], np.arange(3)[:, None])
    return every(
        as_run=near(learned, smoothed.log_prob([0, 1, 2]), tolerance=1e-12),
        one_hot=near(law.log_prob_one_hot(np.eye(3)), np.log(law.p), tolerance=1e-14),
        frequencies=near(Categorical.fit(draws).p, law.p, tolerance=0.006),
        two_classes=near(Categorical([0.7, 0.3]).pmf([0, 1]), Bernoulli(0.3).pmf([0, 1]), tolerance=1e-15),
        mode=equal(law.mode, 1),
        simplex=raises(ValueError, lambda: Categorical([0.5, 0.6]), match="must sum to 1"),
    )


@claim("multinomial")
def multinomial_coefficient_is_a_product_of_binomials() -> Verdict:
    law = Multinomial(4, [0.2, 0.3, 0.5])
    atoms, pair = law.atoms(), Multinomial(5, [0.4, 0.6])
    two = [[k, 5 - k] for k in range(6)]
    counts = np.array([[2, 1, 1], [0, 3, 1], [1, 0, 3]])
    smoothed = Multinomial(4, (counts.sum(axis=0) + 1) / (counts.sum() + 3))
    orderings = np.log([multinomial_coefficient(row) for row in counts])
    truth = every(
        as_run=near(densities(MultinomialNB(), counts, counts) + orderings, smoothed.log_prob(counts), tolerance=1e-12),
        coefficient=equal(multinomial_coefficient([3, 2, 2]), 210.0),
        scipy=near(law.pmf(atoms), stats.multinomial(4, law.p).pmf(atoms), tolerance=1e-14),
        sums=near(law.pmf(atoms).sum(), 1.0, tolerance=1e-13),
        two_classes=near(pair.pmf(two), Binomial(5, 0.4).pmf(np.arange(6)), tolerance=1e-13),
    )
    first_factor = factorial(7) / factorial(3)  # printed without (n - k_1)!
    as_printed = first_factor * factorial(4) / (factorial(2) * factorial(2)) * 1
    return corrected(truth, printed=equal(as_printed, multinomial_coefficient([3, 2, 2])))


@claim("geometric")
def the_two_geometric_laws_differ_by_one_in_the_mean() -> Verdict:
    from_zero, from_one, k = Geometric(0.5), Geometric(0.5, start=1), np.arange(1, 30)
    truth = every(
        means=equal([from_zero.mean, from_one.mean], [1.0, 2.0]),
        entropies=near([from_zero.entropy(), from_one.entropy()], [2 * np.log(2)] * 2, tolerance=1e-14),
        negative_binomial=near(from_zero.pmf(k), NegativeBinomial(1, 0.5).pmf(k), tolerance=1e-14),
        powers_of_two=near(from_one.pmf(k), 0.5**k, tolerance=1e-15),
    )
    return corrected(truth, printed=near(float(k @ from_one.pmf(k)), 1.0, tolerance=0.5))


@claim("negative-binomial")
def negative_binomial_counts_failures_of_a_real_coin(seed: int) -> Verdict:
    law, rng = NegativeBinomial(3, 0.4), np.random.default_rng(seed)
    tosses = rng.random((50_000, 80)) < 0.4
    third = np.argmax(np.cumsum(tosses, axis=1) == 3, axis=1)  # where the third success fell
    frequencies = np.bincount(third - 2, minlength=9)[:9] / len(third)
    k = np.arange(60)
    return every(
        sums=near(law.pmf(law.atoms()).sum(), 1.0, tolerance=1e-12),
        scipy=near(law.pmf(k), stats.nbinom(3, 0.4).pmf(k), tolerance=1e-14),
        coins=near(frequencies, law.pmf(np.arange(9)), tolerance=0.008),
    )


@claim("poisson")
def poisson_starts_at_zero(seed: int) -> Verdict:
    law, k = Poisson(1.3), np.arange(60)
    draws = law.sample(1000, np.random.default_rng(seed))
    truth = every(
        sums=near(law.pmf(k).sum(), 1.0, tolerance=1e-13),
        scipy=near(law.pmf(k), stats.poisson(1.3).pmf(k), tolerance=1e-14),
        moments=equal([law.mean, law.variance], [1.3, 1.3]),
        mle=near(Poisson.fit(draws).rate, draws.mean(), tolerance=1e-14),
        without_zero=near(law.pmf(k[1:]).sum(), 1 - np.exp(-1.3), tolerance=1e-13),
    )
    return corrected(truth, printed=near(law.pmf(k[1:]).sum(), 1.0, tolerance=0.01))


@claim("uniform-distribution")
def uniform_on_an_interval_and_on_integers(seed: int) -> Verdict:
    law, die, rng = Uniform(-1, 3), DiscreteUniform(1, 6), np.random.default_rng(seed)
    x = np.array([-2.0, -1.0, 0.5, 2.9, 4.0])
    return every(
        density=near(law.pdf(x), stats.uniform(-1, 4).pdf(x), tolerance=1e-15),
        cdf=near(law.cdf(x), stats.uniform(-1, 4).cdf(x), tolerance=1e-15),
        moments=near([law.mean, law.variance], [1, 16 / 12], tolerance=1e-14),
        sample=plausible(kolmogorov_p_value(law.sample(5000, rng), law.cdf)),
        choice=near(np.bincount(die.sample(60_000, rng).astype(int))[1:] / 60_000, np.full(6, 1 / 6), tolerance=0.01),
    )


@claim("empirical-distribution")
def the_empirical_law_averages_over_the_data(seed: int) -> Verdict:
    data = Laplace(0, 1).sample(200, np.random.default_rng(seed))
    law = Empirical(data)
    resampled = law.sample(500, np.random.default_rng([seed, 1]))
    return every(
        expectation=near(law.expectation(np.exp), np.exp(data).mean(), tolerance=1e-12),
        staircase=near(law.cdf(0.3), np.mean(data <= 0.3), tolerance=1e-15),
        bootstrap=equal(set(resampled) <= set(data), True),
        repeats=above(500 - len(set(resampled)), 250),
    )


@claim("normal-distribution")
def normal_density_falls_and_its_cdf_starts_at_minus_infinity(seed: int) -> Verdict:
    law, x = Normal(0.5, 2), np.linspace(-6, 6, 25)
    parameters = [0, 1], [[2, 0.7], [0.7, 1]]
    joint, oracle = MultivariateNormal(*parameters), stats.multivariate_normal(*parameters)
    points = np.random.default_rng(seed).normal(size=(9, 2))
    rows = law.sample(50, np.random.default_rng(seed))
    fitted = Normal(rows.mean(), rows.std())
    mixture = GaussianMixture(1, reg_covar=0.0).fit(points)
    of_points = MultivariateNormal(points.mean(axis=0), np.cov(points.T, bias=True))
    truth = every(
        as_run=every(
            one=near(
                densities(GaussianNB(var_smoothing=0.0), rows[:, None], x[:, None]), fitted.log_prob(x), tolerance=1e-9
            ),
            several=near(mixture.score_samples(points), of_points.log_prob(points), tolerance=1e-9),
        ),
        density=near(law.log_prob(x), stats.norm(0.5, 2).logpdf(x), tolerance=1e-13),
        cdf=near(law.cdf(x), stats.norm(0.5, 2).cdf(x), tolerance=1e-14),
        total=near(integrate.quad(law.pdf, -np.inf, np.inf)[0], 1.0, tolerance=1e-8),
        entropy=near(law.entropy(), stats.norm(0.5, 2).entropy(), tolerance=1e-13),
        joint=near(joint.log_prob(points), oracle.logpdf(points), tolerance=1e-12),
        definite=raises(ValueError, lambda: MultivariateNormal([0, 0], [[1, 2], [2, 1]]), match="positive definite"),
    )
    from_zero = integrate.quad(Normal().pdf, 0, -1)[0]
    growing = integrate.quad(lambda t: 1 / Normal().pdf(t) / (2 * np.pi), -5, 5)[0]
    as_printed = {
        "cdf": near(from_zero, float(Normal().cdf(-1)), tolerance=0.1),
        "total": near(growing, 1.0, tolerance=1.0),
    }
    return corrected(truth, **as_printed)


@claim("claim-normal-affine")
def affine_maps_of_a_normal_are_normal(seed: int) -> Verdict:
    mapped = -2 * Normal(1.5, 3) + 5
    draws = -2 * Normal(1.5, 3).sample(20_000, np.random.default_rng(seed)) + 5
    return every(law=equal(mapped, Normal(2, 6)), sample=plausible(kolmogorov_p_value(draws, mapped.cdf)))


@claim("gaussian-sum-rule")
def variances_of_independent_normals_add_for_sum_and_difference(seed: int) -> Verdict:
    x, y, rng = Normal(1, 3), Normal(2, 4), np.random.default_rng(seed)
    a, b = x.sample(20_000, rng), y.sample(20_000, rng)
    dependent = a + (2 + 4 / 3 * (a - 1))  # the same second law, wholly determined by the first
    truth = every(
        sum=equal(x.add(y), Normal(3, 5)),
        difference=equal(x.subtract(y), Normal(-1, 5)),
        sampled_sum=plausible(kolmogorov_p_value(a + b, x.add(y).cdf)),
        sampled_difference=plausible(kolmogorov_p_value(a - b, x.subtract(y).cdf)),
        dependent=plausible(kolmogorov_p_value(dependent, x.add(y, correlation=1.0).cdf)),
    )
    return corrected(truth, printed=near(dependent.std(), x.add(y).sigma, tolerance=1.0))


@claim("claim-gaussian-closed-under-marginal-and-conditional")
def marginals_and_conditionals_of_a_normal_are_normal() -> Verdict:
    law = MultivariateNormal([0.5, -1], [[1.5, 0.8], [0.8, 1.2]])
    x, y = 1.2, np.linspace(-4, 3, 15)
    integrated = [marginal_density(lambda v, u: float(law.pdf([u, v])), value) for value in y]
    slice_ = law.pdf(np.column_stack([np.full(y.size, x), y])) / law.marginal(0).pdf([x])
    area_of_the_cut = marginal_density(lambda u, v: float(law.pdf([u, v])), x)
    return corrected(
        every(
            marginal=near(law.marginal(1).pdf(y[:, None]), integrated, tolerance=1e-8),
            conditional=near(law.condition(0, x).pdf(y[:, None]), slice_, tolerance=1e-12),
            area=near(area_of_the_cut, float(np.squeeze(law.marginal(0).pdf([x]))), tolerance=1e-8),
        ),
        the_cut_is_the_conditional=near(area_of_the_cut, 1.0, tolerance=0.01),
    )


@claim("laplace-distribution")
def laplace_with_rate_lambda_has_variance_two_over_lambda_squared(seed: int) -> Verdict:
    lam, x = 3.0, np.linspace(-2, 2, 9)
    law, oracle = Laplace(0, 1 / lam), stats.laplace(0, 1 / lam)
    data = Laplace(1, 2).sample(501, np.random.default_rng(seed))
    truth = every(
        density=near(law.pdf(x), lam / 2 * np.exp(-lam * np.abs(x)), tolerance=1e-14),
        cdf=near(law.cdf(x), oracle.cdf(x), tolerance=1e-14),
        variance=near(law.variance, 2 / lam**2, tolerance=1e-15),
        mle=near([Laplace.fit(data).mu, Laplace.fit(data).b], stats.laplace.fit(data), tolerance=1e-12),
    )
    # The printed density lambda exp(-2 lambda |x|) is Laplace(0, 1/(2 lambda)); the printed variance is 2/lambda.
    printed = Laplace(0, 1 / (2 * lam))
    return corrected(
        truth,
        variance=near(printed.variance, 2 / lam, tolerance=0.1),
        penalty=near(printed.log_prob(0.0) - printed.log_prob(1.0), lam, tolerance=0.1),
    )
