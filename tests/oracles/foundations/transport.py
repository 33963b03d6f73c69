"""Plans, distances, barycenters and paths of mass against SciPy's linear programs and quantiles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import transport as ours

PATH = "margin.foundations.transport"


def cheapest_plan(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> float:
    """The cost of the best plan, by a general linear program."""
    m, n = cost.shape
    marginals = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    return float(linprog(cost.ravel(), A_eq=marginals, b_eq=np.concatenate([a, b])).fun)


@oracle(
    *(f"{PATH}.{name}" for name in ("wasserstein_1d", "wasserstein_1d_cdf", "monotone_plan", "cdf_difference_norm"))
)
def on_the_line(seed: int) -> Verdict:
    """Masses that sum to 2.7, the last one heavy on either side, and an integral of steps on a fine grid."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(0.4, 1.3, size=5), rng.normal(-1.0, 0.8, size=4)
    parts: dict[str, Verdict] = {}
    for name, heavy_x, heavy_y in (("first", 0.1, 3.0), ("second", 3.0, 0.1)):
        a, b = (
            rng.dirichlet(np.ones(5)) + heavy_x * (x == x.max()),
            rng.dirichlet(np.ones(4)) + heavy_y * (y == y.max()),
        )
        a, b = 2.7 * a / a.sum(), 2.7 * b / b.sum()
        cost = np.abs(x[:, None] - y) ** 3
        plan, moved, cheapest = ours.monotone_plan(x, y, a, b), np.zeros((5, 4)), cheapest_plan(a, b, cost)
        np.add.at(moved, (plan.source, plan.target), plan.mass)
        parts |= {
            f"{name}_leaves": near(moved.sum(axis=1), a, tolerance=1e-12),
            f"{name}_arrives": near(moved.sum(axis=0), b, tolerance=1e-12),
            f"{name}_cheapest": near(float((moved * cost).sum()), cheapest, tolerance=1e-7),
            f"{name}_third": near(ours.wasserstein_1d(x, y, 3, a, b), cheapest ** (1 / 3), tolerance=1e-7),
            f"{name}_area": near(
                ours.wasserstein_1d_cdf(x, y, a=a, b=b), 2.7 * stats.wasserstein_distance(x, y, a, b), tolerance=1e-10
            ),
        }
    ends = np.sort(np.concatenate([x, y]))
    steps = [abs(np.mean(x <= s) - np.mean(y <= s)) ** 2 * (e - s) for s, e in pairwise(ends)]
    paired = np.mean(np.abs(np.sort(x[:4]) - np.sort(y)) ** 3) ** (1 / 3)
    return every(
        **parts,
        even=near(ours.wasserstein_1d(x[:4], y, 3), paired, tolerance=1e-12),
        square=near(ours.cdf_difference_norm(x, y, 2), np.sqrt(sum(steps)), tolerance=1e-10),
    )


@oracle(
    *(f"{PATH}.{name}" for name in ("wasserstein", "solve", "is_coupling", "product_coupling", "geodesic")),
    *(f"{PATH}.{name}" for name in ("mixture_path", "is_cyclically_monotone")),
)
def in_the_plane(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(6, 2)), rng.normal(1.0, 1.5, size=(5, 2))
    a, b = 2.7 * rng.dirichlet(np.ones(6)), 2.7 * rng.dirichlet(np.ones(5))
    square, third = cdist(x, y) ** 2, cdist(x, y) ** 3
    best = cheapest_plan(a, b, square)
    plan, product = ours.solve(a, b, square).plan, ours.product_coupling(a, b)
    points, mass = ours.geodesic(x, y, 0.3, a, b)
    center = (0.7 * a @ x + 0.3 * b @ y) / 2.7
    along, line_mass = ours.geodesic(x[:, 0], y[:, 0], 0.3, a, b)
    way = cheapest_plan(a, line_mass, np.abs(x[:, :1] - along.ravel()) ** 2)
    shifted = plan.copy()
    shifted[0] += 1e-3
    matched = cdist(x, x + np.array([3.0, 1.0])) ** 2  # a shift is optimal, a cycle of three is not
    return every(
        third=near(ours.wasserstein(x, y, 3, a, b), cheapest_plan(a, b, third) ** (1 / 3), tolerance=1e-6),
        plan=near(float((plan * square).sum()), best, tolerance=1e-7),
        coupling=equal([ours.is_coupling(T, a, b) for T in (plan, product)], [True, True]),
        none=equal(
            [ours.is_coupling(T, a, b) for T in (shifted, product.T, 2 * product)]
            + [ours.is_coupling(plan, a, b[::-1]), ours.is_coupling(plan, a[::-1], b)]
            + [ours.is_coupling([[1.5, -0.5], [-0.5, 1.5]], [1, 1], [1, 1])],
            [False] * 6,
        ),
        product=near(product, [[p * q / 2.7 for q in b] for p in a], tolerance=1e-12),
        halfway=near(cheapest_plan(a, mass, cdist(x, points) ** 2), 0.09 * best, tolerance=1e-6),
        center=near(mass @ points / 2.7, center, tolerance=1e-9),
        line=near(way, 0.09 * cheapest_plan(a, b, np.abs(x[:, :1] - y[:, 0]) ** 2), tolerance=1e-6),
        mixture=near(ours.mixture_path(a, a[::-1], 0.3), 0.7 * a + 0.3 * a[::-1], tolerance=1e-12),
        monotone=equal(
            [ours.is_cyclically_monotone(matched), ours.is_cyclically_monotone(np.roll(matched, 1, axis=1))],
            [True, False],
        ),
    )


