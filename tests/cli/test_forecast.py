"""From a file with a series to its next values, as a user would."""

import csv
import io
import math

import numpy as np
import pytest

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
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_a_series_is_continued(run, tmp_path):
    run("fit", "forecaster", "airline-passengers", "--out", "air", "-q")
    said = columns(run("forecast", "air").stdout)
    assert list(said) == ["step", "forecast"]
    np.testing.assert_array_equal(said["step"], np.arange(1, 13))
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
        (["fit", "forecaster", "back.csv", "--target", "sales"], "'day' does not grow at row 2"),
        (["fit", "forecaster", "past.csv"], "forecaster needs a target"),
        (["forecast", "shop", "past.csv"], "the model has no exogenous columns, so past.csv says nothing"),
        (["forecast", "shop", "-n", "9", "--coverage", "0.5"], "intervals reach 4 steps, the horizon of fit; got 9"),
        (["forecast", "tree"], "DecisionTreeRegressor in tree forecasts no series; use margin predict"),
    ],
)
def test_what_is_refused_is_said(run, tmp_path, arguments, sentence):
    write(tmp_path / "past.csv", sales(60), columns=(0, 1))
    write(tmp_path / "back.csv", sales(60)[::-1], columns=(0, 1))
    if "shop" in arguments:
        run("fit", "forecaster", "past.csv", "--target", "sales", "--out", "shop", *SHORT)
    if "tree" in arguments:
        run("fit", "decision-tree-regressor", "past.csv", "--target", "sales", "--out", "tree", "-q")
    assert sentence in " ".join(run(*arguments, code=2).stderr.split())


def test_the_series_of_the_fit_does_not_score(run, tmp_path):
    write(tmp_path / "s.csv", sales(60), columns=(1,))
    run("fit", "forecaster", "s.csv", "-t", "sales", "--out", "f", *SHORT)
    assert "give the values that follow it" in run("score", "f", "s.csv", code=2).stderr
