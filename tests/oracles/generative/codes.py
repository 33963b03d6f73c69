"""Latent laws against torch's and SciPy's, and an autoencoder's weights applied by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import stats
from tests.oracles import oracle
from torch import distributions as laws

from margin.core.verdict import Verdict, every, near
from margin.generative import Autoencoder
from margin.generative.autoencoder import corrupt, reconstruction_loss
from margin.generative.latents import MarkovLatent, MixtureLatent, SphereLatent

PATH = "margin.generative"


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@oracle(f"{PATH}.latents.MixtureLatent")
def mixture_prior(seed: int) -> Verdict:
    latent = MixtureLatent(2, 3).double().requires_grad_(False)
    for k, weight in enumerate((latent.logits, latent.means, latent.log_variances)):
        weight.copy_(normal(seed + k, *weight.shape))
    head, noise = normal(seed + 3, 5, 4), normal(seed + 4, 5, 2)
    mean, deviation = head[:, :2], torch.exp(head[:, 2:] / 2)
    z = latent.place(head, noise)
    prior: Any = laws.MixtureSameFamily(
        laws.Categorical(logits=latent.logits),
        laws.Independent(laws.Normal(latent.means, torch.exp(latent.log_variances / 2)), 1),
    )
    posterior = laws.Independent(laws.Normal(mean, deviation), 1)
    expected = prior.log_prob(z) - posterior.log_prob(z)
    joint = torch.stack([
        torch.log_softmax(latent.logits, 0)[k]
        + laws.Normal(latent.means[k], torch.exp(latent.log_variances[k] / 2)).log_prob(z).sum(dim=1)
        for k in range(3)
    ], dim=1)  # fmt: skip
    drawn = latent.from_prior(40_000, np.random.default_rng(seed))
    moment = float((torch.softmax(latent.logits, 0) @ (latent.means**2 + latent.log_variances.exp())).sum())
    spread = float(np.square(drawn).sum(axis=1).std()) / 200
    return every(
        placed=near(z.numpy(), (mean + deviation * noise).numpy(), tolerance=1e-10),
        ratio=near(latent.log_ratio(head, noise, z).numpy(), expected.numpy(), tolerance=1e-9),
        divergence=near(latent.divergence(head, noise, z).numpy(), -expected.numpy(), tolerance=1e-9),
        joint=near(latent.log_joint(z).numpy(), joint.numpy(), tolerance=1e-9),
        drawn_mean=near(drawn.mean(axis=0), prior.mean.numpy(), tolerance=6 * float(drawn.std(axis=0).max()) / 200),
        drawn_squares=near(float(np.square(drawn).sum(axis=1).mean()), moment, tolerance=6 * spread),
    )


@oracle(f"{PATH}.latents.SphereLatent", f"{PATH}.sphere.kl_to_uniform_sphere")
def directions(seed: int) -> Verdict:
    """SciPy's von Mises-Fisher law in three dimensions; where the noise 0 leads, the cosine is its median."""
    latent = SphereLatent(3)
    head = normal(seed, 4, 4)
    direction, kappa = latent.split(head)
    z = latent.place(head, normal(seed + 1, 4, 4))
    uniform = -np.log(4 * np.pi)
    parts: dict[str, Verdict] = {}
    for i in range(4):
        law = stats.vonmises_fisher(direction[i].numpy(), float(kappa[i, 0]))
        ratio = latent.log_ratio(head, z, z)[i]
        parts[f"ratio_{i}"] = near(float(ratio), uniform - float(law.logpdf(z[i].numpy())), tolerance=1e-5)
        parts[f"divergence_{i}"] = near(
            float(latent.divergence(head, z, z)[i]), -float(law.entropy()) - uniform, tolerance=1e-5
        )
    # In three dimensions the cosine w has the distribution (e^{kw} - e^{-k}) / (e^k - e^{-k}).
    k = kappa[:, 0]
    middle = torch.log((torch.exp(k) + torch.exp(-k)) / 2) / k
    placed = latent.place(head, torch.cat([torch.zeros(4, 1), torch.ones(4, 3)], dim=1).double())
    drawn = latent.from_prior(20_000, np.random.default_rng(seed))
    return every(
        **parts,
        units=near(np.linalg.norm(direction.numpy(), axis=1), np.ones(4), tolerance=1e-9),
        on_the_sphere=near(np.linalg.norm(z.numpy(), axis=1), np.ones(4), tolerance=1e-6),
        median=near((placed * direction).sum(dim=1).numpy(), middle.numpy(), tolerance=1e-4),
        drawn=near(drawn.T @ drawn / 20_000, np.eye(3) / 3, tolerance=0.02),
    )


