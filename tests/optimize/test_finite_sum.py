"""Batches, stochastic descent and finite sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize import Diverged, FiniteSum, accumulate, batches, clip_norm, clip_value, follow, gradient_error, sgd
from margin.optimize.problems import least_squares, network_size, tanh_network
from margin.optimize.rules import Adam


def regression(n=30):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    return least_squares(X, X @ [2.0, -1.0] + 0.1 * rng.standard_normal(n)), X


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 99))
def test_batches_partition(n, size, seed):
    parts = list(batches(n, size, np.random.default_rng(seed)))
    assert len(parts) == -(-n // size)
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert len(list(batches(n, size, drop_last=True))) == n // size


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 50))
def test_accumulation_equals_one_batch(size, joined, seed):
    problem, _ = regression(24)
    theta = np.random.default_rng(seed).standard_normal(2)
    parts = list(batches(24, size))[:joined]
    gradient = accumulate([problem.gradient(theta, rows) for rows in parts], [len(rows) for rows in parts])
    np.testing.assert_allclose(gradient, problem.gradient(theta, np.concatenate(parts)), atol=1e-12)


def test_accumulated_run_equals_large_batches():
    problem, _ = regression(24)
    runs = [
        follow(
            sgd(
                problem,
                [0.0, 0.0],
                rng=np.random.default_rng(3),
                rule=Adam(),
                learning_rate=0.1,
                batch_size=b,
                accumulate=k,
                epochs=4,
            )
        )
        for b, k in ((2, 4), (8, 1))
    ]
    np.testing.assert_allclose(runs[0].path, runs[1].path, atol=1e-12)


def test_same_seed_same_bits_and_other_seed_other_path():
    problem, _ = regression()
    paths = [follow(sgd(problem, [0.0, 0.0], rng=np.random.default_rng(s))).path for s in (1, 1, 2)]
    np.testing.assert_array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])


def test_records_count_epochs_and_examples():
    problem, _ = regression(10)
    steps = list(sgd(problem, [0.0, 0.0], batch_size=4, epochs=2))
    assert [step["epoch"] for step in steps] == [0, 1, 1, 1, 2, 2, 2]
    assert [step.evaluations for step in steps] == [0, 4, 8, 10, 14, 18, 20]
    assert steps[-1].total == 6


def test_divergence_keeps_the_last_finite_iterate():
    problem, _ = regression()
    result = follow(sgd(problem, [1.0, 1.0], learning_rate=50.0, epochs=40))
    assert not result.converged
    assert "diverged at update" in result.message
    assert np.all(np.isfinite(result.x))
    with pytest.raises(Diverged):
        list(sgd(problem, [1.0, 1.0], learning_rate=50.0, epochs=40))


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"batch_size": 31}, {"epochs": 0}, {"accumulate": 0}])
def test_bad_arguments(options):
    with pytest.raises(ValueError, match="sgd: "):
        next(sgd(regression()[0], [0.0, 0.0], **options))


def test_hand_written_gradients():
    rng = np.random.default_rng(0)
    problem, X = regression(8)
    net = tanh_network(X, rng.standard_normal(8), hidden=3)
    rows = np.array([0, 3, 5])
    for item, size in ((problem, 2), (net, network_size(2, 3))):
        theta = rng.standard_normal(size)
        assert gradient_error(lambda t, i=item: i.value(t, rows), lambda t, i=item: i.gradient(t, rows), theta) < 1e-7
        np.testing.assert_allclose(item.gradients(theta, rows).mean(axis=0), item.gradient(theta, rows), atol=1e-12)


def test_mean_gradient_is_optional():
    problem, _ = regression()
    plain = FiniteSum(problem.n, problem.losses, problem.gradients)
    np.testing.assert_allclose(plain.gradient(np.ones(2)), problem.gradient(np.ones(2)), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6), st.floats(1e-2, 1e2))
def test_clipping(entries, limit):
    g = np.array(entries)
    clipped = clip_norm(g, limit)
    assert np.linalg.norm(clipped) <= limit * (1 + 1e-12) or np.array_equal(clipped, g)
    assert np.linalg.norm(clipped) == pytest.approx(min(limit, np.linalg.norm(g)))
    assert np.max(np.abs(clip_value(g, limit))) <= limit


def test_refusals():
    with pytest.raises(ValueError, match="limit"):
        clip_norm(np.ones(2), 0.0)
    with pytest.raises(ValueError, match="limit"):
        clip_value(np.ones(2), -1.0)
    with pytest.raises(ValueError, match="as many sizes"):
        accumulate([np.ones(2)], [1, 2])
    with pytest.raises(ValueError, match="batches"):
        batches(0, 2)


def test_wrong_shapes_and_starts():
    wrong = FiniteSum(3, lambda x, rows: np.zeros(len(rows)), lambda x, rows: np.zeros((len(rows), 5)))
    with pytest.raises(ValueError, match=r"shape \(2,\) of x; got \(5,\), after update 0"):
        list(sgd(wrong, [0.0, 0.0]))
    with pytest.raises(ValueError, match="x0 must"):
        next(sgd(wrong, [np.nan, 0.0]))
