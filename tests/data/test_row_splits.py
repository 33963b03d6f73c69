"""Splits: exact sizes, no overlap, full cover, proportions within one row, no look ahead."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.data import (
    group_folds,
    group_split,
    hold_out,
    quantile_bins,
    random_folds,
    random_split,
    stratified_fold_numbers,
    stratified_folds,
    stratified_split,
    three_way_split,
    time_folds,
    time_split,
)

seeds = st.integers(0, 2**32)


def assert_partition(n, *parts):
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))


@given(st.integers(2, 60), st.floats(0.01, 0.99), seeds)
def test_random_split(n, fraction, seed):
    train, test = random_split(n, fraction, seed)
    assert_partition(n, train, test)
    assert len(test) == min(max(round(fraction * n), 1), n - 1)
    np.testing.assert_array_equal(test, random_split(n, fraction, seed)[1])


def test_random_split_by_count_and_by_generator():
    assert len(random_split(10, 3)[1]) == 3
    rng = np.random.default_rng(0)
    first, second = random_split(100, seed=rng)[1], random_split(100, seed=rng)[1]
    assert not np.array_equal(first, second)


def test_every_row_is_as_likely_to_be_tested():
    counts = sum(np.bincount(random_split(10, 3, seed)[1], minlength=10) for seed in range(2000))
    # Binomial(2000, 0.3): standard deviation 20.5; five of them.
    assert np.all(np.abs(counts - 600) < 103)


@given(st.integers(3, 60), seeds)
def test_three_way_split(n, seed):
    train, validation, test = three_way_split(n, 1, 1, seed)
    assert_partition(n, train, validation, test)
    assert len(validation) == len(test) == 1


labels = st.lists(st.sampled_from("aaaabbc"), min_size=2, max_size=80)


@given(labels, st.floats(0.05, 0.95), seeds)
def test_stratified_split_keeps_proportions(y, fraction, seed):
    train, test = stratified_split(y, fraction, seed)
    n = len(y)
    assert_partition(n, train, test)
    assert len(test) == min(max(round(fraction * n), 1), n - 1)
    y = np.array(y)
    for label in np.unique(y):
        assert abs(np.sum(y[test] == label) - np.sum(y == label) * len(test) / n) < 1


def test_a_random_split_balances_only_on_average():
    y = np.repeat([0, 1], 500)
    by_chance = [np.sum(y[random_split(1000, 0.5, seed)[1]]) for seed in range(200)]
    assert np.std(by_chance) == pytest.approx(7.9, rel=0.2)
    assert {int(np.sum(y[stratified_split(y, 0.5, seed)[1]])) for seed in range(20)} == {250}


@given(labels, st.integers(2, 6), seeds)
def test_stratified_folds(y, k, seed):
    if len(y) < k:
        return
    folds = list(stratified_folds(y, k, seed))
    assert len(folds) == k
    assert_partition(len(y), *(test for _, test in folds))
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= 1
    y = np.array(y)
    for train, test in folds:
        assert_partition(len(y), train, test)
    for label in np.unique(y):
        counts = [np.sum(y[test] == label) for _, test in folds]
        assert max(counts) - min(counts) <= 1


@given(st.integers(2, 60), st.integers(2, 7), seeds)
def test_random_folds(n, k, seed):
    if n < k:
        return
    folds = list(random_folds(n, k, seed))
    assert_partition(n, *(test for _, test in folds))
    assert sorted(len(test) for _, test in folds) == sorted(len(part) for part in np.array_split(np.arange(n), k))
    for train, test in folds:
        assert_partition(n, train, test)


groups = st.lists(st.integers(0, 9), min_size=2, max_size=60).filter(lambda g: len(set(g)) > 1)


@given(groups, st.floats(0.05, 0.95), seeds)
def test_group_split(codes, fraction, seed):
    train, test = group_split(codes, fraction, seed)
    codes = np.array(codes)
    assert_partition(len(codes), train, test)
    assert len(train)
    assert len(test)
    assert not set(codes[train]) & set(codes[test])
    wanted = min(max(round(fraction * len(codes)), 1), len(codes) - 1)
    assert len(test) <= max(wanted, np.bincount(codes)[np.unique(codes)].min())


@given(groups, seeds)
def test_group_folds(codes, seed):
    codes = np.array(codes)
    k = min(3, len(set(codes)))
    folds = list(group_folds(codes, k, seed))
    assert_partition(len(codes), *(test for _, test in folds))
    for train, test in folds:
        assert len(test)
        assert not set(codes[train]) & set(codes[test])


times = st.lists(st.integers(0, 30), min_size=2, max_size=50).filter(lambda t: len(set(t)) > 1)


@given(times, st.floats(0.05, 0.95))
def test_time_split_never_looks_ahead(moments, fraction):
    moments = np.array(moments)
    wanted = min(max(round(fraction * len(moments)), 1), len(moments) - 1)
    if np.sort(moments)[-wanted] == moments.min():  # the first test row is as early as any
        with pytest.raises(ValueError, match="none is left to train on"):
            time_split(moments, fraction)
        return
    train, test = time_split(moments, fraction)
    assert_partition(len(moments), train, test)
    assert moments[train].max() < moments[test].min()
    assert len(test) == np.sum(moments >= np.sort(moments)[-wanted])


@given(st.permutations(range(40)), st.integers(2, 6), st.integers(0, 3))
def test_time_folds_step_forward(moments, k, gap):
    moments = np.array(moments)
    folds = list(time_folds(moments, k, gap))
    assert len(folds) == k
    size = 40 // (k + 1)
    for train, test in folds:
        assert len(test) == size
        assert moments[train].max() < moments[test].min() - gap
        assert len(train) + gap == moments[test].min()
    tested = np.concatenate([test for _, test in folds])
    assert len(set(tested.tolist())) == k * size


def test_dates_and_ties():
    days = np.array(["2025-01-03", "2025-01-01", "2025-01-03", "2025-01-02"], dtype="datetime64[D]")
    train, test = time_split(days, 1)
    assert train.tolist() == [1, 3]
    assert test.tolist() == [0, 2]  # the two rows of one day stay together
    for train, test in time_folds([0, 0, 1, 1, 2, 2, 3, 3], 3):
        assert train.max() < test.min()


def test_quantile_bins_stratify_a_response():
    y = np.random.default_rng(0).exponential(size=1000)
    bins = quantile_bins(y, 10)
    np.testing.assert_array_equal(np.bincount(bins), np.full(10, 100))
    train, test = stratified_split(bins, 0.5)
    np.testing.assert_array_equal(np.bincount(bins[test]), np.full(10, 50))
    assert abs(y[train].mean() - y[test].mean()) < 0.05


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: random_split(1), "random_split: n must be"),
        (lambda: random_split(10.0), "n must be"),
        (lambda: random_split(10, 0.0), "test_size must be a fraction"),
        (lambda: random_split(10, 1.0), "test_size must be a fraction"),
        (lambda: random_split(10, 10), "1 to 9 rows; got 10"),
        (lambda: random_split(10, True), "test_size must be a number"),
        (lambda: random_split(10, "half"), "test_size must be a number"),
        (lambda: random_split(10, np.nan), "test_size must be a number"),
        (lambda: random_split(10, seed=-1), "seed"),
        (lambda: random_split(10, seed=None), "seed"),
        (lambda: random_split(10, seed=1.5), "seed"),
        (lambda: three_way_split(4, 2, 2), "none is left"),
        (lambda: stratified_split([[0], [1]]), "labels must be a list"),
        (lambda: stratified_split([0]), "at least two"),
        (lambda: stratified_split(["a", None]), "must not be missing"),
        (lambda: stratified_split([0.0, np.nan]), "must not be missing"),
        (lambda: stratified_folds([0, 1], 3), "k must be between 2 and the 2 rows; got 3"),
        (lambda: random_folds(10, 1), "k must be between"),
        (lambda: group_split([1, 1, 1]), "at least two groups"),
        (lambda: group_folds([1, 1, 2], 3), "the 2 groups"),
        (lambda: time_split(["a", "b"]), "numbers or dates"),
        (lambda: time_split([1.0, np.nan]), "must not be missing"),
        (lambda: time_split(np.array(["NaT", "2025-01-01"], dtype="datetime64[D]")), "must not be missing"),
        (lambda: time_split([1, 1, 1]), "none is left to train on"),
        (lambda: time_folds([1, 1, 1, 1], 2), "do not give 2 folds"),
        (lambda: time_folds(range(10), 3, gap=-1), "gap"),
        (lambda: time_folds(range(6), 2, gap=5), "do not give 2 folds"),
        (lambda: quantile_bins([]), "non-empty"),
        (lambda: quantile_bins([1.0, np.inf]), "finite"),
        (lambda: quantile_bins([1.0], 2), "n_bins must be between 1 and the 1 values"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert str(caught.value).endswith(".")


def test_labels_of_mixed_types_are_kept_apart():
    y = np.array([1, "1", 1, "1"], dtype=object)
    _, test = stratified_split(y, 0.5)
    assert sorted(type(y[i]).__name__ for i in test) == ["int", "str"]


@pytest.mark.parametrize("seed", range(3))
def test_hold_out_is_stratified_where_labels_are_given(seed):
    y = np.array([0] * 60 + [1] * 30 + [2] * 10)
    learn, judge = hold_out(len(y), 0.2, seed, y)
    assert np.bincount(y[judge]).tolist() == [12, 6, 2]
    np.testing.assert_array_equal(np.sort(np.concatenate([learn, judge])), np.arange(100))
    assert len(hold_out(100, 0.2, seed)[1]) == 20


def test_fold_numbers_are_those_of_the_folds():
    y = np.repeat([0, 1], [31, 12])
    fold = stratified_fold_numbers(y, 4, seed=5)
    for i, (_, test) in enumerate(stratified_folds(y, 4, seed=5)):
        np.testing.assert_array_equal(np.flatnonzero(fold == i), test)
