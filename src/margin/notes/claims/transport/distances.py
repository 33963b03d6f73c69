"""Claims about the Wasserstein distance: a metric, its formulas on a line, and how it differs from divergences."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from margin.core.verdict import Verdict, above, corrected, equal, every, near, raises, within
from margin.foundations.information import js_divergence, kl_divergence, kl_normal
from margin.foundations.transport import (
    cdf_difference_norm,
    cost_matrix,
    sinkhorn,
    solve,
    wasserstein,
    wasserstein_1d,
    wasserstein_1d_cdf,
)
from margin.metrics.samples import frechet_distance_of_normals
from margin.notes.claims import claim
from margin.notes.claims.transport import masses


def on_the_line_as_in_general() -> Verdict:
    """Sorting and the linear program agree for any power, unequal masses, and equal ones of equally many points."""
    x, y, a, b = np.array([0.3, 2.0, -1.0]), np.array([1.5, 4.0]), np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.4])
    even = np.full(3, 1 / 3)
    z = np.array([5.0, 0.1, 2.2])
    powers = (1.0, 2.0, 3.0)
    program = [solve(a, b, cost_matrix(x, y, p)).cost ** (1 / p) for p in powers]
    evenly = [solve(even, even, cost_matrix(x, z, p)).cost ** (1 / p) for p in powers]
    return every(
        masses=near([wasserstein_1d(x, y, p, a, b) for p in powers], program, tolerance=1e-9),
        points=near([wasserstein_1d(x, z, p) for p in powers], evenly, tolerance=1e-9),
    )


def _entropic_plans_approach(P: np.ndarray, Q: np.ndarray, a: np.ndarray) -> dict[str, Verdict]:
    """Sinkhorn's plans have the marginals, are of the form exp(f_i + g_j - M_ij / reg), and cost W as reg vanishes."""
    M, b = cost_matrix(P, Q, 2), np.full(len(Q), 1 / len(Q))
    plans = {reg: sinkhorn(a, b, M, reg, tol=1e-10) for reg in (5.0, 0.5, 0.05)}
    logs = np.log(plans[5.0].plan) + M / 5.0
    additive = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    excess = [plan.cost - wasserstein(P, Q, 2, a, b) ** 2 for plan in plans.values()]
    return {
        "entropic_rows": near(plans[0.5].plan.sum(axis=1), a, tolerance=1e-9),
        "entropic_columns": near(plans[0.5].plan.sum(axis=0), b, tolerance=1e-9),
        "entropic_form": near(additive, np.zeros(M.shape), tolerance=1e-9),
        "entropic_cost_falls": equal(excess == sorted(excess, reverse=True), True),
        "entropic_cost_ends_at_the_distance": within(excess[-1] / wasserstein(P, Q, 2, a, b) ** 2, -1e-9, 0.01),
    }


