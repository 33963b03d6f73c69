"""Windows, the naive forecast and conformal widths against brute force."""

import math

import numpy as np
import pytest

from margin.forecasting import conformal_width, seasonal_naive, sliding_windows


def test_windows_are_every_stretch_with_what_follows():
    series = np.random.default_rng(0).normal(size=(11, 2))
    inputs, targets = sliding_windows(series, length=3, horizon=2)
    assert inputs.shape == (7, 3, 2)
    for t in range(7):
        np.testing.assert_array_equal(inputs[t], series[t : t + 3])
        np.testing.assert_array_equal(targets[t], series[t + 3 : t + 5])


def test_the_naive_forecast_goes_on_with_the_last_season():
    series = np.arange(10.0)
    expected = [series[-3 + step % 3] for step in range(7)]
    np.testing.assert_array_equal(seasonal_naive(series, 3, 7), expected)
    np.testing.assert_array_equal(seasonal_naive(series, 1, 2), [9.0, 9.0])
    with pytest.raises(ValueError, match="from 1 to the length of the series, 10; got 11"):
        seasonal_naive(series, 11, 2)


@pytest.mark.parametrize("m", [1, 4, 9, 19, 40])
@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.7, 0.9, 0.95])
def test_width_is_the_order_statistic_of_split_conformal(m, coverage):
    errors = np.random.default_rng(m).exponential(size=(m, 2))
    rank = math.ceil((m + 1) * round(100 * coverage) / 100 - 1e-9)  # in hundredths, so that 0.7 * 10 is 7
    expected = np.sort(errors, axis=0)[rank - 1] if rank <= m else [np.inf, np.inf]
    np.testing.assert_array_equal(conformal_width(errors, coverage), expected)


def test_exchangeable_errors_are_covered_as_promised():
    """The probability lies between coverage and coverage + 1/(m+1); 4 standard errors of 20,000 draws around it."""
    rng, m, coverage, n = np.random.default_rng(1), 24, 0.8, 20_000
    errors = rng.exponential(size=(m, n))
    held = (rng.exponential(size=n) <= conformal_width(errors, coverage)).mean()
    slack = 4 * math.sqrt(coverage * (1 - coverage) / n)
    assert coverage - slack <= held <= coverage + 1 / (m + 1) + slack
