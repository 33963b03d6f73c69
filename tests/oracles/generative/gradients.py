"""Gradients of expectations, codes of a VAE and its loss, against sums over draws written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import stats
from tests.oracles import oracle
from tests.oracles.neural.attention import spread
from tests.oracles.neural.convolution import normal, same

from margin.core.verdict import Verdict, equal, every, near
from margin.generative import DiffusionModel
from margin.generative.diffusion.latent import LatentDiffusion
from margin.generative.gradients import gradient_inside, pathwise_gradient, score_function_gradient
from margin.generative.latent import through_quantiles
from margin.generative.vae import negative_elbo
from margin.generative.vae_network import VAENetwork
from margin.reduction import PCA

PATH = "margin.generative"


@oracle(*(f"{PATH}.gradients.{name}" for name in ("score_function_gradient", "pathwise_gradient", "gradient_inside")))
def gradients_of_expectations(seed: int) -> Verdict:
    """Draw by draw with f(z) = sum of sin(z) z^2 and its derivative by hand."""
    mean, log_variance, noise = normal(seed, 3), normal(seed + 1, 3) / 3, normal(seed, 5, 3)
    f = lambda z: (torch.sin(z) * z**2).sum(dim=-1, keepdim=True).expand(z.shape) / 3  # noqa: E731
    m, s, e = mean.numpy(), np.exp(log_variance.numpy() / 2), noise.numpy()
    z = m + s * e
    value, slope = (np.sin(z) * z**2).sum(axis=1, keepdims=True) / 3, np.cos(z) * z**2 + 2 * z * np.sin(z)
    by_score = score_function_gradient(f, mean, log_variance, noise)
    by_path = pathwise_gradient(f, mean, log_variance, noise)
    inside = gradient_inside(f, mean, log_variance, noise)
    return every(
        score_mean=near(by_score[0].numpy(), _like(by_score[0], value * (z - m) / s**2), tolerance=1e-9),
        score_variance=near(by_score[1].numpy(), _like(by_score[1], value * (e**2 - 1) / 2), tolerance=1e-9),
        path_mean=near(by_path[0].numpy(), _like(by_path[0], slope), tolerance=1e-9),
        path_variance=near(by_path[1].numpy(), _like(by_path[1], slope * e * s / 2), tolerance=1e-9),
        inside=equal([float(part.abs().max()) for part in inside], [0.0, 0.0]),
    )


def _like(ours: torch.Tensor, rows: np.ndarray) -> np.ndarray:
    """The terms of every draw, or their sum where ours is one gradient."""
    return rows if tuple(ours.shape) == rows.shape else rows.sum(axis=0)


@oracle(f"{PATH}.latent.through_quantiles")
def one_law_from_another(seed: int) -> Verdict:
    z = np.random.default_rng(seed).normal(size=6)
    law = stats.gamma(2.5, scale=1.7)
    return near(law.cdf(through_quantiles(z, law.ppf)), stats.norm.cdf(z), tolerance=1e-9)


@oracle(f"{PATH}.vae_network.VAENetwork.encode", f"{PATH}.vae.negative_elbo")
def bound_of_rows(seed: int) -> Verdict:
    """Means come before log-variances; the loss of two draws per row, term by term, with beta and another volume."""
    net: Any = spread(lambda: VAENetwork(4, 2, [5], activation="tanh", variance=0.6), seed)
    x = normal(seed, 3, 4)
    linears = [layer for layer in net.encoder.modules() if isinstance(layer, torch.nn.Linear)]
    back = [layer for layer in net.decoder.modules() if isinstance(layer, torch.nn.Linear)]
    head = torch.tanh(x @ linears[0].weight.T + linears[0].bias) @ linears[1].weight.T + linears[1].bias
    mean, log_variance = head[:, :2].numpy(), head[:, 2:].numpy()
    found = net.encode(x)
    loss = negative_elbo(net, (x, x), torch.Generator().manual_seed(seed), beta=0.7, log_volume=1.3, n_draws=2)
    generator, likelihoods = torch.Generator().manual_seed(seed), []
    variance = float(torch.exp(net.log_variance.reshape(-1)[0]))
    for _ in range(2):
        epsilon = torch.randn((3, 2), generator=generator, dtype=torch.float64).numpy()
        z = torch.from_numpy(mean + np.exp(log_variance / 2) * epsilon)
        center = (torch.tanh(z @ back[0].weight.T + back[0].bias) @ back[1].weight.T + back[1].bias).numpy()
        likelihoods.append(stats.norm(center, np.sqrt(variance)).logpdf(x.numpy()).sum(axis=1) - 1.3)
    kl = 0.5 * (np.exp(log_variance) + mean**2 - 1 - log_variance).sum(axis=1)
    return every(
        means=same(found[0], head[:, :2]),
        log_variances=same(found[1], head[:, 2:]),
        loss=near(loss["loss"].numpy(), 0.7 * kl - np.mean(likelihoods, axis=0), tolerance=1e-8),
        bound=near(loss["elbo"].numpy(), np.mean(likelihoods, axis=0) - kl, tolerance=1e-8),
    )


@oracle(
    f"{PATH}.diffusion.latent.LatentDiffusion",
    *(f"{PATH}.diffusion.model.DiffusionModel{name}" for name in ("", ".sample", ".sample_path")),
)
def codes_are_diffused_and_decoded(seed: int) -> Verdict:
    """Rows on a plane in five dimensions: samples lie on it, as codes times the axes; paths end in the samples."""
    rng = np.random.default_rng(seed)
    codes, axes = rng.normal(size=(40, 2)) * [3.0, 1.0], np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    X = codes @ axes + np.arange(5.0)
    model = DiffusionModel(hidden_layer_sizes=(8,), n_steps=12, max_iter=2, random_state=seed)
    pipeline = LatentDiffusion(PCA(2), model).fit(X)
    rows, drawn = pipeline.sample(6, seed), pipeline.diffusion_.sample(6, seed)
    path = list(pipeline.diffusion_.sample_path(6, seed))
    center = X.mean(axis=0)
    _, _, basis = np.linalg.svd(X - center, full_matrices=False)
    back = (rows - center) @ basis[:2].T
    return every(
        on_the_plane=near(back @ basis[:2] + center, rows, tolerance=1e-5),
        sizes=near(np.abs(back), np.abs(drawn), tolerance=1e-4),
        path_ends_there=near(path[-1][1], drawn, tolerance=1e-6),
        progress=equal([round(done * len(path)) for done, _ in path], list(range(1, len(path) + 1))),
    )
