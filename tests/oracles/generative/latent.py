"""Pieces of bounds and marginals against torch's distributions and SciPy's integrals."""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats
from tests.oracles import oracle
from torch.distributions import Independent, Normal, kl_divergence

from margin.core.verdict import Verdict, every, near
from margin.generative.diffusion.predictions import convert, kl_weight
from margin.generative.diffusion.schedules import noise_schedule
from margin.generative.elbo import gaussian_log_likelihood, kl_to_standard_normal, reparameterize
from margin.generative.latent import NormalDecoder, log_marginal, normal_nodes

PATH = "margin.generative"


@oracle(
    f"{PATH}.elbo.kl_to_standard_normal",
    f"{PATH}.elbo.gaussian_log_likelihood",
    f"{PATH}.elbo.reparameterize",
)
def pieces_of_the_bound(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    mean, log_variance, x = (torch.from_numpy(rng.normal(0.4, 0.9, size=(5, 3))) for _ in range(3))
    deviation = torch.exp(log_variance).sqrt()
    law = Independent(Normal(mean, deviation), 1)
    standard = Independent(Normal(torch.zeros_like(mean), torch.ones_like(mean)), 1)
    drawn = (reparameterize(mean, log_variance, x) - mean) / deviation
    return every(
        divergence=near(
            kl_to_standard_normal(mean, log_variance).numpy(), kl_divergence(law, standard).numpy(), tolerance=1e-10
        ),
        density=near(gaussian_log_likelihood(x, mean, log_variance).numpy(), law.log_prob(x).numpy(), tolerance=1e-10),
        draw=near(drawn.numpy(), x.numpy(), tolerance=1e-10),
    )


@oracle(f"{PATH}.latent.log_marginal", f"{PATH}.latent.NormalDecoder", f"{PATH}.latent.normal_nodes")
def marginal_of_a_linear_decoder(seed: int) -> Verdict:
    """x = b + W z + noise is normal with mean b and covariance W W' + sigma^2 I."""
    rng = np.random.default_rng(seed)
    # Slopes below the noise: of a likelihood that is narrow in z the nodes see too little.
    W, b, x = rng.uniform(-0.7, 0.7, size=(3, 2)), rng.normal(size=3), rng.normal(size=(4, 3))
    decoder = NormalDecoder(lambda z: b + z @ W.T, 0.8)
    exact = stats.multivariate_normal(b, W @ W.T + 0.64 * np.eye(3)).logpdf(x)
    return near(log_marginal(x, decoder.log_likelihood, *normal_nodes(60, 2)), exact, tolerance=1e-8)


@oracle(*(f"{PATH}.diffusion.predictions.{name}" for name in ("convert", "kl_weight")))
def predictions_of_a_step(seed: int) -> Verdict:
    """Every kind from clean data and noise, and what an error counts: the divergence of the two normal steps."""
    rng = np.random.default_rng(seed)
    schedule = noise_schedule("cosine", 9)
    clean, noise, wrong = (torch.from_numpy(rng.normal(0.3, 1.2, size=(4, 2))) for _ in range(3))
    t = 5
    bar, before = float(schedule.alpha_bars[t]), float(schedule.alpha_bars[t - 1])
    alpha = bar / before
    a, b = np.sqrt(bar), np.sqrt(1 - bar)
    x = a * clean + b * noise
    kinds = {"x0": clean, "epsilon": noise, "v": a * noise - b * clean, "velocity": clean - noise, "score": -noise / b}
    parts = {
        f"{given}_to_{wanted}": near(
            convert(schedule, value, x, t, given=given, wanted=wanted).numpy(), kinds[wanted].numpy(), tolerance=1e-8
        )
        for given, value in kinds.items()
        for wanted in kinds
    }
    variance = (1 - alpha) * (1 - before) / (1 - bar)  # of the step back, given the clean data
    for kind, value in kinds.items():
        other = convert(schedule, value + wrong, x, t, given=kind, wanted="x0")
        apart = np.sqrt(before) * (1 - alpha) / (1 - bar) * (other - clean)  # between the means of the two steps
        wanted = float(apart.square().sum()) / (2 * variance)
        weighted = float(kl_weight(schedule, kind)[t]) * float(wrong.square().sum())
        parts[f"weight_of_{kind}"] = near(weighted / wanted, 1.0, tolerance=1e-8)
    return every(**parts)
