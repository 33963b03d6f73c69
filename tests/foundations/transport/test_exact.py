import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from margin.compiled.transport import cheapest
from margin.foundations.transport import (
    cost_matrix,
    geodesic,
    is_coupling,
    is_cyclically_monotone,
    plan_cost,
    product_coupling,
    solve,
    wasserstein,
)
from margin.foundations.transport.network import solve_network

METHODS = ("network", "linprog")


def problem(seed, m, n, d=2):
    rng = np.random.default_rng(seed)
    a, b = rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))
    return a, b, cost_matrix(rng.normal(size=(m, d)), rng.normal(size=(n, d)) + 1)


def assert_optimal(answer, a, b, M):
    """A feasible plan and feasible prices of equal value prove each other optimal."""
    assert is_coupling(answer.plan, a, b, tolerance=1e-12 * a.sum())
    slack = M - answer.u[:, None] - answer.v
    assert slack.min() >= -1e-9 * np.abs(M).max()
    assert a @ answer.u + b @ answer.v == pytest.approx(answer.cost, rel=1e-9, abs=1e-9)
    assert answer.cost == pytest.approx(plan_cost(answer.plan, M))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("m, n", [(1, 1), (1, 7), (7, 1), (12, 9), (40, 61)])
def test_duality_proves_every_answer(method, m, n):
    a, b, M = problem(m + n, m, n)
    assert_optimal(solve(a, b, M, method), a, b, M)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9))
def test_ties_and_integer_masses(seed, m, n):
    """Degenerate problems: integer masses with zeros, costs with many ties."""
    rng = np.random.default_rng(seed)
    a, M = rng.integers(0, 4, m).astype(float), rng.integers(0, 3, (m, n)).astype(float)
    a[0] += 1
    b = np.bincount(rng.integers(0, n, int(a.sum())), minlength=n).astype(float)
    answers = [solve(a, b, M, method) for method in METHODS]
    for answer in answers:
        assert_optimal(answer, a, b, M)
    assert answers[0].cost == pytest.approx(answers[1].cost, abs=1e-9)


def test_large_enough_for_coarse_guesses():
    a, b, M = problem(3, 700, 950, d=3)
    assert_optimal(solve(a, b, M), a, b, M)


def test_assignment_and_brute_force():
    M = np.random.default_rng(0).random((6, 6))
    ones = np.ones(6)
    best = min(M[range(6), order].sum() for order in itertools.permutations(range(6)))
    for method in (*METHODS, "assignment"):
        answer = solve(ones, ones, M, method)
        assert answer.cost == pytest.approx(best, abs=1e-10)
        assert_optimal(answer, ones, ones, M)
    big = np.random.default_rng(1).random((120, 120))
    rows, columns = linear_sum_assignment(big)
    assert solve(np.ones(120), np.ones(120), big).cost == pytest.approx(big[rows, columns].sum(), rel=1e-10)


def test_tiny_masses_are_moved_too():
    """HiGHS meets constraints to 1e-7: masses below that must not be lost."""
    x = np.linspace(0, 1, 40)
    a, b = np.exp(-0.5 * ((x - 0.2) / 0.05) ** 2), np.exp(-0.5 * ((x - 0.7) / 0.06) ** 2)
    a, b = a / a.sum(), b / b.sum()
    for method in METHODS:
        assert is_coupling(solve(a, b, cost_matrix(x, x, 1), method).plan, a, b, tolerance=1e-14)


def test_unnormalized_masses_scale_the_cost():
    a, b, M = problem(5, 30, 20)
    assert solve(7 * a, 7 * b, M).cost == pytest.approx(7 * solve(a, b, M).cost, rel=1e-9)


def test_wasserstein_roots_and_metric_properties():
    rng = np.random.default_rng(0)
    P, Q, R = (rng.normal(size=(60, 2)) + k for k in range(3))
    assert wasserstein(P, P + np.array([3.0, 4.0]), p=3) == pytest.approx(5.0, rel=1e-9)
    assert wasserstein(P, Q, 2) == pytest.approx(wasserstein(Q, P, 2), rel=1e-9)
    assert wasserstein(P, R, 1) <= wasserstein(P, Q, 1) + wasserstein(Q, R, 1)
    assert wasserstein(P, Q, 1) <= wasserstein(P, Q, 2) <= wasserstein(P, Q, 3)
    assert wasserstein(P, rng.permutation(P), 2) == pytest.approx(0.0, abs=1e-12)


