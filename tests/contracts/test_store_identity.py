"""What is loaded predicts the same bits as what was saved, in a fresh process too, and alone in a Pipeline."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from problems import as_array, assert_same_bits, build, ids, is_table, outputs, problem, uses_torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

import margin
from margin import catalog

FRESH = """
import sys, pickle
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import margin
from margin import catalog
from problems import outputs, problem
folder = Path(sys.argv[2])
said = {}
for entry in catalog.ENTRIES:
    model = margin.load(folder / f"{entry.name}.safetensors")
    said[entry.name] = outputs(model, problem(entry)[0])
(folder / "said.bin").write_bytes(pickle.dumps(said))
"""

WITHOUT_TORCH = """
import sys
import margin
for path in sys.argv[1:]:
    margin.load(path)
assert "torch" not in sys.modules, "loading a classical model imported torch"
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every catalog model fitted and saved once: the folder and what each said."""
    folder = tmp_path_factory.mktemp("models")
    said = {}
    for entry in catalog.ENTRIES:
        X, y = problem(entry)
        model = build(entry)
        model.fit(X) if y is None else model.fit(X, y)
        said[entry.name] = outputs(model, X)
        margin.save(model, folder / f"{entry.name}.safetensors")
    return folder, said


def test_a_fresh_process_says_the_same(saved):
    folder, said = saved
    tests = __file__.rpartition("/")[0]
    subprocess.run([sys.executable, "-c", FRESH, tests, str(folder)], check=True)
    fresh = pickle.loads((folder / "said.bin").read_bytes())
    for name in said:
        assert_same_bits(fresh[name], said[name])


def test_loading_classical_models_does_not_import_torch(saved):
    folder, _ = saved
    classical = [entry for entry in catalog.ENTRIES if not uses_torch(entry)]
    paths = [str(folder / f"{entry.name}.safetensors") for entry in classical]
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, *paths], check=True)


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_parameters_and_learned_attributes_come_back(entry, saved):
    X, y = problem(entry)
    model = build(entry)
    model.fit(X) if y is None else model.fit(X, y)
    again = margin.load(saved[0] / f"{entry.name}.safetensors")
    assert repr(again.get_params()) == repr(model.get_params())
    learned = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert {name for name in vars(again) if name.endswith("_") and not name.startswith("_")} == learned


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_inside_a_pipeline(entry, tmp_path):
    X, y = problem(entry)
    pipeline = make_pipeline(MinMaxScaler() if is_table(X) else FunctionTransformer(), build(entry))
    pipeline.fit(X) if y is None else pipeline.fit(X, y)
    margin.save(pipeline, tmp_path / "pipeline.safetensors")
    again = margin.load(tmp_path / "pipeline.safetensors")
    for name in ("predict", "transform", "score_samples"):
        if hasattr(pipeline, name):
            np.testing.assert_array_equal(as_array(getattr(again, name)(X)), as_array(getattr(pipeline, name)(X)))


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_a_model_that_is_not_fitted_comes_back(entry, tmp_path):
    """An ensemble keeps the members it copies, and they are not fitted."""
    margin.save(make_pipeline(build(entry)), tmp_path / "pipeline.safetensors")
    again = margin.load(tmp_path / "pipeline.safetensors")
    assert repr(again.get_params()) == repr(make_pipeline(build(entry)).get_params())
