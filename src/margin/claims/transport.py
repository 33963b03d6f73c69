"""Claims about moving mass."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats
from scipy.optimize import linear_sum_assignment, linprog

from margin.claims import claim
from margin.core.verdict import Verdict, above, corrected, equal, every, near, raises, within
from margin.foundations.information import js_divergence, kl_divergence, kl_normal
from margin.foundations.transport import (
    barycenter_1d,
    cdf_difference_norm,
    cost_matrix,
    geodesic,
    is_coupling,
    is_cyclically_monotone,
    mixture_path,
    monotone_plan,
    normal_barycenter,
    plan_cost,
    product_coupling,
    sinkhorn,
    solve,
    wasserstein,
    wasserstein_1d,
    wasserstein_1d_cdf,
)
from margin.foundations.transport.network_simplex_kernels import network_simplex


def _cdf(atoms: list[float], at: float) -> float:
    """The distribution function of equally heavy atoms."""
    return float(np.mean(np.array(atoms) <= at))


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


def _masses(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.dirichlet(np.ones(n))


@claim("optimal-transport-problem")
def transport_takes_any_cost_and_equal_masses() -> Verdict:
    M = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    best = solve(np.ones(3), np.ones(3), M)
    rows, columns = linear_sum_assignment(M)
    squared = cost_matrix([0.0], [2.0], p=2)
    return corrected(
        every(
            brute_force=near(best.cost, M[rows, columns].sum(), tolerance=1e-12),
            dual=near(best.u.sum() + best.v.sum(), best.cost, tolerance=1e-12),
            unequal=raises(ValueError, lambda: solve([1.0], [0.7], [[1.0]]), match="equal total mass"),
            root=near(wasserstein([0.0], [2.0], p=2), math.sqrt(solve([1.0], [1.0], squared).cost), tolerance=1e-12),
        ),
        printed=near(wasserstein([0.0], [2.0], p=2), solve([1.0], [1.0], squared).cost, tolerance=1e-9),
    )


@claim("transport-coupling")
def the_product_is_a_coupling_but_rarely_the_best(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, b, M = _masses(rng, 12), _masses(rng, 15), cost_matrix(rng.normal(size=(12, 2)), rng.normal(size=(15, 2)))
    best, product = solve(a, b, M), product_coupling(a, b)
    tripled = product_coupling(3 * a, 3 * b)
    return every(
        any_total=near([tripled.sum(), *tripled.sum(axis=1)], [3.0, *(3 * a)], tolerance=1e-12),
        product=equal(is_coupling(product, a, b), True),
        optimum=equal(is_coupling(best.plan, a, b), True),
        swapped=equal(is_coupling(product, b, a), False),
        wrong_masses=equal(is_coupling(product, a[::-1], b), False),
        price_of_independence=above(plan_cost(product, M) / best.cost, 1.1),
    )


@claim("wasserstein-distance")
def wasserstein_is_a_metric_that_scipy_agrees_on(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y, a, b = rng.normal(size=40), rng.normal(1, 2, size=30), _masses(rng, 40), _masses(rng, 30)
    P, Q, R = (rng.normal(size=(20, 3)) + k for k in range(3))
    return every(
        scipy=near(wasserstein(x, y, 1, a, b), stats.wasserstein_distance(x, y, a, b), tolerance=1e-12),
        symmetric=near(wasserstein(P, Q, 2), wasserstein(Q, P, 2), tolerance=1e-9),
        itself=near(wasserstein(P, P[::-1], 2), 0.0, tolerance=1e-12),
        triangle=above(wasserstein(P, Q, 2) + wasserstein(Q, R, 2) - wasserstein(P, R, 2), -1e-12),
        translation=near(wasserstein(P, P + np.array([3.0, 4.0, 0.0]), 2), 5.0, tolerance=1e-9),
        **_entropic_plans_approach(P, Q, _masses(rng, 20)),
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


@claim("earth-mover-squares-example")
def moving_squares() -> Verdict:
    place = np.arange(5.0)
    nu, mu = np.array([4.0, 0, 0, 0, 0]), np.array([0.0, 1, 1, 1, 1])
    full_nu, full_mu = np.array([5.0, 1, 1, 1, 1]), np.array([1.0, 2, 2, 2, 2])
    by_program = solve(full_nu, full_mu, cost_matrix(place, place, 2)).cost
    by_quantiles = wasserstein_1d(place, place, 2, full_nu, full_mu) ** 2
    printed = cdf_difference_norm(place, place, 2, full_nu, full_mu) ** 2
    return corrected(
        every(
            general=on_the_line_as_in_general(),
            cdf_differences=equal(np.cumsum(full_nu - full_mu)[:4].tolist(), [4.0, 3.0, 2.0, 1.0]),
            cdf_norms=near(
                [cdf_difference_norm(place, place, p, full_nu, full_mu) ** p for p in (1, 2, 3)],
                [10.0, 30.0, 100.0],
                tolerance=1e-9,
            ),
            w1=near(wasserstein_1d(place, place, 1, full_nu, full_mu), 10.0, tolerance=1e-12),
            one_pile=near(wasserstein_1d(place, place, 2, nu, mu) ** 2, 30.0, tolerance=1e-12),
            with_common_mass=near([by_program, by_quantiles], [16.0, 16.0], tolerance=1e-9),
        ),
        printed=near(printed, by_program, tolerance=1e-6),
    )


@claim("wasserstein-discrete-linear-program")
def the_linear_program_gives_the_power_of_the_distance(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, b, M = _masses(rng, 20), _masses(rng, 30), cost_matrix(rng.normal(size=(20, 2)), rng.normal(size=(30, 2)), 2)
    m, n = M.shape
    best, square = solve(a, b, M), solve(a, _masses(rng, 20), M[:, :20])
    sums = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    program = linprog(M.ravel(), A_eq=sums, b_eq=np.concatenate([a, b]), method="highs-ipm")
    minimum = solve([1.0], [1.0], cost_matrix([0.0], [2.0], 2)).cost
    tree, _ = network_simplex.py_func(a, b * (a.sum() / b.sum()), M, -M.min(axis=0), 1e-12, 10_000)  # as plain Python
    node = np.flatnonzero(tree.flow[:-1] > 0)
    moved = np.minimum(node, tree.parent[node]), np.maximum(node, tree.parent[node]) - m  # a source is before its sink
    by_network = solve(a, b, M, method="network")
    return corrected(
        every(
            linprog=near(best.cost, program.fun, tolerance=1e-8),
            network=near(by_network.cost, program.fun, tolerance=1e-8),
            network_prices=near(a @ by_network.u + b @ by_network.v, program.fun, tolerance=1e-8),
            pivots_in_plain_python=near(tree.flow[node] @ M[moved], program.fun, tolerance=1e-8),
            a_tree_has_few_arcs=within(len(node), 1, m + n - 1),
            rows=near(best.plan @ np.ones(n), a, tolerance=1e-14),
            columns=near(best.plan.T @ np.ones(m), b, tolerance=1e-14),
            minimum=near(minimum, 4.0, tolerance=1e-12),
            distance=near(wasserstein([0.0], [2.0], 2), minimum ** (1 / 2), tolerance=1e-12),
        ),
        minimum_is_the_distance=near(minimum, wasserstein([0.0], [2.0], 2), tolerance=1e-9),
        # Read as sums over the other index, which a square plan allows, the constraints exchange the two masses.
        ones_exchanged=near(square.plan.T @ np.ones(20), a, tolerance=1e-6),
    )


@claim("wasserstein-1d-cdf-formula")
def the_area_between_cdfs_is_w1_only(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y, a, b = rng.normal(size=30), rng.normal(1, 1, size=25), _masses(rng, 30), _masses(rng, 25)
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
    x, y, a, b = rng.normal(size=30), rng.normal(1, 2, size=25), _masses(rng, 30), _masses(rng, 25)
    orders = (1, 2, 3)
    program = [solve(a, b, cost_matrix(x, y, p), "linprog").cost ** (1 / p) for p in orders]
    samples = np.sort(rng.normal(size=(2, 25)), axis=1)
    return every(
        weighted=near([wasserstein_1d(x, y, p, a, b) for p in orders], program, tolerance=1e-10),
        sorted_samples=near(
            wasserstein_1d(samples[0], samples[1], 2), np.sqrt(np.mean((samples[0] - samples[1]) ** 2)), tolerance=1e-12
        ),
    )


@claim("cyclical-monotonicity")
def optimal_plans_have_no_saving_cycle(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(15, 2)), rng.normal(size=(15, 2))
    M = cost_matrix(x, y, 2)
    source, target = np.nonzero(solve(_masses(rng, 15), _masses(rng, 15), M).plan)
    shuffled = rng.permutation(15)
    return every(
        optimal=equal(is_cyclically_monotone(M[np.ix_(source, target)]), True),
        shuffled=equal(is_cyclically_monotone(M[:, shuffled]), False),
        # Three pairs matched around a triangle: no swap of two helps, the cycle of three does.
        needs_three=equal(is_cyclically_monotone([[1.0, 0.0, 3.0], [3.0, 1.0, 0.0], [0.0, 3.0, 1.0]]), False),
    )


@claim("claim-optimal-plan-is-monotone")
def crossing_costs_more_only_beyond_p_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x1, x2 = np.sort(rng.normal(size=(2, 5000)), axis=0)
    y2, y1 = np.sort(rng.normal(size=(2, 5000)), axis=0)  # crossing: y1 > y2

    def saving(p: float) -> np.ndarray:
        return abs(x1 - y1) ** p + abs(x2 - y2) ** p - abs(x1 - y2) ** p - abs(x2 - y1) ** p

    x, y, a, b = rng.normal(size=30), rng.normal(size=20), _masses(rng, 30), _masses(rng, 20)
    plan, ordered = solve(a, b, cost_matrix(x, y, 2)).plan, monotone_plan(x, y, a, b)
    tie = cost_matrix([0.0, 1.0], [3.0, 2.0], 1)
    return corrected(
        every(
            p_two=near(saving(2), 2 * (x2 - x1) * (y1 - y2), tolerance=1e-12),
            p_three=above(float(saving(3).min()), -1e-12),
            p_one_never_worse=above(float(saving(1).min()), -1e-12),
            sorted_plan=near(plan, ordered.dense(30, 20), tolerance=1e-12),
            ordered=equal(bool((np.diff(y[ordered.target]) >= 0).all()), True),
            atom=equal(monotone_plan([0.0], [1.0, 2.0]).target.tolist(), [0, 1]),
        ),
        strict_for_p_one=above(float(tie.trace() - tie[::-1].trace()), 1e-9),
        # The atom at 0 serves y = 1, where the distribution functions are 1 and one half.
        equal_distribution_functions=near(_cdf([1.0, 2.0], 1.0), _cdf([0.0], 0.0), tolerance=1e-9),
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


@claim("wasserstein-barycenter")
def normals_average_by_mean_and_deviation() -> Verdict:
    levels = (np.arange(4000) + 0.5) / 4000
    means, stds = np.array([-2.0, 1.0, 7.0]), np.array([0.5, 1.0, 3.0])
    quantiles = [stats.norm(m, s).ppf(levels) for m, s in zip(means, stds)]
    positions, masses = barycenter_1d(quantiles)
    mean, std = normal_barycenter(means, stds)
    few, weights = barycenter_1d([[1.0, 0.0], [10.0, 13.0, 16.0]], [1.0, 3.0], [[3.0, 1.0], [1.0, 1.0, 2.0]])
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
    whole = wasserstein(P0, P1, 2)
    grid = np.linspace(-5, 18, 2301)
    p0, p1 = stats.norm(0, 1).pdf(grid), stats.norm(10, 2).pdf(grid)
    half = mixture_path(p0, p1, 0.5)
    n_modes = int(((half[1:-1] > half[:-2]) & (half[1:-1] > half[2:])).sum())
    return corrected(
        every(
            midpoint=near(middle[:, 0], stats.norm(5, 1.5).ppf(levels), tolerance=1e-9),
            constant_speed=near(wasserstein(P0, quarter, 2, b=masses), 0.25 * whole, tolerance=1e-6),
            ends=near([wasserstein(P, *_end(P0, P1, t)) for t, P in ((0, P0), (1, P1))], [0.0, 0.0], tolerance=1e-9),
            mixture_modes=equal(n_modes, 2),
            mixture_starts_at_p0=near(mixture_path(p0, p1, 0.0), p0, tolerance=0.0),
        ),
        printed=near(0.0 * p0 + (1 - 0.0) * p1, p0, tolerance=1e-6),
    )


def _end(P0: np.ndarray, P1: np.ndarray, t: float) -> tuple[np.ndarray, float, None, np.ndarray]:
    points, masses = geodesic(P0, P1, t)
    return points, 1.0, None, masses