def test_network_simplex_tree_is_a_consistent_tree():
    a, b, M = problem(9, 50, 33)
    tree, n_pivots = solve_network(a, b, M, -M.min(axis=0), 1e-12, 10**6)
    root = 83
    assert n_pivots > 0
    assert tree.parent[root] == -1
    order = [root]
    while (following := int(tree.following[order[-1]])) != root:
        assert tree.before[following] == order[-1]
        order.append(following)
    assert sorted(order) == list(range(84))
    for node in range(84):
        descendants = {v for v in range(84) if node in _ancestors(tree.parent, v)}
        start = order.index(node)
        assert set(order[start : start + tree.size[node]]) == descendants
        assert order[start + tree.size[node] - 1] == tree.last[node]
    assert (tree.points_up[:root] | (tree.flow[:root] > 0)).all()


def _ancestors(parent, node):
    found = []
    while node >= 0:
        found.append(node)
        node = int(parent[node])
    return found


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_cheapest_against_numpy(n):
    costs, prices = np.random.default_rng(n).normal(size=(2, n))
    total = costs + prices
    assert cheapest(costs[None], 0, prices, np.inf) == total.argmin()
    assert cheapest(costs[None], 0, prices, total.min()) == -1


def test_pivot_limit_is_respected():
    a, b, M = problem(2, 30, 30)
    assert solve_network(a, b, M, np.zeros(30), 1e-12, 3)[1] == 3


def test_coupling_checks():
    a, b = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    T = product_coupling(a, b)
    assert is_coupling(T, a, b)
    assert not is_coupling(T, b, a)
    assert not is_coupling(T.T[:1], a, b)
    assert not is_coupling(np.full((2, 2), np.nan), a, b)
    assert not is_coupling([[0.6, -0.1], [-0.35, 0.85]], a, b)


def test_cyclical_monotonicity_of_solutions_only():
    rng = np.random.default_rng(0)
    M = cost_matrix(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)))
    rows, columns = linear_sum_assignment(M)
    assert is_cyclically_monotone(M[np.ix_(rows, columns)])
    for _ in range(5):
        assert not is_cyclically_monotone(M[:, rng.permutation(30)])
    with pytest.raises(ValueError, match="square"):
        is_cyclically_monotone(np.ones((2, 3)))


@pytest.mark.parametrize(
    "arguments, words",
    [
        (([1.0], [0.7], [[1.0]]), "equal total mass; got 1 and 0.7"),
        (([1.0, -1.0], [0.0], [[1.0], [1.0]]), "a must not be negative"),
        (([1.0], [1.0], [[np.nan]]), "M must be finite"),
        (([1.0], [1.0], [[1.0, 2.0]]), r"shape \(1, 1\)"),
        (([0.0], [0.0], [[1.0]]), "positive total mass"),
        ((["x"], [1.0], [[1.0]]), "numbers"),
        (([1.0], [1.0], [[1.0]], "magic"), "method must be"),
        (([1.0, 2.0], [3.0], [[1.0], [1.0]], "assignment"), "equal masses"),
    ],
)
def test_bad_input_of_solve(arguments, words):
    with pytest.raises(ValueError, match=words):
        solve(*arguments)


def test_bad_input_of_wasserstein():
    with pytest.raises(ValueError, match="same dimension"):
        wasserstein(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="p must be"):
        wasserstein([0.0], [1.0], p=0.5)
    with pytest.raises(ValueError, match="non-empty"):
        wasserstein(np.ones((0, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="one mass per point"):
        wasserstein([0.0, 1.0], [1.0], a=[1.0])


def test_arguments_are_left_alone():
    a, b, M = problem(1, 60, 60)
    copies = a.copy(), b.copy(), M.copy()
    solve(a, b, M)
    wasserstein(a, b, 2)
    for before, after in zip(copies, (a, b, M)):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("seed", [0, 1, 262])
def test_masses_of_very_different_sizes(seed):
    """HiGHS calls the last one infeasible: its smallest masses are below the rounding of the largest."""
    rng = np.random.default_rng(seed)
    a, b = (10.0 ** -rng.uniform(0, 18, size=size) for size in (9, 12))
    a, b, M = a / a.sum(), b / b.sum(), rng.random((9, 12))
    assert_optimal(solve(a, b, M, "linprog"), a, b, M)


def test_no_dust_in_a_plan():
    """A mass of 1e-16, which a geodesic carries on as a point of its own, made the next problem infeasible."""
    rng = np.random.default_rng(1223)
    P0, P1 = rng.normal(size=(20, 2)), rng.normal(size=(25, 2)) + 4
    points, masses = geodesic(P0, P1, 0.25)
    assert masses.min() == pytest.approx(0.01)
    assert wasserstein(P0, points, 2, b=masses) == pytest.approx(0.25 * wasserstein(P0, P1, 2))
