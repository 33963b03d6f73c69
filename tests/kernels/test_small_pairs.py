"""Many classes of few rows: small pairs solved in one compiled call against the same problems one by one."""

import numpy as np
import pytest
from sklearn import svm

from margin.compiled import svm as compiled
from margin.kernels import RBF, SVC, small_pairs
from margin.kernels.class_blocks import ClassBlocks, values_kept
from margin.kernels.dual import DualProblem, duality_gap
from margin.kernels.kernel_columns import columns_of, columns_of_matrix
from margin.kernels.small_pairs import fits_blocks, solve_with_later_classes


def classes_of(sizes, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=(len(y), 3)) + rng.normal(size=(len(sizes), 3))[y], y


def one_by_one(monkeypatch):
    monkeypatch.setattr(small_pairs, "SMALL_PAIR", 0)


@pytest.mark.parametrize("C", [0.3, 50.0])
def test_small_pairs_are_solved_like_problems_of_their_own(C):
    sizes = np.array([3, 1, 7, 2, 12])
    X, y = classes_of(sizes)
    K, bounds = RBF(1.3)(X), C * np.random.default_rng(1).uniform(0.5, 1.5, size=len(y))
    found = solve_with_later_classes(ClassBlocks(columns_of(RBF(1.3), X), sizes), bounds, 1, 2, 5, 1e-9)
    ends = np.cumsum(found["sizes"])
    assert len(ends) == 3
    for pair, (other, end, size) in enumerate(zip((2, 3, 4), ends, found["sizes"])):
        rows = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == other)]
        first = y[rows] == 1
        low, high = np.where(first, 0.0, -bounds[rows]), np.where(first, bounds[rows], 0.0)
        problem = DualProblem(
            columns_of_matrix(K[np.ix_(rows, rows)]), np.where(first, 1.0, -1.0), low, high, 0.0, 1e-9
        )
        problem.step()
        assert problem.solved
        used = problem.beta != 0
        np.testing.assert_array_equal(found["rows"][end - size : end], rows[used])
        np.testing.assert_allclose(found["values"][end - size : end], problem.beta[used], rtol=1e-9)
        assert found["steps"][pair] == problem.steps
        expected = {"offset": problem.offset, "objective": problem.objective, "gap": duality_gap(problem)}
        expected |= {"violation": problem.violation, "iteration": 1, "members": len(rows)}
        for name, value in expected.items():
            assert found[name][pair] == pytest.approx(value, rel=1e-9, abs=1e-9), name


def test_many_tiny_classes_are_learned_as_one_by_one_and_as_by_scikit_learn(monkeypatch):
    X, y = classes_of([2, 5, 1, 3] * 8)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=len(y))
    settings = {"tol": 1e-8, "C": 3.0, "gamma": 0.2, "decision_function_shape": "ovo"}
    together = SVC(**settings).fit(X, y, weights)
    peer = svm.SVC(**settings).fit(X, y, weights)
    np.testing.assert_array_equal(together.support_, peer.support_)
    # LIBSVM keeps kernel values in single precision.
    np.testing.assert_allclose(together.dual_coef_, peer.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(together.decision_function(X), peer.decision_function(X), atol=1e-5)
    one_by_one(monkeypatch)
    alone = SVC(**settings).fit(X, y, weights)
    for name in ("dual_coef_", "intercept_", "objective_", "gap_", "violation_"):
        np.testing.assert_allclose(getattr(together, name), getattr(alone, name), atol=1e-9)
    for name in ("support_", "n_support_", "n_iter_"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))


def test_large_pairs_and_those_that_take_several_working_sets_are_solved_on_their_own(monkeypatch):
    X, y = classes_of([4, 40, 3, 90, 5, 60, 2])
    expected = SVC(C=20.0).fit(X, y)
    calls = []
    kernel = compiled.solve_small_pairs

    def counted(*arguments):
        calls.append(kernel(*arguments))
        return calls[-1]

    monkeypatch.setattr(compiled, "solve_small_pairs", counted)
    monkeypatch.setattr(small_pairs, "SMALL_PAIR", 70)
    monkeypatch.setattr(small_pairs, "STEPS_PER_VARIABLE", 0.1)  # few steps: pairs of the larger classes are left
    found = SVC(C=20.0).fit(X, y)
    assert 0 in calls
    assert 0 < sum(calls) < 21
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-4)
    assert found.fit_status_ == 0


def test_a_resumed_fit_of_small_pairs_is_the_same(monkeypatch):
    from margin.kernels import pair_loop

    monkeypatch.setattr(pair_loop, "VALUES_PER_RECORD", 60)
    X, y = classes_of([2, 5, 1, 3, 4, 2])
    whole = SVC().fit(X, y)
    model = SVC()
    for record in model.iterate(X, y):
        if record.iteration == 2:
            state = model._loop.state()
            break
    assert 0 < len(state["done"]["sizes"]) < 15
    resumed = SVC()
    for _ in resumed.iterate(X, y, state=state):
        pass
    np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(resumed.intercept_, whole.intercept_)


def test_blocks_are_kept_for_few_rows_or_many_small_classes_only():
    assert fits_blocks(np.array([1000, 500, 500]))
    assert not fits_blocks(np.array([1000, 500, 501]))
    assert fits_blocks(np.full(1000, 5))
    assert not fits_blocks(np.full(100, 65))  # pairs of 130 rows
    assert not fits_blocks(np.full(2000, 60))  # 14 million values
    assert values_kept(np.array([2, 3, 4])) == 4 + 9 + 16 + 14


def test_a_class_without_weight_is_named():
    X, y = classes_of([3, 3, 3])
    with pytest.raises(ValueError, match=r"class_weight leaves no weight to class 1\."):
        SVC(class_weight={1: 0.0}).fit(X, y)
