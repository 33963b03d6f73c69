"""The variational bound of a diffusion, on data N(0, 1), whose reverse step is N(sqrt(alpha) x, 1 - alpha)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS
from margin.notes.claims.diffusion.chain import column, seeded_noise, small

X = 0.8
EVIDENCE = -0.5 * (math.log(2 * math.pi) + X**2)  # log N(0.8; 0, 1) = -1.23894
DRAWS = 4000


def fifty() -> Any:
    from margin.generative.diffusion.schedules import NoiseSchedule

    return NoiseSchedule([0.06] * 50)


def kernel(schedule: Any, factor: float = 1.0) -> Any:
    """The exact reverse step of standard normal data, its mean times ``factor``."""
    return lambda x, t: (factor * schedule.alphas[t].sqrt() * x, schedule.betas[t])


def mean_and_error(values: Any) -> tuple[float, float]:
    return float(values.mean()), ERRORS * math.sqrt(float(values.var()) / len(values))


def as_scored(schedule: Any, factor: float = 1.0) -> Any:
    """The parts of the bound at X as models score rows, with quantiles of the noise as its draws."""
    import torch
    from scipy.special import ndtri

    from margin.generative.diffusion.bound import bound_at_draws

    noise = torch.from_numpy(ndtri((np.arange(60) + 0.5) / 60))[:, None]
    return bound_at_draws(schedule, column(X), kernel(schedule, factor), lambda _: noise)


@claim("diffusion-elbo-bound")
def the_bound_is_the_evidence_for_the_exact_kernel_and_below_it_for_another(seed: int) -> Verdict:
    from margin.generative.diffusion.bound import bound_direct

    schedule, x = fifty(), column(*[X] * DRAWS)
    exact = bound_direct(schedule, x[:100], kernel(schedule), seeded_noise(seed))
    wrong, error = mean_and_error(bound_direct(schedule, x, kernel(schedule, 0.9), seeded_noise(seed)))
    draws = np.exp(np.random.default_rng(seed).normal(size=100_000))
    ratios, evidence = _narrow_data(seed)
    return corrected(
        every(
            number=near(EVIDENCE, -1.23894, tolerance=5e-6),
            exact_without_variance=near(exact.numpy(), np.full(100, EVIDENCE), tolerance=1e-9),
            below_for_another_model=below(wrong + error, EVIDENCE),
            as_run=near(float(as_scored(schedule, 0.9).total), wrong, tolerance=error + 0.02),
            logarithm_of_the_mean_ratio=near(float(np.log(np.exp(ratios).mean())), evidence, tolerance=0.1),
        ),
        # log E[X] = 1/2 for a lognormal X, E[log X] = 0: the inequality of a convex function points the other way.
        jensen_for_convex=below(float(np.log(draws.mean())), float(np.log(draws).mean())),
        inner_logarithm=near(float(np.log(ratios.mean())), evidence, tolerance=0.1),
        forward_steps_in_the_numerator=near(_forward_numerator(seed), EVIDENCE, tolerance=0.1),
    )


def _narrow_data(seed: int) -> tuple[np.ndarray, float]:
    r"""Draws of :math:`\log p(x_{0:T})/q(x_{1:T}|x_0)` and :math:`\log p(x_0)` for data N(0, 0.1^2), at x_0 = 0.05.

    The density is above 1 there, so that even the logarithm of a logarithm exists.
    """
    from margin.generative.diffusion.bound import bound_direct
    from margin.generative.diffusion.schedules import noise_schedule

    schedule, s = noise_schedule("linear", 100), 0.1
    variances = 1 - schedule.alpha_bars * (1 - s**2)  # of x_t

    def reverse(x: Any, t: int) -> Any:
        ratio = variances[t - 1] / variances[t]
        return schedule.alphas[t].sqrt() * ratio * x, schedule.betas[t] * ratio

    ratios = bound_direct(schedule, column(*[0.05] * 500), reverse, seeded_noise(seed)).numpy()
    return ratios, -0.5 * (math.log(2 * math.pi * s**2) + (0.05 / s) ** 2)


def _forward_numerator(seed: int) -> float:
    r"""The bound with :math:`p(x_T)\,p(x_0|x_1)\prod_{t<T} q(x_t|x_{t-1})` as numerator, as the notes print it.

    Four steps: all forward steps but the last cancel and leave the two ends.
    """
    import torch

    from margin.generative.diffusion.bound import log_normal
    from margin.generative.diffusion.chain import walk

    schedule, x = small(), column(*[X] * DRAWS)
    states = walk(schedule, x, seeded_noise(seed))
    prior = log_normal(states[-1], torch.zeros_like(x), torch.ones((), dtype=torch.float64))
    last = schedule.n_steps
    forward = log_normal(states[last], schedule.alphas[last].sqrt() * states[last - 1], schedule.betas[last])
    return float((prior + log_normal(x, *kernel(schedule)(states[1], 1)) - forward).mean())


@claim("diffusion-elbo-first-form")
def the_triple_form_is_the_bound_and_the_printed_one_is_not(seed: int) -> Verdict:
    from margin.generative.diffusion.bound import bound_from_pairs, bound_from_triples
    from margin.generative.diffusion.schedules import NoiseSchedule

    schedule, x = fifty(), column(*[X] * DRAWS)
    triple, error = mean_and_error(bound_from_triples(schedule, x, kernel(schedule), seeded_noise(seed)).total)
    printed, _ = mean_and_error(bound_from_pairs(schedule, x, kernel(schedule), seeded_noise(seed)).total)
    two = NoiseSchedule([0.3, 0.3])
    short, short_error = mean_and_error(bound_from_triples(two, x, kernel(two), seeded_noise(seed)).total)
    short_printed, _ = mean_and_error(bound_from_pairs(two, x, kernel(two), seeded_noise(seed)).total)
    return corrected(
        every(
            triple_form=near(triple, EVIDENCE, tolerance=error),
            as_run=near(float(as_scored(schedule).total), triple, tolerance=error + 0.02),
            two_steps=near(short, EVIDENCE, tolerance=short_error),
            number_of_the_printed_form=near(printed, -47.3, tolerance=1.0),
            number_of_two_steps=near(short_printed, -1.941, tolerance=0.1),
        ),
        printed=near(printed, EVIDENCE, tolerance=1.0),
    )


@claim("claim-first-form-higher-variance")
def which_form_varies_more_depends_on_the_model(seed: int) -> Verdict:
    from margin.generative.diffusion.bound import bound_from_posteriors, bound_from_triples

    schedule, x = fifty(), column(*[X] * 2 * DRAWS)
    variances = {
        (name, factor): float(form(schedule, x, kernel(schedule, factor), seeded_noise(seed)).total.var())
        for name, form in (("triple", bound_from_triples), ("second", bound_from_posteriors))
        for factor in (1.0, 0.9)
    }
    return corrected(
        every(
            bad_model_triple=near(variances["triple", 0.9], 19.8, tolerance=2.5),
            bad_model_second=near(variances["second", 0.9], 7.55, tolerance=1.5),
            exact_model_triple=near(variances["triple", 1.0], 0.50, tolerance=0.08),
            exact_model_second=near(variances["second", 1.0], 1.93, tolerance=0.4),
        ),
        always_higher=above(variances["triple", 1.0], variances["second", 1.0]),
    )


@claim("diffusion-elbo-second-form")
def the_second_form_is_the_bound_and_scores_held_out_rows(seed: int) -> Verdict:
    from margin.generative import DiffusionModel
    from margin.generative.diffusion.bound import bound_from_posteriors

    schedule, x = fifty(), column(*[X] * DRAWS)
    value, error = mean_and_error(bound_from_posteriors(schedule, x, kernel(schedule), seeded_noise(seed)).total)
    rng = np.random.default_rng(seed)
    train, test = rng.normal(size=(2, 300, 1))
    model = DiffusionModel((32,), n_steps=30, max_iter=40, batch_size=32, learning_rate_init=0.01, random_state=seed)
    model.fit(train)
    parts, scores = model.bound_parts(test), model.score_samples(test)
    evidence = -0.5 * (np.log(2 * np.pi) + test[:, 0] ** 2)
    return every(
        exact_kernel=near(value, EVIDENCE, tolerance=error),
        parts_are_divergences=above(float(min(parts.prior_matching.min(), parts.consistency.min())), 0.0),
        below_the_evidence_but_near=within(float((scores - evidence).mean()), -0.5, 0.05),
        ranks_held_out_rows=above(float(np.corrcoef(scores, evidence)[0, 1]), 0.9),
    )


@claim("diffusion-reconstruction-term")
def the_reconstruction_is_reported_and_is_that_of_a_vae_for_one_step(seed: int) -> Verdict:
    ours, theirs, _, _ = one_step(seed)
    return every(
        reconstruction=near(ours.reconstruction.numpy(), theirs[0].numpy(), tolerance=1e-10),
        no_other_terms=near(ours.consistency.numpy(), np.zeros(50), tolerance=0.0),
    )


@claim("claim-diffusion-t1-is-vae")
def one_step_is_a_variational_autoencoder(seed: int) -> Verdict:
    ours, theirs, _, _ = one_step(seed)
    return every(
        reconstruction=near(ours.reconstruction.numpy(), theirs[0].numpy(), tolerance=1e-10),
        prior=near(ours.prior_matching.numpy(), theirs[1].numpy(), tolerance=1e-10),
        bound=near(ours.total.numpy(), (theirs[0] - theirs[1]).numpy(), tolerance=1e-10),
    )


def one_step(seed: int) -> Any:
    """Parts of the bound with T = 1, and the terms of a VAE with the same encoder, decoder and draws."""
    import torch

    from margin.generative.diffusion.bound import bound_from_posteriors
    from margin.generative.diffusion.schedules import NoiseSchedule
    from margin.generative.elbo import gaussian_log_likelihood, kl_to_standard_normal, reparameterize

    schedule, beta, spread = NoiseSchedule([0.4]), 0.4, 0.3
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(50, 2)))
    ours = bound_from_posteriors(
        schedule, x, lambda z, _: (0.7 * z, torch.tensor(spread, dtype=torch.float64)), seeded_noise(seed)
    )
    noise = torch.randn(x.shape, generator=seeded_noise(seed), dtype=torch.float64)
    mean, log_variance = math.sqrt(1 - beta) * x, torch.full_like(x, math.log(beta))
    z = reparameterize(mean, log_variance, noise)
    log_spread = torch.tensor(math.log(spread), dtype=torch.float64)
    terms = (gaussian_log_likelihood(x, 0.7 * z, log_spread), kl_to_standard_normal(mean, log_variance))
    return ours, terms, x, z


@claim("diffusion-consistency-term")
def every_step_has_a_divergence_that_vanishes_for_the_posterior(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.bound import consistency_terms
    from margin.generative.diffusion.chain import posterior, walk

    schedule = small()
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(40, 2)))
    states = walk(schedule, x, seeded_noise(seed))
    known = consistency_terms(schedule, states, lambda x_t, t: posterior(schedule, x_t, x, t))
    other = consistency_terms(schedule, states, kernel(schedule, 0.8))
    truth = every(
        one_per_step=equal(tuple(known.shape), (3, 40)),
        zero_for_the_posterior=near(known.numpy(), np.zeros((3, 40)), tolerance=1e-12),
        positive_for_another=above(float(other.min()), 0.0),
        two_variable_optimum=near(_two_variable_slope(0.8, seed), 0.8**3, tolerance=0.02),
    )
    # For data of variance 1 the reverse step multiplies by a, whatever the step.
    return corrected(truth, printed=near(_two_variable_slope(0.8, seed), 0.8, tolerance=0.02))


def _two_variable_slope(a: float, seed: int) -> float:
    """Slope of the normal p(x_t | x_{t+1}) nearest to q(x_t | x_{t-1}) on average, for rows of variance 1.

    The divergence of normals of one width is the squared distance of their means, a x_{t-1} and slope times x_{t+1},
    so the best slope is that of a regression.
    """
    rng = np.random.default_rng(seed)
    before = rng.normal(size=100_000)
    step = lambda x: a * x + math.sqrt(1 - a**2) * rng.normal(size=x.size)  # noqa: E731
    after = step(step(before))
    return float(np.mean(a * before * after) / np.mean(after**2))


@claim("diffusion-expected-timestep-loss")
def a_random_step_times_their_number_is_the_sum(seed: int) -> Verdict:
    from margin.generative.diffusion.bound import consistency_terms, sampled_consistency
    from margin.generative.diffusion.chain import walk

    schedule, x = small(), column(*[0.5] * 40_000)
    reverse = kernel(schedule, 0.7)
    summed, error = mean_and_error(
        consistency_terms(schedule, walk(schedule, x, seeded_noise(seed)), reverse).sum(dim=0)
    )
    single, single_error = mean_and_error(sampled_consistency(schedule, x, reverse, seeded_noise(seed + 1)))
    return every(
        unbiased=near(single, summed, tolerance=error + single_error),
        factor=near(single / (schedule.n_steps - 1), summed / 3, tolerance=(error + single_error) / 3),
    )
