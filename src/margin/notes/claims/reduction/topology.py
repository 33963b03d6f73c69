"""Claims about shape that no deformation changes."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.notes.claims import claim
from margin.reduction.topology import betti, straight_homotopy


@claim("homotopy")
def maps_are_homotopic_and_spaces_equivalent(seed: int) -> Verdict:
    """Any two maps into the plane are homotopic, whatever their images: homotopy of maps does not compare spaces."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    annulus = circle * rng.uniform(0.9, 1.2, size=(40, 1))
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 11)] * 2), axis=-1).reshape(-1, 2)
    disc = grid[(grid**2).sum(axis=1) <= 1]
    clusters = np.vstack([0.1 * circle[::4], 0.1 * circle[::4] + 3])
    to_circle = lambda t: np.column_stack([np.cos(t), np.sin(t)])  # noqa: E731
    to_point = lambda t: np.zeros((len(t), 2))  # noqa: E731
    family = straight_homotopy(to_circle, to_point)
    largest_step = max(np.abs(family(angle, t + 1e-4) - family(angle, t)).max() for t in np.linspace(0, 0.9, 10))
    start, end = betti(family(angle, 0.0), 0.35), betti(family(angle, 1.0), 0.35)
    return corrected(
        every(
            circle=equal(betti(circle, 0.35), (1, 1)),
            annulus=equal(betti(annulus, 0.45), (1, 1)),
            disc=equal(betti(disc, 0.35), (1, 0)),
            two_clusters=equal(betti(clusters, 0.35), (2, 0)),
            continuous=near(largest_step, 1e-4, tolerance=1e-6),
            ends=near(family(angle, 0.0), circle, tolerance=1e-12),
        ),
        printed=equal(tuple(start), tuple(end)),  # images of homotopic maps would be of one shape, as cup and doughnut
    )
