"""The preprocessor: what it does to each kind, that it learns from training rows only, and what it leaves out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

from margin import catalog
from margin.data import Table, detect_task, frame, load, preprocessor, profile
from margin.data.category_columns import CategoryColumns
from margin.data.column_reader import ColumnReader
from margin.data.date_parts import DateParts
from margin.data.standard_columns import StandardColumns
from margin.data.tfidf_columns import TfidfColumns


@pytest.fixture
def table():
    n = 60
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, n)
    age[:5] = np.nan
    town = np.array(["Ulm", "Bonn", "Kiel"], dtype=object)[rng.integers(0, 3, n)]
    town[5:8] = None
    member = np.array([True, False], dtype=object)[rng.integers(0, 2, n)]
    member[8] = None
    return Table(
        {
            "age": age,
            "member": member,
            "town": town,
            "name": [f"person {i}" for i in range(n)],
            "seen": np.arange(n).astype("datetime64[D]"),
            "same": np.ones(n),
            "void": np.full(n, np.nan),
        }
    )


def test_the_profile_gives_a_reason_for_every_column(table):
    found = {column.name: column for column in profile(table).columns}
    assert {name: (column.kind, column.used) for name, column in found.items()} == {
        "age": ("number", True),
        "member": ("flag", True),
        "town": ("category", True),
        "name": ("text", True),
        "seen": ("date", True),
        "same": ("number", False),
        "void": ("number", False),
    }
    assert "tf-idf" in found["name"].remark
    assert "weekday" in found["seen"].remark
    assert "same value" in found["same"].remark
    assert "no row" in found["void"].remark


def test_what_becomes_of_each_kind(table):
    table = table.drop("name", "seen")
    out = preprocessor(table).fit_transform(frame(table))
    age = table["age"]
    filled = np.where(np.isnan(age), np.nanmedian(age), age)
    np.testing.assert_allclose(out[:, 0], (filled - filled.mean()) / filled.std())
    present = [value for value in table["member"] if value is not None]
    commonest = sum(present) * 2 > len(present)
    np.testing.assert_array_equal(out[:, 1], [commonest if v is None else v for v in table["member"]])
    labels = ["(missing)", "Bonn", "Kiel", "Ulm"]
    onehot = [[(value or "(missing)") == label for label in labels] for value in table["town"]]
    np.testing.assert_array_equal(out[:, 2:], onehot)
    plain = preprocessor(table, numbers="plain").fit_transform(frame(table))
    np.testing.assert_allclose(plain[:, 0], filled)
    ordinal = preprocessor(table, encode="ordinal").fit_transform(frame(table))
    np.testing.assert_array_equal(ordinal[:, 2], [labels.index(value or "(missing)") for value in table["town"]])


def test_only_training_rows_are_learned_from(table):
    train, test = np.arange(30), np.arange(30, 60)
    fitted = preprocessor(table).fit(frame(table.take(train)))
    scaler = fitted["encode"].named_transformers_["number"].named_steps["scale"]
    part = table["age"][train]
    assert scaler.mean_[0] == pytest.approx(np.where(np.isnan(part), np.nanmedian(part), part).mean())
    other = fitted.transform(frame(table.take(test)))
    changed = Table({**table.columns, "age": np.where(np.arange(60) >= 30, 1e6, table["age"])}, table.kinds)
    again = preprocessor(table).fit(frame(changed.take(train))).transform(frame(table.take(test)))
    np.testing.assert_array_equal(other, again)


def test_new_rows_may_hold_new_labels_and_nothing_at_all(table):
    fitted = preprocessor(table).fit(frame(table))
    new = table.take([20, 21])
    strange = Table({**new.columns, "town": ["Rome", "Ulm"]}, {**new.kinds})
    out = fitted.transform(frame(strange))
    assert out[0, 2:6].tolist() == [0, 0, 0, 0]
    void = Table({**new.columns, "town": [np.nan, np.nan], "member": [np.nan, np.nan]}, {**new.kinds})
    void = void.as_kind("town", "number").as_kind("member", "number")  # as a file without a value would be read
    assert fitted.transform(frame(void))[:, 2].tolist() == [1, 1]


def test_rare_labels_share_a_column():
    labels = ["a"] * 10 + ["b"] * 8 + list("cdefg")
    table = Table({"label": labels})
    out = preprocessor(table, max_categories=3).fit_transform(frame(table))
    assert out.shape == (23, 3)
    assert out.sum(axis=0).tolist() == [10, 8, 5]


def test_it_works_in_a_pipeline_without_a_warning(table):
    y = (np.nan_to_num(table["age"], nan=40) > 40).astype(int)
    model = make_pipeline(preprocessor(table), LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cross_val_score(model, frame(table), y, cv=4).mean() > 0.9
        # A fold in which a column has no value keeps its place.
        gap = Table({**table.columns, "age": np.where(np.arange(60) < 50, np.nan, table["age"])}, table.kinds)
        columns = ["age", "member", "town"]
        fitted = preprocessor(gap.select(columns)).fit(frame(gap.head(50)))
        assert fitted.transform(frame(gap)).shape[1] == 6


def test_it_is_made_of_the_parts_a_model_file_can_hold(table):
    allowed = {ColumnTransformer, Pipeline, SimpleImputer, StandardColumns}
    allowed |= {ColumnReader, CategoryColumns, DateParts, TfidfColumns}
    for encode in ("onehot", "ordinal"):
        built = preprocessor(table, encode=encode)
        parts = [value for value in built.get_params().values() if hasattr(value, "get_params")]
        assert {type(part) for part in (built, *parts)} <= allowed
        assert all(catalog.name_of(part) for part in (built, *parts))
        assert repr(clone(built)) == repr(built)


def test_any_data_frame_goes_through_frame():
    raw = pd.DataFrame(
        {
            "flag": [True, False, True, True],
            "word": np.array(["a", None, "b", "a"], dtype=object),
            "string": pd.array(["x", "y", None, "x"], dtype="string"),
            "whole": pd.array([1, None, 3, 4], dtype="Int64"),
        },
        index=[3, 1, 4, 1],
    )
    out = preprocessor(raw, numbers="plain").fit_transform(frame(raw))
    assert out.shape == (4, 1 + 1 + 3 + 3)
    assert out[:, 0].tolist() == [1, 3, 3, 4]


def test_arrays_go_by_position():
    X = np.array([[1.0, 5.0, 7.0], [np.nan, 5.0, 8.0], [3.0, 5.0, 9.0]])
    out = preprocessor(X).fit_transform(X)
    np.testing.assert_allclose(out, [[-np.sqrt(1.5), -np.sqrt(1.5)], [0, 0], [np.sqrt(1.5), np.sqrt(1.5)]])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: preprocessor(t, encode="hash"), ValueError, "'onehot' or 'ordinal'"),
        (lambda t: preprocessor(t, max_categories=1), ValueError, "max_categories"),
        (lambda t: preprocessor(t.select(["same", "void"])), ValueError, "no column can be used .'same' left out"),
        (lambda t: preprocessor([[1, 2]]), TypeError, "a Table, a DataFrame or a 2-D array of numbers; got list"),
        (lambda t: frame(np.array(["a"])), TypeError, "got ndarray"),
    ],
)
def test_bad_arguments(table, call, error, words):
    with pytest.raises(error, match=words):
        call(table)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["yes", "no", "yes"], "classification"),
        ([True, False], "classification"),
        ([0, 1], "classification"),
        ([1.0, 2.0, 1.0], "classification"),
        ([7, 7, 7], "classification"),
        (np.arange(10).repeat(5), "classification"),
        (np.arange(10).repeat(4), "regression"),
        (np.arange(21).repeat(50), "regression"),
        ([0.5, 1.5, 0.5], "regression"),
        ([180, 190, 210, 220], "regression"),
        (np.array(["a", 1], dtype=object), "classification"),
    ],
)
def test_detect_task(y, task):
    assert detect_task(y) == task


@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "digits", "diabetes", "cholesterol", "friedman"])
def test_detect_task_agrees_with_the_named_sets(name):
    data = load(name)
    assert detect_task(data.y) == data.task


@pytest.mark.parametrize("y", [[], [[1]], [None, "a"], [np.nan, 1.0], [np.inf, 1.0]])
def test_detect_task_refuses(y):
    with pytest.raises(ValueError, match="detect_task: y must"):
        detect_task(y)


def test_numbers_become_what_a_model_takes():
    raw = np.array([[-1.0, 5.0], [0.0, 5.5], [7.0, 6.0]])
    unit = preprocessor(raw, numbers="unit").fit(raw)
    assert unit.transform(raw).tolist() == [[0, 0], [0.125, 0.5], [1, 1]]
    assert unit.transform(np.array([[-9.0, 7.0]])).tolist() == [[0, 1]]
    bins = preprocessor(raw, numbers="bins").fit(raw)
    assert bins.transform(raw).tolist() == [[0, 0], [1, 4], [7, 7]]
    with pytest.raises(ValueError, match="preprocessor: numbers must be one of standard, unit, bins, plain; got 'log'"):
        preprocessor(raw, numbers="log")
