"""From a file with a series to its next values, as a user would."""

import csv
import io
import json
import math

import numpy as np
import pytest

from margin.data import load

MONTHS = ["January", "Feb", "March", "April", "May", "June", "July", "August", "Sept", "October", "Nov", "December"]
SHORT = ["--set=window_length=8", "--set=horizon=4", "-q"]


def sales(n, first=0):
    """Days, sales with a week in them, and a price that moves them."""
    rng = np.random.default_rng(0)
    price = rng.normal(10, 1, size=first + n)[first:]
    days = np.datetime64("2024-01-01") + first + np.arange(n)
    wave = [5 * math.sin(2 * math.pi * (first + i) / 7) for i in range(n)]
    return [(str(day), 100 + w - 4 * p, p) for day, w, p in zip(days, wave, price)]


def write(path, rows, columns=(0, 1, 2)):
    names = ("day", "sales", "price")
    lines = [",".join(str(row[c]) for c in columns) for row in rows]
    path.write_text("\n".join([",".join(names[c] for c in columns), *lines]) + "\n", encoding="utf-8")


def columns(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: np.array([_value(row[name]) for row in rows]) for name in rows[0]}


def _value(text):
    return text if text.count("-") == 2 else float(text)  # a date or a number


def test_a_series_is_continued(run, tmp_path):
    run("fit", "forecaster", "airline-passengers", "--out", "air", "-q")
    said = columns(run("forecast", "air").stdout)
    assert list(said) == ["month", "forecast"]
    assert said["month"].tolist() == [f"1961-{month:02}-01" for month in range(1, 13)]
    ends = columns(run("forecast", "air", "--horizon", 3, "--coverage", 0.8).stdout)
    assert (ends["lower"] < ends["forecast"]).all()
    assert (ends["forecast"] < ends["upper"]).all()
    np.testing.assert_allclose(ends["forecast"], said["forecast"][:3])


def test_columns_known_ahead_are_used(run, tmp_path):
    write(tmp_path / "past.csv", sales(200))
    write(tmp_path / "next.csv", sales(10, first=200), columns=(0, 2))
    write(tmp_path / "truth.csv", sales(10, first=200))
    write(tmp_path / "alone.csv", sales(200), columns=(0, 1))
    run("fit", "forecaster", "past.csv", "--target", "sales", "--out", "shop", *SHORT)
    said = columns(run("forecast", "shop", "next.csv").stdout)["forecast"]
    truth = np.array([row[1] for row in sales(10, first=200)])
    run("fit", "forecaster", "alone.csv", "--target", "sales", "--out", "alone", *SHORT)
    without = columns(run("forecast", "alone", "-n", 10).stdout)["forecast"]
    assert np.abs(said - truth).mean() < 0.5 * np.abs(without - truth).mean()
    few = columns(run("forecast", "shop", "next.csv", "-n", 2, "--coverage", 0.5).stdout)
    np.testing.assert_allclose(few["forecast"], said[:2])
    assert "r2" in run("score", "shop", "truth.csv").stdout