@oracle(*(f"{PATH}.{name}" for name in ("barycenter_1d", "normal_barycenter", "barycenter")))
def means_of_distributions(seed: int) -> Verdict:
    """Quantile functions averaged level by level; images whose average must lie in the middle, weighted."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=3), rng.normal(4.0, 2.0, size=4)
    a, b, w = np.array([1.0, 2.0, 0.5]), np.array([0.3, 0.3, 1.2, 0.2]), np.array([3.0, 1.0])
    places, masses = ours.barycenter_1d([x, y], w, [a, b])
    levels = (np.arange(4000) + 0.5) / 4000

    def quantiles(z: np.ndarray, mass: np.ndarray) -> np.ndarray:
        order = np.argsort(z)
        return z[order][np.searchsorted(np.cumsum(mass[order]) / mass.sum(), levels)]

    expected = 0.75 * quantiles(x, a) + 0.25 * quantiles(y, b)
    even, even_masses = ours.barycenter_1d([x, y[:3]])
    mean, deviation = ours.normal_barycenter([0.5, 3.0], [1.0, 2.5], [3.0, 1.0])
    grid = np.arange(21)
    images = np.array([[np.exp(-((grid[:, None] - r) ** 2 + (grid - c) ** 2) / 4.0)] for r, c in ((6, 8), (14, 12))])
    sharp, blurred = (
        ours.barycenter(images[:, 0], 0.01, [3.0, 1.0], debiased=debiased, max_iter=300).image
        for debiased in (True, False)
    )
    ended = ours.barycenter(images[:, 0], 0.05, tol=1e-4, max_iter=400)
    spread = [float((p.sum(axis=1) * (grid - p.sum(axis=1) @ grid) ** 2).sum()) for p in (sharp, blurred)]
    return every(
        total=near(masses.sum(), 1.0, tolerance=1e-12),
        quantiles=near(quantiles(places, masses), expected, tolerance=1e-9),
        even=near(even, (np.sort(x) + np.sort(y[:3])) / 2, tolerance=1e-12),
        even_masses=near(even_masses, np.full(3, 1 / 3), tolerance=1e-12),
        normal=near([mean, deviation], [0.75 * 0.5 + 0.25 * 3.0, 0.75 + 0.25 * 2.5], tolerance=1e-12),
        rows=near([p.sum(axis=1) @ grid for p in (sharp, blurred)], [8.0, 8.0], tolerance=0.02),
        columns=near([p.sum(axis=0) @ grid for p in (sharp, blurred)], [9.0, 9.0], tolerance=0.02),
        # Each image has variance 2 in grid steps; entropy of 0.01 on the unit square adds half of 0.01 * 20^2.
        width=near(spread, [2.0, 4.0], tolerance=0.15),
        ended=equal((ended.change <= 1e-4, ended.n_iter < 400), (True, True)),
        mass=near([sharp.sum(), blurred.sum()], [1.0, 1.0], tolerance=1e-12),
    )
