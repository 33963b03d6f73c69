"""The unit disc: data that no line separates, lifted so that a plane does."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, equal, every
from margin.notes.claims import claim
from margin.notes.experiments.disc_lift import bump, floor_ceil_decision


@claim("example-disc-bump-transform")
def the_bump_lifts_the_inside_of_the_disc(seed: int) -> Verdict:
    points = np.random.default_rng(seed).uniform(-2, 2, size=(10_000, 2))
    inside = np.hypot(*points.T) < 1
    return every(rule=equal(bump(*points.T) > 0, inside), both=equal(bool(inside.any() and not inside.all()), True))


@claim("example-disc-floor-ceil-decision")
def floor_and_ceiling_decide_the_disc(seed: int) -> Verdict:
    points = np.random.default_rng(seed).uniform(-2, 2, size=(100_000, 2))
    r2 = (points**2).sum(axis=1)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -1.0]])
    return every(
        random=equal(floor_ceil_decision(*points.T), (r2 >= 1).astype(float)),
        origin_and_circle=equal(floor_ceil_decision(*corners.T), np.array([0.0, 1.0, 1.0])),
    )
