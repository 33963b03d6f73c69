"""The compiled loops against their NumPy twins, and the same bits for any number of threads."""

import subprocess
import sys

import numpy as np
import pytest
from tests.cluster import kmeans_reference as reference
from tests.cluster.kmeans_reference import far_rows

from margin.cluster import compiled_loops, lloyd
from margin.cluster.plusplus import draw_rows, plusplus, random_rows


@pytest.fixture(scope="module")
def kernels():
    return compiled_loops


def problem(n=9000, d=7, k=13, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[rng.integers(k, size=n)]
    weights = rng.uniform(0, 2, n)
    weights[::17] = 0
    offset = weights @ X / weights.sum()
    return X, weights, offset, X[:k] - offset


def reassigned(loops, X, weights, offset, centers, steps=4):
    """A few iterations with bounds; everything the loops change."""
    n, k = len(X), len(centers)
    labels, came_from = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int32)
    upper, lower, moved, out = np.full(n, np.inf), np.zeros(n), np.zeros(k), []
    for _ in range(steps):
        gaps = reference.half_gaps(centers)
        found = loops.reassign(X, weights, offset, centers, gaps, moved, labels, upper, lower, came_from)
        sums, totals, counts = loops.cluster_sums(X, weights, offset, labels, k)
        out.append((*found, labels.copy(), upper.copy(), lower.copy(), came_from.copy(), sums, totals, counts))
        means = sums / totals[:, None]
        moved, centers = np.sqrt(((means - centers) ** 2).sum(axis=1)), means
    return out


