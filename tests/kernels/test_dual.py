"""The dual: pair steps against a NumPy twin, solutions against an interior-point method, decomposition, resuming."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.compiled.svm import solve_pairs
from margin.kernels import RBF, LinearKernel, dual
from margin.kernels.dual import DualProblem, duality_gap
from margin.kernels.kernel_columns import columns_of
from margin.kernels.optimality import directions, dual_objective, offset_between
from margin.kernels.precision import column_dtype
from margin.kernels.smo_kernels import FLAT
from margin.optimize.interior_point import svm_dual


def clouds(n, d=3, seed=0, gap=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + gap * y[:, None] / 2, y


def classification(n, C=1.0, tol=1e-8, kernel=None, seed=0):
    X, y = clouds(n, seed=seed)
    low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    return DualProblem(columns_of(kernel or RBF(1.0), X), y, low, high, 0.0, tol), X, y


def solve(problem):
    while not problem.solved:
        problem.step()
        assert problem.iteration < 5000
    return problem


def twin(K, score, beta, low, high, epsilon, tol, max_steps):
    """The same pair steps in NumPy."""
    score, beta, steps = score.copy(), beta.copy(), 0
    while steps < max_steps:
        up, down = directions(score, beta, low, high, epsilon)
        i = int(np.argmax(up))
        if up[i] - down.min() <= tol:
            break
        curvature = np.maximum(K[i, i] + np.diag(K) - 2 * K[i], FLAT)
        rise = up[i] - down
        gain = np.where(np.isfinite(down) & (rise > 0), rise, 0.0) ** 2 / curvature
        j = int(np.argmax(gain))
        top = 0.0 if epsilon > 0 and beta[i] < 0 else high[i]
        bottom = 0.0 if epsilon > 0 and beta[j] > 0 else low[j]
        step = min(rise[j] / curvature[j], top - beta[i], beta[j] - bottom)
        beta[i] = top if step == top - beta[i] else beta[i] + step
        beta[j] = bottom if step == beta[j] - bottom else beta[j] - step
        score -= step * (K[i] - K[j])
        steps += 1
    return beta, score, steps


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_pair_steps_are_those_of_the_numpy_twin(epsilon):
    rng = np.random.default_rng(3)
    X, y = clouds(60)
    K, target = RBF(1.0)(X), y if epsilon == 0 else rng.normal(size=60)
    low = np.where(y > 0, 0.0, -1.0) if epsilon == 0 else -np.ones(60)
    high = np.where(y > 0, 1.0, 0.0) if epsilon == 0 else np.ones(60)
    beta, score = np.zeros(60), target.copy()
    steps = solve_pairs(K, score, beta, low, high, epsilon, 1e-6, 10_000, np.empty((4, 60)))
    expected = twin(K, target, np.zeros(60), low, high, epsilon, 1e-6, 10_000)
    assert steps == expected[2]
    np.testing.assert_allclose(beta, expected[0], atol=1e-10)
    np.testing.assert_allclose(score, expected[1], atol=1e-10)
    np.testing.assert_allclose(score, target - K @ beta, atol=1e-10)


@given(C=st.sampled_from([0.1, 1.0, 10.0]), seed=st.integers(0, 50))
def test_solution_is_that_of_the_interior_point_method(C, seed):
    problem, X, y = classification(40, C, seed=seed)
    solve(problem)
    oracle = svm_dual(RBF(1.0)(X), y, C)
    assert dual_objective(problem.score, problem.beta, y, 0.0) == pytest.approx(-oracle.value, abs=1e-6)
    np.testing.assert_allclose(problem.beta * y, oracle.x, atol=1e-3 * C)
    assert abs(problem.beta.sum()) < 1e-9
    assert duality_gap(problem) < 1e-5


def test_offset_is_the_same_on_every_free_variable():
    problem, _, _ = classification(100, C=1.0)
    solve(problem)
    free = (problem.beta > problem.low) & (problem.beta < problem.high)
    assert free.sum() > 3
    np.testing.assert_allclose(
        problem.score[free], offset_between(problem.score, problem.beta, problem.low, problem.high, 0.0), atol=1e-7
    )


def test_decomposition_reaches_the_solution_of_the_whole(monkeypatch):
    whole = solve(classification(600, tol=1e-6)[0])
    monkeypatch.setattr(dual, "WHOLE_ROWS", 100)
    monkeypatch.setattr(dual, "PART", 32)
    parts = solve(classification(600, tol=1e-6)[0])
    assert parts.iteration > 5
    np.testing.assert_allclose(parts.score, whole.score, atol=1e-4)
    assert dual_objective(parts.score, parts.beta, parts.target, 0.0) == pytest.approx(
        dual_objective(whole.score, whole.beta, whole.target, 0.0), rel=1e-8
    )


def test_the_dual_objective_never_falls_and_bounds_hold(monkeypatch):
    monkeypatch.setattr(dual, "WHOLE_ROWS", 100)
    monkeypatch.setattr(dual, "PART", 32)
    problem, X, y = classification(600, C=5.0, tol=1e-5)
    K, last = RBF(1.0)(X), 0.0
    while not problem.solved:
        problem.step()
        # Scores of variables that left are old; the objective must be exact all the same.
        now = y @ problem.beta - 0.5 * problem.beta @ K @ problem.beta
        assert problem.objective == pytest.approx(now, abs=1e-8)
        assert now >= last - 1e-9
        assert (problem.beta >= problem.low).all()
        assert (problem.beta <= problem.high).all()
        last = now


def test_resuming_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(dual, "WHOLE_ROWS", 100)
    monkeypatch.setattr(dual, "PART", 32)
    through = solve(classification(600, tol=1e-5)[0])
    first = classification(600, tol=1e-5)[0]
    for _ in range(6):
        first.step()
    second = solve(classification(600, tol=1e-5)[0].restore(first.state()))
    np.testing.assert_array_equal(second.beta, through.beta)
    np.testing.assert_array_equal(second.score, through.score)
    assert (second.iteration, second.steps) == (through.iteration, through.steps)


def test_columns_are_single_precision_only_where_it_cannot_be_felt():
    X, _ = clouds(2500)
    assert column_dtype(RBF(1.0), X, 1.0, 1e-3) is np.float32
    assert column_dtype(RBF(1.0), X, 1e5, 1e-3) is np.float64, "large coefficients"
    assert column_dtype(RBF(1.0), X, 1.0, 1e-8) is np.float64, "small tolerance"
    assert column_dtype(LinearKernel(), 1e4 * X, 1.0, 1e-3) is np.float64, "large values"
    assert column_dtype(RBF(1.0), X[:50], 1.0, 1e-3) is np.float64, "small problem"
