"""Training with the bound: gradients through sampling, the loss, and what a fitted model has learned."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS, plausible
from margin.notes.claims.vae.networks import network


@cache
def linear_model(seed: int, beta: float = 1.0, epochs: int = 200) -> tuple[Any, np.ndarray]:
    """A VAE without hidden layers on data of one linear factor with noise: its evidence is known."""
    from margin.generative import VAE

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 1)) @ np.array([[1.0, -2.0, 0.5]]) + 0.5 * rng.normal(size=(600, 3))
    model = VAE(1, (), beta=beta, standardize=False, learning_rate_init=0.1, max_iter=epochs, batch_size=200)
    return model.set_params(random_state=seed, bound_samples=64).fit(X), X


def decoder(model: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Direction, offset and noise variance of a linear decoder."""
    weights = model.weights_
    noise = math.exp(float(model._ready_module().log_variance.detach()))
    return weights["decoder.linears.0.weight"][:, 0], weights["decoder.linears.0.bias"], noise


@claim("vae")
def a_linear_vae_reaches_the_evidence_of_probabilistic_pca(seed: int) -> Verdict:
    from sklearn.decomposition import PCA

    model, X = linear_model(seed)
    best = PCA(n_components=1).fit(X).score(X)  # the maximum of the log-likelihood over all such models
    truth = every(
        bound_within_half_a_percent=near(model.score(X) / best, 1.0, tolerance=0.005),
        bound_rises=above(-model.loss_curve_[-1], -model.loss_curve_[0] + 1.0),
        reconstructions=below(float(np.mean((model.reconstruct(X) - X) ** 2)), 0.3),
    )
    n_latents, n_generated = model.transform(X).shape[1], model.sample(2, random_state=seed).shape[1]
    return corrected(truth, printed=equal(n_generated, n_latents))  # what is reconstructed has the size of the data


@claim("vae-prior-standard-normal")
def the_divergence_pulls_the_latents_to_the_standard_normal(seed: int) -> Verdict:
    def distance_from_prior(beta: float, **options: int) -> float:
        model, X = linear_model(seed, beta, **options)
        mean, log_variance = model.encode(X)
        return abs(float(mean.var() + np.exp(log_variance).mean()) - 1) + abs(float(mean.mean()))

    model, _ = linear_model(seed, 1.0)
    direction, _, noise = decoder(model)
    drawn = np.cov(model.sample(20_000, random_state=seed, mean=True).T)
    truth = every(
        aggregate_is_standard=below(distance_from_prior(1.0), 0.05),
        weaker_without_it=above(distance_from_prior(0.01, epochs=60), 2 * distance_from_prior(1.0)),
        decodes_standard_normals=near(drawn, np.outer(direction, direction), tolerance=0.15),
    )
    scaled_prior = noise * np.outer(direction, direction)  # if the prior had the variance of the output noise
    return corrected(truth, printed=near(drawn, scaled_prior, tolerance=0.15))


@claim("amortised-gaussian-posterior")
def the_encoder_learns_the_exact_posterior(seed: int) -> Verdict:
    model, X = linear_model(seed)
    direction, offset, noise = decoder(model)
    variance = 1 / (1 + direction @ direction / noise)
    exact = variance * (X - offset) @ direction / noise
    mean, log_variance = model.encode(X)
    truth = every(
        mean=below(float(np.sqrt(np.mean((mean[:, 0] - exact) ** 2)) / exact.std()), 0.05),
        variance=near(float(np.exp(log_variance).mean() / variance), 1.0, tolerance=0.05),
    )
    return corrected(truth, printed=near(mean[:, 0], X[:, 0], tolerance=0.1))  # N(z | X, Sigma): the mean is not X


@claim("vae-generation")
def generation_needs_only_the_decoder(seed: int) -> Verdict:
    from scipy.stats import kstest

    from margin.core.randomness import as_generator

    model, _ = linear_model(seed)
    direction, offset, noise = decoder(model)
    drawn = model.sample(2000, random_state=seed)
    encoder = {name: array.copy() for name, array in model.weights_.items() if name.startswith("encoder")}
    try:
        for name in encoder:
            model.weights_[name][...] = 0  # the arrays are the network's own memory
        without_encoder = model.sample(2000, random_state=seed)
    finally:
        for name, array in encoder.items():
            model.weights_[name][...] = array
    spread = np.sqrt(direction**2 + noise)
    p_values = [kstest(drawn[:, j], "norm", args=(offset[j], spread[j])).pvalue for j in range(3)]
    z = as_generator(seed).standard_normal((2000, 1))
    return every(
        encoder_not_used=equal(without_encoder, drawn),
        marginals=plausible(min(p_values)),
        ancestral=near(model.decode(z), offset + z * direction, tolerance=1e-9),
    )


