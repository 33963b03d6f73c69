"""Variances of projections, loops of circles, affinities by bisection, and the divergence of an embedding."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import brentq
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.reduction import TSNE, projected_variance
from margin.reduction.affinities import row_affinities
from margin.reduction.topology import betti
from margin.reduction.tsne_affinities import conditional_affinities, sparse_affinities

PATH = "margin.reduction"


def neighbor_probabilities(squares: np.ndarray, perplexity: float) -> np.ndarray:
    """Of one row, the precision found by bisection such that the entropy is log perplexity."""

    def weights(log_beta: float) -> np.ndarray:
        p = np.exp(-np.exp(log_beta) * (squares - squares.min()))
        return p / p.sum()

    def excess(log_beta: float) -> float:
        p = weights(log_beta)
        return float(-(p * np.log(np.maximum(p, 1e-300))).sum() - np.log(perplexity))

    return weights(brentq(excess, -12.0, 12.0, xtol=1e-13))


@oracle(f"{PATH}.projected_variance")
def variances_of_projections(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, U = rng.normal(1.0, 2.0, size=(12, 3)), rng.normal(size=(3, 2))
    expected = [np.mean((X @ u - np.mean(X @ u)) ** 2) for u in U.T]
    return every(
        several=near(projected_variance(X, U), expected, tolerance=1e-10),
        one=near(projected_variance(X, U[:, 0]), expected[0], tolerance=1e-10),
    )


@oracle(f"{PATH}.topology.betti")
def circles_and_points(seed: int) -> Verdict:
    """Two circles apart and a few points in a heap, moved and turned at random: three pieces, two loops."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.concatenate([circle, 1.5 * circle + [8.0, 1.0], 0.1 * rng.normal(size=(5, 2)) + [3.0, 9.0]])
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    moved = X @ turn + rng.normal(size=2)
    small, middle = betti(moved, 0.05), betti(moved, 0.8)
    return every(
        apart=equal(small.loops, 0),
        circles=equal((middle.pieces, middle.loops), (3, 2)),
        joined=equal(tuple(betti(moved, 30.0)), (1, 0)),
    )


@oracle(f"{PATH}.affinities.row_affinities",
        *(f"{PATH}.tsne_affinities.{name}" for name in ("conditional_affinities", "sparse_affinities")))  # fmt: skip
def affinities_by_bisection(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3)) * [1.0, 2.0, 0.5]
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    joint = np.zeros((25, 25))
    for i in range(25):
        nearest = [j for j in np.argsort(squares[i], kind="stable") if j != i][:13]  # three times 4, and one
        joint[i, nearest] = neighbor_probabilities(squares[i, nearest], 4.0)
    gaps = np.sqrt(np.sort(squares + np.diag(np.full(25, np.inf)), axis=1)[:, :10])
    beta = rng.uniform(0.2, 2.0, 25)
    plain = np.exp(-beta[:, None] * gaps**2)
    return every(
        rows=near(row_affinities(gaps**2, beta), plain / plain.sum(axis=1, keepdims=True), tolerance=1e-12),
        at_a_perplexity=near(
            conditional_affinities(gaps, 4.0), [neighbor_probabilities(row**2, 4.0) for row in gaps], tolerance=1e-6
        ),
        joint=near(sparse_affinities(TSNE(perplexity=4.0), X).toarray(), (joint + joint.T) / 50, tolerance=1e-6),
    )


@oracle(f"{PATH}.TSNE")
def divergence_of_an_embedding(seed: int) -> Verdict:
    """What the model says of its embedding, from affinities of all pairs by bisection; and less than at the start."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(14, 4)), rng.normal(size=(20, 4)) + 4.0])
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    P = np.zeros((34, 34))
    for i in range(34):
        others = [j for j in range(34) if j != i]
        P[i, others] = neighbor_probabilities(squares[i, others], 6.0)
    P = (P + P.T) / 68
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TSNE(perplexity=6.0, method="exact", max_iter=300, random_state=seed)
        records = list(model.iterate(X))

    def divergence(Y: np.ndarray) -> float:
        near_by = 1 / (1 + ((Y[:, None] - Y[None]) ** 2).sum(axis=2))
        np.fill_diagonal(near_by, 0.0)
        Q = near_by / near_by.sum()
        return float(sum(P[i, j] * np.log(P[i, j] / Q[i, j]) for i, j in zip(*np.nonzero(P))))

    Y = model.embedding_
    rates = np.array([[divergence(Y + h) - divergence(Y - h) for h in _moves(34, i)] for i in (3, 30)]) / 2e-5
    return every(
        divergence=near(model.kl_divergence_, divergence(Y), tolerance=1e-4),
        recorded=near(records[-1]["kl"], divergence(Y), tolerance=1e-4),
        nearly_flat=near(rates, np.zeros((2, 2)), tolerance=2e-3),
    )


def _moves(n: int, row: int) -> np.ndarray:
    moves = np.zeros((2, n, 2))
    moves[0, row, 0] = moves[1, row, 1] = 1e-5
    return moves
