"""Labels of every kind: the same classes and the same predictions as for integers, by other names."""

import numpy as np
import pandas as pd
import pytest
from problems import build, ids, problem

from margin import catalog

NAMES = np.array(["alpha", "beta", "gamma"])
KINDS = {
    "strings": lambda y: NAMES[y],
    "bytes": lambda y: NAMES.astype("S")[y],
    "floats": lambda y: y.astype(np.float32),
    "unsigned": lambda y: y.astype(np.uint8),
    "list": lambda y: NAMES[y].tolist(),
    "nullable integers": lambda y: pd.Series(y).astype("Int64"),
    "pandas strings": lambda y: pd.Series(NAMES[y]).astype("string"),
    "categories": lambda y: pd.Series(pd.Categorical(NAMES[y], categories=NAMES[::-1], ordered=True)),
    "integer categories": lambda y: pd.Categorical(y),
}
CLASSIFIERS = [
    entry
    for entry in catalog.ENTRIES
    if entry.task == "classification" and entry.data != "images" and problem(entry)[1] is not None
]


@pytest.mark.parametrize("entry", CLASSIFIERS, ids=ids)
def test_labels_of_any_kind_are_the_same_classes(entry):
    X, y = problem(entry)
    y = np.asarray(y, dtype=np.int64)
    k = len(np.unique(y))
    expected = build(entry).fit(X, y).predict(X)
    for kind, labels in KINDS.items():
        model = build(entry).fit(X, labels(y))
        classes = np.unique(np.asarray(labels(np.arange(k))))
        np.testing.assert_array_equal(model.classes_, classes, err_msg=kind)
        np.testing.assert_array_equal(model.predict(X), classes[expected], err_msg=kind)
    two = build(entry).fit(X, y > 0)
    assert two.classes_.tolist() == [False, True]
    np.testing.assert_array_equal(two.predict(X), build(entry).fit(X, (y > 0).astype(int)).predict(X) == 1)
