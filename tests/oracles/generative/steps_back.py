"""Steps of a reverse diffusion, a U-Net's way down and up, flows and their Jacobians: written out."""

from __future__ import annotations

import itertools
import math
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import normal, same
from torch import Tensor
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.generative import NormalizingFlow
from margin.generative.diffusion.guidance import drop_condition
from margin.generative.diffusion.networks import UNetDenoiser
from margin.generative.diffusion.predictions import reverse_mean, reverse_mean_from_noise, reverse_mean_from_score
from margin.generative.diffusion.samplers import ancestral, spaced_steps
from margin.generative.diffusion.schedules import NoiseSchedule
from margin.generative.elbo import gaussian_log_likelihood, kl_to_standard_normal, reparameterize
from margin.generative.gan.coverage import mode_coverage
from margin.generative.sparsity import keep_largest, l1_activity, mean_activity_kl
from margin.neural.weights import build

PATH = "margin.generative"
BETAS = [0.05, 0.1, 0.2, 0.35, 0.5]
BARS = np.cumprod([1.0, *(1 - beta for beta in BETAS)])  # of the clean data first


def step_back(x: np.ndarray, clean: np.ndarray, now: int, before: int) -> tuple[np.ndarray, float]:
    """Mean and variance of the normal law of an earlier state given a later one and the clean data.

    Two measurements of the earlier state are joined by their precisions: what the clean data foretell, and what the
    later state recalls.
    """
    alpha = BARS[now] / BARS[before]
    foretold, recalled = 1 / (1 - BARS[before]), alpha / (1 - alpha)
    variance = 1 / (foretold + recalled)
    mean = variance * (foretold * math.sqrt(BARS[before]) * clean + recalled * x / math.sqrt(alpha))
    return mean, variance


@oracle(*(f"{PATH}.diffusion.predictions.reverse_mean{name}" for name in ("", "_from_noise", "_from_score")))
def means_of_steps_back(seed: int) -> Verdict:
    schedule, t = NoiseSchedule(BETAS), torch.tensor([2, 5, 3])
    clean, noise = normal(seed, 3, 2), normal(seed + 1, 3, 2)
    a, b = (torch.from_numpy(np.sqrt(part))[t][:, None] for part in (BARS, 1 - BARS))
    x = a * clean + b * noise
    expected = np.stack([step_back(x[i].numpy(), clean[i].numpy(), int(n), int(n) - 1)[0] for i, n in enumerate(t)])
    given = {"x0": clean, "epsilon": noise, "score": -noise / b, "v": a * noise - b * clean, "velocity": clean - noise}
    return every(
        **{
            kind: near(reverse_mean(schedule, v, x, t, kind).numpy(), expected, tolerance=1e-10)
            for kind, v in given.items()
        },
        from_noise=near(reverse_mean_from_noise(schedule, noise, x, t).numpy(), expected, tolerance=1e-10),
        from_score=near(reverse_mean_from_score(schedule, -noise / b, x, t).numpy(), expected, tolerance=1e-10),
    )


@oracle(f"{PATH}.diffusion.samplers.ancestral")
def every_state_on_the_way_back(seed: int) -> Verdict:
    """All steps and three of the five, with a predictor of the clean data that depends on the step."""
    schedule, start = NoiseSchedule(BETAS), normal(seed, 4, 2)
    found = {}
    for n_chosen in (None, 3):
        x, generator, states = start.numpy(), torch.Generator().manual_seed(seed), []
        for now, before in itertools.pairwise(spaced_steps(schedule, n_chosen)):
            x, variance = step_back(x, np.tanh(x) / now, now, before) if before else (np.tanh(x) / now, 0.0)
            if before:
                x = x + math.sqrt(variance) * torch.randn(4, 2, generator=generator, dtype=torch.float64).numpy()
            states.append(x)
        ours = ancestral(schedule, lambda z, t: torch.tanh(z) / t, start, torch.Generator().manual_seed(seed), n_chosen)
        found[f"steps_{n_chosen}"] = near(
            np.stack([state.numpy() for state in ours]), np.stack(states), tolerance=1e-10
        )
    return every(**found)


@oracle(f"{PATH}.diffusion.guidance.drop_condition")
def labels_that_are_hidden(seed: int) -> Verdict:
    labels = torch.from_numpy(np.random.default_rng(seed).integers(0, 4, 40))
    luck = torch.rand(40, generator=torch.Generator().manual_seed(seed)).tolist()
    expected = [4 if number < 0.3 else int(label) for number, label in zip(luck, labels)]
    hidden = drop_condition(labels, 4, 0.3, torch.Generator().manual_seed(seed))
    return every(labels=equal(hidden.tolist(), expected), given=equal(bool((labels < 4).all()), True))


