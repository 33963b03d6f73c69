"""Claims on judging generative models: what they answer, and how near their rows are to real ones."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import sqrtm
from sklearn.base import is_classifier
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from margin.bayes import GaussianNB
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.graphical import BayesianNetwork, SumProductNetwork
from margin.metrics.samples import (
    debiased_frechet_distance,
    frechet_distance,
    frechet_distance_of_normals,
    memorization,
)
from margin.mixture import GaussianMixture
from margin.neighbors.density import HistogramDensity, KernelDensity
from margin.neighbors.density.histogram import CategoryHistogram
from margin.notes.claims import claim
from margin.notes.claims.chance import CHANCE
from margin.selection.generators import capabilities, compare_generators, evaluate_generator

WEATHER = ["sun"] * 12 + ["clouds"] * 9 + ["rain"] * 6 + ["snow"] * 3


def _correlate(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 2)) @ np.array([[1.0, 0.9], [0.0, 0.45]])


@claim("generative-model")
def every_generative_model_answers_the_same_questions(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    train, held_out = _correlate(rng, 500), _correlate(rng, 300)
    models: dict[str, Any] = {
        "histogram": HistogramDensity(),
        "kernel": KernelDensity(bandwidth=0.3),
        "mixture": GaussianMixture(1),
        "network": BayesianNetwork(),
        "circuit": SumProductNetwork(random_state=seed),
    }
    board = compare_generators(models, train, held_out, seed)
    table = {name: capabilities(model) for name, model in models.items()}
    scores = {row["model"]: row["log_density"] for row in board}
    half = np.array([[0.3, np.nan]])
    summed = float(models["network"].score_samples(half)[0])
    grid = np.linspace(-12, 12, 4001)
    joint = models["network"].score_samples(np.column_stack([np.full(len(grid), 0.3), grid]))
    naive = GaussianNB().fit([[0.0], [0.2], [3.0], [3.3]], [0, 0, 1, 1])
    return corrected(
        every(
            all_sample=equal([c.sample for c in table.values()], [True] * 5),
            all_have_a_density=equal({c.log_density for c in table.values()}, {"exact"}),
            capabilities_differ=equal([table["network"].marginal, table["mixture"].marginal], [True, False]),
            marginal=near(summed, np.log(np.exp(joint).sum() * (grid[1] - grid[0])), tolerance=0.02),
            independence_loses=above(scores["network"] - scores["histogram"], 0.2),
            the_true_family_wins=equal(board[0]["model"], "mixture"),
        ),
        generative_means_unsupervised=equal(is_classifier(naive), False),
    )


@claim("histogram-model")
def frequencies_are_a_model(seed: int) -> Verdict:
    model = CategoryHistogram.fit(WEATHER)
    drawn = CategoryHistogram.fit(model.sample(20_000, seed))
    frequencies = dict(zip(drawn.values, drawn.probabilities))
    density = HistogramDensity(alpha=0.0).fit(np.arange(30).reshape(-1, 1) % 3)
    return every(
        total=near(model.probabilities.sum(), 1.0, tolerance=1e-12),
        mode=equal(model.mode, "sun"),
        event=near(model.prob(lambda state: state in ("rain", "snow")), 9 / 30, tolerance=1e-12),
        simulation=near([frequencies[v] for v in model.values], model.probabilities, tolerance=0.015),
        density=near(np.exp(density.score_samples([[0.0], [1.0], [2.0]])), np.full(3, 1 / 3), tolerance=1e-12),
    )


@claim("probabilistic-circuits")
def circuits_are_normalized_and_fast(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=600)
    noisy = [np.where(rng.random(600) < 0.85, a, 1 - a) for _ in range(3)]
    X = np.column_stack([a, *noisy, rng.integers(3, size=600)]).astype(float)
    model = SumProductNetwork(random_state=seed).fit(X)
    states = np.array(list(product([0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0, 2.0])))
    p = np.exp(model.score_samples(states))
    gaps = np.full((2, 5), np.nan)
    gaps[:, 1] = [0.0, 1.0]
    drawn = model.sample(20_000, random_state=seed)
    independent = HistogramDensity().fit(X)
    return every(
        sums_to_one=near(p.sum(), 1.0, tolerance=1e-10),
        marginals=near(
            np.exp(model.score_samples(gaps)), [p[states[:, 1] == v].sum() for v in (0.0, 1.0)], tolerance=1e-10
        ),
        samples=near(drawn.mean(axis=0), p @ states, tolerance=0.03),
        better_than_independent_columns=above(model.score(X) - independent.score(X), 0.1),
    )


@claim("claim-generation-without-memorising")
def copies_are_found_and_samples_are_not_copies(seed: int) -> Verdict:
    # Another stream than that of the samples: with one seed for both, samples repeat the noise of the training rows.
    rng = np.random.default_rng([seed, 7])
    centers = rng.normal(scale=4, size=(3, 4))
    train, held_out = (centers[rng.integers(3, size=n)] + rng.normal(size=(n, 4)) for n in (600, 1000))
    sampled = GaussianMixture(3, random_state=seed).fit(train).sample(1000, random_state=seed)
    copied = KernelDensity(bandwidth=0.01).fit(train).sample(1000, random_state=seed)
    honest, memorizer = (memorization(train, held_out, rows, level=CHANCE) for rows in (sampled, copied))
    return every(
        new_rows=equal(honest.is_memorizing, False),
        as_far_as_held_out=within(honest.fraction_closer, 0.4, 0.6),
        copies=equal(memorizer.is_memorizing, True),
        copies_are_nearer=above(memorizer.fraction_closer, 0.99),
    )


@cache
def _digits() -> np.ndarray:
    return load_digits().images / 16.0


@claim("evaluating-generative-models")
def identical_sets_score_best(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    real = _correlate(rng, 900)
    same = evaluate_generator(real, real.copy(), log_density=np.zeros(900), probabilities=np.full((900, 2), 0.5))
    fresh = evaluate_generator(real, _correlate(rng, 900))
    worse = {
        "shifted": evaluate_generator(real, real + 1.0),
        "one_half": evaluate_generator(real, real[real[:, 0] > 0]),
        "independent": evaluate_generator(real, np.column_stack([rng.permutation(c) for c in real.T])),
    }
    return every(
        distance_zero=near(same["frechet_distance"], 0.0, tolerance=1e-9),
        all_covered=equal([same[name] for name in ("precision", "recall", "coverage")], [1.0, 1.0, 1.0]),
        fresh_rows_cannot_be_told_apart=within(fresh["neighbor_accuracy"], 0.4, 0.6),
        shift_moves_away=above(worse["shifted"]["frechet_distance"], 20 * fresh["frechet_distance"]),
        lost_half_loses_recall=below(worse["one_half"]["recall"], 0.75),
        but_not_precision=above(worse["one_half"]["precision"], 0.9),
        wrong_pairs_lose_precision=below(worse["independent"]["precision"], fresh["precision"] - 0.1),
        classes=near(same["inception_score"], 1.0, tolerance=1e-12),
    )


@claim("fid")
def frechet_distances_of_sets(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, B, m = np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([3.0, 1.0]), np.array([1.0, -1.0])
    number = frechet_distance_of_normals([0, 0], A, m, B)
    by_product = 2.0 + np.trace(A + B) - 2 * np.trace(np.real(sqrtm(A @ B)))
    images = _digits()[rng.permutation(1797)]
    features = PCA(16, random_state=0).fit(images.reshape(1797, -1))
    labels = load_digits().target[np.random.default_rng(seed).permutation(1797)]

    def seen(these: np.ndarray) -> np.ndarray:
        return features.transform(these.reshape(len(these), -1))

    real, other = images[:900], images[900:]
    blurred = (other + np.roll(other, 1, 1) + np.roll(other, 1, 2) + np.roll(other, -1, 2)) / 4
    noisy = [other + rng.normal(scale=s, size=other.shape) for s in (0.3, 0.6)]
    rising = [frechet_distance(seen(real), seen(x)) for x in (other, *noisy)]
    dropped = frechet_distance(seen(real), seen(other[labels[900:] < 5]))
    # The bias in the number of rows: two samples of one distribution, small and large.
    small, large = (frechet_distance(rng.normal(size=(n, 8)), rng.normal(size=(n, 8))) for n in (100, 1600))
    pairs = rng.normal(size=(10, 2, 200, 6))
    biased, extrapolated = (
        np.mean([f(*pair) for pair in pairs]) for f in (frechet_distance, debiased_frechet_distance)
    )
    pixels, features_differ = frechet_distance(real.reshape(900, -1), blurred.reshape(897, -1)), rising[0]
    return corrected(
        every(
            number=near(number, 2.516685, tolerance=5e-7),
            product_form=near(by_product, number, tolerance=1e-9),
            equal_covariances=near(frechet_distance_of_normals([0, 0], A, m, A), 2.0, tolerance=1e-9),
            symmetric=near(
                frechet_distance(seen(real), seen(other)), frechet_distance(seen(other), seen(real)), tolerance=1e-9
            ),
            itself=near(frechet_distance(seen(real), seen(real)), 0.0, tolerance=1e-6),
            noise=above(min(rising[1] / rising[0], rising[2] / rising[1]), 1.5),
            blur=above(frechet_distance(seen(real), seen(blurred)) / features_differ, 2.0),
            dropped_modes=above(dropped / rising[0], 3.0),
            bias_falls=above(small / large, 6.0),
            extrapolation=below(float(abs(extrapolated) / biased), 0.4),
        ),
        without_features=near(pixels, frechet_distance(seen(real), seen(blurred)), tolerance=0.01),
        not_squared=near(np.sqrt(number), 2.516685, tolerance=1e-3),
    )
