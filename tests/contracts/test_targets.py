"""Targets that are no numbers: every regressor refuses them in words, and learns nothing from a None."""

import numpy as np
import pytest
from problems import build, ids, problem

from margin import catalog

REGRESSORS = [e for e in catalog.ENTRIES if e.task == "regression" and e.data != "graph"]


@pytest.mark.parametrize("entry", REGRESSORS, ids=ids)
def test_a_missing_target_is_refused(entry):
    X, y = problem(entry)
    with pytest.raises(ValueError, match="y contains NaN"):
        build(entry).fit(X, np.array([None, *y[1:]], dtype=object))


@pytest.mark.parametrize("entry", REGRESSORS, ids=ids)
@pytest.mark.parametrize("kind", [str, object])
def test_a_word_as_target_is_refused_and_named(entry, kind):
    X, y = problem(entry)
    with pytest.raises(ValueError, match=rf"{entry.class_name}: y must be numbers; got '?(np.str_\()?'high'"):
        build(entry).fit(X, np.array([*y[1:].tolist(), "high"], dtype=kind))


def test_numbers_written_as_strings_are_numbers():
    entry = catalog.entry("ridge")
    X, y = problem(entry)
    expected = build(entry).fit(X, y).predict(X)
    np.testing.assert_array_equal(build(entry).fit(X, y.astype(str)).predict(X), expected)
    np.testing.assert_array_equal(build(entry).fit(X, y.astype(object)).predict(X), expected)
