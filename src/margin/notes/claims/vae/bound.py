"""The evidence lower bound and its parts, on models whose evidence is known.

The running example is z ~ N(0, 1), x given z ~ N(z, 1), so x ~ N(0, 2) and z given x ~ N(x/2, 1/2).
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.vae.networks import network

X, MEAN, VARIANCE = 1.3, 0.4, 0.25  # the observation and the q of the example


def tensor(*values: Any) -> Any:
    import torch

    return torch.tensor(np.array(values, dtype=np.float64))


def log_normal(x: float, mean: float, variance: float) -> float:
    return -0.5 * (math.log(2 * math.pi * variance) + (x - mean) ** 2 / variance)


def expected_log_normal(mean: float, variance: float, other_mean: float, other_variance: float) -> float:
    """E[log N(z; other)] for z ~ N(mean, variance)."""
    return log_normal(mean, other_mean, other_variance) - 0.5 * variance / other_variance


def kl(mean: float, variance: float) -> float:
    from margin.generative.elbo import kl_to_standard_normal

    return float(kl_to_standard_normal(tensor(mean), tensor(math.log(variance))))


def elbo(x: float, mean: float, variance: float) -> float:
    """The bound in closed form, its divergence by the function that trains the models."""
    return expected_log_normal(mean, variance, x, 1.0) - kl(mean, variance)


def elbo_from_draws(
    noise: np.ndarray, shares: np.ndarray, x: float = X, mean: float = MEAN, variance: float = VARIANCE
) -> float:
    """The bound as a weighted mean over draws of the noise; by default that of the example."""
    from margin.generative.elbo import gaussian_log_likelihood, log_prior_over_posterior, reparameterize

    epsilon, log_variance = tensor(*noise)[:, None], tensor(math.log(variance))
    z = reparameterize(tensor(mean), log_variance, epsilon)
    log_weights = gaussian_log_likelihood(tensor(x), z, tensor(0.0))
    log_weights = log_weights + log_prior_over_posterior(z, epsilon, log_variance)
    return float(log_weights @ tensor(*shares))


@claim("elbo")
def the_bound_is_the_evidence_minus_the_divergence_from_the_posterior(seed: int) -> Verdict:
    from margin.foundations.information.gaussians import kl_normal

    nodes, shares = np.polynomial.hermite_e.hermegauss(20)
    draws = np.random.default_rng(seed).normal(size=200_000)
    evidence, gap = log_normal(X, 0, 2), float(kl_normal(MEAN, math.sqrt(VARIANCE), X / 2, math.sqrt(0.5)))
    truth = every(
        number=near(elbo(X, MEAN, VARIANCE), -1.8471, tolerance=5e-5),
        quadrature=near(elbo_from_draws(nodes, shares / shares.sum()), elbo(X, MEAN, VARIANCE), tolerance=1e-10),
        monte_carlo=near(elbo_from_draws(draws, np.full(len(draws), 1 / len(draws))), -1.8471, tolerance=5e-3),
        gap=near(elbo(X, MEAN, VARIANCE) + gap, evidence, tolerance=1e-8),
        **_bound_of_a_linear_autoencoder(seed),
    )
    prior, posterior = (0.0, 1.0), (X / 2, 0.5)
    line = sum(expected_log_normal(MEAN, VARIANCE, *p) for p in (posterior, prior))
    line -= expected_log_normal(MEAN, VARIANCE, MEAN, VARIANCE)
    # Without the logarithm, and with p(x|z) for p(x, z), q cancels and the integral of p(x|z) over z is left.
    without_logarithm = float(
        np.trapezoid(np.exp([log_normal(X, z, 1.0) for z in np.linspace(-15, 15, 3001)]), dx=0.01)
    )
    return corrected(
        truth,
        always_tight=near(elbo(X, MEAN, VARIANCE), evidence, tolerance=0.01),
        third_line_is_a_bound=below(line, evidence),
        no_logarithm_no_joint=near(without_logarithm, elbo(X, MEAN, VARIANCE), tolerance=0.01),
    )


def _bound_of_a_linear_autoencoder(seed: int) -> dict[str, Verdict]:
    """A VAE without hidden layers, hardly trained: evidence and posterior are normal and known, and q is neither."""
    from scipy.stats import multivariate_normal

    from margin.foundations.information.gaussians import kl_normal
    from margin.generative import VAE

    rng = np.random.default_rng([seed, 3])
    rows = rng.normal(size=(80, 1)) @ [[1.0, -6.0, 0.5]] + rng.normal(size=(80, 3)) * [0.5, 2.0, 1.0] + [4.0, 0.0, -1.0]
    model: Any = VAE(1, (), max_iter=5, bound_samples=40, random_state=seed).fit(rows)
    offset = model.decode(np.zeros((1, 1)))[0]
    loading = model.decode(np.ones((1, 1)))[0] - offset
    noise = math.exp(float(model._ready_module().log_variance.detach())) * model.scale_**2
    evidence = multivariate_normal(offset, np.outer(loading, loading) + np.diag(noise)).logpdf(rows)
    mean, log_variance = (part[:, 0].astype(np.float64) for part in model.encode(rows))
    variance_given_x = 1 / (1 + loading**2 @ (1 / noise))
    mean_given_x = variance_given_x * (rows - offset) @ (loading / noise)
    gap = [
        float(kl_normal(m, s, p, math.sqrt(variance_given_x)))
        for m, s, p in zip(mean, np.exp(log_variance / 2), mean_given_x)
    ]
    bound = model.score_samples(rows)
    weighted = model.set_params(bound="iwae").score_samples(rows)
    return {
        "autoencoder_bound_and_gap": near(bound + gap, evidence, tolerance=1e-9),
        "autoencoder_gap": above(float(np.max(gap)), 0.01),
        "weighted_bound_is_tighter": above(float(np.mean(weighted - bound)), 0.0),
        "and_closer_to_the_evidence": below(abs(float(np.mean(weighted - evidence))), 0.2 * float(np.mean(gap))),
    }


@claim("claim-elbo-lower-bounds-evidence")
def the_bound_never_exceeds_the_evidence(seed: int) -> Verdict:
    from margin.foundations.information.gaussians import kl_normal

    rng = np.random.default_rng(seed)
    cases = list(zip(rng.normal(size=200) * 3, rng.normal(size=200) * 3, rng.exponential(size=200) + 1e-3))
    bounds, evidence = (np.array([f(*case) for case in cases]) for f in (elbo, lambda x, *_: log_normal(x, 0, 2)))
    gaps = [float(kl_normal(m, math.sqrt(v), x / 2, math.sqrt(0.5))) for x, m, v in cases]
    nodes, shares = np.polynomial.hermite_e.hermegauss(20)
    drawn = [elbo_from_draws(nodes, shares / shares.sum(), *case) for case in cases[:20]]
    by_prior_divergence = log_normal(X, 0, 2) - kl(MEAN, VARIANCE)
    return corrected(
        every(
            never_above=below(float(np.max(bounds - evidence)), 1e-10),
            gap_is_the_divergence_from_the_posterior=near(evidence - bounds, gaps, tolerance=1e-8),
            from_weights_of_draws=near(drawn, bounds[:20], tolerance=1e-8),
        ),
        printed=near(by_prior_divergence, elbo(X, MEAN, VARIANCE), tolerance=1e-3),
    )


@claim("claim-elbo-tight-at-posterior")
def the_bound_is_tight_at_the_posterior() -> Verdict:
    from margin.generative.elbo import importance_bound

    parts = {f"x_{x}": near(elbo(x, x / 2, 0.5), log_normal(x, 0, 2), tolerance=1e-10) for x in (-2.0, 0.3, X)}
    prior, likelihood = np.array([0.3, 0.7]), np.array([0.9, 0.2])
    posterior = prior * likelihood / (prior @ likelihood)
    log_weights = np.log(prior * likelihood) - np.log(posterior)
    return every(
        **parts,
        discrete=near(posterior @ log_weights, math.log(prior @ likelihood), tolerance=1e-12),
        importance_weighted=near(float(importance_bound(tensor(*log_weights))), math.log(0.41), tolerance=1e-12),
    )


@claim("kl-gaussian-to-standard-normal")
def divergence_from_the_standard_normal(seed: int) -> Verdict:
    from scipy.integrate import quad

    from margin.foundations.information.gaussians import kl_gaussians

    def integrand(z: float) -> float:
        return math.exp(log_normal(z, 1.2, 0.25)) * (log_normal(z, 1.2, 0.25) - log_normal(z, 0, 1))

    z = 1.2 + 0.5 * np.random.default_rng(seed).normal(size=200_000)
    sampled = np.mean(-np.log(0.5) - 0.5 * ((z - 1.2) / 0.5) ** 2 + 0.5 * z**2)
    mean, covariance = np.array([0.5, -1.0]), np.array([[0.6, 0.2], [0.2, 0.9]])
    truth = every(
        zero_at_itself=near(kl(0.0, 1.0), 0.0, tolerance=1e-15),
        number_1=near(kl(1.2, 0.25), 1.038147, tolerance=5e-7),
        number_2=near(kl(1.0, 0.5), 0.59657, tolerance=5e-6),
        integral=near(kl(1.2, 0.25), quad(integrand, -4, 7)[0], tolerance=1e-8),
        monte_carlo=near(kl(1.2, 0.25), sampled, tolerance=1e-2),
        full_covariance=near(kl_gaussians(mean, covariance, np.zeros(2), np.eye(2)), 0.72157, tolerance=5e-6),
    )

    def as_printed(mean: np.ndarray, covariance: np.ndarray) -> float:
        """The factor 1/2 before the trace alone."""
        return float(0.5 * np.trace(covariance) + mean @ mean - len(mean) - np.linalg.slogdet(covariance)[1])

    return corrected(truth, printed=near(as_printed(np.zeros(2), np.eye(2)), 0.0, tolerance=0.5))


@claim("claim-vae-kl-pulls-variance-to-one")
def the_divergence_wants_variance_one_not_zero() -> Verdict:
    from scipy.optimize import minimize

    optimum = minimize(lambda t: kl(t[0], math.exp(t[1])), x0=[1.0, -2.0], tol=1e-12)
    truth = every(
        minimizer=near(optimum.x, [0.0, 0.0], tolerance=1e-4),  # mean and logarithm of the variance
        minimum=near(optimum.fun, 0.0, tolerance=1e-8),
        at_a_tenth=near(kl(0.0, 0.1), 0.7013, tolerance=5e-5),
        at_a_millionth=near(kl(0.0, 1e-6), 6.4078, tolerance=5e-5),
    )
    return corrected(truth, printed=below(kl(0.0, 1e-6), kl(0.0, 0.1)))


@claim("vae-logvar-output")
def a_log_variance_is_a_valid_variance_whatever_the_network_says(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import kl_to_standard_normal, reparameterize

    log_variance = torch.linspace(-60, 60, 121, dtype=torch.float64)[:, None]
    sigma = reparameterize(torch.zeros(121, 1), log_variance, torch.ones(121, 1))
    divergence = kl_to_standard_normal(torch.zeros(121, 1), log_variance)
    with torch.no_grad():
        _, head = network(seed, 3, 2, [8], "relu").encode(
            torch.from_numpy(np.random.default_rng(seed).normal(size=(200, 3)))
        )
    truth = every(
        positive=above(float(sigma.min()), 0.0),
        finite=equal(bool(torch.isfinite(sigma).all() and torch.isfinite(divergence).all()), True),
        from_any_head=above(float(head.exp().min()), 0.0),
    )
    # If range were the only reason, the head could be the deviation itself; but it is negative for many inputs.
    return corrected(truth, printed=above(float(head.min()), 0.0))


@claim("gaussian-parameter-space")
def the_encoder_always_gives_a_mean_and_a_positive_definite_covariance(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import reparameterize
    from margin.neural.nets.mlp import MLP

    net = network(seed, 4, 3, [16], "relu")
    inputs = torch.from_numpy(10 * np.random.default_rng(seed).normal(size=(300, 4)))
    mean, log_variance = net.encode(inputs)
    first, last = cast(list[torch.nn.Linear], list(cast(MLP, net.encoder).linears))
    hidden = torch.relu(inputs @ first.weight.T + first.bias)
    outputs = (hidden @ last.weight.T + last.bias).detach().numpy()  # three means, then three logarithms of variances
    variances = log_variance.exp().detach().numpy()
    draws = reparameterize(mean[:1], log_variance[:1], torch.eye(3, dtype=torch.float64)).detach().numpy()
    return every(
        mean=near(mean.detach().numpy(), outputs[:, :3], tolerance=1e-12),
        variances=near(np.log(variances), outputs[:, 3:], tolerance=1e-9),
        any_output_will_do=equal(bool((outputs[:, 3:] < 0).any() and (variances > 0).all()), True),
        # A step of one along each axis of the noise moves z by the standard deviation of that axis only.
        diagonal_root=near(draws - outputs[:1, :3], np.diag(np.exp(outputs[0, 3:] / 2)), tolerance=1e-12),
    )
