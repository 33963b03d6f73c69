r"""The variational bound of a diffusion, estimated from draws, in its direct form and in two that take it apart.

.. math:: \log p(x_0) \ge E_q\Bigl[\log \frac{p(x_{0:T})}{q(x_{1:T}|x_0)}\Bigr]
          = \underbrace{E[\log p(x_0|x_1)]}_{\text{reconstruction}}
          - \underbrace{\mathrm{KL}(q(x_T|x_0)\,\|\,p(x_T))}_{\text{prior matching}}
          - \sum_{t=2}^T \underbrace{E[\mathrm{KL}(q(x_{t-1}|x_t, x_0)\,\|\,p(x_{t-1}|x_t))]}_{\text{consistency}}

A reverse kernel is a function of :math:`(x_t, t)` that gives mean and variance of :math:`p(x_{t-1}|x_t)`. All
estimates are per row; the average over many copies of a row is its bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from margin.generative.diffusion.chain import add_noise, noised_law, posterior, walk
from margin.generative.diffusion.schedules import NoiseSchedule

__all__ = [
    "BoundParts",
    "ReverseKernel",
    "bound_at_draws",
    "bound_direct",
    "bound_from_pairs",
    "bound_from_posteriors",
    "bound_from_triples",
    "consistency_terms",
    "kl_round_normals",
    "log_normal",
    "prior_matching",
    "sampled_consistency",
]

ReverseKernel = Callable[[Tensor, int], tuple[Tensor, Tensor]]


class BoundParts(NamedTuple):
    """Parts of the bound in nats per row; ``total`` is reconstruction minus the other two."""

    reconstruction: Tensor
    prior_matching: Tensor
    consistency: Tensor

    @property
    def total(self) -> Tensor:
        return self.reconstruction - self.prior_matching - self.consistency


def log_normal(x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Log-density of every row under a normal law with the same variance in all coordinates."""
    terms = (x - mean).square() / variance + torch.log(2 * math.pi * variance)
    return -0.5 * _row_sums(torch.broadcast_to(terms, x.shape))


def kl_round_normals(mean: Tensor, variance: Tensor, other_mean: Tensor, other_variance: Tensor) -> Tensor:
    r"""KL divergence of normals whose coordinates are independent; for equal variances
    :math:`\|\mu - \mu'\|^2 / 2\sigma^2`."""
    ratio = variance / other_variance
    terms = 0.5 * (ratio - 1 - torch.log(ratio) + (mean - other_mean).square() / other_variance)
    return _row_sums(torch.broadcast_to(terms, mean.shape))


def prior_matching(schedule: NoiseSchedule, x_0: Tensor) -> Tensor:
    r""":math:`\mathrm{KL}(q(x_T|x_0)\,\|\,N(0, I))`: nothing to train, and almost 0 after many steps."""
    mean, variance = noised_law(schedule, x_0, schedule.n_steps)
    one = torch.ones_like(variance)
    return kl_round_normals(mean, variance, torch.zeros_like(mean), one)


def bound_direct(schedule: NoiseSchedule, x_0: Tensor, reverse: ReverseKernel, generator: torch.Generator) -> Tensor:
    r"""One draw per row of :math:`\log p(x_{0:T}) - \log q(x_{1:T}|x_0)`."""
    states = walk(schedule, x_0, generator)
    value = _log_prior(states[-1])
    for t in range(1, schedule.n_steps + 1):
        value = value + log_normal(states[t - 1], *reverse(states[t], t)) - _log_forward(schedule, states, t)
    return value


def bound_from_triples(
    schedule: NoiseSchedule, x_0: Tensor, reverse: ReverseKernel, generator: torch.Generator
) -> BoundParts:
    r"""The first three-term form, with expectations over :math:`(x_{t-1}, x_t, x_{t+1})` drawn together.

    .. math:: E[\log p(x_0|x_1)] - E[\mathrm{KL}(q(x_T|x_{T-1})\,\|\,p(x_T))]
              + \sum_{t=1}^{T-1} E[\log p(x_t|x_{t+1}) - \log q(x_t|x_{t-1})]
    """
    states, last = walk(schedule, x_0, generator), schedule.n_steps
    reconstruction = log_normal(x_0, *reverse(states[1], 1))
    mean = schedule.at(schedule.alphas.sqrt(), last, x_0) * states[-2]
    variance = schedule.at(schedule.betas, last, x_0)
    prior = kl_round_normals(mean, variance, torch.zeros_like(mean), torch.ones_like(variance))
    consistency = torch.zeros(len(x_0), dtype=x_0.dtype)
    for t in range(1, last):
        step = log_normal(states[t], *reverse(states[t + 1], t + 1)) - _log_forward(schedule, states, t)
        consistency = consistency - step
    return BoundParts(reconstruction, prior, consistency)


