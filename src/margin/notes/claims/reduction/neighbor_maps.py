"""Neighbor probabilities of data and map: distributions, bandwidths, tails, and what many dimensions do to them."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.foundations.probability.kernels import squared_distances
from margin.notes.claims import claim
from margin.reduction import (
    TSNE,
    bandwidths,
    conditional_affinities,
    distance_contrast,
    joint_affinities,
    kl_divergence,
    kl_gradient,
    student_similarities,
    tsne_affinities,
)
from margin.reduction.affinities import powered_squares


def _rows(seed: int, n: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


@claim("t-sne")
def the_divergence_falls_along_its_gradient(seed: int) -> Verdict:
    X = np.vstack([_rows(seed, 50, 5), _rows(seed + 2, 50, 5) + 6])
    P, Y, h = joint_affinities(conditional_affinities(X, 10)), _rows(seed + 1, 100, 2), 1e-6
    moves = np.random.default_rng([seed, 2]).normal(size=(5, 100, 2))
    slopes = [(kl_divergence(P, Y + h * v) - kl_divergence(P, Y - h * v)) / (2 * h) for v in moves]
    model = TSNE(perplexity=10, max_iter=500, random_state=seed)
    history = [record["kl"] for record in model.iterate(X)]
    after = np.array(history[30:])  # the first 250 steps serve an exaggerated objective
    same = np.linalg.norm(model.embedding_[:50].mean(axis=0) - model.embedding_[50:].mean(axis=0))
    shapes = [TSNE(d, perplexity=10, max_iter=250, random_state=seed).fit_transform(X).shape for d in (1, 3)]
    return every(
        one_to_three_dimensions=equal(shapes, [(100, 1), (100, 3)]),
        no_fourth=raises(ValueError, lambda: TSNE(4, perplexity=10).fit(X), match="at most 3"),
        gradient=near([np.vdot(kl_gradient(P, Y), v) for v in moves], slopes, tolerance=1e-6),
        falls=below(float(np.diff(after).max()), 1e-3),
        ends_lower=below(history[-1], history[0]),
        groups_apart=above(same / model.embedding_[:50].std(), 1.5),
    )


@claim("t-sne-conditional-affinities")
def conditional_affinities_are_distributions_over_the_others(seed: int) -> Verdict:
    X = _rows(seed, 80, 6) * np.linspace(0.2, 3.0, 80)[:, None]  # every row has a scale of its own
    P, sigma = conditional_affinities(X, 12), bandwidths(X, 12)
    normal = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * sigma[:, None] ** 2))
    np.fill_diagonal(normal, 0.0)
    gaps = np.sqrt(squared_distances(X))
    others = ~np.eye(80, dtype=bool)
    return every(
        as_run=near(
            tsne_affinities.conditional_affinities(gaps[others].reshape(80, 79), 12),
            P[others].reshape(80, 79),
            tolerance=1e-9,
        ),
        diagonal=near(np.diag(P), np.zeros(80), tolerance=0.0),
        rows=near(P.sum(axis=1), np.ones(80), tolerance=1e-12),
        normal_density=near(P, normal / normal.sum(axis=1, keepdims=True), tolerance=1e-9),
        scales_differ=above(float(sigma.max() / sigma.min()), 2.0),
    )


@claim("t-sne-perplexity-bisection")
def every_row_has_the_entropy_asked_for(seed: int) -> Verdict:
    X = np.vstack([0.1 * _rows(seed, 60, 3), 3 * _rows(seed + 1, 60, 3) + 20])
    P, sigma = conditional_affinities(X, 15), bandwidths(X, 15)
    entropy = -np.sum(P * np.log(np.maximum(P, 1e-300)), axis=1)
    return every(
        entropy=near(entropy, np.full(120, np.log(15)), tolerance=1e-5),
        dense_is_small=above(float(sigma[60:].min() / sigma[:60].max()), 1.0),
    )


@claim("t-sne-joint-affinities")
def joint_affinities_are_symmetric_with_total_one(seed: int) -> Verdict:
    X = _rows(seed, 80, 6)
    conditional = conditional_affinities(X, 12)
    P = joint_affinities(conditional)
    run = tsne_affinities.sparse_affinities(TSNE(perplexity=12, method="exact"), X)
    return every(
        as_run=near(run.toarray(), P, tolerance=1e-9),
        mean_of_both=near(P, (conditional + conditional.T) / (2 * 80), tolerance=1e-15),
        symmetric=near(P, P.T, tolerance=0.0),
        diagonal=near(np.diag(P), np.zeros(80), tolerance=0.0),
        total=near(P.sum(), 1.0, tolerance=1e-12),
        nobody_forgotten=above(float(P.sum(axis=1).min()), 1 / (2 * 80) - 1e-12),
    )


@claim("t-sne-student-similarities")
def heavy_tails_leave_room(seed: int) -> Verdict:
    """Descending both objectives on ten-dimensional rows: with normal q the map stays crowded."""
    X = _rows(seed, 60, 10)
    P = joint_affinities(conditional_affinities(X, 15))
    Q = student_similarities(X[:, :2])
    student, normal = 0.1 * _rows(seed + 1, 60, 2), 0.1 * _rows(seed + 1, 60, 2)
    for _ in range(300):
        student -= 10 * kl_gradient(P, student)
        weights = np.exp(-squared_distances(normal))
        np.fill_diagonal(weights, 0.0)
        pulls = P - weights / weights.sum()
        normal -= 10 * 4 * (pulls.sum(axis=1, keepdims=True) * normal - pulls @ normal)
    heavy = 1 / (1 + ((X[:, None, :2] - X[:, :2]) ** 2).sum(axis=2))
    np.fill_diagonal(heavy, 0.0)
    return every(
        formula=near(Q, heavy / heavy.sum(), tolerance=1e-15),
        total=near(Q.sum(), 1.0, tolerance=1e-12),
        diagonal=near(np.diag(Q), np.zeros(60), tolerance=0.0),
        less_crowded=above(float(student.std() / normal.std()), 1.5),
    )


@claim("claim-affinities-flatten-in-high-dimension")
def distances_and_affinities_lose_contrast(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    contrast, spread, gain = [], [], []
    for d in (2, 10, 100, 1000):
        X = rng.uniform(size=(500, d))
        contrast.append(distance_contrast(X[1:], X[0]))
        squares = squared_distances(X)[0, 1:]
        p = np.exp(-squares / squares.mean())  # sigma fixed by the mean distance
        spread.append(float(p.std() / p.mean()))
        P = conditional_affinities(X[:200], 15)  # the same entropy in every dimension, but in how many parts
        nearest = np.argsort(squared_distances(X[:200]), axis=1)[:, 1]
        gain.append(float(np.mean(P[np.arange(200), nearest])))
    return every(
        contrast=equal(contrast, sorted(contrast, reverse=True)),
        tens=above(contrast[0], 10.0),
        about_a_tenth=below(contrast[-1], 0.2),
        affinities=equal(spread, sorted(spread, reverse=True)),
        nearest_is_the_likeliest=above(min(gain), 1 / 15),
    )


@claim("t-sne-intrinsic-dimension-power-transform")
def powers_of_distances_restore_contrast(seed: int) -> Verdict:
    """Entropies being set by the bandwidths, contrast shows in the distances that enter: their relative spread."""
    X = np.random.default_rng(seed).uniform(size=(200, 1000))
    plain, raised = bandwidths(X, 15), conditional_affinities(X, 15, power="intrinsic")
    entropy = -np.sum(raised * np.log(np.maximum(raised, 1e-300)), axis=1)
    squares = squared_distances(X)[~np.eye(200, dtype=bool)]
    powers = powered_squares(X)[~np.eye(200, dtype=bool)]
    return every(
        runs=near(entropy, np.full(200, np.log(15)), tolerance=1e-5),
        contrast_grows=above(float((powers.std() / powers.mean()) / (squares.std() / squares.mean())), 5.0),
        positive=above(float(plain.min()), 0.0),
    )
