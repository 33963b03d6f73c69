"""Reading one row: which of its code the product runs, and what is refused."""

import pytest

from margin.notes.atlas import _row

ENTRY = {"id": "gini", "title": "Gini", "kind": "method", "where": ["a"], "statement": "s"}


def test_what_is_not_run_is_as_written():
    row = _row("trees", {**ENTRY, "code": ["margin.a", "margin.b", "margin.c"], "as_run": ["margin.b"]})
    assert row.as_run == ("margin.b",)
    assert row.as_written == ("margin.a", "margin.c")


def test_one_path_may_be_a_string():
    row = _row("trees", {**ENTRY, "code": "margin.a", "as_run": "margin.a"})
    assert (row.code, row.as_run, row.as_written) == (("margin.a",), ("margin.a",), ())


def test_what_runs_must_be_cited():
    with pytest.raises(ValueError, match=r"'gini' in trees\.toml runs \['margin\.z'\], which its code does not name"):
        _row("trees", {**ENTRY, "code": ["margin.a"], "as_run": ["margin.z"]})
