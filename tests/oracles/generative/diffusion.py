"""Chains of noise, scores and their losses against torch's distributions and derivatives by differences."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import torch
from tests.oracles import oracle
from torch import Tensor
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal, kl_divergence

from margin.core.verdict import Verdict, every, near
from margin.generative.diffusion import bound, chain, guidance, langevin, schedules, scores
from margin.generative.diffusion.mixture import ExactMixture
from margin.generative.diffusion.schedules import noise_schedule

PATH = "margin.generative.diffusion"


def normals(seed: int, *shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0.3, 1.2, size=shape))


def same(ours: Tensor, theirs: Tensor, tolerance: float = 1e-8) -> Verdict:
    return near(ours.detach().numpy(), theirs.detach().numpy(), tolerance=tolerance)


@oracle(
    *(f"{PATH}.scores.{name}" for name in ("sliced_score_matching", "denoising_score_matching", "fisher_divergence")),
    *(f"{PATH}.scores.{name}" for name in ("implicit_score_matching", "denoised_by_score")),
)
def losses_of_scores(seed: int) -> Verdict:
    """For a score that is no gradient, with its Jacobian by torch row by row, summed up in loops."""
    A, B = normals(seed, 3, 3), normals(seed + 1, 3, 3)
    score = lambda x: torch.tanh(x @ A.T) @ B.T  # noqa: E731
    x, v, noise, truth = (normals(seed + k, 4, 3) for k in (2, 3, 4, 5))
    jacobians = [torch.func.jacrev(lambda row: score(row[None])[0])(row) for row in x]
    half = torch.stack([sum(value**2 for value in row) / 2 for row in score(x)])
    trace = torch.stack([J[0, 0] + J[1, 1] + J[2, 2] for J in jacobians])
    sliced = torch.stack([sum(u[i] * J[i, j] * u[j] for i in range(3) for j in range(3)) for J, u in zip(jacobians, v)])
    gap = score(x + 0.6 * noise) + noise / 0.6
    return every(
        sliced=same(scores.sliced_score_matching(score, x, v), half + sliced),
        implicit=same(scores.implicit_score_matching(score, x), half + trace),
        trace=same(scores.jacobian_trace(score, x)[1], trace),
        denoising=same(scores.denoising_score_matching(score, x, 0.6, noise), torch.stack([g @ g / 2 for g in gap])),
        fisher=same(scores.fisher_divergence(score, x, truth), torch.stack([g @ g for g in score(x) - truth])),
        denoised=same(scores.denoise_by_score(x, truth, 0.6), x + 0.36 * truth),
    )


@oracle(
    *(f"{PATH}.mixture.ExactMixture{name}" for name in (".score", ".denoise")),
    f"{PATH}.guidance.guide",
)
def mixtures_of_normals(seed: int) -> Verdict:
    """torch's mixture for densities, its slope for scores, and Tweedie's formula for what noise hides."""
    means, deviations, weights = normals(seed, 3, 2), torch.tensor([0.5, 1.3, 0.8]), torch.tensor([2.0, 1.0, 3.0])
    law, x = ExactMixture(means, deviations, weights), normals(seed + 1, 5, 2)

    def peer(a: float, b: float) -> MixtureSameFamily:
        spread = (a**2 * deviations.double() ** 2 + b**2).sqrt()[:, None].expand(3, 2)
        return MixtureSameFamily(Categorical(weights.double()), Independent(Normal(a * means, spread), 1))

    def slope(a: float, b: float) -> Tensor:
        z = x.clone().requires_grad_(True)
        return torch.autograd.grad(peer(a, b).log_prob(z).sum(), z)[0]

    schedule = noise_schedule("cosine", 9)
    bar = float(schedule.alpha_bars[4])
    draws = law.sample(6000, torch.Generator().manual_seed(seed))
    center = (weights.double()[:, None] * means).sum(dim=0) / 6
    spread = float(peer(1.0, 0.0).variance.max()) ** 0.5
    return every(
        density=same(law.log_density(x), peer(1.0, 0.0).log_prob(x)),
        score=same(law.score(x), slope(1.0, 0.0)),
        shares=same(
            law.responsibilities(x),
            torch.softmax(weights.double().log() + peer(1.0, 0.0).component_distribution.log_prob(x[:, None]), dim=1),
        ),
        scaled=same(law.scaled(0.7, 0.4).log_density(x), peer(0.7, 0.4).log_prob(x)),
        diffused=same(law.diffuse(schedule, 4).log_density(x), peer(bar**0.5, (1 - bar) ** 0.5).log_prob(x)),
        denoised=same(law.denoise(x, 0.7, 0.4), (x + 0.16 * slope(0.7, 0.4)) / 0.7),
        drawn=same(draws.mean(dim=0), center, 6 * spread / math.sqrt(6000)),
        drawn_spread=same(draws.var(dim=0), peer(1.0, 0.0).variance, 12 * spread**2 / math.sqrt(6000)),
        guided=same(guidance.guide(x, 2 * x + 1, 1.7), -0.7 * x + 1.7 * (2 * x + 1)),
    )


@oracle(
    *(f"{PATH}.chain.{name}" for name in ("forward_step", "add_noise", "noised_law", "posterior", "walk")),
)
def chains_of_noise(seed: int) -> Verdict:
    """The step back by Bayes' rule on the joint normal law of two neighbors, at times of their own for each row."""
    schedule, t = noise_schedule("cosine", 9), torch.tensor([5, 2, 9])
    x0, xt, noise = (normals(seed + k, 3, 2) for k in range(3))
    mean, variance = chain.posterior(schedule, xt, x0, t)
    law_mean, law_variance = chain.noised_law(schedule, x0, t)
    wanted_mean, wanted_variance = [], []
    for row, step in enumerate(t.tolist()):
        bar, before = float(schedule.alpha_bars[step]), float(schedule.alpha_bars[step - 1])
        alpha = bar / before
        gain = alpha**0.5 * (1 - before) / (1 - bar)  # covariance of the two over the variance of the later one
        wanted_mean.append(before**0.5 * x0[row] + gain * (xt[row] - bar**0.5 * x0[row]))
        wanted_variance.append((1 - before) - gain * alpha**0.5 * (1 - before))
    bars = schedule.alpha_bars[t][:, None]
    alphas = bars / schedule.alpha_bars[t - 1][:, None]
    generator = torch.Generator().manual_seed(seed)
    states = chain.walk(schedule, torch.full((4000, 1), 0.7, dtype=torch.float64), generator)
    ends = states[1:, :, 0]
    bars_after = schedule.alpha_bars[1:]
    return every(
        step=same(chain.forward_step(schedule, xt, t, noise), alphas.sqrt() * xt + (1 - alphas).sqrt() * noise),
        jump=same(chain.add_noise(schedule, x0, t, noise), bars.sqrt() * x0 + (1 - bars).sqrt() * noise),
        law_mean=same(law_mean, bars.sqrt() * x0),
        law_variance=same(law_variance.reshape(-1), (1 - bars).reshape(-1)),
        back=same(mean, torch.stack(wanted_mean)),
        back_variance=near(variance.reshape(-1).numpy(), wanted_variance, tolerance=1e-8),
        variances=near(chain.posterior_variance(schedule)[t].numpy(), wanted_variance, tolerance=1e-8),
        first=near(chain.posterior_variance(schedule)[:2].numpy(), [0.0, 0.0], tolerance=1e-12),
        walked=near((ends.mean(dim=1) - 0.7 * bars_after.sqrt()).numpy(), np.zeros(9), tolerance=6 / np.sqrt(4000)),
        spread=near(ends.var(dim=1).numpy(), (1 - bars_after).numpy(), tolerance=0.15),
        length=near(len(states), 10, tolerance=0),
    )


