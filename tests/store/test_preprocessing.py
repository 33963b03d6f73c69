"""A pipeline with every preprocessor of the registry transforms the same after save and load, in a fresh process."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import margin
from margin.store import StoreError


def frame():
    return pd.DataFrame(
        {
            "size": [1.0, np.nan, 3.0, 4.5],
            "rooms": [1, 2, 3, 4],
            "town": ["a", "b", None, "a"],
            "grade": ["low", "high", "mid", "low"],
            "kept": [0.5, 0.25, 0.125, 0.0],
        }
    ).astype({"town": object, "grade": object})


def preparation():
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    labels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return ColumnTransformer(
        [
            ("numbers", numbers, ["size", "rooms"]),
            ("labels", labels, ["town"]),
            ("order", OrdinalEncoder(categories=[["low", "mid", "high"]]), ["grade"]),
            ("scaled", MinMaxScaler(), ["kept"]),
        ],
        remainder="passthrough",
    )


def test_round_trip(tmp_path):
    data = frame().assign(extra=[1, 2, 3, 4])
    pipeline = Pipeline([("prepare", preparation())]).fit(data)
    margin.save(pipeline, tmp_path / "p.safetensors")
    again = margin.load(tmp_path / "p.safetensors")
    unseen = data.assign(town=["z", "a", "b", None])
    np.testing.assert_array_equal(again.transform(unseen), pipeline.transform(unseen))
    assert list(again.get_feature_names_out()) == list(pipeline.get_feature_names_out())


def test_fresh_process(tmp_path):
    data = frame()
    pipeline = Pipeline([("prepare", preparation())]).fit(data)
    margin.save(pipeline, tmp_path / "p.safetensors")
    np.save(tmp_path / "expected.npy", pipeline.transform(data))
    data.to_parquet(tmp_path / "data.parquet")
    code = """
import sys, numpy as np, pandas as pd, margin
folder = sys.argv[1]
frame = pd.read_parquet(f"{folder}/data.parquet").astype({"town": object, "grade": object})
got = margin.load(f"{folder}/p.safetensors").transform(frame)
np.testing.assert_array_equal(got, np.load(f"{folder}/expected.npy"))
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_set_output_survives(tmp_path):
    scaler = StandardScaler().set_output(transform="pandas").fit(frame()[["rooms"]])
    margin.save(make_pipeline(scaler), tmp_path / "p.safetensors")
    got = margin.load(tmp_path / "p.safetensors").transform(frame()[["rooms"]])
    assert isinstance(got, pd.DataFrame)


@pytest.mark.parametrize("learned", [{"_fit_dtype"}, {"_fit_dtype", "_fill_dtype"}], ids=["1.7.0", "later"])
def test_an_imputer_has_what_the_installed_scikit_learn_learns(learned, tmp_path, monkeypatch):
    imputer = SimpleImputer().fit([[1.0], [np.nan]])
    vars(imputer).pop("_fill_dtype", None)  # scikit-learn 1.7.0 does not have it
    monkeypatch.setattr("margin.store.scikit_learn._imputers_learn", lambda: frozenset(learned))
    if "_fill_dtype" in learned:
        with pytest.raises(StoreError, match="_fill_dtype is missing, as in files"):
            margin.save(imputer, tmp_path / "i.safetensors")
            margin.load(tmp_path / "i.safetensors")
    else:
        margin.save(imputer, tmp_path / "i.safetensors")
        assert margin.load(tmp_path / "i.safetensors").statistics_ == [1.0]
