"""Variables as functions of others: inverse CDF, LOTUS, Jensen, Markov chains and Tweedie's formula."""

import numpy as np
from scipy import integrate, stats

from margin.core.verdict import Verdict, above, below, corrected, every, near, within
from margin.foundations.probability import (
    Exponential,
    Laplace,
    Logistic,
    MarkovChain,
    Mixture,
    Normal,
    denoised_mean,
    expectation,
    jensen_gap,
    kolmogorov_p_value,
    monte_carlo,
    natural_parameter_mean,
    partial_correlation,
    pathwise_derivative,
    poisson_rate_mean,
    sample_inverse_cdf,
    tweedie,
)
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS, plausible


@claim("inverse-cdf-sampling")
def gradients_pass_through_the_inverse_cdf(seed: int) -> Verdict:
    rng, laws = np.random.default_rng(seed), (Exponential(2), Laplace(1, 2), Logistic(-1, 0.5))
    p_values = [kolmogorov_p_value(sample_inverse_cdf(law.quantile, 5000, rng), law.cdf) for law in laws]
    z = sample_inverse_cdf(Exponential(2).quantile, 400_000, rng)
    gradient = np.mean(2 * z * pathwise_derivative(Exponential, 2.0, z))  # of E[z^2] = 2/rate^2, exactly -4/rate^3
    truth = every(
        draws=plausible(min(p_values)),
        slope=near(pathwise_derivative(Exponential, 2.0, z[:9]), -z[:9] / 2, tolerance=1e-6),
        gradient=near(gradient, -0.5, tolerance=0.02),
    )
    return corrected(truth, printed=near(gradient, 0.0, tolerance=0.1))  # "cannot be backpropagated through"


@claim("lotus")
def expectation_of_a_function_needs_only_the_noise(seed: int) -> Verdict:
    mu, sigma = 0.3, 0.5
    by_noise = expectation(Normal(0, 1), lambda e: np.exp(mu + sigma * e))
    by_law = expectation(Normal(mu, sigma), np.exp)
    drawn = monte_carlo(lambda e: np.exp(mu + sigma * e), Normal().sample, 100_000, np.random.default_rng(seed))
    return every(
        noise=near(by_noise, np.exp(mu + sigma**2 / 2), tolerance=1e-9),
        law=near(by_law, by_noise, tolerance=1e-9),
        sample=near(drawn.value, by_noise, tolerance=ERRORS * drawn.standard_error),
    )


@claim("jensen-inequality")
def mean_of_a_convex_function_exceeds_the_function_of_the_mean(seed: int) -> Verdict:
    x = np.random.default_rng(seed).exponential(size=500) + 0.01
    truth = every(
        convex=above(min(jensen_gap(np.exp, x), jensen_gap(np.square, x)), 0),
        concave=below(max(jensen_gap(np.log, x), jensen_gap(np.sqrt, x)), 0),
        linear=near(jensen_gap(lambda v: 2 * v + 3, x), 0.0, tolerance=1e-12),
        constant=near(jensen_gap(np.log, np.full(4, 2.5)), 0.0, tolerance=1e-15),
        valid_mnemonic=below(jensen_gap(np.log, [1, 3]), 0),
    )
    # The printed test of concavity, f(1 + 1) > f(1) + f(1), on the concave square root.
    return corrected(truth, printed=above(float(np.sqrt(1 + 1)), 2 * float(np.sqrt(1))))


@claim("markov-chain")
def the_present_separates_past_and_future(seed: int) -> Verdict:
    chain, rng = MarkovChain([[0.8, 0.15, 0.05], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]]), np.random.default_rng(seed)
    pi, path = chain.stationary(), chain.simulate(100_000, rng)
    noise = rng.normal(size=(4, 50_000))
    x0 = 2 * noise[0]
    x1 = np.sqrt(0.7) * x0 + np.sqrt(0.3) * noise[1]  # two steps of the diffusion's forward chain
    x2 = np.sqrt(0.7) * x1 + np.sqrt(0.3) * noise[2]
    remembers = x2 + 0.5 * x0
    return every(
        stationary=near(pi @ chain.P, pi, tolerance=1e-14),
        long_run=near(np.bincount(path) / path.size, pi, tolerance=0.015),
        correlated=above(abs(np.corrcoef(x0, x2)[0, 1]), 0.5),
        separated=near(partial_correlation(x0, x2, x1), 0.0, tolerance=0.02),
        a_chain_with_memory_is_not=above(abs(partial_correlation(x0, remembers, x1)), 0.3),
    )