@claim("claim-decoder-likelihood-choices")
def gaussian_and_bernoulli_decoders_train_and_a_point_mass_does_not(seed: int) -> Verdict:
    import torch

    from margin.generative import VAE
    from margin.generative.elbo import bernoulli_log_likelihood, gaussian_log_likelihood

    rng = np.random.default_rng(seed)
    real = rng.normal(size=(200, 1)) @ np.array([[1.0, -1.5, 0.8, 2.0]]) + 0.3 * rng.normal(size=(200, 4))
    gains = {}
    for likelihood, X in {"gaussian": real, "bernoulli": (real > 0).astype(float)}.items():
        model = VAE(1, (8,), likelihood=likelihood, max_iter=15, learning_rate_init=0.02, random_state=seed).fit(X)
        gains[likelihood] = above(model.loss_curve_[0] - model.loss_curve_[-1], 0.3)
    bits, logits = torch.from_numpy((real[:1] > 0).astype(float)), torch.from_numpy(real[1:2])
    p = 1 / (1 + np.exp(-real[1]))
    cross_entropy = -np.sum(np.where(real[0] > 0, np.log(p), np.log1p(-p)))
    log_variances = -2 * math.log(10) * torch.arange(1, 5, dtype=torch.float64)[:, None]
    losses = -gaussian_log_likelihood(torch.ones(1, 1), torch.zeros(1, 1), log_variances)
    return every(
        **gains,
        bernoulli_is_cross_entropy=near(-float(bernoulli_log_likelihood(bits, logits)), cross_entropy, tolerance=1e-12),
        grows_a_hundredfold=above(float((losses[1:] / losses[:-1]).min()), 50.0),  # sigma = 0.1, 0.01, ...
    )


