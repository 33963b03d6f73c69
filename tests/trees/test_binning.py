"""Bins: edges by counting, codes by comparison and by NumPy's search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from margin.trees.binning import MISSING, apply_bins, find_bins, midpoint


def test_few_distinct_values_get_a_bin_each():
    bins = find_bins(np.array([[3.0], [1.0], [1.0], [2.0], [np.nan]]))
    assert bins.of(0).tolist() == [1.5, 2.5]
    assert bins.exact.tolist() == [True]
    assert apply_bins(np.array([[1.0], [2.0], [3.0], [np.nan]]), bins).ravel().tolist() == [0, 1, 2, MISSING]


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e3, 1e3)), st.integers(2, 20))
def test_codes_count_the_edges_below(x, max_bins):
    bins = find_bins(x[:, None], max_bins)
    edges = bins.of(0)
    assert len(edges) <= max_bins - 1
    assert np.all(np.diff(edges) > 0)
    codes = apply_bins(x[:, None], bins).ravel()
    assert np.array_equal(codes, (edges[None, :] < x[:, None]).sum(axis=1))
    for k, edge in enumerate(edges):
        assert np.array_equal(codes <= k, x <= edge)


def test_bins_of_continuous_values_have_about_equal_frequency():
    x = np.random.default_rng(0).standard_normal((20_000, 1))
    counts = np.bincount(apply_bins(x, find_bins(x)).ravel())
    assert len(counts) == 255
    assert counts.min() >= 70
    assert counts.max() <= 88


def test_a_heavy_value_does_not_eat_the_bins_of_the_others():
    rng = np.random.default_rng(1)
    x = np.where(rng.uniform(size=50_000) < 0.9, 0.0, rng.uniform(1, 2, 50_000))
    assert len(find_bins(x[:, None], 64).of(0)) >= 60


def test_weights_equal_repeated_rows():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((800, 2))
    weight = rng.integers(0, 4, 800)
    weighted = find_bins(x, 16, sample_weight=weight.astype(float))
    repeated = find_bins(np.repeat(x, weight, axis=0), 16)
    np.testing.assert_array_equal(weighted.edges, repeated.edges)


def test_categories_unknown_and_missing():
    X = np.array([[5.0], [-1.0], [5.0], [2.0]])
    bins = find_bins(X, categorical=[True])
    assert bins.of(0).tolist() == [-1.0, 2.0, 5.0]
    asked = np.array([[5.0], [2.5], [np.nan], [-1.0], [99.0]])
    assert apply_bins(asked, bins).ravel().tolist() == [2, MISSING, MISSING, 0, MISSING]
    rare = find_bins(X, max_bins=2, categorical=[True])
    assert rare.of(0).tolist() == [-1.0, 5.0]
    assert not rare.exact[0]


def searched_codes(x, edges, is_category):
    """The code of every value of one column."""
    found = np.searchsorted(edges, x)
    known = ~np.isnan(x)
    if is_category:
        known &= np.append(edges, np.inf)[found] == x
    return np.where(known, found, MISSING)


@pytest.mark.parametrize("order", ["C", "F"])
def test_codes_equal_those_of_a_search(order):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1100, 7))
    X[:, 1] = rng.integers(0, 300, 1100)
    X[:, 2] = rng.integers(0, 5, 1100)
    X[:, 4] = rng.integers(0, 2, 1100)  # one edge, none, one category
    X[:, 5] = X[:, 6] = 1.0
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    bins = find_bins(X, categorical=[False, True, False, False, False, False, True])
    more = [np.full(7, value) for value in (np.nan, np.inf, -np.inf, 0.5, bins.of(0)[0], bins.of(3)[-1])]
    asked = np.vstack([X, 3 * X, *more])
    codes = apply_bins(asked, bins, order)
    for j, column in enumerate(asked.T):
        np.testing.assert_array_equal(codes[:, j], searched_codes(column, bins.of(j), bins.categorical[j]))
    assert codes.flags.f_contiguous == (order == "F")


def test_subsample_is_drawn_by_the_generator_only():
    X = np.random.default_rng(4).standard_normal((5000, 2))
    first, again = (find_bins(X, 32, rng=np.random.default_rng(7), subsample=1000) for _ in range(2))
    np.testing.assert_array_equal(first.edges, again.edges)
    assert not first.exact.any()


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_midpoint_separates(a, b):
    low, high = min(a, b), max(a, b)
    if low < high:
        middle = float(midpoint(np.array(low), np.array(high)))
        assert low <= middle < high


def test_bad_input():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="max_bins must be from 2 to 255; got 300"):
        find_bins(X, 300)
    with pytest.raises(ValueError, match="one flag per column"):
        find_bins(X, categorical=[True])
    with pytest.raises(ValueError, match=r"apply_bins: X must have shape \(n, 2\)"):
        apply_bins(np.zeros((3, 5)), find_bins(X))


def test_a_column_of_only_missing_values_has_one_empty_bin():
    bins = find_bins(np.full((4, 1), np.nan))
    assert bins.n_bins.tolist() == [1]
    assert apply_bins(np.full((2, 1), np.nan), bins).ravel().tolist() == [MISSING, MISSING]
