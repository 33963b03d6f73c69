"""Weighted quantiles minimize the pinball loss, and a weight counts rows."""

import numpy as np
import pytest

from margin.foundations.statistics import lower_weighted_median, weighted_quantile


def pinball(values, weights, level, point):
    gaps = values - point
    return float(weights @ np.maximum(level * gaps, (level - 1) * gaps))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_no_value_has_a_smaller_pinball_loss(seed, level):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=41), rng.uniform(0, 3, 41)
    found = pinball(values, weights, level, weighted_quantile(values, weights, level))
    assert found <= min(pinball(values, weights, level, point) for point in values) + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_an_integer_weight_counts_rows_and_zero_counts_none(seed):
    rng = np.random.default_rng(seed)
    values, counts = rng.normal(size=20), rng.integers(0, 4, 20)
    repeated = np.repeat(values, counts)
    assert weighted_quantile(values, counts.astype(float), 0.5) == pytest.approx(np.median(repeated))


def test_the_lower_median_is_a_value_of_its_row():
    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=(30, 6)), np.array([1.0, 2, 0, 1, 3, 1])
    for row, median in zip(values, lower_weighted_median(values, weights)):
        assert median in row
        assert weights[row <= median].sum() >= weights.sum() / 2 > weights[row < median].sum()
