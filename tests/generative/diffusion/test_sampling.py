"""Samplers and score losses against mixtures whose scores, denoisers and laws are known."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import kstest, norm

from margin.generative.diffusion.flow_matching import between, exact_velocity, flow_matching_loss, integrate
from margin.generative.diffusion.guidance import drop_condition, guide
from margin.generative.diffusion.langevin import annealed_langevin, geometric_levels, langevin
from margin.generative.diffusion.mixture import ExactMixture
from margin.generative.diffusion.samplers import SAMPLERS, ancestral, ddim, last, second_order, spaced_steps
from margin.generative.diffusion.schedules import NOISE_SCHEDULES, NoiseSchedule, linear_betas, noise_schedule
from margin.generative.diffusion.scores import (
    denoise_by_score,
    denoising_score_matching,
    fisher_divergence,
    implicit_score_matching,
    sliced_score_matching,
)

TWO = ExactMixture([[-2.0, 0.0], [2.0, 1.0]], [0.5, 0.8], [0.3, 0.7])
LINE = ExactMixture([[-1.5], [1.0]], [0.4, 0.3], [0.4, 0.6])
LONG = NoiseSchedule(linear_betas(1000))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def normals(*shape, seed=0):
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def clean_of(mixture, schedule):
    def clean(x, t):
        bar = float(schedule.alpha_bars[t])
        return mixture.denoise(x, math.sqrt(bar), math.sqrt(1 - bar))

    return clean


def cdf(mixture):
    means, deviations = mixture.means[:, 0].numpy(), mixture.variances.sqrt().numpy()
    return lambda x: (mixture.weights.numpy() * norm.cdf((np.asarray(x)[:, None] - means) / deviations)).sum(axis=1)


def test_score_is_the_gradient_of_the_log_density():
    x = (3 * normals(20, 2)).requires_grad_(True)
    (gradient,) = torch.autograd.grad(TWO.log_density(x).sum(), x)
    torch.testing.assert_close(TWO.score(x.detach()), gradient, rtol=1e-10, atol=1e-10)


def test_the_denoiser_is_the_mean_by_integration():
    """E[x|y] over a fine grid of x, and Tweedie's formula for the same y."""
    grid = torch.linspace(-6, 6, 20_001, dtype=torch.float64)[:, None]
    signal, noise = 0.8, 0.6
    for y in (-1.3, 0.2, 1.1):
        weight = torch.exp(LINE.log_density(grid) - 0.5 * ((y - signal * grid[:, 0]) / noise) ** 2)
        expected = float((weight * grid[:, 0]).sum() / weight.sum())
        point = torch.tensor([[y]], dtype=torch.float64)
        assert float(LINE.denoise(point, signal, noise)) == pytest.approx(expected, abs=1e-9)
        tweedie = denoise_by_score(point, LINE.scaled(signal, noise).score(point), noise) / signal
        assert float(tweedie) == pytest.approx(expected, abs=1e-9)


def test_ancestral_sampling_with_the_exact_denoiser_gives_the_data():
    schedule = NoiseSchedule(linear_betas(200))
    x = last(ancestral(schedule, clean_of(LINE, schedule), normals(4000, 1), seeded(1)))
    assert kstest(x[:, 0].numpy(), cdf(LINE)).pvalue > 1e-3


@pytest.mark.parametrize("sampler", [ddim, second_order, ancestral, partial(second_order, tau=1.0)])
def test_fewer_steps_give_the_data_too(sampler):
    x = last(sampler(LONG, clean_of(LINE, LONG), normals(4000, 1, seed=5), seeded(1), 100))
    assert kstest(x[:, 0].numpy(), cdf(LINE)).statistic < 0.04


def quantile_map(mixture, u):
    """Where the deterministic flow of a law on the line carries normal quantiles: it keeps the order of points."""
    law = cdf(mixture)
    return np.array([brentq(lambda x, p=p: law([x])[0] - p, -9, 9) for p in u])[:, None]


@pytest.mark.parametrize("name", NOISE_SCHEDULES)
def test_deterministic_samplers_reach_the_quantiles_at_their_order(name):
    """Twice the steps halve the error of DDIM and divide that of the second-order sampler by about four."""
    u = (np.arange(100) + 0.5) / 100
    start, truth = torch.from_numpy(norm.ppf(u))[:, None], torch.from_numpy(quantile_map(LINE, u))
    schedule = noise_schedule(name, 1000)
    errors = {
        (sampler.__name__, n): float(
            (last(sampler(schedule, clean_of(LINE, schedule), start, seeded(), n)) - truth).abs().mean()
        )
        for sampler in (ddim, second_order)
        for n in (10, 20, 40)
    }
    assert 1.7 < errors["ddim", 20] / errors["ddim", 40] < 2.3
    assert errors["second_order", 10] / errors["second_order", 40] > 16
    assert errors["second_order", 20] < 0.5 * errors["ddim", 40]
    assert errors["second_order", 20] < 0.01


