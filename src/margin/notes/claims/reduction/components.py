"""Sources behind mixtures, counts as points, points from distances."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2_contingency, kstest

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data import load
from margin.foundations.probability.kernels import squared_distances
from margin.notes.claims import claim
from margin.notes.claims.chance import plausible
from margin.reduction import (
    MDS,
    PCA,
    CorrespondenceAnalysis,
    FastICA,
    classical_coordinates,
    correspondence_analysis,
    stress,
)


@claim("ica")
def mixed_signals_are_found_again(seed: int) -> Verdict:
    t = np.arange(2000)
    S = np.column_stack([np.sign(np.sin(t / 13)), (t / 31) % 1 - 0.5])
    X = S / S.std(axis=0) @ np.array([[1.0, 0.6], [0.8, 1.0]])

    def match(recovered: np.ndarray) -> float:
        return float(np.abs(np.corrcoef(S.T, recovered.T)[:2, 2:]).max(axis=1).min())

    ica, pca = FastICA(random_state=seed).fit_transform(X), PCA(whiten=True).fit_transform(X)
    return every(ica=above(match(ica), 0.95), pca_does_not=below(match(pca), 0.95))


@claim("correspondence-analysis")
def inertia_is_chi_squared_over_n() -> Verdict:
    table = np.array([[18, 4, 2, 9], [3, 22, 7, 1], [5, 6, 19, 8]])
    analysis, model = correspondence_analysis(table), CorrespondenceAnalysis().fit(table)
    chi_squared = chi2_contingency(table, correction=False).statistic
    profiles = table / table.sum(axis=1, keepdims=True) / np.sqrt(analysis.column_masses)
    return every(
        inertia=near(analysis.inertia, chi_squared / table.sum(), tolerance=1e-12),
        distances=near(squared_distances(analysis.rows), squared_distances(profiles), tolerance=1e-12),
        profiles_place_rows=near(model.transform(table), analysis.rows, tolerance=1e-12),
    )


@claim("multidimensional-scaling")
def classical_scaling_is_exact_and_not_the_least_stress(seed: int) -> Verdict:
    """The notes cite Kruskal's stress for the variant that has a closed form: that one does not minimize stress."""
    rng = np.random.default_rng(seed)
    D = np.sqrt(squared_distances(rng.normal(size=(40, 2))))
    exact = classical_coordinates(D, 2)[0]
    beyond = np.sqrt(squared_distances(rng.normal(size=(40, 6))))  # no plane has these distances
    classical = stress(beyond, classical_coordinates(beyond, 2)[0])
    model = MDS(metric="precomputed")
    falling = [record["stress"] for record in model.iterate(beyond)]
    nonmetric = MDS(metric_mds=False, metric="precomputed").fit(beyond)
    return corrected(
        every(
            recovered=near(np.sqrt(squared_distances(exact)), D, tolerance=1e-7),
            never_rises=equal(falling, sorted(falling, reverse=True)),
            order_alone_is_easier=below(nonmetric.stress_, model.stress_),
        ),
        printed=near(classical, model.stress_, tolerance=0.01),
    )


@claim("swiss-roll-dataset")
def the_roll_is_a_sheet_rolled_up(seed: int) -> Verdict:
    roll, noisy = (load("swiss-roll", n_samples=3000, noise=noise, seed=seed) for noise in (0.0, 0.5))
    X, t = np.asarray(roll.X), np.asarray(roll.y)
    off = np.asarray(noisy.X) - X  # the same seed draws the same sheet
    return every(
        shape=equal(X.shape, (3000, 3)),
        spiral=near(X[:, [0, 2]], np.column_stack([t * np.cos(t), t * np.sin(t)]), tolerance=1e-9),
        positions=plausible(kstest(t, "uniform", (1.5 * np.pi, 3 * np.pi)).pvalue),
        heights=plausible(kstest(X[:, 1], "uniform", (0, 21)).pvalue),
        noise=plausible(kstest(off.ravel(), "norm", (0, 0.5)).pvalue),
    )
