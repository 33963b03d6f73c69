"""Objectives of metric learning against sums over pairs and derivatives by differences."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import torch
from scipy import special, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.notes.claims.chance import plausible
from margin.representation.clip import zero_shot_probabilities
from margin.representation.contrastive import clip_loss, nt_xent
from margin.representation.factors import FactorModel
from margin.representation.metric_learning import nca_objective
from margin.representation.riemannian import curve_length, geodesic_curve, local_metric


@oracle("margin.representation.metric_learning.nca_objective")
def neighbors_of_the_same_class(seed: int) -> Verdict:
    """The expected number of rows whose random neighbor has their class, one pair at a time."""
    rng = np.random.default_rng(seed)
    X, y, A = rng.normal(size=(9, 3)), np.arange(9) % 3, rng.normal(size=(2, 3))

    def value(matrix: np.ndarray) -> float:
        total = 0.0
        for i in range(9):
            weight = [0.0 if j == i else np.exp(-np.sum((matrix @ (X[i] - X[j])) ** 2)) for j in range(9)]
            total += sum(w for w, label in zip(weight, y) if label == y[i]) / sum(weight)
        return total

    objective, slope = nca_objective(A, X, y)
    steps = [
        [np.where((np.arange(2)[:, None] == i) & (np.arange(3) == j), 1e-5, 0.0) for j in range(3)] for i in range(2)
    ]
    expected = [[(value(A + h) - value(A - h)) / 2e-5 for h in row] for row in steps]
    return every(value=near(objective, value(A), tolerance=1e-9), slope=near(slope, expected, tolerance=1e-6))


@oracle(*(f"margin.representation.riemannian.{name}" for name in ("local_metric", "curve_length", "geodesic_curve")))
def lengths_piece_by_piece(seed: int) -> Verdict:
    """The metric entry by entry at points away from the rows; lengths as sums; shortest curves are no longer."""
    rng = np.random.default_rng(seed)
    X, points, curve = rng.normal(size=(7, 3)), rng.normal(size=(4, 3)) + 0.4, rng.normal(size=(5, 3))
    metric = local_metric(X, sigma=0.8, rho=0.3)
    expected = np.empty((4, 3))
    for i, d in np.ndindex(4, 3):
        weights = [np.exp(-sum((x - points[i]) ** 2) / (2 * 0.64)) for x in X]
        expected[i, d] = 1 / (sum(w * (x[d] - points[i, d]) ** 2 for w, x in zip(weights, X)) + 0.3)
    length = sum(
        np.sqrt(float(metric((a + b) / 2) @ (b - a) ** 2)) for a, b in pairwise(curve)
    )  # fmt: skip
    flat = lambda points: np.ones(np.shape(points))  # noqa: E731
    bent = np.linspace(0, 1, 9)[:, None] * np.array([1.0, 2.0, 0.0]) + 0.2 * rng.normal(size=(9, 3))
    bent[0], bent[-1] = 0.0, [1.0, 2.0, 0.0]
    straight = geodesic_curve(bent[0], bent[-1], flat, 8, start=bent)
    shortest = geodesic_curve(X[0], X[1], metric, 8)
    return every(
        metric=near(metric(points), expected, tolerance=1e-10),
        length=near(curve_length(curve, metric), length, tolerance=1e-10),
        straight=near(straight, np.linspace(bent[0], bent[-1], 9), tolerance=1e-3),
        ends=near(shortest[[0, -1]], X[:2], tolerance=1e-12),
        shorter=equal(curve_length(shortest, metric) <= curve_length(np.linspace(X[0], X[1], 9), metric) + 1e-9, True),
    )


@oracle("margin.representation.clip.zero_shot_probabilities", "margin.representation.contrastive.nt_xent",
        "margin.representation.contrastive.clip_loss")  # fmt: skip
def pairs_by_torch(seed: int) -> Verdict:
    """Cross-entropies of torch over every pair; rows so far from all names that only differences count."""
    g = torch.Generator().manual_seed(seed)
    a, b = (torch.nn.functional.normalize(torch.randn(5, 3, generator=g).double(), dim=1) for _ in range(2))
    images, texts = 40 * a.numpy(), b.numpy()[:4]
    expected = special.softmax(0.1 * images @ texts.T, axis=1)
    lost = partial(torch.nn.functional.cross_entropy, reduction="none")
    z = torch.cat([a, b])
    logits = z @ z.T / 0.4
    logits.fill_diagonal_(-torch.inf)
    partner = torch.cat([torch.arange(5) + 5, torch.arange(5)])
    table = 7.0 * a @ b.T
    both = [lost(t, torch.arange(5)) for t in (table, table.T)]
    return every(
        names=near(zero_shot_probabilities(images, texts, 0.1), expected, tolerance=1e-9),
        shifted=near(
            zero_shot_probabilities(np.ones((2, 1)), np.array([[900.0], [901.0]]), 1.0),
            np.tile(special.softmax([0.0, 1.0]), (2, 1)),
            tolerance=1e-9,
        ),
        views=near(nt_xent(3 * z, 0.4).numpy(), lost(logits, partner).numpy(), tolerance=1e-9),
        captions=near(clip_loss(2 * a, b, 7.0).numpy(), ((both[0] + both[1]) / 2).numpy(), tolerance=1e-9),
    )


@oracle("margin.representation.factors.FactorModel")
def ratings_by_hand(seed: int) -> Verdict:
    """Products of two rows plus two biases; first factors normal with deviation 0.3."""
    model = FactorModel(400, 300, 5, seed=seed)
    with torch.no_grad():
        model.user_bias.copy_(torch.arange(400) / 10)
        model.item_bias.copy_(torch.arange(300) / -7)
    users, items = model.users.detach().numpy(), model.items.detach().numpy()
    expected = [users[3] @ items[7] + 0.3 - 1.0, users[9] @ items[0] + 0.9]
    return every(
        ratings=near(model(torch.tensor([3, 9]), torch.tensor([7, 0])).detach().numpy(), expected, tolerance=1e-5),
        users=plausible(stats.kstest(users.ravel() / 0.3, "norm").pvalue),
        items=plausible(stats.kstest(items.ravel() / 0.3, "norm").pvalue),
    )
