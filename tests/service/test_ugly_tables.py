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


def test_a_name_with_a_line_break_leaves_the_refusal_one_line():
    frame = pd.DataFrame({"a\nb": ["same"] * N, "y": LABELS})
    with pytest.raises(ValueError, match=r"no column can be used \(a b: left out: every row has the same value"):
        _compared(frame)


def test_a_target_whose_squares_overflow_is_refused():
    with pytest.raises(ValueError, match=r"y has values as large as 2\.\d+e\+300, whose squares no number holds"):
        _compared(pd.DataFrame({"x": X, "y": X * 1e300}))


def rare_positives(positives=5, n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[rng.permutation(n)[:positives]] = 1
    return rng.normal(size=(n, 2)) + 2 * y[:, None], y


def test_a_handful_of_positives_is_ranked_in_as_many_folds():
    X, y = rare_positives()
    found = compare(X, y, models=["gaussian-nb"], n_jobs=1)
    assert found.metric.name == "roc_auc"
    assert found.winner == "gaussian-nb"
    assert len(found.plan.folds) == 4
    assert y[found.plan.held_out].sum() == 1
    assert "There are only 4 folds: each needs a row of class '1'." in found.remarks


def test_where_a_fold_lacks_a_class_another_metric_decides_or_the_one_asked_for_is_refused():
    X, y = rare_positives()
    order = np.argsort(y, kind="stable")  # all positives come last in time
    found = compare(X[order], y[order], models=["gaussian-nb"], time=np.arange(len(y)), n_jobs=1)
    assert found.metric.name == "balanced_accuracy"
    assert found.winner
    assert any("none of class '1', so balanced_accuracy decides" in remark for remark in found.remarks)
    with pytest.raises(ValueError, match="roc_auc needs rows of every class in every fold"):
        compare(X[order], y[order], models=["gaussian-nb"], time=np.arange(len(y)), metric="roc_auc", n_jobs=1)


def test_a_class_of_one_row_does_not_choose_the_metric():
    frame = pd.DataFrame({"x": X, "y": np.where(np.arange(N) == 3, "perhaps", LABELS)})
    found = compare(frame, target="y", models=["gaussian-nb"], folds=3, n_jobs=1)
    assert found.metric.name == "accuracy"
    assert not any("out of balance" in remark for remark in found.remarks)
    assert any(remark.startswith("1 class has a single row of y (perhaps)") for remark in found.remarks)


def test_ratings_with_halves_can_be_classes_and_a_quantity_cannot(tmp_path):
    frame = pd.DataFrame({"x": X, "rating": np.where(X > 0, 4.5, 3.0), "price": X})
    asked = {"task": "classification", "models": ["gaussian-nb"], "folds": 3, "n_jobs": 1}
    frame.to_csv(tmp_path / "ratings.csv", index=False)
    spec = str(tmp_path / "ratings.csv")
    found = compare(spec, target="rating", ignore=["price"], out=tmp_path / "out", **asked)
    assert set(found.best_.predict(found.X)) == {"3.0", "4.5"}
    from margin.service.prediction import score

    assert score(str(tmp_path / "out"), spec)[0]["accuracy"] > 0.8
    with pytest.raises(ValueError, match="price has 40 different values in 40 rows, most of them in one row only"):
        compare(frame, target="price", **asked)


def test_the_target_cannot_be_the_group():
    frame = pd.DataFrame({"x": X, "y": LABELS})
    with pytest.raises(ValueError, match="y is the target, so it cannot say how rows belong together"):
        compare(frame, target="y", group="y", n_jobs=1)


def test_values_that_are_there_but_count_as_missing_are_told_on_the_board():
    frame = pd.DataFrame({"x": np.where(X > 1, np.inf, X), "w": X, "y": LABELS})
    found = compare(frame, target="y", models=["gaussian-nb"], folds=3, n_jobs=1)
    assert f"x: {int((X > 1).sum())} infinite values count as missing." in found.remarks


def test_the_seed_is_checked_before_anything_is_read():
    with pytest.raises(ValueError, match="seed must be an integer at least 0; got -1"):
        compare("nothing.csv", target="y", seed=-1)


def test_arguments_as_they_are_given_in_python():
    frame = pd.DataFrame({"x": X, "note": X[::-1], "y": LABELS})
    asked = {"models": ["gaussian-nb"], "folds": 3, "n_jobs": 1}
    alone = compare(frame, target="y", models="gaussian-nb", ignore="note", folds=3, n_jobs=1, seed=np.int64(0))
    assert list(alone.X.columns) == ["x"]
    usual = compare(frame, target="y", ignore=["note"], **asked)
    assert usual.board["accuracy"].tolist() == alone.board["accuracy"].tolist()
    column = compare(frame[["x"]], frame[["y"]], **asked)
    assert column.board["accuracy"].tolist() == alone.board["accuracy"].tolist()
    arrays = compare(X[:, None], (LABELS == "a")[:, None].astype(int), **asked)
    assert arrays.y.ndim == 1
    numbered = compare(frame.set_axis([0, 1, 2], axis=1), target=2, ignore=[1], **asked)
    assert numbered.board["accuracy"].tolist() == alone.board["accuracy"].tolist()
    from margin import GaussianNB

    with pytest.raises(ValueError, match=r"models must be names of the catalog, .* got a GaussianNB"):
        compare(frame, target="y", models=[GaussianNB()], n_jobs=1)
