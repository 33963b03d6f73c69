"""Flow matching as a diffusion: the same loss, the same path, and samples of the data."""

import numpy as np
import pytest
import torch

from margin.data.generators import moons
from margin.generative import FlowMatching
from margin.generative.diffusion.flow_matching import between, exact_velocity, flow_matching_loss, integrate
from margin.generative.diffusion.mixture import ExactMixture
from margin.generative.diffusion.objective import denoising_loss, loss_weight
from margin.generative.diffusion.predictions import convert
from margin.generative.diffusion.samplers import ddim, last
from margin.generative.diffusion.schedules import noise_schedule
from margin.metrics.samples import mmd_squared

LINE = ExactMixture([[-1.5], [1.0]], [0.4, 0.3], [0.4, 0.6])


def normals(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_schedule_visits_even_points_of_the_line():
    schedule = noise_schedule("straight", 50)
    signal, noise = schedule.alpha_bars.sqrt(), (1 - schedule.alpha_bars).sqrt()
    np.testing.assert_allclose((signal / (signal + noise))[:50], 1 - np.arange(50) / 50, atol=1e-12)


def test_velocities_are_conditional_means_of_the_line():
    """The exact velocity at a point of the line is the exact denoiser of the same point, converted."""
    schedule = noise_schedule("straight", 40)
    y = normals(30, 1)
    for t in (5, 20, 35):
        u = 1 - t / 40
        size = np.hypot(u, 1 - u)
        bar = float(schedule.alpha_bars[t])
        clean = LINE.denoise(y / size, bar**0.5, (1 - bar) ** 0.5)
        found = convert(schedule, clean, y / size, t, given="x0", wanted="velocity")
        torch.testing.assert_close(found, exact_velocity(LINE, y, u), rtol=1e-8, atol=1e-8)


def test_the_loss_is_that_of_flow_matching():
    schedule, x = noise_schedule("straight", 10), normals(64, 3)
    seen = []

    class Half(torch.nn.Module):
        def forward(self, x_t, level, label):
            seen.append((x_t, level))
            return 0.5 * x_t

    found = denoising_loss(
        Half(),
        (x,),
        torch.Generator().manual_seed(4),
        schedule=schedule,
        prediction="velocity",
        weight=loss_weight(schedule, "velocity", "simple"),
        none=0,
        condition_dropout=0.0,
    )["loss"]
    x_t, level = seen[0]
    u = (1 - level)[:, None]
    a, b = schedule.signal((10 * level).round().long(), x), schedule.noise((10 * level).round().long(), x)
    noise = (x_t - a * x) / b
    inner = (level < 1)[:, None]  # the schedule stops a little before pure noise
    torch.testing.assert_close(
        torch.where(inner, x_t, 0), torch.where(inner, between(x, noise, u) / torch.sqrt(u**2 + (1 - u) ** 2), 0)
    )
    torch.testing.assert_close(found, flow_matching_loss(0.5 * x_t, x, noise) / 3)


def test_ddim_is_eulers_method_along_the_line():
    schedule, start = noise_schedule("straight", 20), normals(50, 1, seed=1)

    def clean(x, t):
        bar = float(schedule.alpha_bars[t])
        return LINE.denoise(x, bar**0.5, (1 - bar) ** 0.5)

    # From u = 1/20 on: the schedule does not begin at pure noise, where u is 0.
    states = list(ddim(schedule, clean, start, torch.Generator()))
    bar = float(schedule.alpha_bars[19])
    x = states[0] / (bar**0.5 + (1 - bar) ** 0.5)
    for k in range(1, 20):
        x = x + exact_velocity(LINE, x, k / 20) / 20
    torch.testing.assert_close(states[-1], x, rtol=1e-8, atol=1e-8)
    assert float((last(integrate(lambda x, u: exact_velocity(LINE, x, u), start, 20, order=1)) - x).abs().mean()) < 0.05


@pytest.mark.parametrize("seed", [0, 1])
def test_samples_are_nearer_to_the_data_than_noise(seed):
    X, _ = moons(np.random.default_rng([seed, 5]), n_samples=500, noise=0.1)
    options = {"batch_size": 64, "learning_rate_init": 0.01, "weight_average": 0.98, "n_steps": 100}
    model = FlowMatching((64, 64), max_iter=50, random_state=seed, **options).fit(X)
    noise = X.mean(axis=0) + X.std(axis=0) * np.random.default_rng(seed).standard_normal((500, 2))
    assert mmd_squared(X, model.sample(500, random_state=seed), 5.0) < 0.5 * mmd_squared(X, noise, 5.0)
    assert model.score_samples(X).shape == (500,)


def test_errors_name_the_estimator():
    with pytest.raises(ValueError, match="FlowMatching: solver must be one of"):
        FlowMatching(solver="lbfgs").fit(np.zeros((4, 2)))
