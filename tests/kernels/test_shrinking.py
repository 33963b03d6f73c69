"""Shrinking and the cache of columns: the same solution, nothing forgotten, the same bits after a restart."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification

from margin.compiled.svm import combine_lines, compact_lines
from margin.kernels import RBF, SVC, SVR, dual
from margin.kernels.column_cache import ColumnCache
from margin.kernels.dual import DualProblem, duality_gap
from margin.kernels.kernel_columns import columns_of
from margin.kernels.optimality import directions, dual_objective, idle, violation

X, LABELS = make_classification(700, 6, n_informative=4, flip_y=0.1, random_state=0)
Y = 2.0 * LABELS - 1


@pytest.fixture
def many_sets(monkeypatch):
    """Small working sets, so that a small problem takes many."""
    monkeypatch.setattr(dual, "WHOLE_ROWS", 20)
    monkeypatch.setattr(dual, "PART", 16)
    monkeypatch.setattr("margin.kernels.dual_records.SETS_PER_RECORD", 2)


def problem(C, shrinking=True, epsilon=0.0, tol=1e-6, cache_size=0.2):
    low = np.where(Y > 0, 0.0, -C) if epsilon == 0 else np.full(len(Y), -C)
    high = np.where(Y > 0, C, 0.0) if epsilon == 0 else np.full(len(Y), C)
    target = Y if epsilon == 0 else np.sin(X[:, 0]) + 0.3 * X[:, 1]
    return DualProblem(columns_of(RBF(1.5), X), target, low, high, epsilon, tol, shrinking, cache_size)


def solve(it):
    fewest = len(it.active)
    while not it.solved:
        it.step()
        fewest = min(fewest, len(it.active))
        assert it.iteration < 5000
    return it, fewest


@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_shrinking_changes_the_work_and_not_the_solution(C, epsilon, many_sets):
    plain, everyone = solve(problem(C, shrinking=False, epsilon=epsilon))
    shrunk, fewest = solve(problem(C, epsilon=epsilon))
    assert everyone == 700
    assert fewest < 500, "rows have left"
    assert shrunk.objective == pytest.approx(plain.objective, rel=1e-9, abs=1e-6)
    # After all are judged again every score is that of the coefficients.
    np.testing.assert_allclose(shrunk.score, shrunk.target - RBF(1.5)(X) @ shrunk.beta, atol=1e-9)
    assert violation(*directions(shrunk.score, shrunk.beta, shrunk.low, shrunk.high, epsilon)) <= 1e-6
    assert -1e-8 < duality_gap(shrunk) < 1e-3


def test_variables_that_left_too_early_come_back(many_sets, monkeypatch):
    monkeypatch.setattr(dual, "PATIENCE", 1)
    monkeypatch.setattr(dual, "COST_OF_LEAVING", 0.0)
    plain, _ = solve(problem(50.0, shrinking=False))
    hasty, returns, last = problem(50.0), 0, 700
    while not hasty.solved:
        hasty.step()
        returns += len(hasty.active) > last
        last = len(hasty.active)
        assert hasty.iteration < 5000
    assert returns > 1, "more than the last, final return"
    assert hasty.objective == pytest.approx(plain.objective, rel=1e-9)


def test_objective_is_exact_while_scores_are_old(many_sets):
    it, K, seen = problem(1.0, epsilon=0.2), RBF(1.5)(X), 0
    while not it.solved:
        it.step()
        exact = it.target @ it.beta - 0.5 * it.beta @ K @ it.beta - 0.2 * np.abs(it.beta).sum()
        assert it.objective == pytest.approx(exact, abs=1e-9)
        seen += bool(it.removed)
    assert seen > 3


def test_who_is_idle_is_in_no_violating_pair():
    rng = np.random.default_rng(0)
    beta = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=60)
    up, down = directions(rng.normal(size=60), beta, -np.ones(60), np.ones(60), 0.3)
    pairs = up[:, None] > down[None, :]
    np.testing.assert_array_equal(idle(up, down), ~pairs.any(axis=1) & ~pairs.any(axis=0))


@pytest.mark.parametrize(
    "model", [SVC(C=20.0), SVC(C=20.0, cache_size=0.01), SVR(C=20.0), SVC(probability=True)], ids=str
)
def test_resumed_fit_has_the_same_bits_also_when_rows_have_left(model, many_sets):
    model = clone(model).set_params(tol=1e-5, **({"random_state": 0} if isinstance(model, SVC) else {}))
    whole = clone(model)
    records, left = [], []
    for record in whole.iterate(X, LABELS):
        records.append(record.values)
        running = whole._loop.problem
        left.append(running is not None and bool(running.removed))
    assert any(left)
    for stop in {1, left.index(True) + 1, len(records) - 2, len(records)}:
        part, rest = clone(model), clone(model)
        first = [record.values for record in itertools.islice(part.iterate(X, LABELS), stop)]
        second = [record.values for record in rest.iterate(X, LABELS, state=part.get_state())]
        assert first + second == records
        np.testing.assert_array_equal(rest.dual_coef_, whole.dual_coef_)
        np.testing.assert_array_equal(rest.intercept_, whole.intercept_)


def test_too_few_iterations_still_tell_exact_numbers(many_sets):
    with pytest.warns(UserWarning, match="max_iter=60"):
        model = SVC(C=20.0, gamma=0.3, tol=1e-9, max_iter=60).fit(X, LABELS)
    full = DualProblem(
        columns_of(model.kernel_, X), -Y, np.where(Y > 0, -20.0, 0.0), np.where(Y > 0, 0.0, 20.0), 0.0, 1e-9
    )
    full.beta[model.support_] = -model.dual_coef_[0]
    full.score = full.target - model.kernel_(X) @ full.beta
    assert model.gap_[0] == pytest.approx(duality_gap(full), rel=1e-6)
    assert model.objective_[0] == pytest.approx(dual_objective(full.score, full.beta, full.target, 0.0), rel=1e-9)


def test_parameters_act(many_sets):
    small, large = problem(50.0, cache_size=1e-6), problem(50.0, cache_size=100.0)
    for it in (small, large):
        for _ in range(12):
            it.step()
    assert small.cache.capacity == 64
    assert large.cache.capacity == len(large.active)
    assert large.cache.computed < small.cache.computed
    # Rounding decides between pairs of almost equal gain, so the ways differ from one processor to another; both end
    # at an optimum, and the strictly concave part of the objective is the same there.
    (small, _), (large, _) = solve(small), solve(large)
    assert small.objective == pytest.approx(large.objective, rel=1e-8)
    for it in (small, large):
        assert violation(*directions(it.score, it.beta, it.low, it.high, 0.0)) <= 1e-6
    K = RBF(1.5)(X)
    np.testing.assert_allclose(K @ small.beta, K @ large.beta, atol=1e-3)


@given(order=st.lists(st.integers(0, 29), min_size=5, max_size=60), capacity=st.integers(4, 12))
def test_cache_keeps_the_columns_used_last(order, capacity):
    rows = X[:30]
    K, columns = RBF(1.0)(rows), columns_of(RBF(1.0), rows)
    cache = ColumnCache(columns, 1e-9, at_least=capacity)
    recent: list[int] = []
    for variable in order:
        slot = cache.fetch(np.array([variable]))
        np.testing.assert_allclose(cache.values[slot[0]], K[variable], atol=1e-12)
        recent = [variable, *(other for other in recent if other != variable)][:capacity]
        assert set(np.flatnonzero(cache.slot_of >= 0)) == set(recent)


def test_cache_shrinks_in_place_and_restores_its_bits():
    columns = columns_of(RBF(1.0), X)
    cache = ColumnCache(columns, 1e-9, at_least=40)
    cache.fetch(np.arange(0, 60, 2))
    cache.fetch(np.arange(1, 41, 4))
    kept = np.arange(700) % 3 != 0
    cache.shrink(kept)
    cache.fetch(np.array([695, 697]))
    alive = np.flatnonzero(cache.slot_of >= 0)
    assert not (alive % 3 == 0).any()
    np.testing.assert_allclose(cache.values[cache.slot_of[alive]], RBF(1.0)(X)[np.ix_(alive, kept)], atol=1e-12)
    again = ColumnCache(columns, 1e-9, at_least=40)
    again.restore(cache.state())
    np.testing.assert_array_equal(again.slot_of, cache.slot_of)
    np.testing.assert_array_equal(again.values[again.slot_of[alive]], cache.values[cache.slot_of[alive]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_are_their_numpy_twins(dtype):
    rng = np.random.default_rng(0)
    lines, chosen, coef = rng.normal(size=(9, 5000)).astype(dtype), np.array([7, 0, 3, 3, 8, 1]), rng.normal(size=6)
    out = np.ones(5000)
    combine_lines(lines, chosen, coef, out, 10, 4990)
    expected = 1 + coef @ lines[chosen].astype(np.float64)
    expected[:10] = expected[4990:] = 1
    np.testing.assert_allclose(out, expected, atol=1e-12)
    where = np.flatnonzero(rng.random(5000) < 0.4)
    memory = lines.ravel().copy()
    compact_lines(memory, 5000, np.array([0, 2, 5, 8]), where)
    np.testing.assert_array_equal(memory[: 4 * len(where)].reshape(4, -1), lines[[0, 2, 5, 8]][:, where])


def test_combining_without_keeping_is_the_product():
    rng = np.random.default_rng(0)
    rows, chosen, coef = np.arange(3, 700, 7), rng.permutation(700)[:400], rng.normal(size=400)
    found = columns_of(RBF(1.0), X).of_rows(rows).combine(chosen, coef)
    np.testing.assert_allclose(found, RBF(1.0)(X)[np.ix_(rows, chosen)] @ coef, atol=1e-10)
