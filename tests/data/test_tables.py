"""The table: kinds, immutability, selection, hash, conversions, and errors that name what is wrong."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.data import Table, from_arrow, from_pandas


@pytest.fixture
def table():
    return Table(
        {
            "age": [25.0, np.nan, 40.0],
            "member": [True, None, False],
            "town": ["Ulm", None, "Bonn"],
            "note": ["first", "second", None],
            "seen": np.array(["2025-01-02", "NaT", "2025-03-04T05:06:07"], dtype="datetime64[us]"),
        },
        {"note": "text"},
    )


def test_kinds_and_missing(table):
    assert dict(table.kinds) == {
        "age": "number",
        "member": "flag",
        "town": "category",
        "note": "text",
        "seen": "date",
    }
    assert table.missing() == dict.fromkeys(table.names, 1)
    assert table.n_rows == len(table) == 3
    assert table["member"].tolist() == [True, None, False]
    assert table.of_kind("category", "text") == ("town", "note")


def test_guessed_kinds():
    many = [f"name {i}" for i in range(100)]
    guessed = Table({"i": [1, 2] * 50, "words": many, "codes": ["a", "b"] * 50, "mixed": [1, "x"] * 50}).kinds
    assert dict(guessed) == {"i": "number", "words": "text", "codes": "category", "mixed": "category"}


def test_nothing_can_be_changed(table):
    with pytest.raises(ValueError, match="read-only"):
        table["age"][0] = 1
    with pytest.raises(AttributeError, match="cannot be changed"):
        table.names = ()
    with pytest.raises(TypeError):
        table.columns["age"] = np.zeros(3)
    with pytest.raises(TypeError):
        table.kinds["age"] = "text"


def test_the_table_owns_its_values():
    values = np.arange(4.0)
    view = values[:2]
    view.flags.writeable = False
    table = Table({"x": values[:2], "y": view})
    before = table.hash()
    values[:] = -1
    assert table["x"].tolist() == table["y"].tolist() == [0, 1]
    assert Table(table.columns, table.kinds).hash() == before
    X, y = Table({"a": [1, 2], "b": [0, 1]}).split_target("b")
    y[0] = 9  # the caller's copy
    assert X.names == ("a",)


def test_a_table_can_be_sent_to_another_process(table):
    there = pickle.loads(pickle.dumps(table))
    assert there == table
    assert copy.deepcopy(table) == table
    with pytest.raises(ValueError, match="read-only"):
        there["age"][0] = 1


def test_select_drop_take_head(table):
    assert table.select(["town", "age"]).names == ("town", "age")
    assert table.drop("town", "age").names == ("member", "note", "seen")
    assert table.take([2, 0, 2])["age"].tolist() == [40, 25, 40]
    assert table.take([True, False, True])["town"].tolist() == ["Ulm", "Bonn"]
    assert table.take([-1])["note"].tolist() == [None]
    assert table.take([]).n_rows == table.head(0).n_rows == 0
    assert table.head(2).n_rows == 2
    assert table.head(99).n_rows == 3
    with pytest.raises(ValueError, match="read-only"):
        table.head(2)["age"][0] = 1


def test_kind_conversion():
    table = Table({"code": [3, 1, np.nan, 2.5], "flag": [1, 0, 1, None]})
    assert table.as_kind("code", "category")["code"].tolist() == ["3", "1", None, "2.5"]
    assert table.as_kind("flag", "flag")["flag"].tolist() == [True, False, True, None]
    with pytest.raises(ValueError, match="column 'code' cannot be stored as flag"):
        table.as_kind("code", "flag")
    with pytest.raises(ValueError, match="must be one of number, flag"):
        table.as_kind("code", "integer")
    with pytest.raises(ValueError, match="cannot be stored as number"):
        Table({"w": ["a", "b"]}).as_kind("w", "number")


def test_split_target_types():
    table = Table({"x": [1, 2], "label": ["a", "b"], "whole": [0, 1], "real": [0.5, 1], "ok": [True, False]})
    assert table.split_target("whole")[1].dtype == np.int64
    assert table.split_target("real")[1].dtype == np.float64
    assert table.split_target("ok")[1].dtype == bool
    X, y = table.split_target("label")
    assert y.tolist() == ["a", "b"]
    assert X.names == ("x", "whole", "real", "ok")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: t.split_target("Town"), "no target 'Town'; close matches are 'town'"),
        (lambda t: t.split_target("zzz"), "no target 'zzz'; there are 'age', 'member'"),
        (lambda t: t["tow"], "no column 'tow'; close matches are 'town'"),
        (lambda t: t.select(["age", "agee"]), "no column 'agee'; close matches are 'age'"),
        (lambda t: t.drop("ages"), "no column 'ages'"),
        (lambda t: t.split_target("town"), "target 'town' is missing in 1 of 3 rows"),
        (lambda t: t.take([3]), "rows must be below 3; got 3 to 3"),
        (lambda t: t.take([0.5]), "positions or a mask"),
        (lambda t: t.take([True]), "mask must have 3 entries"),
        (lambda t: Table({"a": [1], "b": [1, 2]}), "equal length; 'a' has 1 rows and 'b' has 2"),
        (lambda t: Table({"a": [[1]]}), "one dimension"),
        (lambda t: Table({"a": [1]}, {"b": "number"}), "'b', which is not a column"),
        (lambda t: Table({"a": [1j]}, {"a": "number"}), "cannot be stored as number"),
        (lambda t: Table({1: [1], "1": [2]}), "must differ"),
    ],
)
def test_errors_name_the_object(table, call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call(table)
    assert str(caught.value).endswith(".")


def test_a_missing_column_is_a_key_error_too(table):
    with pytest.raises(KeyError):
        table["nowhere"]
    assert "town" in table
    assert "nowhere" not in table


columns = st.fixed_dictionaries(
    {
        "n": st.lists(st.floats(width=64), min_size=4, max_size=4),
        "s": st.lists(st.none() | st.text(max_size=3), min_size=4, max_size=4),
    }
)


@given(columns, columns)
def test_the_hash_is_equal_exactly_when_the_content_is(one, other):
    kinds = {"n": "number", "s": "category"}
    a, b = Table(one, kinds), Table(other, kinds)

    def content(table):
        return [None if x != x else x for x in table["n"].tolist()], table["s"].tolist()

    assert (a.hash() == b.hash()) == (content(a) == content(b))
    assert (a == b) == (hash(a) == hash(b))


def test_the_hash_sees_names_kinds_order_and_the_gap_between_words():
    base = Table({"a": ["x", "yz"], "b": ["1", "2"]})
    others = [
        Table({"a": ["xy", "z"], "b": ["1", "2"]}),
        Table({"A": ["x", "yz"], "b": ["1", "2"]}),
        Table({"b": ["1", "2"], "a": ["x", "yz"]}),
        base.as_kind("a", "text"),
        base.take([1, 0]),
        Table({"a": ["x", None], "b": ["1", "2"]}),
        Table({"a": ["x", ""], "b": ["1", "2"]}),
    ]
    assert len({table.hash() for table in (base, *others)}) == 8
    assert Table({"z": [0.0]}).hash() == Table({"z": [-0.0]}).hash()


def test_the_hash_is_the_same_in_another_process(table):
    code = "from margin.data import Table; print(Table({'a': [1, 2.5, None], 's': ['x', None, 'é']}).hash())"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert there == Table({"a": [1, 2.5, None], "s": ["x", None, "é"]}).hash()


def test_importing_is_cheap():
    code = (
        "import sys, margin.data, margin.metrics;"
        "print([m for m in ('pandas', 'pyarrow', 'sklearn', 'torch', 'PIL', 'scipy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_round_trips(table):
    assert from_arrow(table.to_arrow()) == table.as_kind("note", "category")  # three rows are few
    frame = table.to_pandas()
    assert frame["town"].isna().tolist() == [False, True, False]
    assert str(frame["member"].dtype) == "boolean"
    assert from_pandas(frame) == table.as_kind("note", "category")
    frame.loc[0, "age"] = 0.0  # a new frame each time
    assert table["age"][0] == 25


def test_from_pandas_types():
    frame = pd.DataFrame(
        {
            "Int64": pd.array([1, None], dtype="Int64"),
            "uint8": np.array([1, 2], dtype=np.uint8),
            "bool": [True, False],
            "string": pd.array(["a", None], dtype="string"),
            "category": pd.Categorical([1, 2]),
            "object": pd.Series([1.5, None], dtype=object),
            "zone": pd.to_datetime(["2025-01-01T12:00+02:00", None], utc=True),
            "day": pd.to_datetime(["2025-01-01", "2025-01-02"]),
        },
        index=[7, 7],
    )
    table = from_pandas(frame)
    assert list(table.kinds.values()) == ["number"] * 2 + ["flag"] + ["category"] * 2 + ["number"] + ["date"] * 2
    assert table["category"].tolist() == ["1", "2"]
    assert table["zone"][0] == np.datetime64("2025-01-01T10:00")
    assert np.isnan(table["Int64"][1])
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        from_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(TypeError, match="must be a pandas DataFrame; got list"):
        from_pandas([1])
    with pytest.raises(TypeError, match=r"must be a pyarrow\.Table; got dict"):
        from_arrow({})