def test_compiled_loops_equal_their_twins(kernels):
    arguments = problem()
    for ours, twin in zip(reassigned(kernels, *arguments), reassigned(reference, *arguments)):
        for a, b in zip(ours, twin):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_bounds_change_nothing_but_the_work():
    X, weights, offset, centers = problem()
    fast = lloyd.Partition(X, weights, offset, bounds=True).start(centers + offset)
    plain = lloyd.Partition(X, weights, offset, bounds=False).start(centers + offset)
    for _ in range(40):  # past one renewal of the sums
        fast.step()
        plain.step()
        np.testing.assert_array_equal(fast.labels, plain.labels)
        assert fast.inertia == pytest.approx(plain.inertia, rel=1e-12)
    brute = ((X[:, None] - plain.positions) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(fast.labels, brute)


def test_centers_move_to_the_means_of_their_rows(kernels):
    X, weights, offset, centers = problem()
    labels = np.random.default_rng(3).integers(12, size=len(X)).astype(np.int32)  # the last cluster stays empty
    sums, totals, counts = reference.cluster_sums(X, weights, offset, labels, 13)
    for loops in (kernels, reference):
        now = centers.copy()
        moved, half_gap = loops.move_centers(sums, totals, counts, now)
        means = [np.average(X[labels == c], axis=0, weights=weights[labels == c]) - offset for c in range(12)]
        np.testing.assert_allclose(now, [*means, centers[12]], rtol=1e-9)
        np.testing.assert_allclose(moved, np.linalg.norm(now - centers, axis=1), rtol=1e-12)
        gaps = np.linalg.norm(now[:, None] - now, axis=2) + np.diag(np.full(13, np.inf))
        np.testing.assert_allclose(half_gap, gaps.min(axis=1) / 2, rtol=1e-9)
        assert (half_gap < gaps.min(axis=1) / 2).all()  # a bound, whatever rounding does


@pytest.mark.parametrize(("n", "d"), [(640, 4), (1001, 7), (50, 1)])
def test_compiled_seeds_are_those_of_the_definition(n, d):
    X, weights, offset, _ = problem(n, d)
    rng = np.random.default_rng(4)
    arguments = X, weights, offset, rng.permutation(n), 3, rng.random((12, 4))
    np.testing.assert_array_equal(compiled_loops.far_rows(*arguments), far_rows(*arguments))


def test_compiled_seeds_of_rows_that_are_all_alike():
    order, uniform = np.random.default_rng(0).permutation(70), np.random.default_rng(1).random((5, 3))
    arguments = np.ones((70, 2)), np.ones(70), np.ones(2), order, 2, uniform
    np.testing.assert_array_equal(far_rows(*arguments), order[[2, *(uniform[:, 0] * 70).astype(int)]])
    np.testing.assert_array_equal(compiled_loops.far_rows(*arguments), far_rows(*arguments))


def test_mean_variance_near_and_far_from_the_origin():
    X, weights, _, _ = problem(5000)
    for shift in (0.0, 1e7):
        moved = X + shift
        mean = np.average(moved, axis=0, weights=weights)
        expected = np.average((moved - mean) ** 2, axis=0, weights=weights).mean()
        assert lloyd.mean_variance(moved, weights, mean) == pytest.approx(expected, rel=1e-9)


def test_changes_add_up_to_fresh_sums(kernels):
    X, weights, offset, _ = problem()
    rng = np.random.default_rng(5)
    before, after = rng.integers(13, size=(2, len(X))).astype(np.int32)
    before[after == 12], after[after == 12] = 12, 3  # one cluster is left by everyone
    came_from = np.where(before != after, before, -1).astype(np.int32)
    for loops in (kernels, reference):
        sums, totals, counts = loops.cluster_sums(X, weights, offset, before, 13)
        loops.add_changes(X, weights, offset, after, came_from, sums, totals, counts)
        for changed, fresh in zip((sums, totals, counts), loops.cluster_sums(X, weights, offset, after, 13)):
            np.testing.assert_allclose(changed, fresh, atol=1e-9)
        assert counts[12] == totals[12] == 0
        assert not sums[12].any()


def test_any_number_of_threads_gives_the_same_bits(kernels, monkeypatch):
    arguments = problem(n=30_000)
    monkeypatch.setattr("margin.core.threads.WORK_PER_THREAD", 1)
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr("margin.core.threads.available", lambda threads=threads: threads)
        results.append(reassigned(kernels, *arguments))
    for step in zip(*results):
        for arrays in zip(*step):
            for other in arrays[1:]:
                np.testing.assert_array_equal(arrays[0], other)


def test_importing_and_small_fits_do_not_load_torch():
    script = (
        "import sys, numpy as np; from margin.cluster import KMeans\n"
        "KMeans(3, random_state=0).fit(np.random.default_rng(0).normal(size=(500, 4)))\n"
        "assert 'torch' not in sys.modules, 'loaded'"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_plusplus_draws_in_proportion_to_squared_distance():
    X = np.array([[0.0], [1.0], [3.0]])
    counts = np.zeros(3)
    for seed in range(2000):
        first, second = plusplus(X, np.array([1.0, 1.0, 1.0]), 2, np.random.default_rng(seed))
        assert first != second
        counts[first] += 1
    np.testing.assert_allclose(counts / 2000, 1 / 3, atol=0.04)
    # With everything but two rows weightless only these two can be drawn.
    weights = np.array([1.0, 0.0, 1.0])
    assert {frozenset(plusplus(X, weights, 2, np.random.default_rng(s)).tolist()) for s in range(50)} == {
        frozenset({0, 2})
    }


def test_seeds_depend_neither_on_the_order_of_rows_nor_on_how_weights_are_written():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    weights = rng.integers(0, 4, 40)
    shuffled = rng.permutation(40)
    a = X[plusplus(X, weights.astype(float), 6, np.random.default_rng(1))]
    b = X[shuffled][plusplus(X[shuffled], weights[shuffled].astype(float), 6, np.random.default_rng(1))]
    repeated = X.repeat(weights, axis=0)
    c = repeated[plusplus(repeated, np.ones(len(repeated)), 6, np.random.default_rng(1))]
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)


def test_samples_of_rows():
    weights = np.array([0.0, 1.0, 3.0, 0.0])
    drawn = draw_rows(weights, 4000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, weights / 4, atol=0.03)
    assert len(set(draw_rows(np.ones(50), 50, np.random.default_rng(0)).tolist())) == 50
    firsts = [random_rows(weights, 2, np.random.default_rng(s)).tolist() for s in range(200)]
    assert {frozenset(rows) for rows in firsts} == {frozenset({1, 2})}