def test_a_series_alone_is_scored_by_what_came_next(run, tmp_path):
    write(tmp_path / "past.csv", sales(200), columns=(0, 1))
    write(tmp_path / "truth.csv", sales(10, first=200), columns=(0, 1))
    run("fit", "forecaster", "past.csv", "--target", "sales", "--out", "shop", *SHORT)
    assert "rmse" in run("score", "shop", "truth.csv").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "forecaster", "twice.csv", "--target", "sales"], "several rows have the time 2024-01-01 in day"),
        (["fit", "forecaster", "past.csv", "-t", "sales", "--time", "week"], "has no column 'week'; its columns are"),
        (["fit", "forecaster", "past.csv", "-t", "sales", "--ignore", "x"], "past.csv has no column 'x'"),
        (["fit", "ridge", "past.csv", "-t", "sales", "--time", "day"], "--time and --series act on forecasters; ridge"),
        (["compare", "past.csv", "-t", "sales", "--horizon", "40"], "a horizon of 40 needs at least"),
        (["compare", "past.csv", "-t", "sales", "--horizon", "4", "--tune", "3"], "tune does not act on forecasters"),
        (["compare", "past.csv", "-t", "sales", "--horizon", "4", "-m", "svc"], "there is no forecaster 'svc' here"),
        (["fit", "forecaster", "past.csv"], "forecaster needs a target"),
        (["forecast", "shop", "past.csv"], "the model has no exogenous columns, so past.csv says nothing"),
        (["forecast", "shop", "-n", "9", "--coverage", "0.5"], "intervals reach 4 steps, the horizon of fit; got 9"),
        (["forecast", "tree"], "DecisionTreeRegressor in tree forecasts no series; use margin predict"),
    ],
)
def test_what_is_refused_is_said(run, tmp_path, arguments, sentence):
    write(tmp_path / "past.csv", sales(60), columns=(0, 1))
    write(tmp_path / "twice.csv", [*sales(60), *sales(60)], columns=(0, 1))
    if "shop" in arguments:
        run("fit", "forecaster", "past.csv", "--target", "sales", "--out", "shop", *SHORT)
    if "tree" in arguments:
        run("fit", "decision-tree-regressor", "past.csv", "--target", "sales", "--out", "tree", "-q")
    assert sentence in " ".join(run(*arguments, code=2).stderr.split())


def test_the_series_of_the_fit_does_not_score(run, tmp_path):
    write(tmp_path / "s.csv", sales(60), columns=(1,))
    run("fit", "forecaster", "s.csv", "-t", "sales", "--out", "f", *SHORT)
    assert "give the values that follow it" in run("score", "f", "s.csv", code=2).stderr


def test_year_and_month_are_time_and_not_columns(run, tmp_path):
    values = load("airline-passengers").y
    names = [f"{1949 + i // 12},{MONTHS[i % 12]},{value:g}" for i, value in enumerate(values)]
    (tmp_path / "flights.csv").write_text("\n".join(["year,month,passengers", *names]) + "\n")
    run("fit", "forecaster", "flights.csv", "-t", "passengers", "--out", "air", "-q")
    said = columns(run("forecast", "air", "-n", 3, "--coverage", 0.8).stdout)
    assert list(said) == ["year_month", "forecast", "lower", "upper"]
    assert said["year_month"].tolist() == ["1961-01-01", "1961-02-01", "1961-03-01"]
    run("fit", "forecaster", "airline-passengers", "--out", "same", "-q")
    np.testing.assert_allclose(columns(run("forecast", "same", "-n", 3).stdout)["forecast"], said["forecast"])


def test_a_board_of_forecasters(run, tmp_path):
    write(tmp_path / "past.csv", sales(120), columns=(0, 1))
    methods = ["-m", "seasonal-naive", "-m", "naive", "-m", "forecaster"]
    command = ["compare", "past.csv", "-t", "sales", "--time", "day", "--horizon", "7", *methods]
    shown = run(*command, "--out", "board").stdout
    assert "is best over" in shown
    assert "seasons of 7" in shown
    board = json.loads(run(*command, "--json").stdout)
    assert [row["method"] for row in board["standings"]][-1] == "naive"
    assert board["forecast"]["day"][0] == "2024-04-30"
    assert json.loads((tmp_path / "board" / "board.json").read_text())["winner"] == board["winner"]


def test_columns_are_left_out_of_a_fit(run, tmp_path):
    write(tmp_path / "past.csv", sales(80))
    run("fit", "forecaster", "past.csv", "-t", "sales", "--ignore", "price", "--out", "alone", *SHORT)
    assert "day" in columns(run("forecast", "alone", "-n", 2).stdout)
    run("fit", "forecaster", "past.csv", "-t", "sales", "--out", "both", *SHORT)
    said = " ".join(run("forecast", "both", "-n", "2", code=2).stderr.split())
    assert "trained with the columns price beside the series" in said
    run("fit", "ridge", "past.csv", "-t", "sales", "--ignore", "day", "--out", "ridge", "-q")
    assert json.loads((tmp_path / "ridge" / "manifest.json").read_text())["features"] == ["price"]
