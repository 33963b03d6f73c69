"""An array that scikit-learn's validation returns as it is passes; everything else goes through that validation."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from margin.core import new_rows
from margin.core.new_rows import validate_new_rows
from margin.trees import DecisionTreeClassifier

X = np.arange(12.0).reshape(4, 3) / 7
INPUTS = {
    "array": X,
    "single": X.astype(np.float32),
    "half": X.astype(np.float16),
    "other bytes": X.astype(">f8"),
    "columns": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": np.broadcast_to(X[0], (4, 3)),
    "integers": X.astype(int),
    "objects": X.astype(object),
    "complex": X + 1j,
    "nan": np.where(X == 0, np.nan, X),
    "infinite": np.where(X == 0, np.inf, X),
    "huge": np.full((2, 3), 1.5e308),
    "both infinities": np.array([[np.inf, -np.inf, 0.0]]),
    "empty": X[:0],
    "narrow": X[:, :2],
    "one row": X[0],
    "cube": X[None],
    "matrix": np.asmatrix(X),
    "masked": np.ma.array(X, mask=X > 1),
    "list": X.tolist(),
    "frame": pd.DataFrame(X, columns=["a", "b", "c"]),
    "sparse": sp.csr_array(X),
}
RULES = [
    {},
    {"dtype": np.float64, "order": "C"},
    {"dtype": [np.float64, np.float32], "order": "F", "accept_sparse": "csr"},
    {"dtype": None, "ensure_all_finite": False},
    {"dtype": np.float32, "ensure_all_finite": "allow-nan"},
    {"dtype": np.float64, "ensure_2d": False},
]


def outcome(validate, model, value, rules):
    try:
        with np.errstate(all="ignore"):
            found = validate(model, value, **rules)
    except (TypeError, ValueError) as problem:
        return str(problem)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, rules", list(itertools.product(INPUTS, RULES)), ids=str)
@pytest.mark.parametrize("named", [False, True])
def test_the_outcome_is_that_of_scikit_learn(name, rules, named):
    rows = pd.DataFrame(X, columns=["a", "b", "c"]) if named else X
    model = DecisionTreeClassifier().fit(rows, [0, 1, 0, 1])
    ours = outcome(validate_new_rows, model, INPUTS[name], rules)
    theirs = outcome(lambda *a, **b: validate_data(*a, reset=False, **b), model, INPUTS[name], rules)
    assert type(ours) is type(theirs)
    if isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
        assert np.shares_memory(ours, INPUTS[name]) == np.shares_memory(theirs, INPUTS[name])
        assert ours.tobytes() == theirs.tobytes()
    elif isinstance(theirs, str):
        assert ours == theirs


def test_plain_arrays_do_not_wait(monkeypatch):
    plain = DecisionTreeClassifier().fit(X, [0, 1, 0, 1])
    named = DecisionTreeClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), [0, 1, 0, 1])
    monkeypatch.setattr(new_rows, "validate_data", lambda *_, **__: "validated")
    assert validate_new_rows(plain, X, dtype=np.float64, order="C") is X
    assert validate_new_rows(named, X, dtype=np.float64, order="C") == "validated"  # it warns
