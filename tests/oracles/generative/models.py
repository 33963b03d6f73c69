"""Fitted generative models against what their stored weights say, and pieces of games and latent spaces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import stats
from scipy.spatial.distance import cdist
from tests.oracles import oracle
from torch.distributions import Independent, Normal, kl_divergence

from margin.core.verdict import Verdict, above, below, every, near
from margin.generative import VAE, latent_space
from margin.generative.gan import theory
from margin.generative.latent import (
    bound_terms,
    importance_log_weights,
    posterior_weights,
    prior_draws,
)
from margin.generative.vae_bounds import balanced_normals
from margin.generative.workflow import follow

PATH = "margin.generative"


@oracle(
    *(f"{PATH}.latent.{name}" for name in ("bound_terms", "posterior_weights", "importance_log_weights", "prior_draws"))
)
def finite_latents(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    q, prior, likelihood = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3)), rng.uniform(0.1, 0.8, size=3)
    joint = [p * v for p, v in zip(prior, likelihood)]
    terms = bound_terms(q, prior, likelihood)
    z, mean, deviation = rng.normal(size=(5, 2)), np.array([0.4, -0.3]), np.array([0.7, 1.4])
    law = stats.multivariate_normal(mean, np.diag(deviation**2))
    table = rng.uniform(0.1, 2, size=(4, 5))
    weights = rng.dirichlet(np.ones(5))
    rows = posterior_weights(np.zeros((4, 1)), lambda _x, _z: np.log(table), z, np.log(weights))
    drawn, logs = prior_draws(4000, 2, rng)
    return every(
        evidence=near(terms.evidence, np.log(sum(joint)), tolerance=1e-10),
        gap=near(terms.gap, stats.entropy(q, np.array(joint) / sum(joint)), tolerance=1e-10),
        reconstruction=near(terms.reconstruction, sum(a * np.log(b) for a, b in zip(q, likelihood)), tolerance=1e-10),
        divergence=near(terms.divergence, stats.entropy(q, prior), tolerance=1e-10),
        bound=near(terms.bound, sum(a * np.log(b / a) for a, b in zip(q, joint)), tolerance=1e-10),
        weights=near(
            importance_log_weights(z, mean, deviation),
            stats.multivariate_normal(np.zeros(2)).logpdf(z) - law.logpdf(z) - np.log(5),
            tolerance=1e-9,
        ),
        posterior=near(rows, table * weights / (table @ weights)[:, None], tolerance=1e-10),
        draws=near([np.exp(logs).sum(), drawn.std()], [1.0, 1.0], tolerance=0.05),
    )


class _Halves:
    """A coder whose codes are half the rows, shifted."""

    def transform(self, X: Any) -> np.ndarray:
        return np.asarray(X) / 2 + 1

    def decode(self, Z: Any) -> np.ndarray:
        return np.asarray(Z) ** 2


@oracle(
    *(f"{PATH}.latent_space.{name}" for name in ("interpolate", "nearest_distances", "path_roughness", "sharpness")),
    f"{PATH}.latent_space.attribute_direction",
)
def paths_of_codes(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, b, rows = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(6, 3))
    path = latent_space.interpolate(_Halves(), a, b, 5)
    expected = [((1 - t) * (a / 2 + 1) + t * (b / 2 + 1)) ** 2 for t in (0, 0.25, 0.5, 0.75, 1)]
    steps = [np.sqrt(sum((q - p) ** 2)) for p, q in pairwise(rows)]
    wavy, apart = 5 * sum(s**2 for s in steps) / sum(steps) ** 2, cdist(rows[:2], rows[2:]).min(axis=1)
    images = rng.normal(size=(2, 12))
    grid = images.reshape(2, 3, 4)
    sharp = [
        np.mean([(g[i + 1, j] - g[i, j]) ** 2 for i in range(2) for j in range(4)])
        + np.mean([(g[i, j + 1] - g[i, j]) ** 2 for i in range(3) for j in range(3)])
        for g in grid
    ]
    return every(
        path=near(path, expected, tolerance=1e-10),
        direction=near(
            latent_space.attribute_direction(_Halves(), rows[:2], rows[2:]),
            (rows[:2].mean(axis=0) - rows[2:].mean(axis=0)) / 2,
            tolerance=1e-10,
        ),
        roughness=near(latent_space.path_roughness(rows), wavy, tolerance=1e-10),
        nearest=near(latent_space.nearest_distances(rows[:2], rows[2:]), apart, tolerance=1e-10),
        sharpness=near(latent_space.sharpness(images, (3, 4)), sharp, tolerance=1e-10),
    )


@oracle(
    f"{PATH}.gan.theory.optimal_discriminator",
    f"{PATH}.gan.theory.gan_value_of",
)
def best_answers(seed: int) -> Verdict:
    """Of all discriminators on three points the best, found on a grid; half where nothing is ever seen."""
    rng = np.random.default_rng(seed)
    p, q = np.append(rng.dirichlet(np.ones(3)), 0.0), np.append(rng.dirichlet(np.ones(3)), 0.0)
    grid = np.linspace(1e-4, 1 - 1e-4, 20_000)
    values = p[:3, None] * np.log(grid) + q[:3, None] * np.log(1 - grid)
    discriminator = theory.optimal_discriminator(p, q)
    return every(
        best=near(discriminator[:3], grid[values.argmax(axis=1)], tolerance=1e-4),
        unseen=near(discriminator[3], 0.5, tolerance=1e-12),
        value=near(theory.gan_value_of(discriminator, p, q), float(values.max(axis=1).sum()), tolerance=1e-6),
    )


@oracle(
    "margin.generative.vae_network.VAENetwork",
    f"{PATH}.VAE",
    f"{PATH}.vae.VAE",
    f"{PATH}.vae.VAE.sample",
    f"{PATH}.workflow.follow",
)
def fitted_autoencoder(seed: int) -> Verdict:
    """Encoder and decoder are applied by hand to scaled columns; the bound by torch's laws at the same draws."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) * [1.0, 20.0, 30.0] + [5.0, -3.0, 0.0]
    X[:, 1] += 15 * X[:, 0]
    model = VAE(2, (6,), max_iter=2, bound_samples=500, random_state=seed).fit(X)
    module: Any = model._trained_network()
    module.noise_level.data.fill_(-0.1)  # after so few epochs it would still be near 0, where mistakes hide
    rows = X[:4]
    noise_deviation = float(np.exp(0.5 * module.log_variance.item()))
    dtype = next(module.parameters()).dtype
    scaled = torch.from_numpy((rows - X.mean(axis=0)) / X.std(axis=0)).to(dtype)
    with torch.inference_mode():
        mean, log_variance = (part.double() for part in module.encoder(scaled).chunk(2, dim=1))
        # The very draws that the model takes: means over others would be a matter of luck.
        z = mean + torch.exp(log_variance / 2) * balanced_normals(500, 2)[:, None]
        law = Normal(module.decoder(z.to(dtype)).double(), noise_deviation)
        likelihood = law.log_prob(scaled.double()).sum(dim=2)
        logs = likelihood + Normal(0.0, 1.0).log_prob(z).sum(dim=2)
        logs = logs - Normal(mean, torch.exp(log_variance / 2)).log_prob(z).sum(dim=2)
        tight = (torch.logsumexp(logs, dim=0) - np.log(500)).numpy() - np.log(X.std(axis=0)).sum()
        expected_reconstruction = likelihood.mean(dim=0).numpy() - np.log(X.std(axis=0)).sum()
        kl = kl_divergence(
            Independent(Normal(mean, torch.exp(log_variance / 2)), 1),
            Independent(Normal(torch.zeros_like(mean), torch.ones_like(mean)), 1),
        ).numpy()
        undone = module.decoder(mean.to(dtype)).numpy() * X.std(axis=0) + X.mean(axis=0)
        at_codes = module.decoder(torch.tensor([[0.4, -1.1]], dtype=dtype)).numpy() * X.std(axis=0) + X.mean(axis=0)
    reconstruction, divergence = model.elbo_terms(rows)
    codes, widths = model.encode(rows)
    means, drawn = (model.sample(4000, seed, mean=flag) for flag in (True, False))
    spread = (drawn - means) / X.std(axis=0)
    weighted = model.set_params(bound="iwae").score_samples(rows)
    model.set_params(bound="elbo")
    steps = follow(model, rows, seed)
    units = X.std(axis=0) * noise_deviation
    return every(
        scaling=near(
            [model.center_ - X.mean(axis=0), model.scale_ / X.std(axis=0) - 1], np.zeros((2, 3)), tolerance=1e-4
        ),
        codes=near(codes, mean.numpy(), tolerance=1e-4),
        widths=near(widths, log_variance.numpy(), tolerance=1e-4),
        transform=near(model.transform(rows), mean.numpy(), tolerance=1e-4),
        decoded=near(model.decode([[0.4, -1.1]]) / X.std(axis=0), at_codes / X.std(axis=0), tolerance=1e-3),
        undone=near(model.reconstruct(rows) / X.std(axis=0), undone / X.std(axis=0), tolerance=1e-3),
        reconstruction=near(reconstruction, expected_reconstruction, tolerance=1e-3),
        divergence=near(divergence, kl, tolerance=1e-3),
        bound=near(model.score_samples(rows), reconstruction - divergence, tolerance=1e-6),
        weighted=near(weighted, tight, tolerance=1e-3),
        score=near(model.score(rows), model.score_samples(rows).mean(), tolerance=1e-9),
        noise=near(spread.std(axis=0), np.full(3, noise_deviation), tolerance=6 * noise_deviation / np.sqrt(8000)),
        centered=near(spread.mean(axis=0), np.zeros(3), tolerance=6 * noise_deviation / np.sqrt(4000)),
        center_step=near(steps.center, mean.numpy(), tolerance=1e-4),
        width_step=near(steps.width, log_variance.numpy(), tolerance=1e-4),
        latent_step=near(steps.z, steps.center + np.exp(steps.width / 2) * steps.noise, tolerance=1e-4),
        decoded_step=near(steps.decoded, model.decode(steps.z), tolerance=1e-4),
        deviation_step=near(steps.deviation / units, np.ones((4, 3)), tolerance=1e-4),
        drawn_step=below(float(np.abs((steps.drawn - steps.decoded) / units).max()), 6.0),
        drawn_apart=above(float(np.abs((steps.drawn - steps.decoded) / units).max()), 0.3),
    )
