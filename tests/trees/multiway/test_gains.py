"""Entropy, gain, gain ratio and thresholds against scikit-learn, SciPy and brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy
from sklearn.metrics import mutual_info_score
from sklearn.tree import DecisionTreeClassifier

from margin.foundations.information import mutual_information
from margin.trees import best_threshold, class_entropy, gain_ratio, information_gain, split_information
from margin.trees.multiway import thresholds as thresholds_module
from margin.trees.multiway.gains import gain_of_counts
from margin.trees.multiway.thresholds import threshold_scan

pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=40)


@given(pairs)
@settings(max_examples=60, deadline=None)
def test_gain_is_the_mutual_information_of_class_and_feature(rows):
    y, x = (np.array(column) for column in zip(*rows))
    gain = information_gain(y, x)
    assert gain == pytest.approx(mutual_info_score(y, x) / math.log(2), abs=1e-12)
    joint = np.zeros((3, 5))
    np.add.at(joint, (y, x), 1 / len(y))
    assert gain == pytest.approx(float(mutual_information(joint, base=2)), abs=1e-12)
    assert 0 <= gain <= class_entropy(y) + 1e-12


@given(pairs)
@settings(max_examples=40, deadline=None)
def test_ratio_is_gain_over_the_entropy_of_the_split(rows):
    y, x = (np.array(column) for column in zip(*rows))
    information = scipy_entropy(np.bincount(x), base=2)
    assert split_information(x) == pytest.approx(information, abs=1e-12)
    assert class_entropy(y) == pytest.approx(scipy_entropy(np.bincount(y), base=2), abs=1e-12)
    expected = information_gain(y, x) / information if len(set(x)) > 1 else 0.0
    assert gain_ratio(y, x) == pytest.approx(expected, abs=1e-12)
    assert gain_ratio(y, x) <= 1 + 1e-12


@given(pairs, st.data())
@settings(max_examples=40, deadline=None)
def test_a_weight_of_k_is_k_rows(rows, data):
    y, x = (np.array(column) for column in zip(*rows))
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))))
    for measure in (information_gain, gain_ratio):
        assert measure(y, x, weights) == pytest.approx(measure(np.repeat(y, weights), np.repeat(x, weights)), abs=1e-12)


def test_names_of_values_do_not_matter():
    rng = np.random.default_rng(0)
    y, x = rng.integers(3, size=50), rng.integers(4, size=50)
    words, letters = np.array(["no", "yes", "maybe"])[y], np.array(list("dcba"), dtype=object)[x]
    assert information_gain(words, letters) == pytest.approx(information_gain(y, x), abs=1e-12)


@pytest.mark.parametrize("mark", [None, float("nan"), "?"])
def test_missing_entries_are_left_out_and_the_gain_scaled(mark):
    """The golf table of Quinlan's book with one outlook missing: gain 0.199, split information 1.809, ratio 0.110."""
    outlook = np.array(["sunny"] * 5 + [mark] + ["overcast"] * 3 + ["rain"] * 5, dtype=object)
    play = [1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1]
    assert information_gain(play, outlook) == pytest.approx(0.199, abs=5e-4)
    assert split_information(outlook) == pytest.approx(1.809, abs=5e-4)
    assert gain_ratio(play, outlook) == pytest.approx(0.110, abs=5e-4)
    known = [i for i in range(14) if i != 5]
    on_known = information_gain(np.array(play)[known], outlook[known])
    assert information_gain(play, outlook) == pytest.approx(13 / 14 * on_known, abs=1e-12)


def test_a_feature_known_for_one_value_only_splits_nothing():
    assert gain_ratio([0, 1, 0, 1], ["a", "a", None, None]) == 0.0
    assert information_gain([0, 1], [None, None]) == 0.0


def test_many_tables_at_once():
    counts = np.random.default_rng(0).integers(0, 6, size=(7, 4, 3)).astype(float)
    missing = np.arange(7.0)
    gains, ratios = gain_of_counts(counts, missing)
    for k in range(7):
        gain, ratio = gain_of_counts(counts[k], missing[k])
        assert (gains[k], ratios[k]) == (gain, ratio)