def test_ddim_with_full_noise_is_the_ancestral_chain():
    schedule = NoiseSchedule(linear_betas(30))
    clean, start = clean_of(LINE, schedule), normals(50, 1)
    one, other = ancestral(schedule, clean, start, seeded(3)), ddim(schedule, clean, start, seeded(3), eta=1.0)
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_a_first_step_with_new_noise_is_the_ancestral_one():
    """Before there is an earlier prediction to extrapolate from, tau 1 is the posterior of the left-out steps."""
    clean, start = clean_of(LINE, LONG), normals(50, 1)
    one, other = (sampler(LONG, clean, start, seeded(3), 20) for sampler in (ancestral, SAMPLERS["dpm2-sde"]))
    torch.testing.assert_close(next(one), next(other), rtol=1e-9, atol=1e-9)


def final_deviation(sampler, n, deviation):
    """Of what a sampler makes of normal data with this deviation, whose denoiser is linear: exact, without draws.

    Then the sample is a linear function of the start and of every noise, and independent ones add their variances.
    ``randn`` is replaced by one unit vector per call, so that columns hold the coefficients.
    """
    schedule = noise_schedule("cosine", 1000)
    clean = clean_of(ExactMixture([[0.0]], [deviation], [1.0]), schedule)
    units = iter(torch.eye(n + 1, dtype=torch.float64)[1:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "randn", lambda *_, **__: next(units)[:, None])
        x = last(sampler(schedule, clean, torch.eye(n + 1, dtype=torch.float64)[0][:, None], seeded(), n))
    return float(x.square().sum().sqrt())


@pytest.mark.parametrize("deviation", [0.3, 0.7])
def test_new_noise_reaches_the_law_of_the_data_sooner_by_extrapolation(deviation):
    for n in (20, 40, 80):
        plain, extrapolated = (
            abs(final_deviation(SAMPLERS[name], n, deviation) - deviation) for name in ("ddpm", "dpm2-sde")
        )
        assert extrapolated < 0.5 * plain
    before, after = (abs(final_deviation(SAMPLERS["dpm2-sde"], n, deviation) - deviation) for n in (40, 80))
    assert after < 0.6 * before


def test_leaping_to_the_next_step_is_the_step():
    from margin.generative.diffusion.chain import posterior
    from margin.generative.diffusion.samplers import _leap

    x, x_0 = normals(2, 4, 3)
    for one, other in zip(_leap(LONG, x, x_0, 500, 499), posterior(LONG, x, x_0, 500)):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NOISE_SCHEDULES)
def test_chosen_steps_are_evenly_spaced_in_the_angle_of_the_noise(name):
    schedule = noise_schedule(name, 1000)
    steps = spaced_steps(schedule, 20)
    bars = schedule.alpha_bars.numpy()[steps]
    angles = np.arctan2(np.sqrt(1 - bars), np.sqrt(bars))
    all_bars = schedule.alpha_bars.numpy()
    ratios = np.sqrt(all_bars / np.maximum(1 - all_bars, 1e-300))
    assert ratios[steps[0]] >= 0.006
    assert steps[0] == 1000 or ratios[steps[0] + 1] < 0.006
    assert steps[-1] == 0
    np.testing.assert_allclose(-np.diff(angles), angles[0] / 20, atol=0.01)
    assert spaced_steps(schedule) == list(range(1000, -1, -1))


@pytest.mark.parametrize("n", [0, 11])
def test_steps_must_be_some_of_those_there_are(n):
    with pytest.raises(ValueError, match="n_chosen must be from 1 to the 10 steps"):
        spaced_steps(NoiseSchedule(linear_betas(10)), n)


def test_langevin_finds_mean_and_covariance():
    target = ExactMixture([[1.0, -2.0]], [0.7], [1.0])
    x = langevin(target.score, normals(4000, 2), 0.02, 400, seeded(1))
    np.testing.assert_allclose(x.mean(dim=0), [1, -2], atol=0.06)
    np.testing.assert_allclose(np.cov(x.numpy().T), 0.49 * np.eye(2), atol=0.05)