@oracle(
    *(f"{PATH}.schedules.{name}" for name in ("linear_betas", "cosine_betas")),
    f"{PATH}.schedules.NoiseSchedule",
)
def schedules_of_noise(seed: int) -> Verdict:
    """Steps written out; fewer than a thousand linear steps are as much longer, each at most 0.999."""
    del seed
    cosine = [math.cos((t / 7 + 0.008) / 1.008 * math.pi / 2) ** 2 for t in range(8)]
    straight = [(1 - t / 7) ** 2 / ((1 - t / 7) ** 2 + (t / 7) ** 2) for t in range(8)]
    ratios = lambda bars: [min(1 - b / a, 0.999) for a, b in pairwise(bars)]  # noqa: E731
    schedule = schedules.NoiseSchedule([0.1, 0.3, 0.25])
    one, t = torch.ones(2, 1, dtype=torch.float64), torch.tensor([1, 3])
    bars = torch.tensor([0.9, 0.9 * 0.7 * 0.75], dtype=torch.float64)[:, None]
    return every(
        linear=near(schedules.linear_betas(100), np.linspace(1e-3, 0.2, 100), tolerance=1e-12),
        short=near(schedules.linear_betas(10), np.linspace(0.01, 0.999, 10), tolerance=1e-12),
        shortest=near(schedules.linear_betas(1)[:1], [0.1], tolerance=1e-12),
        chosen=near(schedules.linear_betas(4, 0.1, 0.4), [0.1, 0.2, 0.3, 0.4], tolerance=1e-12),
        cosine=near(schedules.cosine_betas(7), ratios(cosine), tolerance=1e-10),
        straight=near(schedules.straight_betas(7), ratios(straight), tolerance=1e-10),
        bars=near(schedule.alpha_bars.numpy(), [1.0, 0.9, 0.63, 0.4725], tolerance=1e-12),
        alphas=near(schedule.alphas.numpy(), [1.0, 0.9, 0.7, 0.75], tolerance=1e-12),
        signal=same(schedule.signal(t, one), bars.sqrt()),
        noise=same(schedule.noise(t, one), (1 - bars).sqrt()),
    )