def bound_from_pairs(
    schedule: NoiseSchedule, x_0: Tensor, reverse: ReverseKernel, generator: torch.Generator
) -> BoundParts:
    r"""As the notes print the first form: a KL of :math:`q(x_t|x_{t-1})` to :math:`p(x_t|x_{t+1})`.

    No bound of :math:`\log p(x_0)`: given its two neighbors, :math:`x_t` does not follow :math:`q(x_t|x_{t-1})`.
    """
    states, last = walk(schedule, x_0, generator), schedule.n_steps
    parts = bound_from_triples(schedule, x_0, reverse, generator)
    consistency = torch.zeros(len(x_0), dtype=x_0.dtype)
    for t in range(1, last):
        mean = schedule.at(schedule.alphas.sqrt(), t, x_0) * states[t - 1]
        variance = schedule.at(schedule.betas, t, x_0)
        consistency = consistency + kl_round_normals(mean, variance, *reverse(states[t + 1], t + 1))
    return parts._replace(consistency=consistency)


def bound_from_posteriors(
    schedule: NoiseSchedule, x_0: Tensor, reverse: ReverseKernel, generator: torch.Generator
) -> BoundParts:
    """The second, denoising-matching form: one path of the chain and exact KL divergences along it."""
    states = walk(schedule, x_0, generator)
    reconstruction = log_normal(x_0, *reverse(states[1], 1))
    terms = consistency_terms(schedule, states, reverse)
    return BoundParts(reconstruction, prior_matching(schedule, x_0), terms.sum(dim=0))


def bound_at_draws(
    schedule: NoiseSchedule, x_0: Tensor, reverse: ReverseKernel, draws: Callable[[int], Tensor]
) -> BoundParts:
    """The second form with given noise, (K, *shape of a row) for every step, the same for all rows.

    The number of a row then does not depend on the others, and balanced draws leave little to chance.
    """
    reconstruction = torch.zeros(len(x_0), dtype=x_0.dtype)
    consistency = torch.zeros_like(reconstruction)
    for t in range(1, schedule.n_steps + 1):
        noise = draws(t)
        for one in noise:
            x_t = add_noise(schedule, x_0, t, one)
            if t == 1:
                reconstruction = reconstruction + log_normal(x_0, *reverse(x_t, 1)) / len(noise)
            else:
                consistency = consistency + _consistency(schedule, x_0, reverse, t, x_t) / len(noise)
    return BoundParts(reconstruction, prior_matching(schedule, x_0), consistency)


def consistency_terms(schedule: NoiseSchedule, states: Tensor, reverse: ReverseKernel) -> Tensor:
    """The divergence of every step t = 2..T on a path of the chain, (T + 1, n, ...): (T - 1, n)."""
    steps = range(2, schedule.n_steps + 1)
    terms = [_consistency(schedule, states[0], reverse, t, states[t]) for t in steps]
    return torch.stack(terms) if terms else torch.zeros(0, states.shape[1], dtype=states.dtype)


def sampled_consistency(
    schedule: NoiseSchedule, x_0: Tensor, reverse: ReverseKernel, generator: torch.Generator
) -> Tensor:
    r"""One random step :math:`t \sim U\{2, \dots, T\}` per row, times T - 1: unbiased for the sum over all steps."""
    steps = torch.randint(2, schedule.n_steps + 1, (len(x_0),), generator=generator, device=generator.device)
    noise = torch.randn(x_0.shape, generator=generator, dtype=x_0.dtype, device=x_0.device)
    terms = torch.zeros(len(x_0), dtype=x_0.dtype)
    for t in steps.unique().tolist():
        rows = steps == t
        x_t = add_noise(schedule, x_0[rows], t, noise[rows])
        terms[rows] = _consistency(schedule, x_0[rows], reverse, t, x_t)
    return (schedule.n_steps - 1) * terms


def _consistency(schedule: NoiseSchedule, x_0: Tensor, reverse: ReverseKernel, t: int, x_t: Tensor) -> Tensor:
    return kl_round_normals(*posterior(schedule, x_t, x_0, t), *reverse(x_t, t))


def _log_prior(x: Tensor) -> Tensor:
    return log_normal(x, torch.zeros_like(x), torch.ones((), dtype=x.dtype))


def _log_forward(schedule: NoiseSchedule, states: Tensor, t: int) -> Tensor:
    mean = schedule.at(schedule.alphas.sqrt(), t, states[0]) * states[t - 1]
    return log_normal(states[t], mean, schedule.at(schedule.betas, t, states[0]))


def _row_sums(values: Tensor) -> Tensor:
    return values.reshape(len(values), -1).sum(dim=1)
