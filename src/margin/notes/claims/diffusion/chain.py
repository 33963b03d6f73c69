"""The forward chain, its posterior and the four predictions, on numbers that the notes' formulas give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS

BETAS = (0.1, 0.2, 0.3, 0.4)  # alphas .9, .8, .7, .6
X_0, NOISE, GUESS, LAST = 0.3, 0.7, 0.9, 4  # the shared test point: clean value, noise, wrong guess, step


def column(*values: float) -> Any:
    import torch

    return torch.tensor(values, dtype=torch.float64)[:, None]


def small() -> Any:
    from margin.generative.diffusion.schedules import NoiseSchedule

    return NoiseSchedule(BETAS)


def seeded_noise(seed: int) -> Any:
    import torch

    return torch.Generator().manual_seed(seed)


@claim("noise-schedule")
def schedules_grow_and_end_in_noise() -> Verdict:
    from margin.generative.diffusion.schedules import cosine_betas, linear_betas, noise_schedule

    parts: dict[str, Verdict] = {}
    for name, betas in {"linear": linear_betas(1000), "cosine": cosine_betas(1000)}.items():
        bars = noise_schedule(name, 1000).alpha_bars.numpy()
        parts |= {
            f"{name}_in_the_open_interval": equal(bool(np.all((betas > 0) & (betas < 1))), True),
            f"{name}_betas_grow": above(float(np.diff(betas).min()), -1e-12),
            f"{name}_signal_falls": below(float(np.diff(bars).max()), 0.0),
            f"{name}_ends_in_noise": below(float(bars[-1]), 0.01),
        }
    return every(**parts)


@claim("diffusion-forward")
def steps_and_closed_form_agree_and_the_end_is_standard_normal(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.chain import add_noise, forward_step, walk
    from margin.generative.diffusion.schedules import NoiseSchedule, noise_schedule

    n, schedule = 40_000, noise_schedule("linear", 60)
    rng = np.random.default_rng(seed)
    data = torch.from_numpy(np.where(rng.random((n, 1)) < 0.3, 3.0, -1.0))
    states = walk(schedule, data, seeded_noise(seed))
    at_once = add_noise(schedule, data, 30, torch.from_numpy(rng.standard_normal((n, 1))))
    unit = torch.from_numpy(rng.standard_normal((n, 1)))
    kept = forward_step(schedule, unit, 30, torch.from_numpy(rng.standard_normal((n, 1))))
    error = 1 / math.sqrt(n)
    truth = every(
        mean_half_way=near(float(states[30].mean()), float(at_once.mean()), tolerance=3 * ERRORS * error),
        variance_half_way=near(float(states[30].var()), float(at_once.var()), tolerance=6 * ERRORS * error),
        mean_at_the_end=near(float(states[-1].mean()), 0.0, tolerance=ERRORS * error + 0.01),
        variance_at_the_end=near(float(states[-1].var()), 1.0, tolerance=1.5 * ERRORS * error),
        unit_variance_is_kept=near(float(kept.var()), 1.0, tolerance=1.5 * ERRORS * error),
        zero_is_refused=raises(ValueError, lambda: NoiseSchedule([0.0, 0.1]), match="strictly between 0 and 1"),
        one_is_refused=raises(ValueError, lambda: NoiseSchedule([0.1, 1.0]), match="strictly between 0 and 1"),
    )
    # A first variance of 0, and later one of 1: both are allowed as printed.
    ends = [_error_of_the_reverse_step(betas, seed) for betas in ((0.0, 0.2), (0.1, 1.0))]
    inside = [_error_of_the_reverse_step(betas, seed) for betas in ((1e-3, 0.2), (0.1, 0.999))]
    # One alpha for all steps, whichever it is, misses the mean of one of the steps from 1.7.
    means = np.sqrt([0.9, 0.8, 0.7, 0.6]) * 1.7
    misses = [float(np.abs(math.sqrt(alpha) * 1.7 - means).max()) for alpha in np.linspace(0, 1, 201)]
    return corrected(
        every(truth=truth, reverse_step_inside=below(max(inside), 1e-9)),
        closed_interval=below(max(ends), 1e-9),
        alpha_without_index=below(min(misses), 0.1),
    )


def _error_of_the_reverse_step(betas: tuple[float, ...], seed: int) -> float:
    r"""How far :math:`(x_t - (1-\alpha_t)\epsilon/\sqrt{1-\bar\alpha_t})/\sqrt{\alpha_t}` is from conditioning.

    On simulated steps, with the noise that is really in :math:`x_t`, as printed.
    """
    rng = np.random.default_rng(seed)
    alphas = 1 - np.array(betas)
    bars = np.cumprod(alphas)
    worst = 0.0
    for alpha, bar, before in zip(alphas, bars, [1.0, *bars[:-1]]):
        x_0, noise = rng.normal(size=(2, 20))
        x_t = np.sqrt(bar) * x_0 + np.sqrt(1 - bar) * noise
        with np.errstate(divide="ignore", invalid="ignore"):
            printed = (x_t - (1 - alpha) / np.sqrt(1 - bar) * noise) / np.sqrt(alpha)
        # Least squares: Cov(x_{t-1}, x_t) / Var(x_t) given x_0, which needs no division if nothing varies.
        gain = np.sqrt(alpha) * (1 - before) / (1 - bar) if bar < 1 else 0.0
        mean = np.sqrt(before) * x_0 + gain * (x_t - np.sqrt(bar) * x_0)
        worst = max(worst, float(np.nan_to_num(np.abs(printed - mean), nan=np.inf).max()))
    return worst


@claim("diffusion-marginal-closed-form")
def the_closed_form_has_the_product_of_the_alphas(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.chain import noised_law, walk

    n, schedule = 100_000, small()
    mean, variance = (float(value) for value in noised_law(schedule, column(1.7), LAST))
    states = walk(schedule, torch.full((n, 1), 1.7, dtype=torch.float64), seeded_noise(seed))
    error = ERRORS * math.sqrt(variance / n)
    simulated = (float(states[LAST].mean()), float(states[LAST].var()))
    truth = every(
        mean=near(mean, 0.9348, tolerance=5e-5),
        variance=near(variance, 0.6976, tolerance=5e-5),
        simulated_mean=near(simulated[0], mean, tolerance=error),
        simulated_variance=near(simulated[1], variance, tolerance=1.5 * error),
    )
    alpha = float(schedule.alphas[LAST])
    return corrected(
        truth,
        alpha_for_the_mean=near(math.sqrt(alpha) * 1.7, simulated[0], tolerance=0.1),
        alpha_for_the_variance=near(1 - alpha, simulated[1], tolerance=0.1),
    )


@claim("diffusion-posterior")
def the_posterior_is_conditioning_of_a_normal_pair() -> Verdict:
    from margin.generative.diffusion.chain import add_noise, posterior

    schedule = small()
    x_t = add_noise(schedule, column(X_0), LAST, column(NOISE))
    bar, alpha = float(schedule.alpha_bars[LAST - 1]), float(schedule.alphas[LAST])
    # Given x_0, (x_{t-1}, x_t) is normal: Var x_{t-1} = 1 - bar, Cov = sqrt(alpha)(1 - bar), Var x_t = 1 - alpha bar.
    gain = math.sqrt(alpha) * (1 - bar) / (1 - alpha * bar)
    mean = math.sqrt(bar) * X_0 + gain * (float(x_t) - math.sqrt(alpha * bar) * X_0)
    variance = (1 - bar) - gain * math.sqrt(alpha) * (1 - bar)
    found_mean, found_variance = (float(value) for value in posterior(schedule, x_t, column(X_0), LAST))
    return every(
        mean=near(found_mean, mean, tolerance=1e-12),
        variance=near(found_variance, variance, tolerance=1e-12),
        printed_mean=near(found_mean, 0.534976, tolerance=5e-7),
        printed_variance=near(found_variance, 0.284404, tolerance=5e-7),
    )


def divergence_and_error(kind: str) -> tuple[float, float]:
    """The KL of the shared test point from its means, and the weighted squared error of a prediction."""
    from margin.generative.diffusion.bound import kl_round_normals
    from margin.generative.diffusion.chain import add_noise, posterior
    from margin.generative.diffusion.predictions import convert, kl_weight, reverse_mean

    schedule = small()
    x_t = add_noise(schedule, column(X_0), LAST, column(NOISE))
    right, wrong = (convert(schedule, column(x), x_t, LAST, given="x0", wanted=kind) for x in (X_0, GUESS))
    mean, variance = posterior(schedule, x_t, column(X_0), LAST)
    guess = reverse_mean(schedule, wrong, x_t, LAST, kind)
    divergence = float(kl_round_normals(mean, variance, guess, variance))
    return divergence, float(kl_weight(schedule, kind)[LAST] * (right - wrong).square().sum())


@claim("diffusion-mean-matching")
def equal_covariances_leave_the_distance_of_the_means(seed: int) -> Verdict:
    import torch

    from margin.foundations.information.gaussians import kl_gaussians
    from margin.generative.diffusion.bound import kl_round_normals

    rng = np.random.default_rng(seed)
    mean, other = rng.normal(size=(2, 3))
    variance = float(rng.uniform(0.1, 2))
    square = float(((mean - other) ** 2).sum() / (2 * variance))
    divergence = kl_round_normals(
        torch.from_numpy(mean)[None], torch.tensor(variance), torch.from_numpy(other)[None], torch.tensor(variance)
    )
    full = kl_gaussians(mean, variance * np.eye(3), other, variance * np.eye(3))
    return every(
        full_divergence=near(full, square, tolerance=1e-10 * max(1, square)),
        ours=near(float(divergence), square, tolerance=1e-6 * max(1, square)),
    )


@claim("diffusion-x0-prediction")
def the_weighted_error_of_clean_data_is_the_divergence() -> Verdict:
    divergence, weighted = divergence_and_error("x0")
    return every(number=near(weighted, 0.1048757, tolerance=5e-8), equal=near(weighted, divergence, tolerance=1e-12))


@claim("diffusion-epsilon-prediction")
def the_weighted_error_of_the_noise_is_the_same_divergence() -> Verdict:
    from margin.generative.diffusion.chain import add_noise
    from margin.generative.diffusion.predictions import reverse_mean, reverse_mean_from_noise

    schedule = small()
    x_t = add_noise(schedule, column(X_0), LAST, column(NOISE))
    mean = float(reverse_mean_from_noise(schedule, column(NOISE), x_t, LAST))
    divergence, weighted = divergence_and_error("epsilon")
    return every(
        mean=near(mean, 0.534976, tolerance=5e-7),
        mean_of_the_clean_form=near(mean, float(reverse_mean(schedule, column(X_0), x_t, LAST, "x0")), tolerance=1e-12),
        number=near(weighted, 0.1048757, tolerance=5e-8),
        equal=near(weighted, divergence, tolerance=1e-12),
    )


@claim("diffusion-score-prediction")
def the_weighted_error_of_the_score_is_the_same_divergence(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.chain import add_noise
    from margin.generative.diffusion.mixture import ExactMixture
    from margin.generative.diffusion.predictions import PREDICTIONS, convert, reverse_mean_from_score

    schedule = small()
    x_t = add_noise(schedule, column(X_0), LAST, column(NOISE))
    score = convert(schedule, column(X_0), x_t, LAST, given="x0", wanted="score")
    divergence, weighted = divergence_and_error("score")
    rows = torch.from_numpy(np.random.default_rng(seed).normal(size=(4, 3)))
    steps = torch.tensor([1, 2, 3, 4])
    trips = 0.0
    for given in PREDICTIONS:
        for wanted in PREDICTIONS:
            converted = convert(schedule, rows, 2 * rows, steps, given=given, wanted=wanted)
            back = convert(schedule, converted, 2 * rows, steps, given=wanted, wanted=given)
            trips = max(trips, float((back - rows).abs().max()))
    truth = every(
        mean=near(float(reverse_mean_from_score(schedule, score, x_t, LAST)), 0.534976, tolerance=5e-7),
        number=near(weighted, 0.1048757, tolerance=5e-8),
        equal=near(weighted, divergence, tolerance=1e-12),
        round_trips=below(trips, 1e-10),
    )
    # Data of two clouds after all steps: which gradient explains the scores of their noisy rows?
    data = ExactMixture([[-2.0], [1.0]], [0.5, 0.5], [0.3, 0.7])
    clean = data.sample(500, seeded_noise(seed)).requires_grad_(True)
    noisy = add_noise(
        schedule, clean, LAST, torch.randn(clean.shape, generator=seeded_noise(seed + 1), dtype=torch.float64)
    )
    density = data.diffuse(schedule, LAST)
    (of_x_t,) = torch.autograd.grad(noisy.sum(), clean)
    rows_t = noisy.detach().requires_grad_(True)
    (of_log_density,) = torch.autograd.grad(density.log_density(rows_t).sum(), rows_t)
    scores = density.score(rows_t.detach())
    return corrected(
        every(truth=truth, gradient_of_the_log_density=above(_explain(of_log_density, scores), 0.99)),
        gradient_of_x_t=above(_explain(of_x_t, scores), 0.0),
    )


def _explain(predicted: Any, true: Any) -> float:
    """1 minus the squared error as a fraction of the variance: 1 is right, 0 no better than the mean of the truth."""
    return 1 - float((predicted - true).square().mean() / true.var())


@claim("diffusion-prior-matching-term")
def the_last_divergence_vanishes_and_has_nothing_to_train() -> Verdict:
    import torch

    from margin.generative.diffusion.bound import prior_matching
    from margin.generative.diffusion.networks import MLPDenoiser
    from margin.generative.diffusion.schedules import NoiseSchedule
    from margin.neural.weights import build

    values = [float(prior_matching(NoiseSchedule(np.linspace(1e-4, 0.02, n)), column(1.0))) for n in (100, 300, 1000)]
    bar = float(NoiseSchedule(np.linspace(1e-4, 0.02, 1000)).alpha_bars[-1])
    network = build(lambda: MLPDenoiser(1, [4]), seed=0)
    loss = prior_matching(small(), column(1.0)).sum() + 0 * network(torch.ones(1, 1), torch.ones(1)).sum()
    gradients = torch.autograd.grad(loss, list(network.parameters()), materialize_grads=True)
    return every(
        alpha_bar=near(bar, 4.04e-5, tolerance=5e-8),
        number=near(values[-1], 2e-5, tolerance=1e-6),
        falls=equal(values == sorted(values, reverse=True), True),
        no_gradient=equal(max(float(gradient.abs().max()) for gradient in gradients), 0.0),
    )
