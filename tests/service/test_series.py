"""Tables as series: order, steps, gaps, several series; and the board of forecasters."""

import numpy as np
import pandas as pd
import pytest

import margin
from margin.service.forecast_board import compare_forecasters
from margin.service.forecast_methods import methods_for
from margin.service.requests import BadRequest
from margin.service.series import in_time
from margin.service.sources import Source, table_of_frame
from margin.service.time_steps import Steps, steps_of


def source(frame, target="y"):
    table = table_of_frame(frame)
    X, y = table.split_target(target)
    return Source("table", None, y, X.names, target, "regression", "", table=X)


def dates(*texts):
    return np.array(texts, dtype="datetime64[s]")


@pytest.mark.parametrize(
    ("times", "words", "period", "positions", "following"),
    [
        (dates("2024-01-31", "2024-02-01", "2024-02-03"), "1 day", 7, [0, 1, 3], "2024-02-04"),
        (dates("2023-11-05", "2024-01-05", "2024-05-05"), "2 months", 1, [0, 1, 3], "2024-07-05"),
        (dates("2020-04-01", "2020-07-01", "2021-01-01"), "3 months", 4, [0, 1, 3], "2021-04-01"),
        (dates("2024-01-01T00", "2024-01-01T01", "2024-01-01T04"), "1 hour", 24, [0, 1, 4], "2024-01-01T05:00:00"),
        (dates("2024-01-01", "2024-01-08", "2024-01-22"), "1 week", 52, [0, 1, 3], "2024-01-29"),
        (np.array([3.0, 5.0, 9.0]), "2", 1, [0, 1, 3], "11"),
    ],
)
def test_steps_are_found_and_go_on(times, words, period, positions, following):
    steps, found = steps_of("t", times)
    assert (steps.words, steps.period, found.tolist()) == (words, period, positions)
    ahead = Steps.of_dict(steps.as_dict()).times(np.array([found[-1] + 1]))
    assert str(ahead[0]).removesuffix("T00:00:00") == following
    np.testing.assert_array_equal(steps.times(found).astype(times.dtype), times)


def test_business_days_have_no_gaps_at_weekends():
    days = np.busday_offset("2024-01-01", np.arange(12), roll="forward")
    steps, positions = steps_of("day", days)
    assert (steps.words, steps.period) == ("1 business day", 5)
    assert positions.tolist() == list(range(12))
    assert str(steps.times(np.array([12]))[0]) == "2024-01-17"


def test_rows_are_sorted_and_gaps_filled_by_lines():
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=10), "y": np.arange(10.0), "x": np.arange(10)})
    moments = in_time(source(frame.drop(index=[3, 4]).sample(frac=1, random_state=0)))
    np.testing.assert_allclose(moments.source.y, np.arange(10.0))
    assert moments.source.X.x.tolist() == [0, 1, 2, 2, 2, 5, 6, 7, 8, 9]  # other columns keep their last value
    assert moments.remarks == (
        "2 of 10 steps (1 day each) had no value and were filled by straight lines between their neighbors.",
    )
    whole = in_time(source(frame), ignore=["x"])
    assert whole.source.features == ()
    assert whole.remarks == ()


def test_several_series_stand_side_by_side():
    days = pd.date_range("2024-01-01", periods=6)
    frame = pd.concat(
        [pd.DataFrame({"day": days, "shop": shop, "y": np.arange(6.0) + add}) for shop, add in (("b", 10), ("a", 0))]
    )
    moments = in_time(source(frame), series="shop")
    assert moments.series == ("a", "b")
    np.testing.assert_allclose(moments.source.y, np.arange(6.0)[:, None] + [0, 10])
    with pytest.raises(BadRequest, match="several rows have the time 2024-01-01 in day; name the column that tells"):
        in_time(source(frame), ignore=["shop"])
    with pytest.raises(BadRequest, match="column 'p' differs between series at one time"):
        in_time(source(frame.assign(p=np.arange(12))), series="shop")


@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        ({"day": ["2024-01-01", "2024-01-02", "2024-03-01"]}, {}, "58 of 61 steps of 1 day are missing"),
        ({"word": ["a", "b", "c"]}, {"time": "word"}, "column 'word' must hold dates or numbers; got 'a'"),
        ({"t": [0.0, 1.0, 2.5]}, {"time": "t"}, "must have times at equal distances"),
        ({"year": [2000, 2000, 2000], "month": [1, 2, 13]}, {}, "must be years and months"),
        ({"year": [2000, 2000, 2000], "quarter": [1, 2, 5]}, {}, "must be years and quarters from 1 to 4"),
        ({"t": [1, 2, 3]}, {"series": "t"}, "--series needs --time"),
    ],
)
def test_times_that_are_none_are_refused(frame, options, sentence):
    with pytest.raises(BadRequest, match=sentence):
        in_time(source(pd.DataFrame({**frame, "y": [1.0, 2.0, 3.0]})), **options)