@claim("wasserstein-distance")
def wasserstein_is_a_metric_that_scipy_agrees_on(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y, a, b = rng.normal(size=40), rng.normal(1, 2, size=30), masses(rng, 40), masses(rng, 30)
    P, Q, R = (rng.normal(size=(20, 3)) + k for k in range(3))
    levels = (np.arange(20_000) + 0.5) / 20_000
    normals = [stats.norm(mean, sd).ppf(levels) for mean, sd in ((0.3, 0.5), (1.1, 2.0))]
    return every(
        as_run=near(
            frechet_distance_of_normals([0.3], [[0.25]], [1.1], [[4.0]]),
            wasserstein(normals[0], normals[1], 2) ** 2,
            tolerance=1e-3,
        ),
        scipy=near(wasserstein(x, y, 1, a, b), stats.wasserstein_distance(x, y, a, b), tolerance=1e-12),
        symmetric=near(wasserstein(P, Q, 2), wasserstein(Q, P, 2), tolerance=1e-9),
        itself=near(wasserstein(P, P[::-1], 2), 0.0, tolerance=1e-12),
        triangle=above(wasserstein(P, Q, 2) + wasserstein(Q, R, 2) - wasserstein(P, R, 2), -1e-12),
        translation=near(wasserstein(P, P + np.array([3.0, 4.0, 0.0]), 2), 5.0, tolerance=1e-9),
        **_entropic_plans_approach(P, Q, masses(rng, 20)),
    )


@claim("wasserstein-1d-cdf-formula")
def the_area_between_cdfs_is_w1_only(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y, a, b = rng.normal(size=30), rng.normal(1, 1, size=25), masses(rng, 30), masses(rng, 25)
    general = solve(a, b, cost_matrix(x, y, 1)).cost
    return corrected(
        every(
            general=on_the_line_as_in_general(),
            p_one=near(wasserstein_1d_cdf(x, y, 1, a, b), general, tolerance=1e-12),
            refuses=raises(ValueError, lambda: wasserstein_1d_cdf(x, y, 2), match="needs p = 1"),
            point_masses=near(wasserstein_1d([0.0], [2.0], 2), 2.0, tolerance=1e-15),
        ),
        printed=near(cdf_difference_norm([0.0], [2.0], 2), wasserstein_1d([0.0], [2.0], 2), tolerance=1e-9),
    )


@claim("wasserstein-1d-quantile-formula")
def sorting_solves_the_linear_program_on_a_line(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y, a, b = rng.normal(size=30), rng.normal(1, 2, size=25), masses(rng, 30), masses(rng, 25)
    orders = (1, 2, 3)
    program = [solve(a, b, cost_matrix(x, y, p), "linprog").cost ** (1 / p) for p in orders]
    samples = np.sort(rng.normal(size=(2, 25)), axis=1)
    return every(
        weighted=near([wasserstein_1d(x, y, p, a, b) for p in orders], program, tolerance=1e-10),
        sorted_samples=near(
            wasserstein_1d(samples[0], samples[1], 2), np.sqrt(np.mean((samples[0] - samples[1]) ** 2)), tolerance=1e-12
        ),
    )


@claim("claim-js-saturates-wasserstein-does-not")
def only_disjoint_supports_blind_kl_and_js() -> Verdict:
    shifts = np.arange(1, 9)
    rows = np.eye(10)
    kl = [float(kl_divergence(rows[0], rows[s])) for s in shifts]
    js = np.array([js_divergence(rows[0], rows[s]) for s in shifts])
    w1 = np.array([wasserstein_1d([0.0], [float(s)]) for s in shifts])
    grid = np.arange(-12, 32, 0.01)
    density = {d: stats.norm(d, 1).pdf(grid) * 0.01 for d in (0, 5, 10)}
    density = {d: p / p.sum() for d, p in density.items()}
    js_normals = [float(js_divergence(density[0], density[d])) for d in (5, 10)]
    kl_normals = kl_normal(0, 1, np.array([5.0, 10.0, 20.0]), 1)
    return corrected(
        every(
            general=on_the_line_as_in_general(),
            kl=equal(kl, [math.inf] * 8),
            js=near(js, np.full(8, math.log(2)), tolerance=1e-15),
            w1_slope=near(np.diff(w1), np.ones(7), tolerance=1e-12),
            overlapping_kl=near(kl_normals, [12.5, 50.0, 200.0], tolerance=1e-12),
            overlapping_js=near(js_normals, [0.67594, 0.6931463], tolerance=1e-5),
        ),
        js_constant=near(js_normals[0], math.log(2), tolerance=1e-3),
        kl_blind=near(kl_normals, np.full(3, kl_normals[0]), tolerance=1e-9),
    )


@claim("claim-wasserstein-insensitive-to-wiggles")
def fast_wiggles_cost_little_to_smooth() -> Verdict:
    cells = 100_000
    x = (np.arange(cells) + 0.5) / cells
    flat = np.full(cells, 1 / cells)

    def w1(amplitude: float, k: int) -> float:
        return wasserstein_1d(x, x, 1, flat, flat * (1 + amplitude * np.sin(2 * np.pi * k * x)))

    def kl(k: int) -> float:
        return float(kl_divergence(flat, flat * (1 + 0.9 * np.sin(2 * np.pi * k * x))))

    l1 = [float(np.abs(flat * np.sin(2 * np.pi * k * x)).sum()) for k in (1, 5, 50)]
    return every(
        general=on_the_line_as_in_general(),
        w1=near([w1(1.0, k) for k in (1, 5, 50)], [0.15915, 0.03183, 0.0031831], tolerance=5e-6),
        l1=near(l1, [2 / np.pi] * 3, tolerance=1e-5),
        fast=near(w1(0.9, 100), 0.0014, tolerance=5e-5),
        slow=near(w1(0.9, 1), 0.143, tolerance=5e-4),
        kl=near([kl(1), kl(100)], [0.33, 0.33], tolerance=5e-3),
    )