@oracle(*(f"{PATH}.bound.{name}" for name in ("kl_round_normals", "log_normal", "prior_matching")))
def divergences_of_steps(seed: int) -> Verdict:
    mean, other, x = (normals(seed + k, 4, 3) for k in range(3))
    variance, wide = torch.tensor([[0.4], [1.7], [0.9], [2.2]]).double(), torch.tensor(0.6).double()
    laws = [Independent(Normal(m, v.sqrt().expand(4, 3)), 1) for m, v in ((mean, variance), (other, wide))]
    schedule = noise_schedule("linear", 5)
    bar = schedule.alpha_bars[-1]
    last = Independent(Normal(bar.sqrt() * x, (1 - bar).sqrt().expand(4, 3)), 1)
    standard = Independent(Normal(torch.zeros(4, 3).double(), torch.ones(4, 3).double()), 1)
    return every(
        divergence=same(bound.kl_round_normals(mean, variance, other, wide), kl_divergence(*laws)),
        density=same(bound.log_normal(x, mean, variance), laws[0].log_prob(x)),
        prior=same(bound.prior_matching(schedule, x), kl_divergence(last, standard)),
    )


@oracle(*(f"{PATH}.bound.bound_{name}" for name in ("from_posteriors", "from_triples", "direct")))
def bounds_of_chains(seed: int) -> Verdict:
    """For normal data the bound with the exact reverse law is the log-density; every form says it on average."""
    schedule, spread = noise_schedule("cosine", 6), 0.8
    x = torch.tensor([[0.5], [-1.1]], dtype=torch.float64).repeat_interleave(4000, dim=0)

    def reverse(x_t: Tensor, t: int) -> tuple[Tensor, Tensor]:
        """p(x_{t-1} | x_t) for x_0 ~ N(0.3, 0.8^2), by conditioning of two normals."""
        bar, before = float(schedule.alpha_bars[t]), float(schedule.alpha_bars[t - 1])
        alpha = bar / before
        prior_mean, prior = 0.3 * before**0.5, before * spread**2 + 1 - before
        gain = alpha**0.5 * prior / (alpha * prior + 1 - alpha)
        mean = prior_mean + gain * (x_t - alpha**0.5 * prior_mean)
        return mean, torch.tensor(prior * (1 - gain * alpha**0.5)).double()

    expected = Normal(0.3, spread).log_prob(torch.tensor([0.5, -1.1])).double()
    # The reverse chain begins at N(0, 1), the data end a little off it: the bound is below by at most that divergence.
    bar = float(schedule.alpha_bars[-1])
    end = Normal(0.3 * bar**0.5, (bar * spread**2 + 1 - bar) ** 0.5)
    slack = float(kl_divergence(end, Normal(0.0, 1.0)))
    parts: dict[str, Verdict] = {}
    for name in ("from_posteriors", "from_triples", "direct"):
        drawn = getattr(bound, f"bound_{name}")(schedule, x, reverse, torch.Generator().manual_seed(seed))
        value = (drawn if name == "direct" else drawn.total).reshape(2, 4000)
        error = 6 * float(value.std(dim=1).max()) / math.sqrt(4000) + 5 * slack + 1e-3
        parts[name] = same(value.mean(dim=1), expected, error)
        if name != "direct":
            total = drawn.reconstruction - drawn.prior_matching - drawn.consistency
            parts[f"{name}_parts"] = same(drawn.total, total)
    generator = torch.Generator().manual_seed(seed)
    few = torch.tensor([[0.5]], dtype=torch.float64)
    triple = bound.bound_from_triples(schedule, few, reverse, generator)
    states = chain.walk(schedule, few, torch.Generator().manual_seed(seed))
    alpha = float(schedule.alphas[-1])
    last = kl_divergence(Normal(alpha**0.5 * states[-2, 0, 0], (1 - alpha) ** 0.5), Normal(0.0, 1.0))
    first_mean, first_variance = reverse(states[1], 1)
    first = Normal(first_mean[0, 0], first_variance.sqrt()).log_prob(few[0, 0])
    return every(
        **parts,
        last=near(float(triple.prior_matching[0]), float(last), tolerance=1e-6),
        first=near(float(triple.reconstruction[0]), float(first), tolerance=1e-6),
    )


