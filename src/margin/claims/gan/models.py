"""Trained games, small enough for seconds: what they reach on known laws and on digits."""

from __future__ import annotations

import numpy as np

from margin.claims import claim
from margin.claims.diffusion.models import digits, energy_distance
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within

RING_DEVIATION = 0.05


def ring(seed: int, n: int = 1500) -> np.ndarray:
    from margin.generative.gan.coverage import ring_modes

    rng = np.random.default_rng([seed, 8])
    return ring_modes()[rng.integers(8, size=n)] + RING_DEVIATION * rng.normal(size=(n, 2))


@claim("gan")
def generated_rows_approach_the_data(seed: int) -> Verdict:
    from margin.generative import GAN

    rng = np.random.default_rng(seed)
    X = rng.normal([3.0, -1.0], [1.0, 0.5], size=(500, 2))
    model = GAN(4, (32,), max_iter=40, random_state=seed)
    records = list(model.iterate(X))
    made = model.sample(1000, random_state=seed)
    start = GAN(4, (32,), max_iter=1, batch_size=500, random_state=seed, weight_average=None).fit(X)
    untrained = start.sample(1000, random_state=seed)
    return every(
        mean=near((made.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0), np.zeros(2), tolerance=0.5),
        deviation=near(made.std(axis=0) / X.std(axis=0), np.ones(2), tolerance=0.6),
        discriminator_guesses=near(float(model.discriminate(X).mean()), 0.5, tolerance=0.15),
        logged=within(records[-1]["discriminator_fake"], 0.3, 0.7),
        nearer_than_before=below(energy_distance(made, X), 0.5 * energy_distance(untrained, X)),
    )


@claim("claim-mode-collapse")
def an_unbalanced_game_collapses_and_a_tuned_one_covers_the_ring(seed: int) -> Verdict:
    from margin.generative import GAN
    from margin.generative.gan.coverage import mode_coverage, ring_modes

    X = ring(seed)
    tuned = GAN(8, (64, 64), max_iter=30, random_state=seed).fit(X)
    # No penalty, no average, and a generator that moves ten times as fast as the discriminator that judges it.
    unbalanced = GAN(
        8, (64, 64), loss="minimax", penalty="none", weight_average=None, discriminator_rate=0.1, beta_1=0.9
    )
    unbalanced.set_params(max_iter=6, learning_rate_init=1e-2, learning_rate="constant", random_state=seed).fit(X)
    found = {
        name: mode_coverage(model.sample(2500, random_state=seed), ring_modes(), 3 * RING_DEVIATION)
        for name, model in (("tuned", tuned), ("unbalanced", unbalanced))
    }
    return every(
        tuned=above(found["tuned"].covered, 6),
        unbalanced=below(found["unbalanced"].covered, 5),
        no_density=equal((hasattr(tuned, "score_samples"), tuned.log_density_kind), (False, "none")),
    )


@claim("multi-player-gan")
def several_discriminators_train_one_generator(seed: int) -> Verdict:
    from margin.generative import GAN
    from margin.generative.gan.coverage import mode_coverage, ring_modes

    X = ring(seed)
    model = GAN(8, (64,), n_discriminators=3, max_iter=20, random_state=seed).fit(X)
    found = mode_coverage(model.sample(2500, random_state=seed), ring_modes(), 3 * RING_DEVIATION)
    members = {name.split(".")[2] for name in model.weights_ if name.startswith("discriminator.members")}
    return every(players=equal(len(members), 3), modes=above(found.covered, 5))


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
    return every(classes=above(min(hits), 0.8))


def _gray(X: np.ndarray, made: np.ndarray) -> dict[str, Verdict]:
    """Digits of the right ink and spread, nearer to the data than noise of the same mean and deviation."""
    blob = np.clip(X.mean(axis=0) + X.std(axis=0) * np.random.default_rng(0).standard_normal(made.shape), 0, 1)
    return {
        "in_range": within(float(np.abs(made - 0.5).max()), 0.0, 0.5 + 1e-6),
        "ink": near(float(made.mean()), float(X.mean()), tolerance=0.12),
        "nearer_than_independent_pixels": below(energy_distance(made, X), energy_distance(blob, X) + 0.3),
    }


