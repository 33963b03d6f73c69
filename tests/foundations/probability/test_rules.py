"""Rules for several variables: joint tables, Bayes, multivariate normal, categories, mixtures, Markov, Tweedie."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from margin.foundations.probability import (
    Categorical,
    DiscreteBayes,
    Joint,
    MarkovChain,
    Mixture,
    Multinomial,
    MultivariateNormal,
    Normal,
    bayes,
    denoised_mean,
    grid_posterior,
    log_binomial_coefficient,
    marginal_density,
    multinomial_coefficient,
    natural_parameter_mean,
    normal_posterior,
    partial_correlation,
    poisson_rate_mean,
    posterior,
    tweedie,
)


def random_table(seed, shape):
    table = np.random.default_rng(seed).random(shape)
    return table / table.sum()


@given(st.integers(0, 1000))
def test_chain_factors_rebuild_the_joint_in_every_order(seed):
    joint = Joint(random_table(seed, (2, 2, 2, 2)))
    for order in itertools.permutations(range(4)):
        product = np.ones(1)
        for factor in joint.chain_factors(order):
            product = product * factor
        np.testing.assert_allclose(product, joint.table, atol=1e-15)


def test_chain_factors_survive_impossible_prefixes():
    joint = Joint([[0.0, 0.0], [0.4, 0.6]])
    first, second = joint.chain_factors([0, 1])
    np.testing.assert_allclose(first * second, joint.table)


def test_marginals_keep_the_order_asked_for():
    table = random_table(0, (2, 3, 4))
    joint = Joint(table)
    np.testing.assert_allclose(joint.marginal([2, 0]).table, table.sum(axis=1).T)
    np.testing.assert_allclose(joint.marginal(1).table, table.sum(axis=(0, 2)))
    conditional = joint.conditional(given=[0, 2])
    np.testing.assert_allclose(conditional.sum(axis=1), 1)
    with pytest.raises(ValueError, match=r"the value \[0\] of variables 0 has probability zero"):
        Joint([[0.0, 0.0], [0.5, 0.5]]).conditional(given=0)


def test_tower_property_and_continuous_marginal():
    joint = Joint(random_table(1, (3, 4)))
    g = np.random.default_rng(2).normal(size=(3, 4))
    inner = joint.conditional_expectation(g, given=0)
    assert joint.expectation(np.broadcast_to(inner, g.shape)) == pytest.approx(joint.expectation(g), abs=1e-14)
    law = MultivariateNormal([0, 1], [[2, 0.7], [0.7, 1]])
    assert marginal_density(lambda x, y: float(law.pdf([x, y])), 0.4) == pytest.approx(
        stats.norm(0, np.sqrt(2)).pdf(0.4)
    )


@given(st.integers(0, 1000))
def test_bayes_reads_the_joint_table_the_other_way(seed):
    table = random_table(seed, (3, 4))
    prior, evidence = table.sum(axis=1), table.sum(axis=0)
    likelihood = table / prior[:, None]
    np.testing.assert_allclose(bayes(prior[:, None], likelihood, evidence), table / evidence, rtol=1e-12)
    model = DiscreteBayes(prior, likelihood)
    np.testing.assert_allclose(model.posterior(2), table[:, 2] / evidence[2], rtol=1e-12)
    np.testing.assert_allclose(posterior(np.log(prior), np.log(likelihood[:, 2])), model.posterior(2), rtol=1e-10)


def test_grid_posterior_meets_the_conjugate_one():
    z = np.linspace(-8, 8, 4001)
    density = grid_posterior(z, Normal(0, 1).log_prob(z), Normal(0, 1).log_prob(1.3 - z))
    exact = normal_posterior(Normal(0, 1), 1.3, 1.0)
    assert (exact.mean, exact.variance) == (pytest.approx(0.65), pytest.approx(0.5))
    np.testing.assert_allclose(density, exact.pdf(z), atol=1e-10)


def test_posterior_survives_logarithms_that_underflow():
    np.testing.assert_allclose(
        posterior(np.log([0.5, 0.5]), [-1000.0, -1001.0]), [1 / (1 + np.exp(-1)), 1 / (1 + np.e)]
    )


def spd(seed, d):
    A = np.random.default_rng(seed).normal(size=(d, d))
    return A @ A.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multivariate_normal_agrees_with_scipy(d):
    rng = np.random.default_rng(d)
    law, oracle = (make(rng.normal(size=d) * 0, spd(d, d)) for make in (MultivariateNormal, stats.multivariate_normal))
    X = rng.normal(size=(7, d))
    np.testing.assert_allclose(law.log_prob(X), oracle.logpdf(X).ravel(), rtol=1e-11)
    assert law.entropy() == pytest.approx(oracle.entropy())
    assert law.cdf(X[0]) == pytest.approx(oracle.cdf(X[0]), abs=5e-5)
    sample = law.sample(200_000, rng)
    np.testing.assert_allclose(
        np.cov(sample.T, bias=True).reshape(d, d), law.covariance, atol=0.05 * law.variance.max()
    )
    h = 1e-6
    numeric = [(law.log_prob(X[0] + h * e) - law.log_prob(X[0] - h * e)) / (2 * h) for e in np.eye(d)]
    np.testing.assert_allclose(law.score(X[0]), numeric, rtol=1e-6, atol=1e-6)


def test_multivariate_normal_reduces_to_the_univariate_one():
    assert float(MultivariateNormal([1], [[4]]).log_prob([0.3])) == pytest.approx(float(Normal(1, 2).log_prob(0.3)))


@given(st.integers(0, 200))
def test_conditional_times_marginal_is_the_joint(seed):
    law = MultivariateNormal(np.arange(4.0), spd(seed, 4))
    x = np.random.default_rng(seed).normal(size=4)
    rest = law.condition([1, 3], x[[1, 3]])
    total = rest.log_prob(x[[0, 2]]) + law.marginal([1, 3]).log_prob(x[[1, 3]])
    assert float(total) == pytest.approx(float(law.log_prob(x)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: MultivariateNormal([0, 0], [[1, 2], [2, 1]]), "positive definite; its smallest eigenvalue is -1"),
        (lambda: MultivariateNormal([0, 0], [[1, 0.5], [0.4, 1]]), "covariance must be symmetric"),
        (lambda: MultivariateNormal([0], np.eye(2)), r"got \(1,\) and \(2, 2\)"),
        (lambda: MultivariateNormal([0, 0], np.eye(2)).log_prob([1, 2, 3]), "must end in 2 coordinates"),
        (lambda: MultivariateNormal([0, 0], np.eye(2)).marginal([2]), "distinct integers below 2; got"),
        (lambda: MultivariateNormal([0, 0], np.eye(2)).condition([0, 1], [0, 0]), "leave a coordinate free"),
        (lambda: Joint([0.5, 0.6]), "Joint: table must sum to 1; got a sum of 1.1."),
        (lambda: Joint([0.5, 0.5]).marginal(3), "distinct and below 1; got 3"),
        (lambda: DiscreteBayes([0.5, 0.5], [[0.5, 0.4], [0.5, 0.5]]), "rows of likelihood must sum to 1"),
        (lambda: DiscreteBayes([0.5, 0.5], [[0.5, 0.5]]), "with 2 rows"),
        (lambda: DiscreteBayes([1.0], [[1.0]]).posterior(4), "observation must be below 1; got 4."),
        (lambda: bayes(0.5, 0.5, 0.0), "bayes: evidence must be positive"),
        (lambda: posterior([0.0, 0.0], [-np.inf, -np.inf]), "every reason has probability zero"),
        (lambda: grid_posterior([0, 0], [0, 0], [0, 0]), "grid must be an increasing vector"),
        (lambda: MarkovChain([[0.5, 0.4], [0.5, 0.5]]), "rows of P must sum to 1"),
        (lambda: MarkovChain(np.eye(2)).stationary(), "not unique; the chain has 2 closed classes"),
        (lambda: tweedie([1.0, 2.0], 1.0, [0.0]), "one shape"),
        (lambda: natural_parameter_mean([1.0, 2.0], [0.0]), "score and base_score must have one shape"),
        (lambda: poisson_rate_mean([1.0]), "pmf must be a vector of two probabilities or more"),
        (lambda: poisson_rate_mean([0.5, -0.1]), "pmf must be a vector of two probabilities or more"),
        (lambda: denoised_mean(1.0, 0.0, 0.0), r"alpha_bar must lie in \(0, 1\]; got 0.0."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_multinomial_agrees_with_scipy_and_with_enumeration():
    law, oracle = Multinomial(4, [0.2, 0.3, 0.5]), stats.multinomial(4, [0.2, 0.3, 0.5])
    atoms = law.atoms()
    assert atoms.shape == (15, 3)
    np.testing.assert_allclose(law.pmf(atoms), oracle.pmf(atoms), rtol=1e-12)
    assert law.pmf(atoms).sum() == pytest.approx(1, abs=1e-14)
    brute = {}
    for draws in itertools.product(range(3), repeat=4):
        counts = tuple(np.bincount(draws, minlength=3))
        brute[counts] = brute.get(counts, 0) + float(np.prod(law.p[list(draws)]))
    np.testing.assert_allclose([brute[tuple(a.astype(int))] for a in atoms], law.pmf(atoms), rtol=1e-12)
    np.testing.assert_allclose(law.covariance, oracle.cov(), rtol=1e-12)
    assert law.expectation(lambda k: k[:, 0] * k[:, 1]) == pytest.approx(law.covariance[0, 1] + 0.8 * 1.2)
    assert law.pmf([1, 1, 1]) == 0
    assert multinomial_coefficient([3, 2, 2]) == 210
    assert np.exp(log_binomial_coefficient(7, 3)) == pytest.approx(35)


def test_categorical_reads_one_hot_rows():
    law = Categorical([0.2, 0.5, 0.3])
    np.testing.assert_allclose(law.log_prob_one_hot(np.eye(3)), law.log_prob([0, 1, 2]), rtol=1e-14)
    with pytest.raises(ValueError, match="one-hot rows of length 3"):
        law.log_prob_one_hot([1, 1, 0])
    assert law.sample(1000, np.random.default_rng(0)).max() == 2


def test_mixture_responsibilities_and_score():
    law = Mixture([0.3, 0.7], [Normal(-2, 0.5), Normal(1, 0.5)])
    x = np.array([-2.0, -0.4, 1.0])
    np.testing.assert_allclose(law.responsibilities(x).sum(axis=-1), 1)
    h = 1e-6
    np.testing.assert_allclose(
        law.score(x), (law.log_prob(x + h) - law.log_prob(x - h)) / (2 * h), rtol=1e-7, atol=1e-7
    )
    assert law.variance == pytest.approx(law.expectation(lambda t: (t - law.mean) ** 2), rel=1e-9)


def test_tweedie_meets_the_posterior_mean_of_the_notes():
    prior, noise, y = Mixture([0.3, 0.7], [Normal(-2, 0.5), Normal(1, 0.5)]), 0.8, 0.4
    direct = integrate.quad(lambda m: m * prior.pdf(m) * Normal(m, noise).pdf(y), -8, 8, epsabs=1e-13)[0]
    direct /= integrate.quad(lambda m: prior.pdf(m) * Normal(m, noise).pdf(y), -8, 8, epsabs=1e-13)[0]
    found = float(tweedie(y, noise**2, prior.add_noise(noise).score(y)))
    assert found == pytest.approx(0.787855, abs=1e-6)
    assert found == pytest.approx(direct, abs=1e-9)


def test_tweedie_with_a_covariance_matrix():
    prior, noise = MultivariateNormal([1, -1], spd(3, 2)), spd(4, 2)
    z = np.array([[0.3, 0.2], [1.0, 2.0]])
    marginal = MultivariateNormal(prior.mean, prior.covariance + noise)
    gain = prior.covariance @ np.linalg.inv(prior.covariance + noise)
    np.testing.assert_allclose(tweedie(z, noise, marginal.score(z)), prior.mean + (z - prior.mean) @ gain.T, rtol=1e-10)


def test_markov_chain_settles():
    chain = MarkovChain(np.random.default_rng(0).dirichlet(np.ones(5), size=5))
    pi = chain.stationary()
    np.testing.assert_allclose(pi @ chain.P, pi, atol=1e-14)
    np.testing.assert_allclose(chain.after(200)[3], pi, atol=1e-12)
    path = chain.simulate(50_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(path, minlength=5) / path.size, pi, atol=0.02)
    absorbing = MarkovChain([[0.5, 0.5, 0], [0, 0.2, 0.8], [0, 0.6, 0.4]])
    assert absorbing.stationary()[0] == 0


def test_partial_correlation_sees_only_what_is_left():
    rng = np.random.default_rng(0)
    c = rng.normal(size=50_000)
    a, b = c + rng.normal(size=c.size), c + rng.normal(size=c.size)
    assert np.corrcoef(a, b)[0, 1] > 0.45
    assert abs(partial_correlation(a, b, c)) < 0.02