def brute_thresholds(x, y, weights, min_leaf):
    """Gain and ratio of every cut, by the pure functions on x <= cut."""
    known = ~np.isnan(x)
    values = np.unique(x[known])
    for cut in (values[:-1] + values[1:]) / 2:
        side = np.array([None if np.isnan(v) else bool(v <= cut) for v in x], dtype=object)
        left = weights[known & (x <= cut)].sum()
        right = weights[known & (x > cut)].sum()
        if left >= min_leaf and right >= min_leaf:
            yield cut, information_gain(y, side, weights), gain_ratio(y, side, weights)


@pytest.mark.parametrize("criterion", ["gain", "gain_ratio"])
@given(st.integers(0, 10**6), st.integers(2, 25), st.sampled_from([0.0, 2.0]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_best_threshold_against_brute_force(criterion, seed, n, min_leaf, with_holes):
    rng = np.random.default_rng(seed)
    x, y, weights = rng.integers(6, size=n) / 2.0, rng.integers(3, size=n), rng.integers(1, 4, size=n) / 2.0
    if with_holes:
        x[rng.random(n) < 0.2] = np.nan
    found = best_threshold(x, y, weights, criterion=criterion, min_samples_leaf=min_leaf)
    cuts = list(brute_thresholds(x, y, weights, min_leaf))
    if not cuts:
        assert math.isnan(found.value)
        assert (found.gain, found.ratio) == (0, 0)
        return
    place = 1 if criterion == "gain" else 2
    assert found[place] == pytest.approx(max(cut[place] for cut in cuts), abs=1e-12)
    gain, ratio = next((gain, ratio) for cut, gain, ratio in cuts if cut == found.value)
    assert (found.gain, found.ratio) == pytest.approx((gain, ratio), abs=1e-12)


def test_best_threshold_by_gain_is_the_stump_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.normal(size=80), rng.integers(3, size=80)
        stump = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(x[:, None], y)
        found = best_threshold(x, y, criterion="gain").value
        assert found == pytest.approx(stump.tree_.threshold[0], abs=1e-6)  # its rows are float32


def test_a_threshold_separates_numbers_that_are_neighbors():
    for low in (1.0, 0.0, -1e308, 1e308, 5e-324):
        high = np.nextafter(low, np.inf)
        cut = best_threshold([low, high], [0, 1]).value
        assert low <= cut < high


def test_columns_scanned_a_few_at_a_time_give_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(30, 7)), rng.integers(3, size=30), np.ones(30)
    whole = threshold_scan(X, y, weights, 3, 2.0, "gain")
    monkeypatch.setattr(thresholds_module, "SCAN_CELLS", 200)
    for a, b in zip(whole, threshold_scan(X, y, weights, 3, 2.0, "gain")):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: information_gain([], []), "information_gain: y must be one column with at least one row"),
        (lambda: information_gain([0, 1], [0]), "must have one length"),
        (lambda: information_gain([0, None], ["a", "b"]), "y must not have missing labels"),
        (lambda: gain_ratio([0, 1], [0, 1], [-1, 2]), "gain_ratio: sample_weight must hold 2 numbers"),
        (lambda: gain_ratio([0, 1], [0, 1], [0, 0]), "not all 0"),
        (lambda: split_information([[1, 2]]), "split_information: feature must be one column"),
        (lambda: class_entropy(["a", None]), "class_entropy: y must not have missing labels"),
        (lambda: best_threshold([0, 1], [0, 1], criterion="gini"), "criterion must be 'gain' or 'gain_ratio'"),
        (lambda: best_threshold([0, math.inf], [0, 1]), "best_threshold: x must be finite"),
        (lambda: best_threshold(["a", "b"], [0, 1]), "best_threshold: x must be an array of real numbers"),
        (lambda: best_threshold([0, 1, 2], [0, 1]), "must have one length"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