@claim("dcgan")
def a_convolutional_game_makes_digits(seed: int) -> Verdict:
    from margin.generative import GAN

    X, _ = digits(seed, 600)
    model = GAN(16, (32, 16), architecture="dcgan", image_shape=(8, 8), max_iter=8, random_state=seed)
    model.set_params(learning_rate_init=2e-3, batch_size=50).fit(X)
    made = model.sample(300, random_state=seed)
    return every(**_gray(X, made))


@claim("style-gan")
def styles_can_be_mixed_between_coarse_and_fine_layers(seed: int) -> Verdict:
    from margin.generative import GAN

    X, _ = digits(seed, 600)
    model = GAN(16, (16, 16), architecture="style", image_shape=(8, 8), max_iter=6, random_state=seed)
    model.set_params(learning_rate_init=2e-3, batch_size=50).fit(X)
    rng = np.random.default_rng(seed)
    Z, Z_fine = rng.normal(size=(2, 40, 16))
    ours, theirs, mixed = model.generate(Z), model.generate(Z_fine), model.mix_styles(Z, Z_fine, n_coarse=2)
    return every(
        **_gray(X, model.sample(300, random_state=seed)),
        all_coarse_is_the_first=near(model.mix_styles(Z, Z_fine, n_coarse=4), ours, tolerance=1e-6),
        no_coarse_is_the_second=near(model.mix_styles(Z, Z_fine, n_coarse=0), theirs, tolerance=1e-6),
        mixed_is_neither=above(float(min(np.abs(mixed - ours).mean(), np.abs(mixed - theirs).mean())), 1e-3),
    )


@claim("cycle-gan")
def two_unpaired_clouds_are_mapped_onto_each_other(seed: int) -> Verdict:
    from margin.generative.gan.translation import CycleTranslation

    rng = np.random.default_rng(seed)
    A = rng.normal(size=(600, 2)) * [1.0, 0.4]
    B = rng.normal(size=(600, 2)) * [0.4, 1.0] + [2.0, 1.0]
    model = CycleTranslation((32,), max_iter=40, seed=seed).fit(A, B)
    made = model.transform(A)
    cycles = [record["generator_cycle"] for record in model.records]
    return every(
        cycle_falls=below(cycles[-1], 0.3 * cycles[0]),
        comes_back=below(float(np.abs(model.inverse_transform(made) - A).mean()), 0.25),
        mean=near(made.mean(axis=0), B.mean(axis=0), tolerance=0.35),
        covariance=near(np.cov(made.T), np.cov(B.T), tolerance=0.45),
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
    runs = {
        "near": {"l1_weight": 20.0},
        "judge_only": {"l1_weight": 0.0},
        "judge_only_blind": {"l1_weight": 0.0, "judge_sees_input": False},
    }
    errors = {}
    for name, options in runs.items():
        model = PairTranslation((48,), max_iter=15, seed=seed, **options).fit(A, B)
        errors[name] = float(np.abs(model.transform(test_A) - test_B).mean())
    return corrected(
        every(
            near_the_target=below(errors["near"], 0.7 * errors["judge_only"]),
            the_condition_matters=below(errors["judge_only"], errors["judge_only_blind"] + 0.05),
        ),
        always_a_target_per_image=_rows_of_unpaired_sets_are_targets(seed),
        vanilla_without_input=_generator_ignores_input(seed),
    )


def _rows_of_unpaired_sets_are_targets(seed: int) -> Verdict:
    """A translation learned without pairs: row k of the other set is no target of row k."""
    from margin.generative.gan.translation import CycleTranslation

    A, B = [*np.random.default_rng(seed).normal(size=(2, 300, 2)), [[0.0, 0.0]], [[1.0, 0.0]]]
    made = CycleTranslation((16,), max_iter=10, seed=seed).fit(A, B).transform(A)
    return below(float(np.abs(made - B).mean()), 0.3)


def _generator_ignores_input(seed: int) -> Verdict:
    """The formula called plain already gives the input to the generator: its output changes with the input."""
    from margin.generative.gan.translation import PairTranslation

    A, B = outlines(seed, 64)
    model = PairTranslation((8,), max_iter=1, seed=seed).fit(A, B)
    return near(model.transform(A), model.transform(A[::-1]), tolerance=1e-6)


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