def _rates_of_counts(rng: np.random.Generator) -> Verdict:
    """Rates from a gamma law: counts are negative binomial, and the posterior mean is known. Frequencies do as well."""
    shape, rate, z = 2.3, 0.7, np.arange(8)
    exact = (shape + z) / (rate + 1)
    marginal = stats.nbinom.pmf(np.arange(9), shape, rate / (rate + 1))
    counts = np.bincount(rng.poisson(rng.gamma(shape, 1 / rate, size=400_000)), minlength=9)[:9]
    spread = exact * np.sqrt(1 / counts[1:] + 1 / counts[:-1])  # of a ratio of two counts
    return every(
        marginal=near(poisson_rate_mean(marginal), exact, tolerance=1e-12),
        without_the_prior=near((poisson_rate_mean(counts / counts.sum()) - exact) / spread, 0 * z, tolerance=ERRORS),
        not_the_count=above(np.abs(exact - z).max(), 1.0),
    )


def _rate_of_a_gamma_value() -> Verdict:
    """z ~ Gamma(a, rate) has the natural parameter -rate and h(z) = z^(a - 1); the prior of the rate is a gamma law."""
    a, z = 1.7, np.array([0.3, 1.1, 4.0])
    prior = stats.gamma(2.4, scale=1 / 0.9)

    def evidence(value: float, power: int) -> float:
        return integrate.quad(lambda r: r**power * stats.gamma.pdf(value, a, scale=1 / r) * prior.pdf(r), 0, np.inf)[0]

    step = 1e-4
    score = np.array([(np.log(evidence(v + step, 0)) - np.log(evidence(v - step, 0))) / (2 * step) for v in z])
    direct = np.array([evidence(v, 1) / evidence(v, 0) for v in z])
    return every(
        by_integrals=near(-natural_parameter_mean(score, (a - 1) / z), direct, tolerance=1e-5),
        in_closed_form=near(direct, (a + 2.4) / (0.9 + z), tolerance=1e-7),
    )


@claim("tweedie-formula")
def the_marginal_score_gives_the_posterior_mean(seed: int) -> Verdict:
    prior, noise, y = Mixture([0.3, 0.7], [Normal(-2, 0.5), Normal(1, 0.5)]), 0.8, 0.4
    weight = [integrate.quad(lambda m, k=k: m**k * prior.pdf(m) * Normal(m, noise).pdf(y), -9, 9)[0] for k in (0, 1)]
    direct = weight[1] / weight[0]
    by_score = tweedie(y, noise**2, prior.add_noise(noise).score(y))
    # In a diffusion sqrt(alpha_bar) x_0 has the scaled law, and the noise variance is 1 - alpha_bar.
    alpha_bar, x_t = 0.6, 0.4
    scaled = Mixture(prior.weights, [np.sqrt(alpha_bar) * component for component in prior.components])
    x_0 = denoised_mean(x_t, alpha_bar, scaled.add_noise(np.sqrt(1 - alpha_bar)).score(x_t))
    rng = np.random.default_rng(seed)
    clean = prior.sample(1_000_000, rng)
    noisy = np.sqrt(alpha_bar) * clean + np.sqrt(1 - alpha_bar) * rng.standard_normal(clean.size)
    near_x_t = clean[np.abs(noisy - x_t) < 0.02]
    truth = every(
        notes=near(by_score, 0.787855, tolerance=1e-6),
        posterior=near(by_score, direct, tolerance=1e-9),
        diffusion=near(x_0, near_x_t.mean(), tolerance=0.04),
        a_mean_not_a_value=above(near_x_t.std(), 0.3),
        counts=_rates_of_counts(rng),
        gamma=_rate_of_a_gamma_value(),
    )
    conditional = tweedie(y, noise**2, Normal(-2, noise).score(y))  # the score of N(y; mu_z, .) at one mu_z
    as_printed = {"conditional_score": near(conditional, direct, tolerance=0.1), "x_0": within(near_x_t.std(), 0, 0.05)}
    return corrected(truth, **as_printed)
