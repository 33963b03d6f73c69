"""The curse of dimensionality: empty cells, tied neighbors, and features that only add noise."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.neighbors import KNeighborsClassifier
from margin.notes.claims import claim
from margin.reduction import coverage, distance_contrast, grid_neighbors


@claim("curse-of-dimensionality")
def coverage_vanishes_and_features_can_hurt(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    y = np.arange(400) % 2
    informative = rng.normal(size=(400, 2)) + 2.5 * y[:, None]
    noise = rng.normal(size=(400, 300))
    accuracy = []
    for extra in (0, 300):
        X = np.hstack([informative, noise[:, :extra]])
        accuracy.append(KNeighborsClassifier(5).fit(X[:200], y[:200]).score(X[200:], y[200:]))
    contrast = [distance_contrast(rng.uniform(size=(500, d)), rng.uniform(size=d)) for d in (2, 10, 100, 1000)]
    share = coverage(100, 1e12)
    return corrected(
        every(
            share=near(share, 1e12 / 2.0**100, tolerance=1e-30),
            power=equal(round(np.log10(share)), -18),
            needs_two_values=below(coverage(100, 1e12, values=3), 1e-30),
            accuracy_falls=above(accuracy[0] - accuracy[1], 0.1),
            contrast_falls=equal(contrast, sorted(contrast, reverse=True)),
        ),
        any_number_of_values=near(np.log10(coverage(100, 1e12, values=3)), -18.0, tolerance=1.0),
    )


@claim("grid-nearest-neighbours-example")
def two_neighbors_tie_per_dimension() -> Verdict:
    return equal([grid_neighbors(d) for d in range(1, 7)], [2 * d for d in range(1, 7)])
