"""Joint tables, the chain rule, Bayes' rule and what it is made of."""

from itertools import permutations

import numpy as np
from scipy import stats

from margin.bayes.posterior import log_posterior, log_priors
from margin.core.verdict import Verdict, corrected, every, near, raises
from margin.foundations.probability import (
    Bernoulli,
    Binomial,
    DiscreteBayes,
    Joint,
    MultivariateNormal,
    Normal,
    bayes,
    grid_posterior,
    likelihood,
    log_likelihood,
    marginal_density,
    monte_carlo,
    normal_posterior,
)
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS


def random_joint(*shape: int, seed: int) -> Joint:
    table = np.random.default_rng(seed).random(shape)
    return Joint(table / table.sum())


@claim("marginal-probability")
def marginals_sum_or_integrate_the_rest_out(seed: int) -> Verdict:
    joint, law = random_joint(2, 3, 4, seed=seed), MultivariateNormal([0, 1], [[2, 0.7], [0.7, 1]])
    by_hand = [sum(joint.table[i, j, k] for i in range(2) for k in range(4)) for j in range(3)]
    density = marginal_density(lambda x, y: float(law.pdf([x, y])), 0.4)
    return every(
        table=near(joint.marginal(1).table, by_hand, tolerance=1e-14),
        density=near(density, stats.norm(0, np.sqrt(2)).pdf(0.4), tolerance=1e-9),
    )


@claim("conditional-probability")
def conditionals_divide_the_joint(seed: int) -> Verdict:
    joint = random_joint(3, 4, seed=seed)
    by_hand = [[joint.table[i, j] / sum(joint.table[:, j]) for j in range(4)] for i in range(3)]
    return every(
        value=near(joint.conditional(given=1), by_hand, tolerance=1e-14),
        sums=near(joint.conditional(given=1).sum(axis=0), np.ones(4), tolerance=1e-14),
        impossible=raises(ValueError, lambda: Joint([[0.0, 0.0], [0.5, 0.5]]).conditional(given=0), match="zero"),
    )


@claim("chain-rule-probability")
def factors_multiply_to_the_joint_in_every_order(seed: int) -> Verdict:
    joint, worst = random_joint(2, 2, 2, 2, seed=seed), 0.0
    for order in permutations(range(4)):
        product = np.ones(1)
        for factor in joint.chain_factors(order):
            product = product * factor
        worst = max(worst, float(np.max(np.abs(product - joint.table))))
    return near(worst, 0.0, tolerance=1e-12)


@claim("tower-property")
def mean_of_conditional_means_is_the_mean(seed: int) -> Verdict:
    joint, g = random_joint(3, 4, seed=seed), np.random.default_rng([seed, 1]).normal(size=(3, 4))
    inner = np.broadcast_to(joint.conditional_expectation(g, given=0), g.shape)
    # X ~ N(0, 1), Y | X ~ N(X/2, 3/4): E[XY | X] = X^2/2, so the mean is 1/2.
    pair = MultivariateNormal([0, 0], [[1, 0.5], [0.5, 1]])
    both = monte_carlo(lambda z: z[:, 0] * z[:, 1], pair.sample, 200_000, np.random.default_rng([seed, 2]))
    outer = monte_carlo(lambda x: x * (x / 2), Normal().sample, 200_000, np.random.default_rng([seed, 3]))
    return every(
        table=near(joint.expectation(inner), joint.expectation(g), tolerance=1e-14),
        pair=near(both.value, outer.value, tolerance=ERRORS * np.hypot(both.standard_error, outer.standard_error)),
    )


@claim("likelihood")
def likelihood_is_the_probability_of_what_was_seen() -> Verdict:
    tosses, p = np.array([1] * 49 + [0] * 31), 0.55
    arrangements = np.exp(stats.binom(80, p).logpmf(49) - log_likelihood(Bernoulli(p), tosses))
    return every(
        product=near(likelihood(Bernoulli(p), tosses), p**49 * (1 - p) ** 31, tolerance=1e-30),
        binomial=near(likelihood(Binomial(80, p), [49]), stats.binom(80, p).pmf(49), tolerance=1e-14),
        ratio=near(arrangements / float(np.round(arrangements)), 1.0, tolerance=1e-9),
    )


