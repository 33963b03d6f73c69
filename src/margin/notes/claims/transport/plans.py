"""Claims about couplings and optimal plans: the linear program, cycles, monotone plans."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

from margin.core.verdict import Verdict, above, corrected, equal, every, near, raises, within
from margin.foundations.transport import (
    cdf_difference_norm,
    cost_matrix,
    is_coupling,
    is_cyclically_monotone,
    monotone_plan,
    network_simplex_kernels,
    plan_cost,
    product_coupling,
    solve,
    wasserstein,
    wasserstein_1d,
)
from margin.foundations.transport.network import solve_network
from margin.notes.claims import claim
from margin.notes.claims.transport import masses
from margin.notes.claims.transport.distances import on_the_line_as_in_general


def _cdf(atoms: list[float], at: float) -> float:
    """The distribution function of equally heavy atoms."""
    return float(np.mean(np.array(atoms) <= at))


@claim("optimal-transport-problem")
def transport_takes_any_cost_and_equalmasses() -> Verdict:
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
    a, b, M = masses(rng, 12), masses(rng, 15), cost_matrix(rng.normal(size=(12, 2)), rng.normal(size=(15, 2)))
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
    a, b, M = masses(rng, 20), masses(rng, 30), cost_matrix(rng.normal(size=(20, 2)), rng.normal(size=(30, 2)), 2)
    m, n = M.shape
    best, square = solve(a, b, M), solve(a, masses(rng, 20), M[:, :20])
    sums = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    program = linprog(M.ravel(), A_eq=sums, b_eq=np.concatenate([a, b]), method="highs-ipm")
    minimum = solve([1.0], [1.0], cost_matrix([0.0], [2.0], 2)).cost
    tree, _ = solve_network(a, b * (a.sum() / b.sum()), M, -M.min(axis=0), 1e-12, 10_000, network_simplex_kernels)
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


@claim("cyclical-monotonicity")
def optimal_plans_have_no_saving_cycle(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(15, 2)), rng.normal(size=(15, 2))
    M = cost_matrix(x, y, 2)
    source, target = np.nonzero(solve(masses(rng, 15), masses(rng, 15), M).plan)
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

    x, y, a, b = rng.normal(size=30), rng.normal(size=20), masses(rng, 30), masses(rng, 20)
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
