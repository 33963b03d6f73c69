"""Scores of mixtures: what denoisers, losses and Langevin dynamics have to do with them.

The mixture of the notes' checks has weights .3 and .7 at -2 and 1, deviations .5, and noise of deviation .8; y = .4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, every, near
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS
from margin.notes.claims.diffusion.chain import column, seeded_noise

SIGMA, Y = 0.8, 0.4


def clean_mixture() -> Any:
    from margin.generative.diffusion.mixture import ExactMixture

    return ExactMixture([[-2.0], [1.0]], [0.5, 0.5], [0.3, 0.7])


def noisy_mixture() -> Any:
    return clean_mixture().scaled(1.0, SIGMA)


@claim("claim-score-is-scaled-noise")
def only_the_conditional_score_is_minus_the_scaled_noise(seed: int) -> Verdict:
    import torch

    rng = np.random.default_rng(seed)
    n, noisy = 400_000, noisy_mixture()
    x = clean_mixture().sample(n, seeded_noise(seed))
    noise = torch.from_numpy(rng.standard_normal((n, 1)))
    y = x + SIGMA * noise
    conditional = -(y - x) / SIGMA**2
    near_y = ((y - Y).abs() < 0.03)[:, 0]
    seen = noise[near_y]
    error = ERRORS * float(seen.std()) / math.sqrt(len(seen))
    marginal = float(noisy.score(column(Y)))
    # The law of the noise given y: x given y is a mixture of normals, so its deviation is known too.
    truth = every(
        row_by_row=near(conditional.numpy(), (-noise / SIGMA).numpy(), tolerance=1e-9),
        number=near(-SIGMA * marginal, -0.4848, tolerance=5e-5),
        on_average=near(float(seen.mean()), -SIGMA * marginal, tolerance=error + 0.01),
        spread_of_the_noise=near(float(seen.std()), 0.65, tolerance=0.03),
    )
    rows = (-SIGMA * noisy.score(y[:1000]) - noise[:1000]).abs()
    outside, under = _clean_from_noise(noise[:1000, 0].numpy(), x[:1000, 0].numpy())
    return corrected(
        every(truth=truth, noise_outside_the_root=below(outside, 0.05)),
        marginal_row_by_row=below(float(rows.mean()), 0.05),
        noise_under_the_root=below(under, 0.05),
    )


def _clean_from_noise(noise: np.ndarray, x_0: np.ndarray) -> tuple[float, float]:
    r"""Median error of :math:`(x_t - \sqrt{1-\bar\alpha_t}\,\epsilon)/\sqrt{\bar\alpha_t}` and of the printed root.

    The printed one, :math:`\sqrt{1-\bar\alpha_t\epsilon}`, only where it exists.
    """
    bar = 0.3024  # of the alphas .9, .8, .7, .6
    x_t = math.sqrt(bar) * x_0 + math.sqrt(1 - bar) * noise
    exists = bar * noise <= 1
    estimate = (x_t - math.sqrt(1 - bar) * noise) / math.sqrt(bar)
    printed = (x_t - np.sqrt(1 - bar * noise, where=exists, out=np.zeros_like(noise))) / math.sqrt(bar)
    return float(np.median(np.abs(estimate - x_0)[exists])), float(np.median(np.abs(printed - x_0)[exists]))


@claim("score-as-denoising-residual")
def the_denoiser_is_a_step_along_the_score(seed: int) -> Verdict:
    from scipy.integrate import quad

    from margin.generative.diffusion.scores import denoise_by_score

    clean, noisy = clean_mixture(), noisy_mixture()
    score = float(noisy.score(column(Y)))

    def weight(x: float, y: float = Y) -> float:
        density = 0.3 * math.exp(-0.5 * ((x + 2) / 0.5) ** 2) + 0.7 * math.exp(-0.5 * ((x - 1) / 0.5) ** 2)
        return density * math.exp(-0.5 * ((y - x) / SIGMA) ** 2)

    def average(value: Any, y: float = Y) -> float:
        """The mean of ``value(x_0)`` given y."""
        ends = {"a": -6, "b": 5, "points": [-2, 1]}
        return quad(lambda x: value(x) * weight(x, y), **ends)[0] / quad(lambda x: weight(x, y), **ends)[0]

    expected = average(lambda x: x)
    places = np.array([-2.5, -1.0, 0.0, Y, 1.5])
    scores = noisy.score(column(*places))[:, 0].numpy()
    # The line of the proof with the inner derivative u' = -(y - x_0)/sigma^2, and with the gradient of exp before it.
    proof = [average(lambda x, y=y: -(y - x) / SIGMA**2, y) for y in places]
    with_gradient = [average(lambda x, y=y: ((y - x) / SIGMA**2) ** 2, y) for y in places]
    truth = every(
        score=near(score, 0.606023, tolerance=5e-7),
        mean_by_integration=near(expected, 0.787855, tolerance=5e-7),
        tweedie=near(float(denoise_by_score(column(Y), noisy.score(column(Y)), SIGMA)), expected, tolerance=1e-8),
        exact_denoiser=near(float(clean.denoise(column(Y), 1.0, SIGMA)), expected, tolerance=1e-8),
        line_of_the_proof=near(proof, scores, tolerance=1e-6),
        trained_by_squared_error=above(_regressed_score(seed), 0.95),
    )
    printed = -(Y - expected) / (SIGMA**2 * math.sqrt(2 * math.pi * SIGMA**2))
    return corrected(
        every(truth=truth, number_as_printed=near(printed, 0.3022, tolerance=5e-5)),
        factor_kept_twice=near(printed, score, tolerance=0.1),
        gradient_before_exp=near(with_gradient, scores, tolerance=0.1),
    )


def _regressed_score(seed: int) -> float:
    """How much of the score's variance over noisy rows a network fitted to clean values by squared error explains."""
    from margin.neural.estimators import MLPRegressor

    rng = np.random.default_rng(seed)
    x = clean_mixture().sample(6000, seeded_noise(seed)).numpy()
    y = x + SIGMA * rng.standard_normal(x.shape)
    net = MLPRegressor((32,), max_iter=30, learning_rate_init=0.01, batch_size=200, random_state=seed)
    net.set_params(learning_rate="cosine").fit(y, x[:, 0])
    test = noisy_mixture().sample(1000, seeded_noise(seed + 1))
    scores = noisy_mixture().score(test)[:, 0].numpy()
    estimated = (net.predict(test.numpy()) - test[:, 0].numpy()) / SIGMA**2
    return 1 - float(((estimated - scores) ** 2).mean() / scores.var())


