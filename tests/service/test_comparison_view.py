"""What a user sees of a comparison beside its scores: the printed board, other libraries, kept columns, drift."""

import warnings

import numpy as np
import pandas as pd
import pytest

from margin.data.drift import column_summaries, drift_remarks
from margin.service import prediction
from margin.service.comparison import compare
from margin.service.comparison.showing import other_metrics, verdict
from margin.service.requests import BadRequest

FAST = {"n_jobs": 1, "folds": 3, "curve": False, "ensembles": False}


def houses(n=150, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.normal(100, 20, n)
    town = rng.choice(["north", "south"], n)
    price = 3 * size + 40 * (town == "north") + rng.normal(0, 10, n)
    return pd.DataFrame({"name": [f"h{i}" for i in range(n)], "size": size, "town": town, "price": price})


@pytest.fixture(scope="module")
def priced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("priced")
    houses().to_csv(folder / "houses.csv", index=False)
    asked = {"target": "price", "models": ["ridge"], "out": folder / "c", **FAST}
    return folder, compare(str(folder / "houses.csv"), **asked)


def test_a_printed_result_is_the_board_with_several_metrics(priced):
    found = priced[1]
    shown = str(found).splitlines()
    assert other_metrics(found) == ["mae", "r2"]
    assert shown[1].split() == ["model", "rmse", "↓", "95", "%", "interval", "mae", "r2", "fit", "s"]
    assert shown[2].split()[0] == found.winner
    assert f"{found.standings[0].others['r2']:.4f}" in shown[2]
    assert all(f"· {remark}" in shown for remark in found.remarks)
    assert len(set(found.remarks)) == len(found.remarks)


def test_boosting_of_another_library_is_a_row_that_cannot_win():
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"))
    found = compare(frame, target="y", models=["gaussian-nb", "lightgbm"], **{**FAST, "ensembles": True})
    assert found.standings[0].model == "lightgbm"
    assert found.winner == "gaussian-nb"
    assert verdict(found)[0] == "lightgbm is not the winner: models of other libraries are compared, not saved."
    assert any("only lightgbm found something to learn" in said for said in verdict(found))
    assert not any("lightgbm" in s.settings for s in found.standings)
    with pytest.raises(BadRequest, match="lightgbm: models of other libraries are compared, not saved; name a model"):
        compare(frame, target="y", models=["lightgbm"], **FAST)
    without = compare(frame, target="y", models=["gaussian-nb", "lightgbm"], exclude=["lightgbm"], **FAST)
    assert "lightgbm" not in {s.model for s in without.standings}


def test_columns_are_kept_beside_the_predictions(priced):
    folder, found = priced
    kept = prediction.predict(str(found.folder), str(folder / "houses.csv"), keep=["name", "size"])
    assert list(kept) == ["name", "size", "prediction"]
    assert kept["name"][:2].tolist() == ["h0", "h1"]
    assert len(kept["prediction"]) == 150
    with pytest.raises(BadRequest, match="has no column 'nam' to keep; close matches are 'name'"):
        prediction.predict(str(found.folder), str(folder / "houses.csv"), keep=["nam"])


def test_rows_unlike_the_training_rows_are_spoken_of(priced):
    folder, found = priced
    houses(seed=1).drop(columns="price").to_csv(folder / "alike.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Columns that training did not see")
        prediction.predict(str(found.folder), str(folder / "alike.csv"))
    houses(seed=1).assign(size=lambda f: f["size"] + 80, town="west").to_csv(folder / "moved.csv", index=False)
    with pytest.warns(UserWarning, match="unlike the training rows") as caught:
        prediction.predict(str(found.folder), str(folder / "moved.csv"))
    said = next(str(w.message) for w in caught if "unlike" in str(w.message))
    assert "100% of the rows have labels that training never saw, such as 'west'" in said
    assert "'size' (median" in said


def test_drift_is_seen_in_missing_values_and_in_a_few_rows_only_beyond_the_range():
    rng = np.random.default_rng(0)
    seen = column_summaries(
        pd.DataFrame({"x": rng.normal(size=400), "flag": rng.choice(["a", "b"], 400)}), ["x", "flag"]
    )
    gone = pd.DataFrame({"x": np.where(rng.random(100) < 0.5, np.nan, rng.normal(size=100)), "flag": ["a", "b"] * 50})
    assert f"'x' ({gone['x'].isna().mean():.0%} missing, 0% then)" in drift_remarks(seen, gone, ["x", "flag"])[0]
    few = pd.DataFrame({"x": [0.1, -0.2, 0.3], "flag": ["a", "a", "a"]})
    assert drift_remarks(seen, few, ["x", "flag"]) == []
    assert "beyond" in drift_remarks(seen, few.assign(x=[50.0, 0.0, 0.0]), ["x", "flag"])[0]
    mostly = pd.DataFrame({"x": rng.normal(size=200), "flag": ["a"] * 195 + ["b"] * 5})
    assert "'flag' (" in drift_remarks(seen, mostly, ["x", "flag"])[0]