@oracle(f"{PATH}.latents.MarkovLatent", f"{PATH}.latents.markov_log_ratio")
def chain_of_latents(seed: int) -> Verdict:
    """Every level's normal law by torch, from the first one up and back."""
    latent: Any = MarkovLatent(2, 3).double().requires_grad_(False)
    for k, weight in enumerate(latent.parameters()):
        weight.copy_(0.5 * normal(seed + k, *weight.shape))
    head, noise = normal(seed, 4, 4), normal(seed + 1, 4, 6)
    law = lambda part: laws.Independent(laws.Normal(part[:, :2], torch.exp(part[:, 2:] / 2)), 1)  # noqa: E731
    levels, heads = [latent.place(head, noise)], [head]
    for k, link in enumerate(latent.up, start=1):
        heads.append(link(levels[-1]))
        levels.append(heads[-1][:, :2] + torch.exp(heads[-1][:, 2:] / 2) * noise[:, 2 * k : 2 * k + 2])
    forward = sum(law(part).log_prob(z) for part, z in zip(heads, levels))
    backward = sum(law(link(above)).log_prob(z) for link, above, z in zip(latent.down, levels[1:], levels))
    top = laws.Independent(laws.Normal(torch.zeros(2).double(), torch.ones(2).double()), 1).log_prob(levels[-1])
    ratio = latent.log_ratio(head, noise, levels[0])
    rng = np.random.default_rng(seed)
    steps = torch.from_numpy(rng.standard_normal((3, 5, 2)))
    z = steps[2]
    for k in (1, 0):
        part = latent.down[k](z)
        z = part[:, :2] + torch.exp(part[:, 2:] / 2) * steps[k]
    return every(
        ratio=near(ratio.numpy(), (backward + top - forward).numpy(), tolerance=1e-8),
        divergence=near(latent.divergence(head, noise, levels[0]).numpy(), -ratio.numpy(), tolerance=1e-12),
        drawn=near(latent.from_prior(5, np.random.default_rng(seed)), z.numpy(), tolerance=1e-8),
    )


@oracle("margin.generative.autoencoder_network.AutoencoderNetwork",
    f"{PATH}.autoencoder.Autoencoder", f"{PATH}.Autoencoder", f"{PATH}.autoencoder.Autoencoder.reconstruction_errors",
    f"{PATH}.autoencoder.corrupt", f"{PATH}.autoencoder.reconstruction_loss",
)  # fmt: skip
def codes_by_hand(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4)) * [1.0, 20.0, 0.1, 3.0] + [5.0, -30.0, 0.0, 1.0]
    model = Autoencoder(2, (6,), activation="tanh", max_iter=2, random_state=seed).fit(X)
    module: Any = model._trained_network()
    center, scale = X.mean(axis=0), X.std(axis=0)
    rows = torch.from_numpy((X[:7] - center) / scale)

    def through(net: Any, h: torch.Tensor) -> torch.Tensor:
        first, last = net.linears
        return torch.tanh(h @ first.weight.T + first.bias) @ last.weight.T + last.bias

    with torch.inference_mode():
        codes = through(module.encoder, rows)
        restored = through(module.decoder, codes).numpy() * scale + center
    errors = [sum((X[i] - restored[i]) ** 2) for i in range(7)]
    x, clean, target = normal(seed, 5, 4), normal(seed + 1, 5, 4), 0.3
    start = lambda: torch.Generator().manual_seed(seed)  # noqa: E731
    noisy = x + 0.7 * torch.randn(x.shape, generator=start(), dtype=x.dtype)
    masked = torch.where(torch.rand(x.shape, generator=start(), dtype=x.dtype) < 0.4, 0.0, x)
    coder = lambda h: (torch.sigmoid(h), 2 * h + 1)  # noqa: E731
    mean = torch.sigmoid(x).mean(dim=0)
    kl = (target * torch.log(target / mean) + (1 - target) * torch.log((1 - target) / (1 - mean))).sum()
    gaps = (2 * x + 1 - clean).square().sum(dim=1)
    loss = lambda **o: reconstruction_loss(coder, (x, clean), start(), **o)["loss"].numpy()  # type: ignore[arg-type]  # noqa: E731
    return every(
        codes=near(model.encode(X[:7]), codes.numpy(), tolerance=1e-6),
        restored=near((model.reconstruct(X[:7]) - restored) / scale, np.zeros((7, 4)), tolerance=1e-6),
        decoded=near((model.decode(codes.numpy()) - restored) / scale, np.zeros((7, 4)), tolerance=1e-6),
        errors=near(model.reconstruction_errors(X[:7]) / errors, np.ones(7), tolerance=1e-5),
        score=near(model.score(X[:7]) / np.mean(errors), -1.0, tolerance=1e-5),
        noisy=near(corrupt(x, "gaussian", 0.7, start()).numpy(), noisy.numpy(), tolerance=1e-12),
        masked=near(corrupt(x, "mask", 0.4, start()).numpy(), masked.numpy(), tolerance=1e-12),
        loss=near(loss(), gaps.numpy(), tolerance=1e-9),
        of_noisy=near(loss(corruption=("gaussian", 0.7)), (2 * noisy + 1 - clean).square().sum(dim=1), tolerance=1e-9),
        l1=near(loss(sparsity="l1", weight=0.8), (gaps + 0.8 * torch.sigmoid(x).sum(dim=1)).numpy(), tolerance=1e-9),
        kl=near(loss(sparsity="kl", weight=0.8, target=0.3), (gaps + 0.8 * kl).numpy(), tolerance=1e-6),
    )
