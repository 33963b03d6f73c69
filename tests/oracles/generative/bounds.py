"""Bounds of a diffusion step by step, with torch's laws in place of closed forms; densities in the data's units."""

from __future__ import annotations

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.generative.diffusion import PATH, normals, same
from torch import Tensor
from torch.distributions import Independent, Normal, kl_divergence

from margin.core.verdict import Verdict, every, near
from margin.generative import DiffusionModel
from margin.generative.diffusion import bound
from margin.generative.diffusion.schedules import NoiseSchedule


def law(mean: Tensor, variance: Tensor | float) -> Independent:
    return Independent(Normal(mean, torch.as_tensor(variance, dtype=mean.dtype).sqrt().expand(mean.shape)), 1)


@oracle(*(f"{PATH}.bound.{name}" for name in ("bound_at_draws", "consistency_terms", "sampled_consistency",
                                              "bound_from_pairs")))  # fmt: skip
def steps_by_their_laws(seed: int) -> Verdict:
    betas = np.array([0.2, 0.35, 0.5])
    schedule = NoiseSchedule(betas)
    x_0, noise = normals(seed, 4, 2), normals(seed + 1, 3, 5, 2)  # five draws for each of three steps
    reverse = lambda x, t: (0.8 * x + 0.1 * t, torch.tensor(0.3 + 0.1 * t, dtype=x.dtype))  # noqa: E731
    kept = [1.0, *np.cumprod(1 - betas)]

    def backward(x_t: Tensor, t: int) -> Independent:
        """The law of the state before, given this one and the data: a product of two normals."""
        a, b, k = 1 - betas[t - 1], betas[t - 1], kept[t - 1]
        precision = a / b + 1 / (1 - k)
        mean = (a**0.5 / b * x_t + k**0.5 / (1 - k) * x_0) / precision
        return law(mean, 1 / precision)

    def divergence(x_t: Tensor, t: int) -> Tensor:
        return kl_divergence(backward(x_t, t), law(*reverse(x_t, t)))

    place = lambda t, e: kept[t] ** 0.5 * x_0 + (1 - kept[t]) ** 0.5 * e  # noqa: E731
    first = torch.stack([law(*reverse(place(1, e), 1)).log_prob(x_0) for e in noise[0]]).mean(dim=0)
    later = sum(torch.stack([divergence(place(t, e), t) for e in noise[t - 1]]).mean(dim=0) for t in (2, 3))
    standard = law(torch.zeros_like(x_0), 1.0)
    prior = kl_divergence(law(kept[3] ** 0.5 * x_0, 1 - kept[3]), standard)
    terms = bound.bound_at_draws(schedule, x_0, reverse, lambda t: noise[t - 1])
    states = torch.stack([x_0, *(normals(seed + k, 4, 2) for k in (2, 3, 4))])
    drawn = bound.sampled_consistency(schedule, x_0, reverse, torch.Generator().manual_seed(seed))
    start = torch.Generator().manual_seed(seed)
    steps = torch.randint(2, 4, (4,), generator=start)
    e = torch.randn(x_0.shape, generator=start, dtype=x_0.dtype)
    by_step = {t: divergence(place(t, e), t) for t in (2, 3)}
    walk, generator = [x_0], torch.Generator().manual_seed(seed)
    for beta in betas:
        e_t = torch.randn(x_0.shape, generator=generator, dtype=x_0.dtype)
        walk.append((1 - beta) ** 0.5 * walk[-1] + beta**0.5 * e_t)
    pairs = sum(
        kl_divergence(law((1 - betas[t - 1]) ** 0.5 * walk[t - 1], betas[t - 1]), law(*reverse(walk[t + 1], t + 1)))
        for t in (1, 2)
    )
    paired = bound.bound_from_pairs(schedule, x_0, reverse, torch.Generator().manual_seed(seed))
    return every(
        reconstruction=same(terms.reconstruction, first),
        prior=same(terms.prior_matching, prior),
        consistency=same(terms.consistency, torch.as_tensor(later)),
        terms=same(
            bound.consistency_terms(schedule, states, reverse), torch.stack([divergence(states[t], t) for t in (2, 3)])
        ),
        drawn=same(drawn, torch.stack([2 * by_step[int(t)][i] for i, t in enumerate(steps)])),
        pairs=same(paired.consistency, torch.as_tensor(pairs)),
    )


@oracle(f"{PATH}.model.DiffusionModel.bound_parts")
def units_of_the_data(seed: int) -> Verdict:
    """Columns in other units: the same standardized rows, so the density only changes by the factors."""
    rng = np.random.default_rng(seed)
    X, factors = rng.normal(size=(40, 2)) * [1.0, 3.0] + [2.0, -1.0], np.array([4.0, 0.1])
    options = {"n_steps": 6, "max_iter": 1, "bound_samples": 4, "random_state": seed}
    models = [DiffusionModel((8,), **options).fit(rows) for rows in (X, X * factors)]  # type: ignore[arg-type]
    plain, scaled = models[0].bound_parts(X[:5]), models[1].bound_parts(X[:5] * factors)
    moved = np.log(factors).sum()
    total = plain.reconstruction - plain.prior_matching - plain.consistency
    return every(
        moved=near(scaled.reconstruction.numpy() + moved, plain.reconstruction.numpy(), tolerance=1e-4),
        consistency=near(scaled.consistency.numpy(), plain.consistency.numpy(), tolerance=1e-4),
        total=near(models[0].score_samples(X[:5]), total.numpy(), tolerance=1e-6),
    )
