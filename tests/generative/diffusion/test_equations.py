"""Closed forms of a diffusion against conditioning, numerical integration, finite differences and simulation."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from margin.generative.diffusion.bound import (
    bound_at_draws,
    bound_direct,
    bound_from_pairs,
    bound_from_posteriors,
    bound_from_triples,
    consistency_terms,
    kl_round_normals,
    prior_matching,
    sampled_consistency,
)
from margin.generative.diffusion.chain import add_noise, forward_step, noised_law, posterior, posterior_variance, walk
from margin.generative.diffusion.predictions import (
    PREDICTIONS,
    convert,
    kl_weight,
    reverse_mean,
    reverse_mean_from_noise,
    reverse_mean_from_score,
)
from margin.generative.diffusion.schedules import NOISE_SCHEDULES, NoiseSchedule, cosine_betas, linear_betas

SMALL = NoiseSchedule([0.1, 0.2, 0.3, 0.4])


def column(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", NOISE_SCHEDULES)
@pytest.mark.parametrize("n_steps", [20, 100, 1000])
def test_schedules_end_in_noise(name, n_steps):
    betas = NOISE_SCHEDULES[name](n_steps)
    assert len(betas) == n_steps
    assert np.all((betas > 0) & (betas < 1))
    assert np.all(np.diff(betas) >= 0)
    assert NoiseSchedule(betas).alpha_bars[-1] < 0.01


def test_schedules_have_the_published_numbers():
    assert float(NoiseSchedule(linear_betas(1000)).alpha_bars[-1]) == pytest.approx(4.04e-5, abs=5e-8)
    bars = NoiseSchedule(cosine_betas(1000)).alpha_bars.numpy()
    f = np.cos((np.arange(1000) / 1000 + 0.008) / 1.008 * np.pi / 2) ** 2
    np.testing.assert_allclose(bars[:999], (f / f[0])[:999], rtol=1e-9)


@pytest.mark.parametrize("betas", [[0.0, 0.1], [0.1, 1.0], [], [[0.1]]])
def test_betas_outside_the_open_interval_are_refused(betas):
    with pytest.raises(ValueError, match="NoiseSchedule: betas must"):
        NoiseSchedule(betas)


def test_closed_form_is_the_chain():
    x_0 = torch.full((200_000, 1), 1.7, dtype=torch.float64)
    states = walk(SMALL, x_0, seeded(3))
    mean, variance = noised_law(SMALL, x_0[:1], 4)
    assert float(mean) == pytest.approx(0.9348, abs=5e-5)
    assert float(variance) == pytest.approx(0.6976, abs=5e-5)
    assert float(states[4].mean()) == pytest.approx(float(mean), abs=0.01)
    assert float(states[4].var()) == pytest.approx(float(variance), abs=0.01)


def test_one_step_is_the_closed_form_at_one():
    x, noise = torch.randn(5, 3, generator=seeded()), torch.randn(5, 3, generator=seeded(1))
    torch.testing.assert_close(forward_step(SMALL, x, 1, noise), add_noise(SMALL, x, 1, noise))


def test_steps_may_differ_by_row():
    x, noise = torch.randn(4, 2, 3, generator=seeded()), torch.randn(4, 2, 3, generator=seeded(1))
    together = add_noise(SMALL, x, torch.tensor([1, 2, 3, 4]), noise)
    for row, t in enumerate([1, 2, 3, 4]):
        torch.testing.assert_close(together[row], add_noise(SMALL, x[row : row + 1], t, noise[row : row + 1])[0])


def test_posterior_is_conditioning_of_the_joint_normal():
    """x_{t-1} and x_t given x_0 are jointly normal; conditioning the pair gives the posterior."""
    x_0, t = 0.3, 4
    x_t = add_noise(SMALL, column(x_0), t, column(0.7))
    bar, alpha = float(SMALL.alpha_bars[t - 1]), float(SMALL.alphas[t])
    mean = np.array([math.sqrt(bar) * x_0, math.sqrt(alpha * bar) * x_0])
    covariance = np.array([[1 - bar, math.sqrt(alpha) * (1 - bar)], [0, 1 - alpha * bar]])
    covariance[1, 0] = covariance[0, 1]
    gain = covariance[0, 1] / covariance[1, 1]
    found_mean, found_variance = posterior(SMALL, x_t, column(x_0), t)
    assert float(found_mean) == pytest.approx(mean[0] + gain * (float(x_t) - mean[1]), abs=1e-12)
    assert float(found_variance) == pytest.approx(covariance[0, 0] - gain * covariance[0, 1], abs=1e-12)
    assert float(found_mean) == pytest.approx(0.534976, abs=5e-7)
    assert float(found_variance) == pytest.approx(0.284404, abs=5e-7)


def test_the_first_posterior_is_a_point():
    mean, variance = posterior(SMALL, column(0.5), column(-1.0), 1)
    assert float(mean) == pytest.approx(-1.0, abs=1e-12)
    assert float(variance) == 0.0


@pytest.mark.parametrize("given", PREDICTIONS)
@pytest.mark.parametrize("wanted", PREDICTIONS)
def test_predictions_convert_and_come_back(given, wanted):
    schedule = NoiseSchedule(linear_betas(50))
    t = torch.tensor([1, 10, 30, 50])
    x_t, value = torch.randn(2, 4, 3, generator=seeded(), dtype=torch.float64)
    there = convert(schedule, value, x_t, t, given=given, wanted=wanted)
    back = convert(schedule, there, x_t, t, given=wanted, wanted=given)
    torch.testing.assert_close(back, value, rtol=1e-10, atol=1e-10)


def test_predictions_are_what_they_say():
    x_0, noise = torch.randn(2, 6, 3, generator=seeded(4), dtype=torch.float64)
    t = torch.tensor([1, 2, 2, 3, 4, 4])
    x_t = add_noise(SMALL, x_0, t, noise)
    a, b = SMALL.signal(t, x_0), SMALL.noise(t, x_0)
    truth = {
        "epsilon": noise,
        "x0": x_0,
        "v": a * noise - b * x_0,
        "velocity": x_0 - noise,
        "score": -(x_t - a * x_0) / b**2,
    }
    for given in PREDICTIONS:
        for wanted in PREDICTIONS:
            found = convert(SMALL, truth[given], x_t, t, given=given, wanted=wanted)
            torch.testing.assert_close(found, truth[wanted], rtol=1e-10, atol=1e-10)


def test_weighted_errors_of_all_predictions_are_one_divergence():
    x_0, guess, t = column(0.3), column(0.9), 4
    x_t = add_noise(SMALL, x_0, t, column(0.7))
    _, variance = posterior(SMALL, x_t, x_0, t)
    means = [posterior(SMALL, x_t, x, t)[0] for x in (x_0, guess)]
    divergence = float(kl_round_normals(means[0], variance, means[1], variance))
    assert divergence == pytest.approx(0.1048757, abs=5e-8)
    for kind in PREDICTIONS:
        errors = [convert(SMALL, x, x_t, t, given="x0", wanted=kind) for x in (x_0, guess)]
        weighted = float(kl_weight(SMALL, kind)[t] * (errors[0] - errors[1]).square().sum())
        assert weighted == pytest.approx(divergence, rel=1e-10), kind


def test_means_from_noise_and_score_are_that_from_clean_data():
    x_0, noise = torch.randn(2, 5, 2, generator=seeded(1), dtype=torch.float64)
    for t in (2, 3, 4):
        x_t = add_noise(SMALL, x_0, t, noise)
        score = convert(SMALL, x_0, x_t, t, given="x0", wanted="score")
        expected = reverse_mean(SMALL, x_0, x_t, t, "x0")
        torch.testing.assert_close(reverse_mean_from_noise(SMALL, noise, x_t, t), expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(reverse_mean_from_score(SMALL, score, x_t, t), expected, rtol=1e-12, atol=1e-12)


def exact_kernel(schedule, factor=1.0):
    """The reverse step of standard normal data: E[x_{t-1}|x_t] = sqrt(alpha_t) x_t, of variance 1 - alpha_t."""

    def reverse(x, t):
        return factor * schedule.alphas[t].sqrt() * x, schedule.betas[t]

    return reverse


def test_bounds_of_normal_data_are_exact():
    schedule, x = NoiseSchedule([0.06] * 50), column(*[0.8] * 4000)
    truth = -0.5 * math.log(2 * math.pi) - 0.5 * 0.8**2
    direct = bound_direct(schedule, x, exact_kernel(schedule), seeded())
    torch.testing.assert_close(direct, torch.full_like(direct, truth), rtol=0, atol=1e-9)
    assert truth == pytest.approx(-1.23894, abs=5e-6)
    for form, variance in ((bound_from_triples, 0.50), (bound_from_posteriors, 1.93)):
        values = form(schedule, x, exact_kernel(schedule), seeded(1)).total
        assert float(values.mean()) == pytest.approx(truth, abs=5 * math.sqrt(variance / len(x)))
        assert float(values.var()) == pytest.approx(variance, rel=0.15)
    printed = bound_from_pairs(schedule, x, exact_kernel(schedule), seeded(1)).total
    assert float(printed.mean()) == pytest.approx(-47.3, abs=0.5)


def test_balanced_draws_give_the_bound_of_a_linear_kernel_exactly():
    """For a linear reverse mean every term is quadratic in the noise, so draws of mean 0 and variance 1 are enough."""
    schedule, x = NoiseSchedule([0.06] * 50), column(0.8, -1.3)
    both = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    found = bound_at_draws(schedule, x, exact_kernel(schedule), lambda t: both).total
    np.testing.assert_allclose(found, -0.5 * (math.log(2 * math.pi) + x[:, 0] ** 2), atol=1e-9)


def test_forms_agree_for_a_wrong_model():
    schedule, x = NoiseSchedule([0.06] * 50), column(*[0.8] * 20_000)
    reverse = exact_kernel(schedule, 0.9)
    values = {
        form.__name__: form(schedule, x, reverse, seeded(2)) for form in (bound_from_triples, bound_from_posteriors)
    }
    direct = bound_direct(schedule, x, reverse, seeded(3))
    assert float(direct.mean()) < -1.24 - 1.0
    for name, parts in values.items():
        spread = math.sqrt(float(parts.total.var() + direct.var()) / len(x))
        assert float(parts.total.mean() - direct.mean()) == pytest.approx(0, abs=5 * spread), name
    assert float(values["bound_from_triples"].total.var()) == pytest.approx(19.8, rel=0.1)
    assert float(values["bound_from_posteriors"].total.var()) == pytest.approx(7.55, rel=0.1)


def test_consistency_is_zero_for_a_model_that_knows_the_clean_data():
    x_0 = torch.randn(6, 2, generator=seeded(), dtype=torch.float64)
    terms = consistency_terms(SMALL, walk(SMALL, x_0, seeded(1)), lambda x, t: posterior(SMALL, x, x_0, t))
    assert terms.shape == (3, 6)
    torch.testing.assert_close(terms, torch.zeros_like(terms), rtol=0, atol=1e-12)


def test_a_random_step_is_unbiased_for_the_sum():
    x_0 = column(*[0.5] * 100_000)
    reverse = exact_kernel(SMALL, 0.7)
    whole = consistency_terms(SMALL, walk(SMALL, x_0, seeded(1)), reverse).sum(dim=0)
    single = sampled_consistency(SMALL, x_0, reverse, seeded(2))
    error = math.sqrt(float(whole.var() + single.var()) / len(x_0))
    assert float(single.mean()) == pytest.approx(float(whole.mean()), abs=5 * error)


def test_prior_matching_is_an_integral_and_vanishes():
    mean, variance = (float(value) for value in noised_law(SMALL, column(1.3), 4))

    def integrand(x):
        log_q = -0.5 * ((x - mean) ** 2 / variance + math.log(2 * math.pi * variance))
        return math.exp(log_q) * (log_q + 0.5 * (x * x + math.log(2 * math.pi)))

    assert float(prior_matching(SMALL, column(1.3))) == pytest.approx(quad(integrand, -8, 10)[0], abs=1e-8)
    long = NoiseSchedule(np.linspace(1e-4, 0.02, 1000))
    assert float(prior_matching(long, column(1.0))) == pytest.approx(0.5 * 4.04e-5, rel=0.01)


def test_posterior_variance_is_below_the_forward_one():
    variance = posterior_variance(SMALL)
    assert torch.all(variance[2:] < SMALL.betas[2:])
