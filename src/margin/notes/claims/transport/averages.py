"""Claims about means of distributions and the paths between them."""

from __future__ import annotations

import numpy as np
from scipy import stats

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.foundations.transport import barycenter_1d, geodesic, mixture_path, normal_barycenter, wasserstein
from margin.notes.claims import claim


@claim("wasserstein-barycenter")
def normals_average_by_mean_and_deviation() -> Verdict:
    levels = (np.arange(4000) + 0.5) / 4000
    means, stds = np.array([-2.0, 1.0, 7.0]), np.array([0.5, 1.0, 3.0])
    quantiles = [stats.norm(m, s).ppf(levels) for m, s in zip(means, stds)]
    positions, masses = barycenter_1d(quantiles)
    mean, std = normal_barycenter(means, stds)
    few, weights = barycenter_1d([[1.0, 0.0], [10.0, 13.0, 16.0]], [1.0, 3.0], [[3.0, 1.0], [0.5, 0.5, 1.0]])
    return every(
        # Up to 1/4 the quantiles are 0 and 10, up to 1/2 they are 1 and 13, then 1 and 16, each averaged as 1 to 3.
        unequal=near([few, weights], [[7.5, 10.0, 12.25], [0.25, 0.25, 0.5]], tolerance=1e-12),
        closed_form=near([mean, std], [2.0, 1.5], tolerance=1e-12),
        quantiles=near(positions, stats.norm(mean, std).ppf(levels), tolerance=1e-9),
        mass=near(masses.sum(), 1.0, tolerance=1e-12),
    )


@claim("wasserstein-geodesic")
def the_geodesic_moves_and_the_mixture_fades(seed: int) -> Verdict:
    levels = (np.arange(2000) + 0.5) / 2000
    x, y = stats.norm(0, 1).ppf(levels), stats.norm(10, 2).ppf(levels)
    middle, _ = geodesic(x, y, 0.5)
    rng = np.random.default_rng(seed)
    P0, P1 = rng.normal(size=(20, 2)), rng.normal(size=(25, 2)) + 4
    quarter, masses = geodesic(P0, P1, 0.25)
    distance = wasserstein(P0, P1, 2)
    grid = np.linspace(-5, 18, 2301)
    p0, p1 = stats.norm(0, 1).pdf(grid), stats.norm(10, 2).pdf(grid)
    half = mixture_path(p0, p1, 0.5)
    n_modes = int(((half[1:-1] > half[:-2]) & (half[1:-1] > half[2:])).sum())
    return corrected(
        every(
            midpoint=near(middle[:, 0], stats.norm(5, 1.5).ppf(levels), tolerance=1e-9),
            constant_speed=near(wasserstein(P0, quarter, 2, b=masses), 0.25 * distance, tolerance=1e-6),
            ends=near([wasserstein(P, *_end(P0, P1, t)) for t, P in ((0, P0), (1, P1))], [0.0, 0.0], tolerance=1e-9),
            mixture_modes=equal(n_modes, 2),
            mixture_starts_at_p0=near(mixture_path(p0, p1, 0.0), p0, tolerance=0.0),
        ),
        printed=near(0.0 * p0 + (1 - 0.0) * p1, p0, tolerance=1e-6),
    )


def _end(P0: np.ndarray, P1: np.ndarray, t: float) -> tuple[np.ndarray, float, None, np.ndarray]:
    points, masses = geodesic(P0, P1, t)
    return points, 1.0, None, masses
