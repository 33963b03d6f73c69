"""Latent variable models whose density is known: mixtures, linear models, a curve in the plane, a ring."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.chance import plausible

WEIGHTS, MEANS, DEVIATIONS = np.array([0.5, 0.3, 0.2]), np.array([-2.0, 0.5, 3.0]), np.array([0.5, 0.8, 0.3])
SEEN = 1.3  # z ~ N(0, 1), x given z ~ N(z, 1): x ~ N(0, 2), and log p(1.3) = -1.6880


def mixture_log_likelihood(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """log p(x|z) of the mixture, its latents the numbers of the components."""
    k = z[:, 0].astype(int)
    return stats.norm.logpdf(x[:, :1], MEANS[k], DEVIATIONS[k])


def curve(z: np.ndarray) -> np.ndarray:
    """A bent line in the plane, the mean of x given one latent."""
    return np.hstack([z, np.sin(2 * z)])


@claim("latent-variable-model")
def a_discrete_latent_gives_a_weighted_sum(seed: int) -> Verdict:
    from margin.generative.latent import log_marginal, posterior_weights

    rng = np.random.default_rng(seed)
    latents = np.arange(3.0)[:, None]
    x = np.linspace(-5, 5, 41)[:, None]
    weighted = (WEIGHTS * stats.norm.pdf(x, MEANS, DEVIATIONS)).sum(axis=1)
    drawn = rng.choice(3, size=4000, p=WEIGHTS)
    sample = rng.normal(MEANS[drawn], DEVIATIONS[drawn])
    test = stats.kstest(sample, lambda t: stats.norm.cdf(np.asarray(t)[:, None], MEANS, DEVIATIONS) @ WEIGHTS)
    posterior = posterior_weights(sample[:, None], mixture_log_likelihood, latents, np.log(WEIGHTS))
    return every(
        density=near(
            np.exp(log_marginal(x, mixture_log_likelihood, latents, np.log(WEIGHTS))), weighted, tolerance=1e-12
        ),
        samples=plausible(float(test.pvalue)),
        posterior_finds_the_component=above(float(np.mean(posterior.argmax(axis=1) == drawn)), 0.95),
    )


@claim("marginal-likelihood")
def the_evidence_by_quadrature_and_by_draws(seed: int) -> Verdict:
    from margin.generative.latent import (
        NormalDecoder,
        importance_log_weights,
        log_marginal,
        normal_nodes,
        prior_draws,
    )

    rng, x = np.random.default_rng(seed), np.array([[SEEN], [-0.4]])
    likelihood = NormalDecoder(lambda z: z, 1.0).log_likelihood
    exact = stats.norm.logpdf(x[:, 0], 0, math.sqrt(2))
    proposals = rng.normal(0.6, 0.8, size=(100_000, 1))
    weights = importance_log_weights(proposals, np.array([0.6]), np.array([0.8]))
    return every(
        number=near(float(log_marginal(x, likelihood, *normal_nodes(60))[0]), -1.6880, tolerance=5e-5),
        quadrature=near(log_marginal(x, likelihood, *normal_nodes(60)), exact, tolerance=1e-8),
        monte_carlo=near(log_marginal(x, likelihood, *prior_draws(100_000, 1, rng)), exact, tolerance=0.02),
        importance=near(log_marginal(x, likelihood, proposals, weights), exact, tolerance=0.02),
    )


@claim("claim-log-likelihood-intractable")
def grids_grow_exponentially_and_draws_are_biased_low(seed: int) -> Verdict:
    from margin.generative.latent import NormalDecoder, log_marginal, normal_nodes, prior_draws

    rng, k, deviation = np.random.default_rng(seed), 6, 0.4
    points = [len(normal_nodes(k, d)[0]) for d in (1, 2, 5)]
    likelihood = NormalDecoder(lambda z: z, deviation).log_likelihood
    short, deviations = [], []
    for d in (1, 2, 5, 10):
        x = np.full((1, d), 0.8)
        exact = stats.norm.logpdf(0.8, 0, math.sqrt(1 + deviation**2)) * d
        runs = np.array([log_marginal(x, likelihood, *prior_draws(50, d, rng))[0] for _ in range(1000)])
        short.append(exact - runs.mean())
        deviations.append(runs.std())
    return every(
        grid_points=equal(points, [6, 36, 7776]),
        biased_low=above(min(short[1:]), 0.0),
        error_grows=equal(bool(np.all(np.diff(short[1:]) > 0)), True),
        ten_latents_are_hopeless=above(short[-1], 3.0),
        spread_grows=above(deviations[-1], 3 * deviations[0]),
    )


@claim("nonlinear-latent-variable-model")
def a_network_mean_gives_a_density_that_integrates_to_one(seed: int) -> Verdict:
    import torch

    from margin.generative.latent import NormalDecoder, log_marginal, normal_nodes
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    net = build(lambda: MLP([1, 8, 1], "tanh"), seed=seed, dtype=torch.float64)

    def mean(z: np.ndarray) -> np.ndarray:
        with torch.no_grad():  # less its value at zero, so that it takes both signs whatever the weights
            return (
                net(torch.from_numpy(np.ascontiguousarray(z))) - net(torch.zeros(1, 1, dtype=torch.float64))
            ).numpy()

    decoder, nodes = NormalDecoder(mean, 0.3), normal_nodes(120)
    x = np.linspace(-12, 12, 4001)
    density = np.exp(log_marginal(x[:, None], decoder.log_likelihood, *nodes))
    rng = np.random.default_rng(seed)
    sample = decoder.sample(rng.standard_normal((3000, 1)), rng)[:, 0]
    distribution = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    truth = every(
        integral=near(float(np.trapezoid(density, x)), 1.0, tolerance=1e-6),
        samples=plausible(float(stats.kstest(sample, lambda t: np.interp(t, x, distribution)).pvalue)),
    )
    # Written as p(x|z) = f(z), the "density" of x would be the mean function itself, which may be negative.
    return corrected(truth, printed=above(float(mean(np.linspace(-3, 3, 61)[:, None]).min()), 0.0))


@claim("claim-infinite-mixture-of-gaussians")
def averages_over_the_prior_converge_to_the_density(seed: int) -> Verdict:
    from margin.generative.latent import NormalDecoder, log_marginal, normal_nodes, prior_draws

    rng, x = np.random.default_rng(seed), curve(np.array([[-0.5], [0.2], [1.0]]))
    likelihood = NormalDecoder(curve, 0.4).log_likelihood
    exact = np.exp(log_marginal(x, likelihood, *normal_nodes(120)))

    def error(n_draws: int) -> float:
        runs = [np.exp(log_marginal(x, likelihood, *prior_draws(n_draws, 1, rng))) - exact for _ in range(150)]
        return float(np.sqrt(np.mean(np.square(runs))))

    slope = math.log(error(1600) / error(25)) / math.log(1600 / 25)
    return every(like_one_over_the_root=near(slope, -0.5, tolerance=0.08), converges=below(error(1600), 0.01))


@claim("claim-gaussian-noise-to-any-distribution")
def normal_noise_becomes_any_distribution(seed: int) -> Verdict:
    from margin.generative.latent import through_quantiles

    z = np.random.default_rng(seed).standard_normal((4000, 2))
    grid = np.linspace(-8, 8, 20_001)
    mixture = stats.norm.cdf(grid[:, None], MEANS, DEVIATIONS) @ WEIGHTS
    exponential = through_quantiles(z[:, 0], stats.expon.ppf)
    mixed = through_quantiles(z[:, 0], lambda u: np.interp(u, mixture, grid))
    # Two dependent columns: the second through the quantiles of its distribution given the first.
    second = through_quantiles(z[:, 1], lambda u: stats.gamma.ppf(u, a=1 + exponential))
    independent = stats.spearmanr(exponential, stats.gamma.cdf(second, a=1 + exponential))
    return every(
        exponential=plausible(float(stats.kstest(exponential, stats.expon.cdf).pvalue)),
        mixture=plausible(float(stats.kstest(mixed, lambda t: np.interp(t, grid, mixture)).pvalue)),
        conditional=plausible(float(stats.kstest(stats.gamma.cdf(second, a=1 + exponential), "uniform").pvalue)),
        conditional_given_the_first=plausible(float(independent.pvalue)),
        dependent=above(float(np.corrcoef(exponential, second)[0, 1]), 0.3),
    )


@claim("example-gaussian-to-ring")
def a_normal_cloud_becomes_a_ring(seed: int) -> Verdict:
    from margin.generative.latent import ring

    radius = np.linalg.norm(ring(np.random.default_rng(seed).standard_normal((40_000, 2)), 10.0), axis=1)
    return every(
        outside_one=above(float(radius.min()), 1.0),
        mean=near(float(radius.mean()), 1.1253, tolerance=2e-3),
        deviation=near(float(radius.std()), 0.0655, tolerance=2e-3),
        mean_in_closed_form=near(1 + math.sqrt(math.pi / 2) / 10, 1.1253, tolerance=5e-5),
        deviation_in_closed_form=near(math.sqrt(2 - math.pi / 2) / 10, 0.0655, tolerance=5e-5),
    )


@claim("claim-most-latents-contribute-nothing")
def proposals_near_the_posterior_waste_no_draws(seed: int) -> Verdict:
    from margin.generative.latent import (
        NormalDecoder,
        effective_sample_size,
        importance_log_weights,
        log_marginal,
        prior_draws,
    )

    rng, d, deviation, x = np.random.default_rng(seed), 4, 0.3, np.full((1, 4), 1.0)
    likelihood = NormalDecoder(lambda z: z, deviation).log_likelihood
    shrink = 1 / (1 + deviation**2)  # the posterior is N(shrink x, shrink deviation^2); q is 1.3 times as wide
    mean, spread = np.full(d, shrink), np.full(d, 1.3 * deviation * math.sqrt(shrink))

    def propose() -> tuple[np.ndarray, np.ndarray]:
        z = rng.normal(mean, spread, size=(200, d))
        return z, importance_log_weights(z, mean, spread)

    by_prior, by_q = ([draw() for _ in range(100)] for draw in (lambda: prior_draws(200, d, rng), propose))
    logs = [[log_marginal(x, likelihood, *pair)[0] for pair in pairs] for pairs in (by_prior, by_q)]
    sizes = [
        float(np.mean([effective_sample_size(likelihood(x, z)[0] + w) for z, w in pairs])) for pairs in (by_prior, by_q)
    ]
    exact = d * stats.norm.logpdf(1.0, 0, math.sqrt(1 + deviation**2))
    return every(
        variance_ratio=above(float(np.var(logs[0]) / np.var(logs[1])), 50.0),
        close=near(float(np.mean(logs[1])), float(exact), tolerance=0.05),
        few_draws_of_the_prior_count=below(sizes[0], 15.0),
        most_of_q_count=above(sizes[1], 80.0),
    )