@claim("claim-denoise-along-score")
def along_the_score_the_density_rises() -> Verdict:
    from margin.generative.diffusion.langevin import denoise_step

    noisy, y = noisy_mixture(), column(Y)
    here, up, down = (
        float(noisy.log_density(x)) for x in (y, denoise_step(y, noisy.score, 0.1), denoise_step(y, noisy.score, -0.1))
    )
    score = float(noisy.score(y))
    residual = Y - (Y + SIGMA**2 * score)  # x_T - E[x_0 | x_T]
    truth = every(
        here=near(here, -1.39917, tolerance=5e-6),
        along=near(up, -1.36412, tolerance=5e-6),
        against=near(down, -1.43752, tolerance=5e-6),
    )
    return corrected(
        truth,
        against_the_score_raises=above(down, here),
        minus_the_score_denoises=near(Y - score, 0.787855, tolerance=0.1),
        positive_proportionality=above(residual * score, 0.0),
    )


@claim("fisher-divergence-score-matching")
def tractable_losses_have_the_minimizer_of_the_fisher_divergence(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.scores import (
        denoising_score_matching,
        fisher_divergence,
        implicit_score_matching,
        sliced_score_matching,
    )

    mixture, n = clean_mixture(), 20_000
    rng = np.random.default_rng(seed)
    x = mixture.sample(n, seeded_noise(seed))
    truth = mixture.score(x)
    directions = torch.from_numpy(rng.choice([-1.0, 1.0], size=(n, 1)))
    noise = torch.from_numpy(rng.standard_normal((n, 1)))
    scaled = {f: _times(f, mixture.score) for f in (1.0, 1.5)}
    half = 0.5 * float(fisher_divergence(scaled[1.5], x, truth).mean())
    implicit = [float(implicit_score_matching(scaled[f], x).detach().mean()) for f in (1.0, 1.5)]
    sliced = [float(sliced_score_matching(scaled[f], x, directions).detach().mean()) for f in (1.0, 1.5)]
    noisy = noisy_mixture()
    denoising = [
        float(denoising_score_matching(_times(f, noisy.score), x, SIGMA, noise).mean()) for f in (0.7, 1.0, 1.3)
    ]
    before, after = _train_score_network(seed)
    return every(
        zero_at_the_truth=near(float(fisher_divergence(scaled[1.0], x, truth).max()), 0.0, tolerance=1e-20),
        implicit_differs_by_the_same=near(implicit[1] - implicit[0], half, tolerance=0.15 * half),
        sliced_differs_by_the_same=near(sliced[1] - sliced[0], half, tolerance=0.15 * half),
        denoising_is_least_at_the_noisy_score=below(denoising[1], min(denoising[0], denoising[2])),
        training_brings_it_down=below(after, 0.15 * before),
    )


def _times(factor: float, score: Any) -> Any:
    return lambda rows: factor * score(rows)


def _train_score_network(seed: int) -> tuple[float, float]:
    """Fisher divergence to the noisy mixture before and after training on the denoising loss."""
    import torch

    from margin.generative.diffusion.scores import denoising_score_matching, fisher_divergence
    from margin.neural.nets.mlp import MLP
    from margin.neural.training import DrawnPoints, Minimize, Plan, Training, train
    from margin.neural.weights import build

    clean, noisy = clean_mixture(), noisy_mixture()

    def draw(generator: Any) -> Any:
        x = clean.sample(256, generator)
        return x.float(), torch.randn(x.shape, generator=generator)

    def objective(module: Any, batch: Any, _: Any) -> dict[str, Any]:
        return {"loss": denoising_score_matching(module, batch[0], SIGMA, batch[1])}

    network = build(lambda: MLP([1, 32, 1], "tanh"), seed)
    test = noisy.sample(2000, seeded_noise(seed)).float()
    truth = noisy.score(test.double()).float()

    def divergence() -> float:
        with torch.no_grad():
            return float(fisher_divergence(network, test, truth).mean())

    before = divergence()
    step = Minimize(network, objective, schedule=0.01, seed=seed)
    for _ in train(Training(DrawnPoints(draw, seed, steps_per_epoch=250), step, Plan(1, record_steps=None))):
        pass
    return before, divergence()


@claim("langevin-dynamics")
def the_score_with_noise_gives_the_law_but_not_between_far_modes(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.langevin import langevin
    from margin.generative.diffusion.mixture import ExactMixture

    n, target = 3000, ExactMixture([[1.0, -2.0]], [0.7], [1.0])
    start = torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 2)))
    samples = langevin(target.score, start, 0.02, 250, seeded_noise(seed)).numpy()
    error = ERRORS * 0.7 / math.sqrt(n)
    far = ExactMixture([[-4.0], [4.0]], [0.5, 0.5], [0.2, 0.8])
    stuck = langevin(far.score, torch.full((500, 1), -4.0, dtype=torch.float64), 0.01, 300, seeded_noise(seed))
    return every(
        mean=near(samples.mean(axis=0), [1.0, -2.0], tolerance=error + 0.01),
        covariance=near(np.cov(samples.T), 0.49 * np.eye(2), tolerance=0.07),
        stuck_in_the_mode_of_weight_a_fifth=above(float((stuck < 0).double().mean()), 0.99),
    )