@oracle(f"{PATH}.diffusion.networks.UNetDenoiser")
def down_and_up_again(seed: int) -> Verdict:
    """An odd image with two more channels, every class: means of the pixels that are there, copies side by side."""
    net = build(lambda: UNetDenoiser((2, 7, 5), (4, 8, 6), n_classes=3, embedding=6, condition=1), seed, torch.float64)
    for k, weight in enumerate(net.parameters()):
        weight.data.add_(0.3 * normal(seed + k, *weight.shape))
    x, level, label = normal(seed, 3, 3, 7, 5), torch.tensor([0.1, 0.9, 0.4]).double(), torch.tensor([2, 0, 3])

    def halved(h: Tensor) -> Tensor:
        rows, columns = -(-h.shape[2] // 2), -(-h.shape[3] // 2)
        cells = [
            [h[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean(dim=(2, 3)) for j in range(columns)]
            for i in range(rows)
        ]
        return torch.stack([torch.stack(row, dim=-1) for row in cells], dim=-2)

    def enlarged(h: Tensor, rows: int, columns: int) -> Tensor:
        return h[:, :, [i * h.shape[2] // rows for i in range(rows)]][
            ..., [j * h.shape[3] // columns for j in range(columns)]
        ]

    told = net.embedding(level, label)
    first = net.down[0](net.first(x), told)
    second = net.down[1](halved(first), told)
    third = net.down[2](halved(second), told)
    h = net.up[0](torch.cat([net.middle(third, told), third], dim=1), told)
    h = net.up[1](torch.cat([enlarged(h, 4, 3), second], dim=1), told)
    h = net.up[2](torch.cat([enlarged(h, 7, 5), first], dim=1), told)
    expected = net.last(functional.silu(net.norm(h)))
    alone = net(x[1:2], level[1:2], label[1:2])
    return every(
        whole=same(net(x, level, label), expected),
        row_by_itself=same(alone, expected[1:2]),
        without_a_class=same(net(x[:1], level[:1]), net(x[:1], level[:1], torch.tensor([3]))),
    )


@oracle(f"{PATH}.elbo")
def normal_laws_by_torch(seed: int) -> Verdict:
    mean, log_variance, x = normal(seed, 4, 3), normal(seed + 1, 4, 3), normal(seed + 2, 4, 3)
    law = torch.distributions.Normal(mean, torch.exp(log_variance / 2))
    standard = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    return every(
        divergence=same(
            kl_to_standard_normal(mean, log_variance), torch.distributions.kl_divergence(law, standard).sum(dim=1)
        ),
        likelihood=same(gaussian_log_likelihood(x, mean, log_variance), law.log_prob(x).sum(dim=1)),
        draw=same(reparameterize(mean, log_variance, x), law.mean + law.stddev * x),
    )


@oracle(f"{PATH}.gan.coverage.mode_coverage")
def samples_counted_at_modes(seed: int) -> Verdict:
    """A radius above and one below 1, three columns, a mode without samples."""
    rng = np.random.default_rng(seed)
    modes = np.array([[0.0, 0.0, 0.0], [4.0, 1.0, 0.0], [-3.0, 5.0, 2.0], [30.0, 0.0, 0.0]])
    samples = modes[rng.integers(0, 3, 60)] + rng.normal(size=(60, 3))
    found = {}
    for radius, least in ((0.7, 3), (2.2, 1)):
        counts, near_one = [0] * 4, 0
        for row in samples:
            gaps = [math.dist(row, mode) for mode in modes]
            best = gaps.index(min(gaps))
            counts[best] += gaps[best] <= radius
            near_one += gaps[best] <= radius
        ours = mode_coverage(samples, modes, radius, least=least)
        found[f"counts_{radius:g}"] = equal(ours.counts.tolist(), counts)
        found[f"covered_{radius:g}"] = equal(ours.covered, sum(count >= least for count in counts))
        found[f"quality_{radius:g}"] = near(ours.high_quality, near_one / 60, tolerance=1e-12)
    return every(**found)


@oracle(*(f"{PATH}.sparsity.{name}" for name in ("keep_largest", "l1_activity", "mean_activity_kl")))
def codes_that_are_mostly_zero(seed: int) -> Verdict:
    code, active = normal(seed, 5, 6), torch.sigmoid(normal(seed + 1, 5, 3))
    kept = []
    for row in code.tolist():
        best = sorted(range(6), key=lambda j: -abs(row[j]))[:2]
        kept.append([value if j in best else 0.0 for j, value in enumerate(row)])
    means = [sum(column) / 5 for column in active.T.tolist()]
    divergence = sum(0.2 * math.log(0.2 / m) + 0.8 * math.log(0.8 / (1 - m)) for m in means)
    return every(
        largest=near(keep_largest(code, 2).numpy(), kept, tolerance=0.0),
        sum_of_absolute_values=near(
            l1_activity(code).numpy(), [sum(map(abs, r)) for r in code.tolist()], tolerance=1e-12
        ),
        divergence=near(float(mean_activity_kl(active, 0.2)), divergence, tolerance=1e-12),
    )


@oracle(
    f"{PATH}.NormalizingFlow", f"{PATH}.NormalizingFlow.score_samples", f"{PATH}.flows.network.FlowNetwork.to_noise"
)
def densities_by_jacobians(seed: int) -> Verdict:
    """Of columns with units of their own; what training lowers is minus the mean of these densities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) @ [[3.0, 0.4], [0.0, 0.2]] + [5.0, -2.0]
    model: Any = NormalizingFlow(["affine-coupling", "planar"], n_blocks=2, hidden_layer_sizes=(5,), random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the loss still falls
        model.set_params(max_iter=3).fit(X)
    net = deepcopy(model._ready_module()).double()
    center, deviation = X.mean(axis=0), X.std(axis=0)
    expected, images = [], []
    for row in X[:6]:
        u = torch.from_numpy((row - center) / deviation)
        jacobian = torch.func.jacfwd(lambda v: net.to_noise(v[None])[0][0])(u).detach().numpy()
        z = net.to_noise(u[None])[0][0].detach().numpy()
        images.append(z)
        volume = np.log(abs(np.linalg.det(jacobian))) - np.log(deviation).sum()
        expected.append(-0.5 * (z**2).sum() - math.log(2 * math.pi) + volume)
    return every(
        noise=near(model.transform(X[:6]), images, tolerance=1e-4),
        density=near(model.score_samples(X[:6]), expected, tolerance=1e-3),
        score=near(model.score(X[:6]), np.mean(expected), tolerance=1e-3),
    )