@oracle(f"{PATH}.langevin.langevin", f"{PATH}.langevin.denoise_step")
def walks_along_scores(seed: int) -> Verdict:
    """For a normal density the walk is a known autoregression: its mean and variance after every step."""
    x = torch.full((6000, 1), 2.0, dtype=torch.float64)
    score = lambda z: -(z - 0.5) / 0.7  # noqa: E731
    end = langevin.langevin(score, x, 0.2, 3, torch.Generator().manual_seed(seed))
    mean, variance = 2.0, 0.0
    for _ in range(3):
        mean, variance = mean - 0.2 * (mean - 0.5) / 0.7, variance * (1 - 0.2 / 0.7) ** 2 + 0.4
    return every(
        mean=near(float(end.mean()), mean, tolerance=6 * math.sqrt(variance / 6000)),
        variance=near(float(end.var()), variance, tolerance=8 * variance / math.sqrt(6000)),
        step=same(langevin.denoise_step(x[:2], score, 0.3), x[:2] - 0.3 * (x[:2] - 0.5) / 0.7),
        levels=near(langevin.geometric_levels(5.0, 0.2, 3), [5.0, 1.0, 0.2], tolerance=1e-12),
    )


@oracle(f"{PATH}.langevin.annealed_langevin")
def steps_shrink_with_the_square_of_the_level(seed: int) -> Verdict:
    """The same walk written out, with the same draws: at level sigma the step is step times sigma squared."""
    rng = np.random.default_rng(seed)
    x, levels = torch.from_numpy(rng.normal(1.5, 0.7, size=(5, 2))), [2.5, 0.6]
    score = lambda z, sigma: -(z - 0.3) / (0.4 + sigma**2)  # noqa: E731
    states = langevin.annealed_langevin(
        score, x, levels, torch.Generator().manual_seed(seed), step=0.07, steps_per_level=3
    )
    *_, got = states
    draws, walked = torch.Generator().manual_seed(seed), x.clone()
    for sigma in levels:
        for _ in range(3):
            step = 0.07 * sigma * sigma
            noise = torch.randn(walked.shape, generator=draws, dtype=walked.dtype)
            walked = walked + step * score(walked, sigma) + math.sqrt(2 * step) * noise
    return same(got, walked)
