"""Many short series of their own lengths and units, learned together."""

import numpy as np
import pytest

import margin
from margin.linear import Ridge

STARTS, LENGTHS = (0.0, 1.0, 2.5, 4.0), (60, 45, 52, 48)


def waves(ends):
    """Waves of one period whose heights and levels differ by factors of a hundred."""
    spans = enumerate(zip(STARTS, ends))
    return [10.0**k * (3 + np.sin(2 * np.pi * np.arange(*end) / 11 + start)) for k, (start, end) in spans]


PANEL, NEXT = waves([(0, n) for n in LENGTHS]), waves([(n, n + 6) for n in LENGTHS])


def test_all_series_teach_one_regressor(tmp_path):
    model = margin.Forecaster(window_length=12, horizon=6).fit(PANEL)
    for forecast, truth in zip(model.predict(), NEXT, strict=True):
        np.testing.assert_allclose(forecast, truth, rtol=0.01)
    assert model.score(NEXT) > 0.99
    assert [len(forecast) for forecast in model.predict(15)] == [15] * 4
    again = margin.load(margin.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict()[2], model.predict()[2])
    for (low, high), truth in zip(np.moveaxis(model.predict_interval(coverage=0.8), 2, 1), NEXT):
        assert ((low <= truth + 0.05 * abs(truth)) & (truth - 0.05 * abs(truth) <= high)).all()


def test_series_that_fit_has_not_seen_are_gone_on_with():
    model = margin.Forecaster(window_length=12, horizon=6).fit(PANEL[:3])
    (forecast,) = model.predict(6, last_window=[PANEL[3]])
    np.testing.assert_allclose(forecast, NEXT[3], rtol=0.02)


def test_one_series_in_a_panel_is_that_series():
    alone = margin.Forecaster(Ridge(), window_length=12, horizon=6).fit(PANEL[1])
    panel = margin.Forecaster(Ridge(), window_length=12, horizon=6).fit([PANEL[1]])
    np.testing.assert_allclose(panel.predict()[0], alone.predict(), rtol=1e-9)
    intervals = [model.predict_interval(coverage=0.8) for model in (panel, alone)]
    np.testing.assert_allclose(intervals[0][0], intervals[1], rtol=1e-6)


def test_a_fit_to_a_series_forgets_the_panel_before():
    model = margin.Forecaster(window_length=12, horizon=6).fit(PANEL)
    assert model.fit(PANEL[0]).predict().shape == (6,)


def test_series_that_are_too_short_are_named():
    with pytest.raises(ValueError, match="each series must have at least 18 values; series 1 has 5"):
        margin.Forecaster(window_length=12, horizon=6).fit([PANEL[0], PANEL[1][:5]])
    with pytest.raises(ValueError, match="last_window must be a list of series"):
        margin.Forecaster(window_length=12, horizon=6).fit(PANEL).predict(last_window=PANEL[0])
