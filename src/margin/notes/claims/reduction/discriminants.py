"""Directions that part classes, and those that merely vary most."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from margin.bayes import LinearDiscriminantAnalysis
from margin.core.verdict import Verdict, above, every, near, within
from margin.data import load
from margin.notes.claims import claim


@claim("linear-discriminant-analysis")
def directions_maximize_between_over_within(seed: int) -> Verdict:
    """Each direction solves the generalized eigenproblem, and no other direction has a larger ratio of scatters."""
    wine = load("wine")
    X, y = np.asarray(wine.X), np.asarray(wine.y)
    model = LinearDiscriminantAnalysis().fit(X, y)
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    inside, apart = X - means[y], means[y] - X.mean(axis=0)
    S_within, S_between = inside.T @ inside, apart.T @ apart

    def ratio(V: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ik,kj->j", V, S_between, V) / np.einsum("ij,ik,kj->j", V, S_within, V)

    others = np.random.default_rng(seed).normal(size=(X.shape[1], 2000))
    largest = eigh(S_between, S_within, eigvals_only=True)[::-1][:2]
    return every(
        ratios=near(ratio(model.scalings_), largest, tolerance=1e-8),
        nothing_better=above(ratio(model.scalings_)[0] - ratio(others).max(), 0.0),
        variance_one_within=near(model.scalings_.T @ S_within @ model.scalings_ / len(X), np.eye(2), tolerance=1e-9),
        classifies=above(model.score(X, y), 0.99),
        transformed=near(model.fit_transform(X, y).mean(axis=0), np.zeros(2), tolerance=1e-9),
    )


@claim("claim-pca-versus-lda")
def variance_and_separation_are_different_aims(seed: int) -> Verdict:
    """Two elongated classes side by side: the direction of most variance runs along both, LDA's across."""
    rng = np.random.default_rng(seed)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) * [10.0, 0.5]
    X[:, 1] += 4 * y
    centered = X - X.mean(axis=0)
    along = centered @ np.linalg.svd(centered, full_matrices=False)[2][0]
    across = LinearDiscriminantAnalysis(n_components=1).fit_transform(X, y)[:, 0]

    def nearest_mean_accuracy(z: np.ndarray) -> float:
        means = np.array([z[y == c].mean() for c in (0, 1)])
        return float(np.mean(np.abs(z[:, None] - means).argmin(axis=1) == y))

    return every(
        pca=within(nearest_mean_accuracy(along), 0.4, 0.6),
        lda=above(nearest_mean_accuracy(across), 0.95),
        pca_keeps_more_variance=above(along.var() / (across / np.linalg.norm(_direction(X, y))).var(), 10),
    )


def _direction(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return LinearDiscriminantAnalysis(n_components=1).fit(X, y).scalings_[:, 0]