@claim("diffusion-reverse")
def the_reverse_chain_with_the_exact_denoiser_gives_the_data(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.mixture import ExactMixture
    from margin.generative.diffusion.samplers import ancestral, last
    from margin.generative.diffusion.schedules import noise_schedule

    schedule, n = noise_schedule("linear", 200), 4000
    data = ExactMixture([[1.5]], [0.6], [1.0])

    def clean(x: Any, t: int) -> Any:
        bar = float(schedule.alpha_bars[t])
        return data.denoise(x, math.sqrt(bar), math.sqrt(1 - bar))

    start = torch.from_numpy(np.random.default_rng(seed).standard_normal((n, 1)))
    x = last(ancestral(schedule, clean, start, seeded_noise(seed)))
    error = ERRORS * 0.6 / math.sqrt(n)
    clean_end, noisy_end = _pixels_of_two_values(seed)
    return corrected(
        every(
            mean=near(float(x.mean()), 1.5, tolerance=error + 0.01),
            deviation=near(float(x.std()), 0.6, tolerance=error),
            values_of_the_data=above(clean_end, 0.9),
        ),
        noise_in_the_last_step=above(noisy_end, 0.9),
    )


def _pixels_of_two_values(seed: int) -> tuple[float, float]:
    r"""Data that are -1 or 1: how many samples are within 0.01 of that, without and with noise in the last step.

    The noise as printed, :math:`\sigma_1 z` with :math:`\sigma_1^2 = \beta_1`, about 0.02 wide.
    """
    import torch

    from margin.generative.diffusion.mixture import ExactMixture
    from margin.generative.diffusion.samplers import ancestral, last
    from margin.generative.diffusion.schedules import noise_schedule

    schedule, n = noise_schedule("linear", 200), 500
    data = ExactMixture([[-1.0], [1.0]], [1e-3, 1e-3], [0.5, 0.5])

    def clean(x: Any, t: int) -> Any:
        bar = float(schedule.alpha_bars[t])
        return data.denoise(x, math.sqrt(bar), math.sqrt(1 - bar))

    rng = np.random.default_rng(seed)
    start, z = (torch.from_numpy(rng.standard_normal((n, 1))) for _ in range(2))
    x = last(ancestral(schedule, clean, start, seeded_noise(seed)))
    with_noise = x + math.sqrt(float(schedule.betas[1])) * z
    near_data = [float(((values.abs() - 1).abs() < 0.01).double().mean()) for values in (x, with_noise)]
    return near_data[0], near_data[1]