def test_years_and_quarters_are_times_and_years_that_repeat_are_a_column():
    years = pd.DataFrame({"year": [2003, 2001, 2002, 2005], "y": [3.0, 1.0, 2.0, 5.0]})
    moments = in_time(source(years))
    assert moments.source.features == ()
    np.testing.assert_allclose(moments.source.y, [1, 2, 3, 4, 5])
    assert moments.steps.times(np.array([5])).astype(str).tolist() == ["2006"]
    quarters = pd.DataFrame(
        {"Year": [2001, 2001, 2002, 2002], "Quarter": ["Q3", "Q4", "Q1", "Q2"], "y": [1.0, 2, 3, 4]}
    )
    moments = in_time(source(quarters))
    assert (moments.time, moments.steps.words, moments.steps.period) == (("Year", "Quarter"), "3 months", 4)
    assert moments.steps.times(np.array([4])).astype(str).tolist() == ["2002-07-01"]
    repeated = in_time(source(pd.DataFrame({"year": [2001, 2001, 2002], "y": [1.0, 2.0, 3.0]})))
    assert (repeated.source.features, repeated.steps) == (("year",), None)


def test_the_board_judges_from_several_origins():
    t = np.arange(96)
    y = 50 + 0.2 * t + 8 * np.sin(2 * np.pi * t / 12) + np.random.default_rng(0).normal(0, 0.3, size=96)
    frame = pd.DataFrame({"month": pd.date_range("2015-01-01", periods=96, freq="MS"), "y": y})
    methods = ["naive", "drift", "seasonal-naive", "forecaster"]
    board = margin.compare(frame, target="y", time="month", horizon=6, models=methods)
    assert (board.period, board.winner, len(board.origins)) == (12, "forecaster", 8)
    assert board.origins[-1] == 90
    assert next(iter(board.board["method"])) == "forecaster"
    naive = next(s for s in board.standings if s.method == "seasonal-naive")
    expected = np.mean([np.abs(y[o - 12 : o - 6] - y[o : o + 6]).mean() for o in board.origins])
    assert naive.mae == pytest.approx(expected)
    assert list(board.forecast) == ["month", "forecast", "lower", "upper"]
    assert board.forecast["month"][0] == "2023-01-01"
    truth = 50 + 0.2 * np.arange(96, 102) + 8 * np.sin(2 * np.pi * np.arange(96, 102) / 12)
    assert np.abs(board.forecast["forecast"] - truth).max() < 3


def test_methods_of_statsmodels_join_where_it_is_installed():
    pytest.importorskip("statsmodels")
    t = np.arange(72)
    y = np.exp(3 + 0.01 * t + 0.2 * np.sin(2 * np.pi * t / 12))
    methods = methods_for(12, positive=True)
    assert {"exponential-smoothing", "arima"} <= methods.keys()
    assert np.abs(methods["exponential-smoothing"](y[:60], 12) / y[60:] - 1).max() < 0.05


def test_arima_takes_long_seasons_as_waves(monkeypatch):
    arima = pytest.importorskip("statsmodels.tsa.arima.model")
    asked = []

    class Recorded(arima.ARIMA):
        def __init__(self, *args, **options):
            asked.append(options.get("seasonal_order"))
            super().__init__(*args, **options)

    monkeypatch.setattr(arima, "ARIMA", Recorded)
    t = np.arange(260)
    y = np.exp(3 + 0.002 * t + 0.2 * np.sin(2 * np.pi * t / 52) + 0.1 * np.cos(4 * np.pi * t / 52))
    ahead = methods_for(52, positive=True)["arima"](y[:200], 60)
    assert np.abs(ahead / y[200:] - 1).max() < 0.01
    methods_for(12, positive=True)["arima"](y[:60], 12)
    assert (0, 1, 1, 52) not in asked, "a state of 52 steps takes minutes a fit"
    assert (0, 1, 1, 12) in asked


def test_columns_that_are_not_known_ahead_are_named_in_one_or_many():
    frame = pd.DataFrame({"y": np.arange(40.0), "a": np.arange(40.0)})
    one = margin.compare(frame, target="y", horizon=3, models=["naive"])
    assert one.remarks[0].startswith("The column a is not known ahead and was not used")
    two = margin.compare(frame.assign(b=1.5), target="y", horizon=3, models=["naive"])
    assert two.remarks[0].startswith("The columns a, b are not known ahead and were not used")


def test_a_method_that_fails_is_a_row_and_idle_options_are_refused(monkeypatch):
    def broken(past, steps):
        raise ValueError("no luck")

    monkeypatch.setattr(
        "margin.service.forecast_board.methods_for",
        lambda period, positive: {"broken": broken, "naive": methods_for(1, False)["naive"]},
    )
    frame = pd.DataFrame({"y": np.arange(40.0)})
    board = margin.compare(frame, target="y", horizon=4)
    assert [(s.method, s.error) for s in board.standings] == [("naive", ""), ("broken", "no luck")]
    with pytest.raises(BadRequest, match="compare: folds does not act on forecasters; target, time"):
        margin.compare(frame, target="y", horizon=4, folds=3)
    with pytest.raises(BadRequest, match="n_jobs does not act on forecasters"):
        margin.compare(frame, target="y", horizon=4, n_jobs=2)
    assert callable(compare_forecasters)