def factory() -> DiscreteBayes:
    """Three machines, their share of the output and their rates of good and bad parts."""
    return DiscreteBayes(prior=[0.5, 0.3, 0.2], likelihood=[[0.99, 0.01], [0.97, 0.03], [0.90, 0.10]])


@claim("prior-probability")
def prior_is_what_holds_before_looking() -> Verdict:
    model = factory()
    averaged = sum(model.evidence[o] * model.posterior(o) for o in range(2))
    return every(
        as_run=near(np.exp(log_priors(model.prior * 700, None)), model.prior, tolerance=1e-14),
        normalized=near(model.prior.sum(), 1.0, tolerance=1e-15),
        mean_of_posteriors=near(averaged, model.prior, tolerance=1e-15),
        checked=raises(ValueError, lambda: DiscreteBayes([0.5, 0.6], [[1.0], [1.0]]), match="must sum to 1"),
    )


@claim("posterior-probability")
def posterior_is_prior_times_likelihood_normalized(seed: int) -> Verdict:
    model = factory()
    product = np.array([0.5, 0.3, 0.2]) * [0.01, 0.03, 0.10]
    rng = np.random.default_rng(seed)
    machine = rng.choice(3, size=400_000, p=[0.5, 0.3, 0.2])
    bad = machine[rng.random(machine.size) < np.array([0.01, 0.03, 0.10])[machine]]
    return every(
        as_run=near(np.exp(log_posterior(np.log(product)[None])), model.posterior(1)[None], tolerance=1e-14),
        sums=near(model.posterior(1).sum(), 1.0, tolerance=1e-14),
        proportional=near(model.posterior(1), product / product.sum(), tolerance=1e-14),
        simulated=near(np.bincount(bad) / bad.size, model.posterior(1), tolerance=0.015),
    )


@claim("bayes-rule")
def bayes_rule_has_reason_and_observation_in_their_places(seed: int) -> Verdict:
    table = random_joint(2, 2, seed=seed).table
    p_r, p_o = table[0].sum(), table[:, 0].sum()
    p_o_given_r, direct = table[0, 0] / p_r, table[0, 0] / p_o
    truth = near(bayes(p_r, p_o_given_r, p_o), direct, tolerance=1e-14)
    # A reason of probability 0.2 and an observation of 0.7, seen with it half of the time.
    return corrected(truth, printed=near(bayes(0.7, 0.5, 0.2), 0.1 / 0.7, tolerance=0.05))


@claim("claim-conditional-bayes-variants")
def bayes_rule_holds_under_a_third_condition(seed: int) -> Verdict:
    joint = random_joint(2, 3, 4, seed=seed)  # A, B, C
    ab_given_c = joint.conditional(given=2)
    b_given_c = joint.marginal([1, 2]).conditional(given=1)
    a_given_bc = joint.conditional(given=[1, 2])
    return every(
        quotient=near(ab_given_c / b_given_c, a_given_bc, tolerance=1e-12),
        product=near(a_given_bc * b_given_c, ab_given_c, tolerance=1e-12),
    )


@claim("bayes-rule-posterior")
def posterior_of_a_latent_variable() -> Verdict:
    z, x = np.linspace(-9, 9, 4001), 1.4
    exact = normal_posterior(Normal(0, 1), x, 1.0)
    density = grid_posterior(z, Normal(0, 1).log_prob(z), Normal(0, 1).log_prob(x - z))
    return every(
        normalized=near(np.trapezoid(density, z), 1.0, tolerance=1e-12),
        grid=near(density, Normal(x / 2, np.sqrt(0.5)).pdf(z), tolerance=1e-9),
        conjugate=near([exact.mean, exact.variance], [x / 2, 0.5], tolerance=1e-15),
        discrete=near(factory().posterior(0).sum(), 1.0, tolerance=1e-14),
    )
