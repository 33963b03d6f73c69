"""Trained games, small enough for seconds: what they reach on known laws and on digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises, within
from margin.metrics.samples import frechet_distance
from margin.notes.claims import claim
from margin.notes.claims.diffusion.models import digits


@claim("gan")
def generated_rows_approach_the_data(seed: int) -> Verdict:
    from margin.generative import GAN

    rng = np.random.default_rng(seed)
    X = rng.normal([3.0, -1.0], [1.0, 0.5], size=(500, 2))
    # The penalty damps the turns of the game around its equilibrium: with a tenth of it the deviations still swing
    # between 0.5 and 1.7 times those of the data after 40 epochs.
    model = GAN(4, (32,), penalty_weight=1.0, max_iter=40, random_state=seed)
    records = list(model.iterate(X))
    made = model.sample(1000, random_state=seed)
    start = GAN(4, (32,), max_iter=1, batch_size=500, random_state=seed, weight_average=None).fit(X)
    untrained = start.sample(1000, random_state=seed)
    return every(
        mean=near((made.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0), np.zeros(2), tolerance=0.3),
        deviation=near(made.std(axis=0) / X.std(axis=0), np.ones(2), tolerance=0.4),
        discriminator_guesses=near(float(model.discriminate(X).mean()), 0.5, tolerance=0.15),
        logged=within(records[-1]["discriminator_fake"], 0.3, 0.7),
        nearer_than_before=below(frechet_distance(made, X), 0.3 * frechet_distance(untrained, X)),
    )


@claim("claim-mode-collapse")
def a_gan_has_no_density() -> Verdict:
    from margin.generative import GAN

    return every(
        kind=equal(GAN.log_density_kind, "none"),
        no_density=raises(AttributeError, lambda: GAN().score_samples([[0.0]])),
    )


@claim("conditional-gan")
def samples_of_a_class_land_in_its_region(seed: int) -> Verdict:
    from margin.generative import GAN

    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 3.0], [-3.0, -2.0], [3.0, -2.0]])
    y = rng.integers(3, size=600)
    X = centers[y] + 0.5 * rng.normal(size=(600, 2))
    model = GAN(4, (32, 32), conditional=True, max_iter=25, random_state=seed).fit(X, y)
    hits = []
    for label in range(3):
        made = model.sample(300, random_state=seed, y=label)
        nearest = ((made[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        hits.append(float((nearest == label).mean()))
    # Without a class asked for, each is drawn as often as the others.
    made = model.sample(600, random_state=seed)
    nearest = ((made[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    drawn = np.bincount(nearest, minlength=3) / 600
    return every(classes=above(min(hits), 0.8), every_class_is_drawn=above(float(drawn.min()), 0.15))


@claim("style-gan")
def styles_can_be_mixed_between_coarse_and_fine_layers(seed: int) -> Verdict:
    from margin.generative import GAN

    X, _ = digits(seed, 600)
    model = GAN(16, (16, 16), architecture="style", image_shape=(8, 8), max_iter=10, random_state=seed)
    # A stronger penalty than usual damps the game, so that so short a fit ends alike from every start.
    model.set_params(learning_rate_init=5e-3, batch_size=40, weight_average=0.9, penalty_weight=1.0).fit(X)
    made = model.sample(300, random_state=seed)
    rng = np.random.default_rng(seed)
    Z, Z_fine = rng.normal(size=(2, 40, 16))
    ours, theirs, mixed = model.generate(Z), model.generate(Z_fine), model.mix_styles(Z, Z_fine, n_coarse=2)
    apart = float(np.abs(ours - theirs).mean())
    return every(
        in_range=within(float(np.abs(made - 0.5).max()), 0.0, 0.5 + 1e-6),
        # Repeating the mean image is as far away as the total variance of the data.
        nearer_than_the_mean_image=below(frechet_distance(made, X), 0.6 * float(X.var(axis=0).sum())),
        one_convolution_per_row=below(_modulation_error(seed), 1e-5),
        all_coarse_is_the_first=near(model.mix_styles(Z, Z_fine, n_coarse=4), ours, tolerance=1e-6),
        no_coarse_is_the_second=near(model.mix_styles(Z, Z_fine, n_coarse=0), theirs, tolerance=1e-6),
        mixed_is_neither=above(float(min(np.abs(mixed - ours).mean(), np.abs(mixed - theirs).mean())), 0.1 * apart),
    )


def _modulation_error(seed: int) -> float:
    """How far the convolution of a whole batch is from one convolution per row with its modulated kernels."""
    import torch
    from torch.nn import functional

    from margin.generative.gan.style import ModulatedConv, modulated_kernels
    from margin.neural.weights import build

    layer = build(lambda: ModulatedConv(3, 4, 3, 5), seed)
    stream = torch.Generator().manual_seed(seed)
    x, w = torch.randn(6, 3, 8, 8, generator=stream), torch.randn(6, 5, generator=stream)
    with torch.no_grad():
        kernels = modulated_kernels(layer.kernels, layer.style(w))
        rows = [functional.conv2d(x[k : k + 1], kernels[k], layer.bias, padding=1) for k in range(6)]
        return float((layer(x, w) - torch.cat(rows)).abs().max())


@claim("cycle-gan")
def two_unpaired_clouds_are_mapped_onto_each_other(seed: int) -> Verdict:
    from margin.generative import CycleGAN

    rng = np.random.default_rng(seed)
    A = rng.normal(size=(600, 2)) * [1.0, 0.4]
    B = rng.normal(size=(420, 2)) @ np.array([[0.9, 0.5], [0.0, 0.4]]) + [2.0, 1.0]
    model = CycleGAN((32,), max_iter=25, random_state=seed)
    cycles = [record["generator_cycle"] for record in model.iterate(A, B)]
    made = model.transform(A)
    return every(
        cycle_falls=below(cycles[-1], 0.1 * cycles[0]),
        comes_back=below(float(np.abs(model.inverse_transform(made) - A).mean()), 0.1),
        mean=near(made.mean(axis=0), B.mean(axis=0), tolerance=0.2),
        covariance=near(np.cov(made.T), np.cov(B.T), tolerance=0.3),
        correlation_of_the_target=above(float(np.corrcoef(made.T)[0, 1]), 0.4),
    )


def outlines(seed: int, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of an outline and the filled box it belongs to, 6 x 6 pixels."""
    rng = np.random.default_rng([seed, 9])
    filled = np.zeros((n, 6, 6))
    edges = np.zeros((n, 6, 6))
    for k, (top, left, height, width) in enumerate(
        zip(*(rng.integers(low, high, n) for low, high in ((0, 2), (0, 2), (3, 5), (3, 5))))
    ):
        filled[k, top : top + height, left : left + width] = 1
        edges[k] = filled[k]
        edges[k, top + 1 : top + height - 1, left + 1 : left + width - 1] = 0
    return edges.reshape(n, -1), filled.reshape(n, -1)


