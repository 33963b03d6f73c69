"""Classes and codes of labels: the results and errors of NumPy and scikit-learn, whatever the labels are."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.utils import multiclass
from sklearn.utils.multiclass import check_classification_targets

from margin.core.classes import check_classes, encode_classes

WORDS = ["", "a", "b", "aa", "\u00e9", "e\u0301", "Z", "\U0001f600", "zz", " a"]
LABELS = {
    "integers": np.array([5, -3, 5, 0]),
    "narrow integers of the whole range": np.array([-128, 127, 0, -128], dtype=np.int8),
    "unsigned integers": np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
    "far integers": np.array([10**15, 10**15 + 3, 10**15]),
    "integers far apart": np.array([-(2**63), 2**63 - 1, 0]),
    "booleans": np.array([True, False, True]),
    "one boolean": np.array([True, True]),
    "floats": np.array([2.0, -1.0, 2.0]),
    "narrow floats": np.array([2.0, -1.0, 2.0], dtype=np.float16),
    "large floats": np.array([2.0**60, 2.0**60 + 2**10, 2.0**60]),
    "fractions": np.array([0.5, 1.0, 0.5]),
    "tiny fractions": np.array([-1.0, 1e-20, 0.0]),
    "with NaN": np.array([1.0, np.nan, 0.0, np.nan]),
    "with infinity": np.array([1.0, np.inf, 0.0]),
    "strings": np.array(["b", "a", "b"]),
    "string objects": np.array(["b", "a", "b"], dtype=object),
    "NumPy string objects": np.array([np.str_("b"), "a", np.str_("b")], dtype=object),
    "bytes": np.array([b"b", b"a\xff", b"b"]),
    "bytes objects": np.array([b"b", b"a", b"b"], dtype=object),
    "integer objects": np.array([3, 1, 3], dtype=object),
    "objects of several types": np.array([1, "a", 1], dtype=object),
    "objects with None": np.array(["a", None, "a"], dtype=object),
    "objects with NaN": np.array(["a", np.nan, "a"], dtype=object),
    "bytes and strings": np.array([b"a", "a"], dtype=object),
    "lists": np.array([[1], [2, 3], [1]], dtype=object),
    "dates": np.array(["2020-02-01", "2020-01-01"], dtype="datetime64[D]"),
    "complex": np.array([1 + 1j, 0, 1 + 1j]),
    "nothing": np.array([], dtype=int),
    "no strings": np.array([], dtype=object),
    "a column": np.array([[1], [0], [1]]),
    "two columns": np.array([[1, 0], [0, 2], [1, 1]]),
    "every second": np.arange(10)[::2],
    "backward": np.array(["b", "a", "c"])[::-1],
}


def outcome(function, *arguments):
    """What a call gave: its result, or the class and text of its error; and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
        except Exception as error:  # whatever it is must be the same
            result = (type(error), str(error))
    return result, [(each.category, str(each.message)) for each in told]


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
def test_classes_and_codes_are_those_of_numpy(y):
    (found, told), (expected, told_there) = outcome(encode_classes, y), outcome(np.unique, y, False, True)
    assert told == told_there
    if isinstance(expected[0], type):
        assert found == expected
        return
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
        assert [type(each) for each in ours.ravel().tolist()] == [type(each) for each in theirs.ravel().tolist()]


OBJECTS = {
    "integer objects": "Unknown label type: unknown. y holds objects of type int; labels must be all strings, or",
    "objects of several types": "Unknown label type: unknown. y holds objects of type int, str; labels must be all",
    "objects with None": "y mixes labels of the types str, NoneType; labels must be all strings, or an array of",
    "objects with NaN": "y mixes labels of the types str, float; labels must be all strings, or an array of",
}


@pytest.mark.parametrize(("kind", "y"), LABELS.items(), ids=LABELS.keys())
def test_what_is_no_class_is_refused_as_by_scikit_learn(kind, y):
    found, expected = outcome(check_classes, y), outcome(check_classification_targets, y)
    if kind in ("bytes", "bytes objects"):  # its trees take them
        assert "bytes is not supported" in str(expected[0])
        assert found == (None, [])
    elif kind in OBJECTS:
        assert expected[0][0] is found[0][0]
        assert found[0][1].startswith(OBJECTS[kind])
    else:
        assert found == expected


@given(arrays(np.int16, st.integers(1, 60), elements=st.integers(-300, 300)))
def test_integers_of_any_spread(y):
    for given_type in (np.int16, np.int64, np.float32):
        for ours, theirs in zip(encode_classes(y.astype(given_type)), np.unique(y, return_inverse=True)):
            np.testing.assert_array_equal(ours, theirs)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30))
def test_strings_are_sorted_by_code_point(labels):
    for y in (np.array(labels), np.array(labels, dtype=object), np.array([label.encode() for label in labels])):
        for ours, theirs in zip(encode_classes(y), np.unique(y, return_inverse=True)):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("y", [np.arange(41) // 2, np.arange(30).astype(str), np.arange(25.0)])
def test_almost_as_many_classes_as_rows_are_a_warning(y):
    expected = outcome(check_classification_targets, y)
    assert len(expected[1]) == 1
    assert outcome(check_classes, y) == expected
    assert outcome(check_classes, np.append(y, y)) == (None, [])


@pytest.mark.parametrize(
    "y", [np.arange(3000) % 7, np.arange(3000) % 2 == 0, np.array(["a", "b"] * 50, dtype=object), np.array([1.0, 2.0])]
)
def test_common_labels_are_never_sorted(y, monkeypatch):
    monkeypatch.setattr(multiclass, "check_classification_targets", None)
    monkeypatch.setattr(np, "unique", None)
    check_classes(y)
    encode_classes(y)


@pytest.mark.parametrize(
    "y",
    [pd.Categorical(["b", "a", "b"]), pd.array(["b", "a", "b"]), pd.array([2, 1, 2]), pd.array([True, False, True])],
)
def test_columns_of_pandas_are_checked_as_there(y):
    assert outcome(check_classes, y) == outcome(check_classification_targets, y)