def test_langevin_is_stuck_between_far_modes_and_annealing_is_not():
    far = ExactMixture([[-4.0], [4.0]], [0.5, 0.5], [0.2, 0.8])
    start = 8 * torch.rand(2000, 1, generator=seeded(), dtype=torch.float64) - 4
    plain = langevin(far.score, start, 0.01, 400, seeded(1))
    assert float((plain > 0).double().mean()) == pytest.approx(0.5, abs=0.06)
    states = annealed_langevin(
        lambda x, sigma: far.scaled(1.0, sigma).score(x),
        start,
        geometric_levels(10.0, 0.05, 30),
        seeded(1),
        step=0.1,
        steps_per_level=30,
    )
    annealed = last(states)
    assert float((annealed > 0).double().mean()) == pytest.approx(0.8, abs=0.05)


def scaled_score(mixture, factor):
    return lambda x: factor * mixture.score(x)


def test_losses_differ_from_half_the_fisher_divergence_by_a_constant():
    """Implicit and sliced losses of two wrong scores differ by what their Fisher divergences differ by."""
    x = TWO.sample(40_000, seeded(1))
    directions = torch.sign(normals(*x.shape, seed=2))
    truth = TWO.score(x)
    half = [0.5 * float(fisher_divergence(scaled_score(TWO, f), x, truth).mean()) for f in (1.0, 1.6)]
    implicit = [float(implicit_score_matching(scaled_score(TWO, f), x).detach().mean()) for f in (1.0, 1.6)]
    sliced = [float(sliced_score_matching(scaled_score(TWO, f), x, directions).detach().mean()) for f in (1.0, 1.6)]
    assert half[0] == 0
    assert implicit[1] - implicit[0] == pytest.approx(half[1], rel=0.05)
    assert sliced[1] - sliced[0] == pytest.approx(half[1], rel=0.05)


def test_denoising_loss_is_least_at_the_score_of_the_noisy_data():
    x, noise, sigma = TWO.sample(20_000, seeded(1)), normals(20_000, 2, seed=2), 0.6
    noisy = TWO.scaled(1.0, sigma)
    losses = {f: float(denoising_score_matching(scaled_score(noisy, f), x, sigma, noise).mean()) for f in (0.8, 1, 1.2)}
    assert losses[1] < min(losses[0.8], losses[1.2])


def test_the_implicit_loss_takes_a_linear_score():
    found = implicit_score_matching(lambda x: -2 * x, torch.ones(1, 3, dtype=torch.float64))
    assert float(found.detach()) == 0.5 * 12 - 6


def test_guidance_goes_from_one_prediction_past_the_other():
    free, bound = normals(2, 5, 2)
    torch.testing.assert_close(guide(free, bound, 0.0), free)
    torch.testing.assert_close(guide(free, bound, 1.0), bound)
    torch.testing.assert_close(guide(free, bound, 3.0), 3 * bound - 2 * free)


def test_conditions_are_dropped_as_often_as_said():
    labels = torch.arange(20_000) % 5
    dropped = drop_condition(labels, 5, 0.1, seeded())
    assert float((dropped == 5).double().mean()) == pytest.approx(0.1, abs=0.01)
    assert torch.equal(dropped[dropped != 5], labels[dropped != 5])


def test_exact_velocity_is_the_conditional_mean():
    """The mean of x - eps over draws whose point of the line falls near y."""
    u, n = 0.6, 400_000
    x, noise = LINE.sample(n, seeded(1)), normals(n, 1, seed=2)
    points = between(x, noise, u)
    for y in (-0.5, 0.4):
        near = (points - y).abs() < 0.02
        measured = float((x - noise)[near].mean())
        assert float(exact_velocity(LINE, torch.tensor([[y]], dtype=torch.float64), u)) == pytest.approx(
            measured, abs=0.05
        )


def test_the_exact_velocity_carries_noise_to_data_and_has_the_least_loss():
    x = last(integrate(lambda x, u: exact_velocity(LINE, x, u), normals(4000, 1, seed=3), 100, end=0.999))
    assert kstest(x[:, 0].numpy(), cdf(LINE)).statistic < 0.03
    data, noise, u = LINE.sample(20_000, seeded(1)), normals(20_000, 1, seed=2), 0.5
    best = exact_velocity(LINE, between(data, noise, u), u)
    losses = [float(flow_matching_loss(f * best, data, noise).mean()) for f in (0.9, 1.0, 1.1)]
    assert losses[1] == min(losses)


def test_midpoint_is_second_order():
    exact = math.exp(1)
    start = torch.ones(1, 1, dtype=torch.float64)
    errors = [abs(float(last(integrate(lambda x, u: x, start, n))) - exact) for n in (10, 20)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.15)
