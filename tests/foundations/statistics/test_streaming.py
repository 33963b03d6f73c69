"""Streaming moments against NumPy, exact rational arithmetic, and each other."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.foundations.statistics import (
    CoMoments,
    Moments,
    updated_mean,
    updated_squares,
    updated_squares_from_means,
)
from margin.foundations.statistics import streaming as streaming_module

numbers = st.floats(-1e3, 1e3, allow_nan=False)


def exact_variance(x):
    """Two passes in extended precision: good to about 1e-17 here."""
    values = np.asarray(x, dtype=np.longdouble)
    mean = values.mean()
    return float(((values - mean) ** 2).mean())


def test_the_oracle_is_exact():
    x = 1e9 + np.random.default_rng(0).normal(size=2000)
    values = [Fraction(float(v)) for v in x]
    mean = sum(values) / len(values)
    assert exact_variance(x) == pytest.approx(float(sum((v - mean) ** 2 for v in values) / len(values)), rel=1e-15)


@pytest.mark.parametrize("shape", [(1,), (7,), (1000,), (257, 3), (40_000, 10), (5, 300_000), (12, 2, 3)])
def test_moments_match_numpy_for_every_shape(shape):
    X = np.random.default_rng(1).normal(3, 2, size=shape)
    state = Moments.of(X)
    assert state.count == shape[0]
    assert state.mean.shape == shape[1:]
    np.testing.assert_allclose(state.mean, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(state.variance(), X.var(axis=0), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "make",
    [np.asfortranarray, lambda X: X[::-1], lambda X: X[:, ::2], lambda X: X.astype("f4"), lambda X: X.astype("g")],
)
def test_any_memory_layout_and_dtype(make):
    X = make(np.random.default_rng(2).normal(size=(30_011, 6)))
    wide = X.astype(np.float64)
    np.testing.assert_allclose(Moments.of(X).variance(), wide.var(axis=0), rtol=1e-11)
    np.testing.assert_allclose(CoMoments.of(X).covariance(1), np.cov(wide, rowvar=False), atol=1e-12)


def test_integers_and_booleans_are_numbers():
    assert Moments.of([1, 2, 6]).variance() == pytest.approx(14 / 3)
    assert Moments.of([True, False]).variance() == pytest.approx(0.25)


@given(st.lists(numbers, min_size=2, max_size=40))
@settings(max_examples=40, deadline=None)
def test_identities_of_the_mean_update(values):
    mean = values[0]
    for n, x in enumerate(values[1:], start=2):
        after = updated_mean(mean, x, n)
        assert x - mean == pytest.approx(n * (after - mean), abs=1e-9)
        assert x - after == pytest.approx((n - 1) * (after - mean), abs=1e-9)
        mean = after
    assert mean == pytest.approx(np.mean(values), abs=1e-10)


@given(st.lists(numbers, min_size=2, max_size=40))
@settings(max_examples=40, deadline=None)
def test_both_variance_updates_agree(values):
    mean, welford, other = values[0], 0.0, 0.0
    for n, x in enumerate(values[1:], start=2):
        after = updated_mean(mean, x, n)
        welford = updated_squares(welford, x, mean, after)
        other = updated_squares_from_means(other, n, mean, after)
        mean = after
    assert welford == pytest.approx(other, rel=1e-10, abs=1e-8)
    assert welford / len(values) == pytest.approx(np.var(values), rel=1e-9, abs=1e-8)


@given(st.lists(numbers, min_size=1, max_size=30), st.lists(numbers, min_size=1, max_size=30))
@settings(max_examples=40, deadline=None)
def test_merging_is_concatenating(a, b):
    merged, whole = Moments.of(a).merge(Moments.of(b)), Moments.of(a + b)
    assert merged.count == whole.count
    np.testing.assert_allclose(merged.mean, whole.mean, atol=1e-10)
    np.testing.assert_allclose(merged.squares, whole.squares, rtol=1e-10, atol=1e-7)


def test_push_equals_the_prefix_at_every_step():
    X = np.random.default_rng(3).normal(size=(60, 4))
    state = Moments.empty((4,))
    for n, x in enumerate(X, start=1):
        state = state.push(x)
        np.testing.assert_allclose(state.mean, X[:n].mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(state.variance(), X[:n].var(axis=0), atol=1e-12)


def test_chunks_and_partitions_combine():
    X = np.random.default_rng(4).normal(size=(10_000, 5)) @ np.random.default_rng(5).normal(size=(5, 5))
    chunks = np.array_split(X, 17)
    merged = reduce(CoMoments.merge, map(CoMoments.of, chunks))
    np.testing.assert_allclose(merged.covariance(1), np.cov(X, rowvar=False), rtol=1e-11, atol=1e-12)
    state = Moments.empty((5,))
    for chunk in chunks:
        state = state.update(chunk)
    np.testing.assert_allclose(state.variance(), X.var(axis=0), rtol=1e-11)


@pytest.mark.parametrize("order", [np.sort, lambda x: x, lambda x: np.sort(x)[::-1]])
def test_accurate_far_from_zero_and_for_sorted_data(order):
    x = order(1e9 + np.random.default_rng(6).normal(size=200_000))
    truth = exact_variance(x)
    assert Moments.of(x).variance() == pytest.approx(truth, rel=1e-13)
    pushed = reduce(Moments.push, x[:3000], Moments.empty())
    assert pushed.variance() == pytest.approx(exact_variance(x[:3000]), rel=1e-13)
    merged = reduce(Moments.merge, map(Moments.of, np.array_split(x, 7)))
    assert merged.variance() == pytest.approx(truth, rel=1e-13)
    columns = np.column_stack([x, -2 * x])
    matrix = reduce(CoMoments.merge, map(CoMoments.of, np.array_split(columns, 3))).covariance()
    np.testing.assert_allclose(matrix, truth * np.array([[1, -2], [-2, 4]]), rtol=1e-12)


@given(st.floats(-1e6, 1e6), st.integers(1, 3000))
@settings(max_examples=40, deadline=None)
def test_a_constant_has_no_variance_and_never_a_negative_one(value, n):
    squares = Moments.of(np.full(n, value)).squares
    assert 0 <= squares <= 1e-25 * max(1.0, value**2)


def test_trend_with_jumps_between_blocks():
    x = np.repeat([0.0, 1e8, -1e8, 5.0], 150_000) + np.random.default_rng(7).normal(size=600_000)
    assert Moments.of(x).variance() == pytest.approx(exact_variance(x), rel=1e-12)


def test_memory_stays_at_one_block():
    import tracemalloc

    X = np.ones((200_000, 10))
    tracemalloc.start()
    Moments.of(X)
    CoMoments.of(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * streaming_module.BUFFER_VALUES + 500_000


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Moments.of([1.0, np.nan]), "must be finite; got nan at index"),
        (lambda: Moments.of([[1.0, np.inf]]), "must be finite; got inf"),
        (lambda: Moments.of([]), "at least one observation"),
        (lambda: Moments.of(3.0), "at least one observation"),
        (lambda: Moments.of(["a"]), "must hold real numbers"),
        (lambda: Moments.of([1e200, -1e200]), "squares overflow"),
        (lambda: Moments.of([1.0]).variance(1), "ddof must be below the 1 observations"),
        (lambda: Moments.of([1.0]).push([1.0, 2.0]), "x must have shape ()"),
        (lambda: Moments.of([1.0]).merge(Moments.of([[1.0]])), "one shape"),
        (lambda: CoMoments.of([1.0, 2.0]), "X must be a matrix"),
    ],
)
def test_bad_input_is_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        call()
