"""A fit's arrays that scikit-learn's validation returns as they are pass; everything else goes through it."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import validate_data
from tests.core.test_new_rows import INPUTS, RULES, X

from margin.core import training_rows
from margin.core.training_rows import validate_training_rows, validate_weights
from margin.trees import DecisionTreeClassifier

Y = np.array([0.5, -1.0, 2.0, 0.0])
TARGETS = {
    "numbers": Y,
    "integers": Y.astype(np.int8),
    "booleans": Y > 0,
    "half": Y.astype(np.float16),
    "strings": np.array(["a", "b", "a", "b"]),
    "objects": Y.astype(object),
    "complex": Y + 1j,
    "nan": np.where(Y == 0, np.nan, Y),
    "infinite": np.where(Y == 0, np.inf, Y),
    "huge": np.full(4, 1.5e308),
    "strided": np.repeat(Y, 2)[::2],
    "column": Y[:, None],
    "columns": np.column_stack([Y, Y]),
    "short": Y[:3],
    "list": Y.tolist(),
    "none": None,
    "no targets": "no_validation",
}
NAMED = pd.DataFrame(X, columns=["a", "b", "c"])


def outcome(validate, value, target, rules, first):
    """What is returned or refused, and what a model that has seen ``first`` before then knows of the columns."""
    model = DecisionTreeClassifier()
    if first is not None:
        model.fit(first, [0, 1, 0, 1])
    try:
        with np.errstate(all="ignore"):
            found = validate(model, value, target, **rules)
    except (TypeError, ValueError) as problem:
        found = str(problem)
    return found, [getattr(model, name, None) is not None for name in ("n_features_in_", "feature_names_in_")]


def assert_same(ours, theirs, given):
    assert type(ours) is type(theirs)
    if isinstance(theirs, tuple):
        for pair in zip(ours, theirs, given, strict=True):
            assert_same(*pair)
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
        if isinstance(given, np.ndarray):
            assert np.shares_memory(ours, given) == np.shares_memory(theirs, given)
        assert ours.tobytes() == theirs.tobytes()
    elif isinstance(theirs, str):
        assert ours == theirs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rules", [*RULES, {"dtype": np.float64, "y_numeric": True}, {"multi_output": True}], ids=str)
@pytest.mark.parametrize("first", [None, X, X[:, :2], NAMED], ids=["new", "same", "narrow", "named"])
def test_the_outcome_is_that_of_scikit_learn(rules, first):
    pairs = [*itertools.product(["array"], TARGETS), *itertools.product(INPUTS, ["numbers", "strings"])]
    for value, target in pairs:
        given = INPUTS[value], TARGETS[target]
        ours, known = outcome(validate_training_rows, *given, rules, first)
        theirs, expected = outcome(validate_data, *given, rules, first)
        assert known == expected, (value, target)
        assert_same(ours, theirs, given)


def test_plain_arrays_do_not_wait(monkeypatch):
    monkeypatch.setattr(training_rows, "validate_data", lambda *_, **__: ("validated", "validated"))
    model = DecisionTreeClassifier()
    assert validate_training_rows(model, X, Y, dtype=np.float64, order="C")[0] is X
    assert model.n_features_in_ == 3
    assert validate_training_rows(model, X, Y[:3])[0] == "validated"
    assert validate_training_rows(model, NAMED, Y)[0] == "validated"


def test_weights_are_ones_or_those_that_are_given():
    assert validate_weights(None, X).tolist() == [1.0] * 4
    assert validate_weights([1, 2, 0, 3], X).tolist() == [1.0, 2.0, 0.0, 3.0]
    for wrong in ([1.0, -1.0, 1.0, 1.0], [1.0], [1.0, np.nan, 1.0, 1.0]):
        with pytest.raises(ValueError, match=r"weight"):
            validate_weights(wrong, X)
