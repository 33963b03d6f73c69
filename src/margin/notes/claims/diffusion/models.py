"""Trained diffusion models, small enough for a second: what they learn of known laws and of digits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.metrics.samples import frechet_distance, mmd_squared
from margin.notes import atlas
from margin.notes.claims import claim

MOON_GAMMA = 1 / (2 * 0.3**2)  # of the kernel that compares two moons: as wide as a moon is thick
FAST: dict[str, Any] = {"batch_size": 64, "learning_rate_init": 0.01, "weight_average": 0.98}


def two_moons(seed: int, n: int = 500) -> np.ndarray:
    from margin.data.generators import moons

    return moons(np.random.default_rng([seed, 5]), n_samples=n, noise=0.1)[0]


def digits(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    data = load_digits()
    rows = np.random.default_rng([seed, 6]).permutation(len(data.data))[:n]
    return (data.data[rows] / 16).astype(np.float32), data.target[rows]


def independent(X: np.ndarray, seed: int, n: int) -> np.ndarray:
    """Noise with the mean and deviation of every column and nothing else of the data."""
    return X.mean(axis=0) + X.std(axis=0) * np.random.default_rng([seed, 11]).standard_normal((n, X.shape[1]))


@claim("diffusion-model")
def a_denoiser_trained_at_random_steps_draws_the_data(seed: int) -> Verdict:
    from margin.generative import DiffusionModel
    from margin.generative.diffusion.schedules import noise_schedule

    X = two_moons(seed)
    options: dict[str, Any] = {"prediction": "epsilon", "n_steps": 100, "random_state": seed, **FAST}
    model = DiffusionModel((64, 64, 64), max_iter=80, **options)
    errors = [record["noise_error"] for record in model.iterate(X)]
    start = DiffusionModel((64, 64, 64), max_iter=1, **options).set_params(learning_rate_init=1e-9).fit(X)
    distances = {
        name: mmd_squared(X, made, MOON_GAMMA)
        for name, made in {
            "trained": model.sample(500, random_state=seed),
            "untrained": start.sample(500, random_state=seed),
            "noise": independent(X, seed, 500),
        }.items()
    }
    bar = float(noise_schedule("linear", 1000).alpha_bars[-1])
    of_mean, of_likelihood = _what_the_network_estimates(seed)
    return corrected(
        every(
            better_than_predicting_nothing=below(errors[-1], 0.9),
            loss_falls=below(errors[-1], errors[0]),
            samples_match=below(distances["trained"], 0.6 * distances["noise"]),
            better_than_untrained=below(distances["trained"], 0.1 * distances["untrained"]),
            alpha_bar=near(bar, 4.04e-5, tolerance=5e-8),
            estimates_the_clean_row=above(of_mean, 0.95),
        ),
        through_the_whole_chain=equal(_evaluations_per_update(seed), 100),
        estimates_a_likelihood=above(of_likelihood, 0.95),
    )


def _what_the_network_estimates(seed: int) -> tuple[float, float]:
    """Correlation of what a network trained on a mixture of one column says with E[x_0|x_t] and with log p(x_0|x_t)."""
    import torch

    from margin.generative import DiffusionModel
    from margin.generative.diffusion.chain import add_noise
    from margin.generative.diffusion.mixture import ExactMixture
    from margin.generative.diffusion.schedules import noise_schedule

    data = ExactMixture([[-1.2], [0.8]], [0.3, 0.3], [0.4, 0.6])
    stream = torch.Generator().manual_seed(seed)
    x_0 = data.sample(500, stream)
    model = DiffusionModel((32,), prediction="epsilon", n_steps=20, max_iter=25, standardize=False, **FAST)
    model.set_params(random_state=seed).fit(x_0.numpy())
    t, schedule = 8, noise_schedule("cosine", 20)
    x_t = add_noise(schedule, x_0, t, torch.randn(x_0.shape, generator=stream, dtype=torch.float64))
    bar = float(schedule.alpha_bars[t])
    mean = data.denoise(x_t, bar**0.5, (1 - bar) ** 0.5)
    # Bayes: log p(x_0|x_t) = log p(x_0) + log q(x_t|x_0) - log p(x_t), up to a constant.
    joint = data.log_density(x_0) - 0.5 * ((x_t - bar**0.5 * x_0).square() / (1 - bar))[:, 0]
    likelihood = joint - data.diffuse(schedule, t).log_density(x_t)
    denoised = model.denoise(x_t.numpy(), t)[:, 0]
    correlations = [float(np.corrcoef(denoised, truth.numpy())[0, 1]) for truth in (mean[:, 0], likelihood)]
    return correlations[0], correlations[1]


def _evaluations_per_update(seed: int) -> int:
    """How often the network is evaluated in one training loss of a chain of 100 steps."""
    import torch

    from margin.generative.diffusion.objective import denoising_loss, loss_weight
    from margin.generative.diffusion.schedules import noise_schedule

    schedule, calls = noise_schedule("cosine", 100), []

    class Counting(torch.nn.Module):
        def forward(self, x: Any, level: Any, label: Any) -> Any:
            calls.append((level, label))
            return torch.zeros_like(x)

    denoising_loss(
        Counting(),
        (torch.zeros(4, 2),),
        torch.Generator().manual_seed(seed),
        schedule=schedule,
        prediction="epsilon",
        weight=loss_weight(schedule, "epsilon", "simple"),
        none=0,
        condition_dropout=0.0,
    )
    return len(calls)


@claim("claim-predict-noise-equivalent-x0")
def mapped_predictions_have_equal_weighted_losses(seed: int) -> Verdict:
    import torch

    from margin.generative.diffusion.chain import add_noise
    from margin.generative.diffusion.predictions import convert, kl_weight
    from margin.generative.diffusion.schedules import noise_schedule

    schedule = noise_schedule("linear", 50)
    rng = np.random.default_rng(seed)
    x_0, noise, guess = (torch.from_numpy(rng.normal(size=(200, 2))) for _ in range(3))
    t = torch.from_numpy(rng.integers(2, 51, size=200))
    x_t = add_noise(schedule, x_0, t, noise)
    clean = convert(schedule, guess, x_t, t, given="epsilon", wanted="x0")
    of_noise, of_clean = (guess - noise).square().sum(dim=1), (clean - x_0).square().sum(dim=1)
    weighted = [kl_weight(schedule, kind)[t] * error for kind, error in (("epsilon", of_noise), ("x0", of_clean))]
    ratios = {
        (name, prediction): ratio
        for prediction in ("epsilon", "x0")
        for name, ratio in _nearer_than_noise(prediction, seed).items()
    }
    return corrected(
        every(
            same_numbers=near(weighted[0].numpy(), weighted[1].numpy(), tolerance=1e-8 * float(weighted[0].max())),
            **{f"{name}_{prediction}": below(ratio, 0.8) for (name, prediction), ratio in ratios.items()},
        ),
        without_weights=near(float(of_noise.mean()), float(of_clean.mean()), tolerance=0.5),
    )


def _nearer_than_noise(prediction: str, seed: int) -> dict[str, float]:
    """Distance of samples to two moons and to digits, as a fraction of that of independent columns."""
    from margin.generative import DiffusionModel

    options: dict[str, Any] = {"prediction": prediction, "n_steps": 50, "random_state": seed, **FAST}
    moons, pixels = two_moons(seed, 400), digits(seed, 500)[0]
    made = DiffusionModel((64, 64), max_iter=70, **options).fit(moons).sample(400, random_state=seed)
    drawn = DiffusionModel((256,), max_iter=25, **{**options, "learning_rate_init": 5e-3}).fit(pixels)
    return {
        "moons": mmd_squared(moons, made, MOON_GAMMA) / mmd_squared(moons, independent(moons, seed, 400), MOON_GAMMA),
        "digits": frechet_distance(drawn.sample(400, random_state=seed), pixels)
        / frechet_distance(independent(pixels, seed, 400), pixels),
    }


@claim("denoising-transformer")
def a_transformer_denoises_about_as_well_as_a_u_net(seed: int) -> Verdict:
    from margin.generative import DiffusionModel

    X, _ = digits(seed)
    options: dict[str, Any] = {"image_shape": (8, 8), "n_steps": 50, "batch_size": 50, "learning_rate_init": 0.005}
    losses = {}
    for denoiser, widths in (("unet", (16, 16)), ("transformer", (32,))):
        model = DiffusionModel(widths, denoiser=denoiser, max_iter=6, random_state=seed, **options).fit(X)
        losses[denoiser] = model.loss_curve_[-1]
    return every(
        learns=below(losses["transformer"], 0.9),
        within_a_factor_of_two=within(losses["transformer"] / losses["unet"], 0.5, 2.0),
    )


def class_blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 7])
    y = rng.integers(3, size=600)
    centers = np.array([[0.0, 2.0], [-1.7, -1.0], [1.7, -1.0]])
    return centers[y] + rng.normal(size=(600, 2)), y


def agreement_and_spread(made: np.ndarray, label: int) -> tuple[float, float]:
    """How often the nearest center is the wanted one, and how far the samples are spread."""
    centers = np.array([[0.0, 2.0], [-1.7, -1.0], [1.7, -1.0]])
    nearest = ((made[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    return float((nearest == label).mean()), float(made.std(axis=0).mean())


@claim("classifier-free-guidance")
def agreement_rises_and_diversity_falls_with_the_scale(seed: int) -> Verdict:
    import torch

    from margin.generative import DiffusionModel
    from margin.generative.diffusion.guidance import guide

    low, high = atlas.row("classifier-free-guidance").values["scales"]  # those that are usual, for text
    X, y = class_blobs(seed)
    model = DiffusionModel(
        (64, 64), conditional=True, condition_dropout=0.2, n_steps=50, max_iter=40, random_state=seed, **FAST
    ).fit(X, y)
    by_scale = {
        scale: agreement_and_spread(model.sample(400, random_state=seed, y=1, guidance_scale=scale), 1)
        for scale in (0.0, 1.0, 3.0, low)
    }
    free, bound = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 0.0])
    return every(
        usual_scales=near(
            torch.stack([guide(free, bound, scale) for scale in (low, high)]),
            [[15.0, -12.0], [27.0, -24.0]],
            tolerance=1e-6,
        ),
        scale_0=equal(bool(torch.equal(guide(free, bound, 0.0), free)), True),
        scale_1=equal(bool(torch.equal(guide(free, bound, 1.0), bound)), True),
        unconditional_is_near_chance=within(by_scale[0.0][0], 0.15, 0.55),
        condition_is_obeyed=above(by_scale[1.0][0], by_scale[0.0][0] + 0.2),
        more_with_guidance=above(by_scale[3.0][0], by_scale[1.0][0]),
        less_diverse=below(by_scale[3.0][1], by_scale[1.0][1]),
        obeyed_at_a_usual_scale=above(by_scale[low][0], by_scale[1.0][0]),
    )


@claim("latent-diffusion")
def codes_are_denoised_and_decoded_at_lower_cost(seed: int) -> Verdict:
    from margin.generative import VAE, DiffusionModel, LatentDiffusion

    X, _ = digits(seed, 600)
    options: dict[str, Any] = {"n_steps": 50, "random_state": seed, **FAST}
    codes = VAE(12, (128,), likelihood="bernoulli", beta=0.05, max_iter=30, batch_size=50)
    codes.set_params(learning_rate_init=5e-3)
    latent = LatentDiffusion(codes, DiffusionModel((64, 64), max_iter=40, **options), random_state=seed).fit(X)
    pixels = DiffusionModel((256, 256), max_iter=30, **{**options, "learning_rate_init": 3e-3}).fit(X)
    distances = {
        name: frechet_distance(model.sample(400, random_state=seed), X)
        for name, model in (("latent", latent), ("pixels", pixels))
    }
    weights = {
        name: sum(array.size for array in model.weights_.values())
        for name, model in (("latent", latent.diffusion_), ("pixels", pixels))
    }
    # An autoregressive model would make the next entry from those before; here all codes change in every step.
    path = [rows for _, rows in latent.diffusion_.sample_path(1, random_state=seed)]
    moved = [int((one != other).sum()) for one, other in itertools.pairwise(path)]
    return corrected(
        every(
            similar=within(distances["latent"] / distances["pixels"], 0.0, 2.0),
            better_than_independent_pixels=below(
                distances["latent"], 0.5 * frechet_distance(independent(X, seed, 400), X)
            ),
            cheaper_per_step=below(weights["latent"], 0.5 * weights["pixels"]),
            decoded_codes=near(
                latent.sample(3, random_state=seed),
                latent.autoencoder_.inverse_transform(latent.diffusion_.sample(3, random_state=seed)),
                tolerance=1e-6,
            ),
        ),
        one_element_after_the_other=equal(max(moved), 1),
    )


@claim("imagen")
def a_label_conditional_model_draws_what_it_is_asked_for(seed: int) -> Verdict:
    from margin.generative import DiffusionModel

    X, y = class_blobs(seed)
    model: Any = DiffusionModel((32, 32), conditional=True, n_steps=50, max_iter=30, random_state=seed, **FAST).fit(
        X, y
    )
    agreement = [agreement_and_spread(model.sample(300, random_state=seed, y=k), k)[0] for k in range(3)]
    return every(every_class=above(min(agreement), 0.55), classes=equal(model.classes_.tolist(), [0, 1, 2]))