@claim("vae-reconstruction-mse")
def gaussian_likelihood_is_squared_error_for_a_fixed_variance(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import gaussian_log_likelihood

    rng = np.random.default_rng(seed)
    x, variance = torch.from_numpy(rng.normal(size=(1, 5))), 0.3
    mean = torch.from_numpy(rng.normal(size=(1, 5))).requires_grad_(True)
    log_variance = torch.tensor(math.log(variance), dtype=torch.float64)
    loss = -gaussian_log_likelihood(x, mean, log_variance).sum()
    squared = (x - mean).square().sum()
    (by_likelihood,) = torch.autograd.grad(loss, mean)
    (by_square,) = torch.autograd.grad(squared, mean)
    loss, squared = loss.detach(), squared.detach()
    constant = 2.5 * math.log(2 * math.pi * variance)
    truth = every(
        value=near(float(loss), float(squared) / (2 * variance) + constant, tolerance=1e-12),
        gradients=near(by_likelihood.numpy(), by_square.numpy() / (2 * variance), tolerance=1e-12),
    )
    # With a learned variance the loss at its best is (5/2) log of the squared error: no longer proportional to it.
    errors = np.array([0.5, 1.0, 2.0])
    learned = [float(-gaussian_log_likelihood(x * 0 + math.sqrt(e), x * 0, torch.tensor(math.log(e)))) for e in errors]
    slopes = np.diff(learned) / np.diff(errors)
    return corrected(truth, printed=near(slopes[1], slopes[0], tolerance=0.1))


@claim("single-sample-reconstruction-estimate")
def the_estimate_is_unbiased_and_its_variance_falls_like_1_over_n(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import gaussian_log_likelihood, reparameterize

    mean, log_variance = torch.tensor([[0.4]]).double(), torch.tensor([[math.log(0.25)]]).double()
    noise = torch.from_numpy(np.random.default_rng(seed).normal(size=(10_000, 16, 1)))
    z = reparameterize(mean, log_variance, noise)
    terms = gaussian_log_likelihood(torch.tensor([1.3]).double(), z, torch.tensor(0.0).double()).numpy()
    exact = -0.5 * (math.log(2 * math.pi) + (1.3 - 0.4) ** 2 + 0.25)
    one, four, sixteen = terms[:, 0], terms[:, :4].mean(axis=1), terms.mean(axis=1)
    error = terms[:, 0].std() / math.sqrt(len(terms))
    return every(
        unbiased_1=near(one.mean(), exact, tolerance=ERRORS * error),
        unbiased_16=near(sixteen.mean(), exact, tolerance=ERRORS * error),
        quarter=near(four.var() / one.var(), 1 / 4, tolerance=0.02),
        sixteenth=near(sixteen.var() / one.var(), 1 / 16, tolerance=0.005),
    )


@claim("vae-loss")
def the_loss_is_minus_the_bound(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import kl_to_standard_normal, reparameterize
    from margin.generative.vae import negative_elbo

    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(5, 4)))

    def parts(variance: float) -> tuple[np.ndarray, np.ndarray]:
        """The loss, and squared error plus divergence for the same draw."""
        net = network(seed, variance=variance)
        terms = negative_elbo(net, (x, x), torch.Generator().manual_seed(seed), beta=1.0, log_volume=0.0)
        mean, log_variance = net.encode(x)
        noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(seed), dtype=mean.dtype)
        squared = (x - net.decode(reparameterize(mean, log_variance, noise))).square().sum(dim=1)
        form = squared + kl_to_standard_normal(mean, log_variance)
        return terms["loss"].detach().numpy(), form.detach().numpy()

    def fixed_noise_loss(rows: Any) -> Any:
        return negative_elbo(net, (rows, rows), torch.Generator().manual_seed(seed + 1), beta=1.0, log_volume=0.0)[
            "loss"
        ]

    net = network(seed)
    (half, half_form), (one, one_form) = parts(0.5), parts(1.0)
    terms = negative_elbo(net, (x, 2 * x), torch.Generator().manual_seed(seed), beta=3.0, log_volume=0.7)
    kl, reconstruction = terms["kl"].detach().numpy(), terms["reconstruction"].detach().numpy()
    with torch.no_grad():
        mean, log_variance = net.encode(x)
        noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(seed), dtype=mean.dtype)
        density = net.log_likelihood(2 * x, reparameterize(mean, log_variance, noise)).numpy() - 0.7
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(dim=1).numpy()
    truth = every(
        divergence=near(kl, divergence, tolerance=1e-12),
        reconstruction=near(reconstruction, density, tolerance=1e-12),
        loss=near(terms["loss"].detach().numpy(), 3.0 * kl - reconstruction, tolerance=1e-12),
        bound=near(terms["elbo"].detach().numpy(), reconstruction - kl, tolerance=1e-12),
        squared_error_form_at_one_half=near(np.ptp(half - half_form), 0.0, tolerance=1e-7),
        constant=near((half - half_form)[0], 2 * math.log(math.pi), tolerance=1e-7),  # (4/2) log(2 pi / 2)
        gradient=equal(torch.autograd.gradcheck(fixed_noise_loss, (x.clone().requires_grad_(True),)), True),
    )
    return corrected(truth, printed=near(np.ptp(one - one_form), 0.0, tolerance=0.1))


@claim("reparameterisation-trick")
def gradients_pass_through_sampling(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import reparameterize

    rng = np.random.default_rng(seed)
    mean = torch.full((50_000, 1), 1.5, dtype=torch.float64, requires_grad=True)
    log_variance = torch.zeros(50_000, 1, dtype=torch.float64, requires_grad=True)
    z = reparameterize(mean, log_variance, torch.from_numpy(rng.normal(size=(50_000, 1))))
    by_mean, by_log_variance = torch.autograd.grad(z.square().sum(), (mean, log_variance))
    plain = torch.normal(mean, 1.0, generator=torch.Generator().manual_seed(seed))
    (lost,) = torch.autograd.grad(plain.square().sum(), mean)
    # An exponential variable by its inverse distribution function is differentiable in its rate, too.
    rate = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    exponential = -torch.log1p(-torch.from_numpy(rng.random(200_000))) / rate
    (by_rate,) = torch.autograd.grad(exponential.square().mean(), rate)
    truth = every(
        in_the_mean=near(float(by_mean.mean()), 3.0, tolerance=0.05),
        variance=near(float(by_mean.var()), 4.0, tolerance=0.1),
        in_the_deviation=near(float(2 * by_log_variance.mean()), 2.0, tolerance=0.1),  # d/d sigma at sigma = 1
        plain_sampling_passes_none=near(float(lost.abs().max()), 0.0, tolerance=0.0),
        inverse_distribution=near(float(by_rate), -0.5, tolerance=0.01),
    )
    return corrected(truth, printed=near(float(by_rate), 0.0, tolerance=0.1))  # "no gradient passes"
