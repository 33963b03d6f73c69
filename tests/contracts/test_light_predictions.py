"""Predicting a row with a classical model in a new process loads no library that the prediction does not use."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.contracts.problems import build

import margin
from margin import catalog
from margin.service.number_rows import as_numbers
from margin.service.sources import open_source

CLASSICAL = {"linear", "kernels", "neighbors", "bayes", "trees"}
ENTRIES = [
    entry for entry in catalog.ENTRIES if entry.family in CLASSICAL and entry.task in ("classification", "regression")
]
HEAVY = {
    "pandas", "torch", "matplotlib", "fastapi",
    "scipy.stats", "scipy.optimize", "scipy.integrate", "scipy.interpolate", "scipy.ndimage", "scipy.signal",
    "sklearn.metrics", "sklearn.tree", "sklearn.ensemble", "sklearn.linear_model", "sklearn.preprocessing",
    "sklearn.pipeline", "sklearn.model_selection", "sklearn.neighbors", "sklearn.datasets", "sklearn.svm",
    "margin.selection", "margin.notes.claims", "margin.notes.experiments", "margin.neural", "margin.service.comparison",
}  # fmt: skip
#: Rows are expanded by scikit-learn's PolynomialFeatures and by SciPy's splines.
EXCUSED = {"polynomial-regression", "spline-regression"}
SCRIPT = """
import sys
from pathlib import Path
import typer
from margin.cli.app import app
rows, *models = sys.argv[1:]
margin = typer.main.get_command(app)  # once: app() makes all commands anew, which takes as long as a prediction
before = set()
for model in models:
    margin(["predict", model, rows, "--out", model + ".csv"], standalone_mode=False)
    print(Path(model).stem, *sorted(set(sys.modules) - before))
    before = set(sys.modules)
"""


def frame(n=60):
    """Small whole numbers: every model takes them, those of counts and of categories too."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.integers(0, 5, (n, 3)).astype(float), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def fitted():
    X = frame()
    label = np.where(X["a"] > 2, "yes", "no")
    quantity = X["a"] - 0.5 * X["b"] + np.sin(X["c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few members leave some rows without an out-of-bag prediction
        return {e.name: build(e).fit(X, label if e.task == "classification" else quantity) for e in ENTRIES}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    frame(7).to_csv(path, index=False)
    return path


def test_a_prediction_loads_only_what_it_uses(fitted, rows):
    models = {name: model for name, model in fitted.items() if name not in EXCUSED}
    files = []
    for name, model in models.items():
        files.append(str(rows.with_name(f"{name}.margin")))
        margin.save(model, files[-1])
    run = subprocess.run([sys.executable, "-c", SCRIPT, str(rows), *files], check=True, capture_output=True, text=True)
    loaded = {name: HEAVY.intersection(modules) for name, *modules in map(str.split, run.stdout.splitlines())}
    assert loaded.keys() == models.keys()
    assert {name: heavy for name, heavy in loaded.items() if heavy} == {}
    for name, model in models.items():
        written = pd.read_csv(rows.with_name(f"{name}.margin.csv"))["prediction"]
        np.testing.assert_array_equal(written, model.predict(frame(7)))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_numbers_without_their_frame_are_predicted_to_the_same_bits(entry, fitted, rows):
    source, model = open_source(str(rows)), fitted[entry.name]
    numbers = as_numbers(model, source)
    assert isinstance(numbers, np.ndarray)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for method in {"predict", "predict_proba", "decision_function"} & set(dir(model)):
            np.testing.assert_array_equal(getattr(model, method)(numbers), getattr(model, method)(frame(7)))


def test_columns_of_other_names_or_with_gaps_keep_their_frame(fitted, rows, tmp_path):
    model = fitted["gaussian-nb"]
    for content in ("b,a,c\n1,2,3\n", "a,b,c\n1,,3\n", "a,b,c\n1,x,3\n"):
        path = tmp_path / "rows.csv"
        path.write_text(content)
        assert isinstance(as_numbers(model, open_source(str(path))), pd.DataFrame)
