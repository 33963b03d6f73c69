"""The profile: what each column is, what gives the target away, which rows belong together, and that users rule."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from margin.data import Table, load, preprocessor, profile
from margin.data.facts import facts_of
from margin.data.leakage import _least_area, find_leak

N = 120


@pytest.fixture(params=[0, 1, 2])
def rng(request):
    return np.random.default_rng(request.param)


def remark(found, start):
    return next((sentence for sentence in found.remarks if start in sentence), "")


def test_every_column_has_a_kind_a_use_and_a_reason(rng):
    table = Table(
        {
            "Unnamed: 0": np.arange(N),
            "PassengerId": rng.permutation(N * 10)[:N],
            "code": [f"K{i:05d}" for i in rng.permutation(N)],
            "salary": rng.integers(0, 10**6, N),
            "town": np.array(["Ulm", "Bonn", "Kiel"], dtype=object)[rng.integers(0, 3, N)],
            "zip": [f"{i:05d}" for i in rng.integers(0, 40, N)],
            "review": [" ".join(rng.choice(["good", "bad", "very", "not", "so"], 6)) for _ in range(N)],
            "name": [f"Person Number{i}" for i in range(N)],
            "when": np.datetime64("2020-01-01") + rng.permutation(N),
            "same": ["x"] * N,
            "void": [None] * N,
            "seldom": [1.0] + [np.nan] * (N - 1),
            "mark": [None if i % 2 else "seen" for i in range(N)],
            "size": rng.normal(size=N),
            "again": np.zeros(N),
        },
        {"when": "date"},
    )
    table = Table({**table.columns, "again": table["size"]}, table.kinds)
    found = profile(table)
    assert {column.name: (column.kind, column.used) for column in found.columns} == {
        "Unnamed: 0": ("identifier", False),
        "PassengerId": ("identifier", False),
        "code": ("identifier", False),
        "salary": ("number", True),
        "town": ("category", True),
        "zip": ("category", True),
        "review": ("text", True),
        "name": ("text", True),
        "when": ("date", True),
        "same": ("category", False),
        "void": ("number", False),
        "seldom": ("number", False),
        "mark": ("category", True),
        "size": ("number", True),
        "again": ("number", False),
    }
    assert found["again"].remark == "left out: it repeats 'size'"
    assert all(column.remark for column in found.columns if not column.used)
    assert found["void"].missing == 1.0
    assert found["town"].distinct == 3
    assert found.used == tuple(found.kinds)
    json.dumps(found.as_dict(), allow_nan=False)
    with pytest.raises(KeyError, match="close matches are 'size'"):
        found["sizes"]


def test_a_year_is_no_row_number_and_the_only_column_is_used():
    years = Table({"year": np.arange(1990, 2020), "x": np.arange(30) ** 2})
    assert profile(years).used == ("year", "x")
    only = profile(Table({"index": np.arange(30), "y": np.arange(30) * 2.5}), "y")
    assert only.used == ("index",)
    assert "nothing else" in only["index"].remark


def test_users_overrule_every_judgement(rng):
    table = Table({"id": np.arange(N), "size": rng.normal(size=N), "y": rng.integers(0, 2, N)})
    found = profile(table, "y", kinds={"id": "number", "size": "category", "y": "number"}, ignore=["size"])
    assert found.used == ("id",)
    assert found.task == "regression"
    assert found["size"].remark == "left out as told"
    assert profile(table, kinds={"size": "identifier"}).used == ("y",)
    frame = pd.DataFrame({"when": ["3/4/2025", "5/6/2025"], "n": ["5", "many"], "ok": ["yes", "no"]})
    told = profile(frame, kinds={"when": "date", "n": "number", "ok": "flag"})
    assert told.table["when"][0] == np.datetime64("2025-04-03")
    assert told["when"].remark == "read with the day first"
    assert told.table["ok"].tolist() == [True, False]
    assert "1 of the values cannot be read as number" in told["n"].remark


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": "z"}, "there is no target 'z'; there are 'x', 's', 'y'"),
        ({"kinds": {"z": "number"}}, "kinds names 'z'"),
        ({"kinds": {"x": "float"}}, "the kind of 'x' must be one of number, flag, category, text, date, identifier"),
        ({"kinds": {"s": "number"}}, "column 's' cannot be read as number; 'a' is none"),
        ({"ignore": ["z"]}, "ignore names 'z'"),
        ({"target": "y", "ignore": ["y"]}, "which is the target"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words) as caught:
        profile(Table({"x": [1, 2], "s": ["a", "b"], "y": [0, 1]}), **arguments)
    assert str(caught.value).startswith("profile: ")


def test_bad_tables():
    with pytest.raises(TypeError, match="a Table, a DataFrame or a 2-D array of numbers; got list"):
        profile([1])
    with pytest.raises(ValueError, match="the table is empty"):
        profile(pd.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="no row has a value of the target"):
        profile(Table({"x": [1.0], "y": [np.nan]}), "y")


def test_copies_of_the_target_are_left_out_and_what_determines_it_is_told(rng):
    y = rng.integers(0, 3, N)
    price = np.exp(rng.normal(size=N))
    table = Table(
        {
            "noise": rng.normal(size=N),
            "copy": np.array(["low", "mid", "high"], dtype=object)[y],
            "finer": [f"{a}{b}" for a, b in zip(y, rng.integers(0, 4, N))],
            "threshold": y + rng.uniform(0, 0.5, N),
            "died": [None if label == 1 else 3.0 + i for i, label in enumerate(y)],
            "y": y,
        }
    )
    found = profile(table, "y")
    assert not found["copy"].used
    assert [name for name in found.used if found[name].remark.startswith("LEAK?")] == ["finer", "threshold", "died"]
    assert remark(found, "'died' may give 'y' away: whether it has a value")
    regression = Table(
        {"noise": table["noise"], "copy": price, "cents": 100 * price, "town": table["copy"], "y": price}
    )
    found = profile(regression, "y")
    assert not found["copy"].used
    assert found["cents"].remark.startswith("LEAK?")
    assert found["noise"].remark == found["town"].remark == ""
    levels = Table({"noise": table["noise"], "group": table["copy"], "y": y * 10.0 + rng.normal(size=N) / 100})
    assert "variance" in profile(levels, "y")["group"].remark


def test_honest_columns_of_known_sets_are_no_leaks():
    for name in ("iris", "breast-cancer", "wine", "diabetes"):
        data = load(name)
        found = profile(data.table(), data.target)
        assert len(found.used) == len(data.feature_names)
        assert not any("LEAK" in column.remark for column in found.columns), name
        assert found.task == data.task


def test_the_measures_of_leaks_are_the_known_ones(rng):
    y = rng.integers(0, 2, N)
    x = np.round(y + rng.normal(size=N), 1)
    area = roc_auc_score(y, x)
    assert _least_area(x, y) == pytest.approx(max(area, 1 - area))
    target = rng.normal(size=N)
    near = target + rng.normal(size=N) * 0.01
    facts = facts_of(Table({"x": near, "y": target}))
    leak = find_leak(facts["x"], facts["y"], "regression")
    assert f"{spearmanr(near, target).statistic ** 2:.3f}" in leak.remark


def test_groups(rng):
    patients = np.repeat(np.arange(60), 20)
    table = Table({"patient": patients, "x": rng.normal(size=1200), "y": rng.integers(0, 2, 1200)})
    found = profile(table, "y")
    assert found.suggested_group == "patient"
    assert not found["patient"].used
    assert "60 values, each in about 20 rows" in remark(found, "'patient' ties rows together")
    born = rng.normal(size=60)[patients]
    codes = np.array([f"p{i}" for i in range(60)], dtype=object)[patients]
    unnamed = profile(Table({"code": codes, "born": born, "x": table["x"], "y": table["y"]}), "y")
    assert unnamed.suggested_group == "code"
    assert "'born' is constant within each value of 'code'" in remark(unnamed, "constant")
    assert profile(Table({"x": table["x"], "kind": codes, "y": table["y"]}), "y").suggested_group is None


def test_time_and_order(rng):
    days = np.datetime64("2020-01-01") + np.arange(N)
    walk = np.cumsum(rng.normal(size=N))
    found = profile(Table({"day": days, "x": rng.normal(size=N), "y": walk}), "y")
    assert found.suggested_time == "day"
    assert remark(found, "in order of 'day'")
    shuffled = profile(Table({"day": rng.permutation(days), "x": walk, "y": rng.normal(size=N)}), "y")
    assert "runs from 2020-01-01 to 2020-04-29" in remark(shuffled, "'day'")
    assert remark(profile(Table({"x": rng.normal(size=N), "y": walk}), "y"), "Neighboring rows")
    assert not remark(profile(Table({"x": walk, "y": rng.normal(size=N)}), "y"), "Neighboring rows")
    blocks = Table({"x": walk, "y": np.repeat(["a", "b", "c"], N // 3)})
    assert remark(profile(blocks, "y"), "sorted by 'y'")
    assert not remark(profile(Table({"x": walk, "y": rng.integers(0, 3, N)}), "y"), "rows")


def test_duplicates_are_counted_as_pandas_counts_them(rng):
    frame = pd.DataFrame({"a": rng.integers(0, 40, N), "b": rng.choice(["u", None], N), "y": rng.integers(0, 2, N)})
    found = remark(profile(frame, "y"), "repeat an earlier one")
    copies = int(frame.duplicated().sum())
    contradictory = int(frame[["a", "b"]].duplicated().sum()) - copies
    assert found.startswith(f"{copies} of {N} rows")
    assert f"{contradictory} more do, but with another target" in found
    assert not remark(profile(Table({"x": np.arange(N) / 7, "y": frame["y"].to_numpy()}), "y"), "repeat")


def test_rows_of_few_values_repeat_by_chance_and_rows_with_other_targets_are_no_copies(rng):
    answers = pd.DataFrame({f"q{i}": rng.choice(["yes", "no"], N) for i in range(4)} | {"y": rng.integers(0, 2, N)})
    assert not remark(profile(answers, "y"), "an earlier one")
    rounded = pd.DataFrame({"temperature": rng.normal(size=N).round(1), "y": rng.normal(size=N)})
    assert not remark(profile(rounded, "y"), "an earlier one")
    twice = pd.concat([rounded, rounded.head(1)])
    assert remark(profile(twice, "y"), "an earlier one").startswith(f"1 of {N + 1} rows repeats")


@pytest.mark.parametrize(
    ("y", "metric", "words"),
    [
        ([0] * 95 + [1] * 5, "roc_auc", "'1' is 5.0% of the rows"),
        (["a"] * 60 + ["b"] * 30 + ["c"] * 10, "balanced_accuracy", "out of balance"),
        ([0, 1] * 50, "accuracy", ""),
        ([0.5, 1.5] * 50, "rmse", ""),
        (["a"] * 50 + ["b"] * 49 + ["c"], "accuracy", "'c' occurs in one row only"),
        (["a"] * 50 + ["b"] * 40 + [None] * 10, "accuracy", "10 rows have no value of 'y'"),
        (["a"] * 100, "accuracy", "All rows have the same class"),
    ],
)
def test_the_target(y, metric, words):
    order = np.random.default_rng(0).permutation(100)
    found = profile(Table({"x": np.arange(100) % 7, "y": [y[i] for i in order]}), "y")
    assert found.suggested_metric == metric
    assert words in " ".join(found.remarks)


def test_a_frame_is_read_as_a_file_would_be():
    frame = pd.DataFrame(
        {
            "price": ["$1,234.50", "$7", "$8"],
            "share": ["12 %", "7 %", "?"],
            "day": ["14.05.2023"] * 2 + [None],
            "zip": ["02134"] * 3,
        }
    )
    found = profile(frame)
    assert dict(found.table.kinds) == {"price": "number", "share": "number", "day": "date", "zip": "category"}
    assert found["price"].remark == 'read as numbers from text such as "$1,234.50"'
    labels = frame.astype({"price": "category"})
    assert profile(labels).table.kinds["price"] == "category"
    twice = pd.DataFrame([[1, 2.0], [3, 4.0]], columns=["a", "a"])
    assert profile(twice).table.names == ("a", "a_2")
    assert "'a' is called 'a_2'" in profile(twice).remarks[0]


def test_suspicious_codes_and_infinite_values_are_told(rng):
    size = rng.uniform(0, 9, N)
    coded = np.where(np.arange(N) % 10, size, -999)
    found = profile(Table({"coded": coded, "plain": size, "wild": np.where(np.arange(N) % 40, size, np.inf)}))
    assert found["coded"].remark == "-999 in 10.0% of the rows looks like a code for missing"
    assert found["plain"].remark == ""
    assert found["wild"].remark == "3 infinite values count as missing"
    assert np.isfinite(preprocessor(found).fit_transform(found.table)).all()


def test_numbers_too_large_for_sums_of_squares_and_numbers_with_slips_are_spoken_of(rng):
    x = rng.normal(size=N)
    found = profile(pd.DataFrame({"x": np.where(x > 1, 1e60, x), "z": x * 1e60, "y": x}), "y")
    assert f"{int((x > 1).sum())} values beyond 1e+50 count as missing" in found["x"].remark
    assert not found["z"].used
    assert "every value is infinite or beyond 1e+50" in found["z"].remark
    slips = [f"{value:.3f}" if i % 10 else f"{value:.3f}x{i}" for i, value in enumerate(x)]
    found = profile(pd.DataFrame({"x": slips, "y": x}), "y")
    assert "90% of its labels are numbers" in found["x"].remark
    assert "--kinds x=number" in found["x"].remark


def test_large_integers_are_written_in_full():
    assert profile(Table({"code": [1234567.0, 20230514.0] * 10}))["code"].examples == ("1234567", "20230514")


def test_ranks_are_those_of_scipy():
    from scipy.stats import rankdata

    from margin.data.leakage import average_ranks

    rng = np.random.default_rng(0)
    for values in (rng.normal(size=50), rng.integers(0, 6, 80).astype(float), np.array([3.0]), np.full(7, -np.inf)):
        np.testing.assert_array_equal(average_ranks(values), rankdata(values))


def test_repeated_columns_are_looked_for_among_alike_ones_only(monkeypatch):
    """Measurements have the same codes, each row its own: comparing all of them with each other is quadratic."""
    from margin.data import column_set

    compared = []
    equal = column_set._equal
    monkeypatch.setattr(column_set, "_equal", lambda one, other: compared.append(1) or equal(one, other))
    rng = np.random.default_rng(0)
    columns = {f"m{i}": rng.normal(size=60) for i in range(60)}
    found = profile(Table({**columns, "again": columns["m9"].copy()}))
    assert found["again"].remark == "left out: it repeats 'm9'"
    assert sum(column.used for column in found.columns) == 60
    assert len(compared) == 1