@claim("image-translation-gan")
def staying_near_the_target_beats_the_judge_alone(seed: int) -> Verdict:
    from margin.generative.gan.translation import PairTranslation

    A, B = outlines(seed)
    test_A, test_B = outlines(seed + 100, 200)
    runs: dict[str, dict[str, Any]] = {
        "near": {"l1_weight": 20.0},
        "judge_only": {"l1_weight": 0.0},
        "judge_only_blind": {"l1_weight": 0.0, "judge_sees_input": False},
    }
    models = {
        name: PairTranslation((48,), max_iter=15, seed=seed, **options).fit(A, B) for name, options in runs.items()
    }
    errors = {name: float(np.abs(model.transform(test_A) - test_B).mean()) for name, model in models.items()}
    by_input, by_noise = _changes(models["near"], test_A)
    perfect, constant = _unpaired_errors(seed)
    return corrected(
        every(
            near_the_target=below(errors["near"], 0.7 * errors["judge_only"]),
            the_condition_matters=below(errors["judge_only"], errors["judge_only_blind"] + 0.05),
        ),
        always_a_target_per_image=below(perfect, constant),
        vanilla_without_input=below(by_input, by_noise),
    )


def _unpaired_errors(seed: int) -> tuple[float, float]:
    """Distance of the right translations, and of one gray image, to row k of the other set when it is unpaired."""
    _, B = outlines(seed)
    shuffled = B[np.random.default_rng([seed, 12]).permutation(len(B))]
    return float(np.abs(B - shuffled).mean()), float(np.abs(np.median(B, axis=0) - shuffled).mean())


def _changes(model: Any, A: np.ndarray) -> tuple[float, float]:
    """How much the output changes with the input at the same noise, and with the noise at the same input."""
    made = model.transform(A, seed=0)
    other_input, other_noise = model.transform(np.roll(A, 1, axis=0), seed=0), model.transform(A, seed=1)
    return float(np.abs(made - other_input).mean()), float(np.abs(made - other_noise).mean())


@claim("claim-gan-latent-not-semantic")
def no_coordinate_of_the_noise_is_one_factor(seed: int) -> Verdict:
    from margin.generative import GAN

    rng = np.random.default_rng([seed, 10])
    factors = rng.uniform(-1, 1, size=(800, 2))  # size and brightness of a bump on six pixels
    grid = np.linspace(-1, 1, 6)
    X = (1.5 + factors[:, 1:]) * np.exp(-(grid**2) / (2 * (0.6 + 0.4 * factors[:, :1]) ** 2))
    model = GAN(6, (32, 32), max_iter=25, random_state=seed).fit(X)
    Z = rng.normal(size=(2000, 6))
    made = model.generate(Z)
    measured = np.column_stack([made.sum(axis=1), made.max(axis=1)])
    correlation = np.abs(np.corrcoef(Z.T, measured.T)[:6, 6:])
    second = np.sort(correlation, axis=0)[-2]
    line = np.linspace(0, 1, 9)[:, None]
    path = model.generate((1 - line) * Z[:1] + line * Z[1:2])
    return every(
        no_perfect_alignment=below(float(correlation.max()), 0.98),
        several_coordinates_matter=above(float(second.max()), 0.1),
        interpolation_is_gradual=below(float(np.abs(np.diff(path, axis=0)).max()), 0.7 * float(np.ptp(X))),
    )
