"""Tables as they come: each gives a board or one sentence, never a traceback."""

import numpy as np
import pandas as pd
import pytest

from margin.service.comparison import compare

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
LABELS = np.where(X > 0, "a", "b")


def mixed():
    values = np.array(["1", 2, None, 3.5, "x"] * 8, dtype=object)
    return pd.DataFrame({"m": values, "x": X, "y": LABELS})


UGLY = {
    "empty": lambda: pd.DataFrame({"x": [], "y": []}),
    "one row": lambda: pd.DataFrame({"x": [1.0], "y": ["a"]}),
    "three rows": lambda: pd.DataFrame({"x": [1.0, 2, 3], "y": ["a", "b", "a"]}),
    "only the target": lambda: pd.DataFrame({"y": LABELS}),
    "one class": lambda: pd.DataFrame({"x": X, "y": ["a"] * N}),
    "constant number": lambda: pd.DataFrame({"x": X, "y": np.ones(N)}),
    "no target value": lambda: pd.DataFrame({"x": X, "y": [None] * N}),
    "every label once": lambda: pd.DataFrame({"x": X, "y": [f"name {i}" for i in range(N)]}),
    "labels of numbers and strings": lambda: pd.DataFrame({"x": X, "y": np.array([1, "a"] * 20, dtype=object)}),
    "infinite values": lambda: pd.DataFrame({"x": np.where(X > 1, np.inf, X), "y": LABELS}),
    "infinite targets": lambda: pd.DataFrame({"x": X, "y": np.where(X > 1, np.inf, X)}),
    "an empty column": lambda: pd.DataFrame({"x": X, "gone": np.full(N, np.nan), "y": LABELS}),
    "almost empty": lambda: pd.DataFrame({"x": X, "rare": [1.0] + [np.nan] * (N - 1), "y": LABELS}),
    "mixed types": mixed,
    "a date as target": lambda: pd.DataFrame({"x": X, "y": pd.date_range("2024-01-01", periods=N)}),
    "flags with gaps": lambda: pd.DataFrame({"x": X, "f": [True, None] * 20, "y": [True, False] * 20}),
    "categories": lambda: pd.DataFrame({"c": pd.Categorical(LABELS), "y": pd.Categorical(LABELS)}),
    "huge integers": lambda: pd.DataFrame({"k": np.arange(N) + 2**60, "x": X, "y": LABELS}),
    "names that are numbers": lambda: pd.DataFrame({0: X, 1: X**2, "y": LABELS}),
    "strange names": lambda: pd.DataFrame({"[a] ≤ b": X, "": X**2, "y": LABELS}),
    "repeated names": lambda: pd.DataFrame(np.column_stack([X, X, X]), columns=["x", "x", "y"]),
    "a rare class": lambda: pd.DataFrame({"x": X, "y": ["rare", "rare"] + ["common"] * (N - 2)}),
    "an index of dates": lambda: pd.DataFrame({"x": X, "y": LABELS}, index=pd.date_range("2024", periods=N)),
    "tiny and huge numbers": lambda: pd.DataFrame({"x": X * 1e-300, "z": X * 1e300, "y": X * 1e12}),
}


@pytest.mark.parametrize("name", UGLY)
def test_a_board_or_one_sentence(name):
    try:
        found = _compared(UGLY[name]())
    except ValueError as error:  # BadRequest is one
        sentence = str(error)
        assert sentence.strip()
        assert "\n" not in sentence
        assert len(sentence) < 400
    else:
        assert found.status in ("finished", "failed")
        assert len(found.board) >= 2


def _compared(frame):
    options = {"target": "y", "folds": 2, "n_jobs": 1, "ensembles": False, "curve": False}
    try:
        return compare(frame, models=["gaussian-nb"], **options)
    except ValueError as error:
        if "not a model for regression" not in str(error):
            raise
        return compare(frame, models=["ridge"], **options)


def test_a_date_as_target_is_told_as_one():
    with pytest.raises(ValueError, match="y holds dates, which no model predicts; give it as a number"):
        _compared(UGLY["a date as target"]())
