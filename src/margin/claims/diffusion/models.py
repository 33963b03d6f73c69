"""Trained diffusion models, small enough for a second: what they learn of known laws and of digits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from margin.claims import claim
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within

FAST = {"batch_size": 64, "learning_rate_init": 0.01, "weight_average": 0.98}


def energy_distance(x: np.ndarray, y: np.ndarray) -> float:
    """2 E|X - Y| - E|X - X'| - E|Y - Y'|: 0 for equal laws; here about 0.01 for 500 draws of one law in the plane."""
    from scipy.spatial.distance import cdist

    return float(2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean())


def two_moons(seed: int, n: int = 500) -> np.ndarray:
    from margin.data.generators import moons

    return moons(np.random.default_rng([seed, 5]), n_samples=n, noise=0.05)[0]


def digits(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    data = load_digits()
    rows = np.random.default_rng([seed, 6]).permutation(len(data.data))[:n]
    return (data.data[rows] / 16).astype(np.float32), data.target[rows]


@claim("diffusion-model")
def a_denoiser_trained_at_random_steps_draws_the_data(seed: int) -> Verdict:
    from margin.generative import DiffusionModel
    from margin.generative.diffusion.schedules import noise_schedule

    X = two_moons(seed)
    model = DiffusionModel((64, 64), prediction="epsilon", n_steps=100, max_iter=60, random_state=seed, **FAST)
    errors = [record["noise_error"] for record in model.iterate(X)]
    made = model.sample(500, random_state=seed)
    rng = np.random.default_rng(seed)
    noise = X.mean(axis=0) + X.std(axis=0) * rng.standard_normal((500, 2))
    trained, untrained = energy_distance(made, X), energy_distance(noise, X)
    bar = float(noise_schedule("linear", 1000).alpha_bars[-1])
    # What an estimate of the likelihood would be: a number per row. The network gives a row, the clean one.
    output = model.denoise(X[:5], 50)
    steps = _evaluations_per_update(seed)
    return corrected(
        every(
            better_than_predicting_nothing=below(errors[-1], 0.9),
            loss_falls=below(errors[-1], errors[0]),
            samples_match=below(trained, 0.5 * untrained),
            alpha_bar=near(bar, 4.04e-5, tolerance=5e-8),
        ),
        through_the_whole_chain=equal(steps, 100),
        estimates_a_likelihood=equal(output.shape, (5,)),
    )


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

    from margin.generative import DiffusionModel
    from margin.generative.diffusion.chain import noised
    from margin.generative.diffusion.predictions import convert, kl_weight
    from margin.generative.diffusion.schedules import noise_schedule

    schedule = noise_schedule("linear", 50)
    rng = np.random.default_rng(seed)
    x_0, noise, guess = (torch.from_numpy(rng.normal(size=(200, 2))) for _ in range(3))
    t = torch.from_numpy(rng.integers(2, 51, size=200))
    x_t = noised(schedule, x_0, t, noise)
    clean = convert(schedule, guess, x_t, t, given="epsilon", wanted="x0")
    of_noise, of_clean = (guess - noise).square().sum(dim=1), (clean - x_0).square().sum(dim=1)
    weighted = [kl_weight(schedule, kind)[t] * error for kind, error in (("epsilon", of_noise), ("x0", of_clean))]
    X = two_moons(seed, 400)
    distances = {}
    for prediction in ("epsilon", "x0"):
        model = DiffusionModel((64,), prediction=prediction, n_steps=50, max_iter=40, random_state=seed, **FAST)
        distances[prediction] = energy_distance(model.fit(X).sample(400, random_state=seed), X)
    blob = X.mean(axis=0) + X.std(axis=0) * rng.standard_normal((400, 2))
    return corrected(
        every(
            same_numbers=near(weighted[0].numpy(), weighted[1].numpy(), tolerance=1e-8 * float(weighted[0].max())),
            noise_learns=below(distances["epsilon"], energy_distance(blob, X)),
            clean_learns=below(distances["x0"], energy_distance(blob, X)),
        ),
        without_weights=near(float(of_noise.mean()), float(of_clean.mean()), tolerance=0.5),
    )


@claim("denoising-transformer")
def a_transformer_denoises_about_as_well_as_a_u_net(seed: int) -> Verdict:
    from margin.generative import DiffusionModel

    X, _ = digits(seed)
    options = {"image_shape": (8, 8), "n_steps": 50, "batch_size": 50, "learning_rate_init": 0.005}
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
    from margin.generative.diffusion.guidance import guided

    X, y = class_blobs(seed)
    model = DiffusionModel(
        (64, 64), conditional=True, condition_dropout=0.2, n_steps=50, max_iter=40, random_state=seed, **FAST
    ).fit(X, y)
    found = {
        scale: agreement_and_spread(model.sample(400, random_state=seed, y=1, guidance_scale=scale), 1)
        for scale in (0.0, 1.0, 3.0)
    }
    free, bound = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 0.0])
    return every(
        scale_0=equal(bool(torch.equal(guided(free, bound, 0.0), free)), True),
        scale_1=equal(bool(torch.equal(guided(free, bound, 1.0), bound)), True),
        unconditional_is_near_chance=within(found[0.0][0], 0.15, 0.55),
        condition_is_obeyed=above(found[1.0][0], found[0.0][0] + 0.2),
        more_with_guidance=above(found[3.0][0], found[1.0][0]),
        less_diverse=below(found[3.0][1], found[1.0][1]),
    )


@claim("latent-diffusion")
def codes_are_denoised_and_decoded_at_lower_cost(seed: int) -> Verdict:
    from margin.generative import VAE, DiffusionModel
    from margin.generative.diffusion.latent import LatentDiffusion

    X, _ = digits(seed, 500)
    options = {"n_steps": 50, "max_iter": 40, "random_state": seed, **FAST}
    codes = VAE(8, (64,), likelihood="bernoulli", max_iter=25, learning_rate_init=5e-3, random_state=seed)
    latent = LatentDiffusion(codes, DiffusionModel((64, 64), **options)).fit(X)
    pixels = DiffusionModel((256, 256), **options).fit(X)
    made = {"latent": latent.sample(400, random_state=seed), "pixels": pixels.sample(400, random_state=seed)}
    distances = {name: energy_distance(rows, X) for name, rows in made.items()}
    rng = np.random.default_rng(seed)
    blob = X.mean(axis=0) + X.std(axis=0) * rng.standard_normal((400, 64))
    weights = {
        name: sum(array.size for array in model.weights_.values())
        for name, model in (("latent", latent.diffusion), ("pixels", pixels))
    }
    # An autoregressive model would make the next entry from those before; here all codes change in every step.
    path = [rows for _, rows in latent.diffusion.sample_path(1, random_state=seed)]
    moved = [int((one != other).sum()) for one, other in itertools.pairwise(path)]
    return corrected(
        every(
            similar=below(distances["latent"], 2 * distances["pixels"] + 0.1),
            better_than_independent_pixels=below(distances["latent"], energy_distance(blob, X)),
            cheaper_per_step=below(weights["latent"], 0.5 * weights["pixels"]),
        ),
        one_element_after_the_other=equal(max(moved), 1),
    )


@claim("imagen")
def a_label_conditional_model_draws_what_it_is_asked_for(seed: int) -> Verdict:
    from margin.generative import DiffusionModel

    X, y = class_blobs(seed)
    model = DiffusionModel((32, 32), conditional=True, n_steps=50, max_iter=30, random_state=seed, **FAST).fit(X, y)
    agreement = [agreement_and_spread(model.sample(300, random_state=seed, y=k), k)[0] for k in range(3)]
    return every(every_class=above(min(agreement), 0.55), classes=equal(model.classes_.tolist(), [0, 1, 2]))
