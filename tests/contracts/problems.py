"""One small problem per task, and everything a fitted model can say about it: what the contracts compare."""

import numpy as np
from sklearn.datasets import load_diabetes, load_iris, make_blobs

from margin import catalog
from margin.core.parameters import parameters_of

ITERATIVE = [entry for entry in catalog.ENTRIES if hasattr(catalog.class_of(entry.name), "iterate")]
OUTPUTS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


TORCH_ROOMS = {"neural", "generative", "text", "detection", "graphs", "physics", "meta"}


def ids(entry):
    return entry.name


def uses_torch(entry):
    return entry.path.split(".")[1] in TORCH_ROOMS or entry.name == "pseudo-label"


def build(entry, **params):
    cls = catalog.class_of(entry.name)
    chosen = {**entry.test_params, **params}
    if "random_state" in parameters_of(cls):
        chosen.setdefault("random_state", 0)
    return cls(**chosen)


def problem(entry):
    """X and y (None where the task has none), scaled so that every family can work with them."""
    if entry.task == "classification":
        X, y = load_iris(return_X_y=True)
    elif entry.task == "regression":
        X, y = load_diabetes(return_X_y=True)
        X, y = X[:150], y[:150]
    else:
        X, _ = make_blobs(120, 4, centers=3, random_state=0)
        y = None
    X = np.asarray(X, dtype=float)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))  # non-negative: some models count
    rows = np.random.default_rng(0).permutation(len(X))
    return X[rows], None if y is None else y[rows]


def outputs(model, X):
    """Every array the fitted model gives for X."""
    said = {name: np.asarray(getattr(model, name)(X)) for name in OUTPUTS if hasattr(model, name)}
    if hasattr(model, "sample"):
        said["sample"] = np.asarray(model.sample(5, random_state=1))
    return said


def assert_same_bits(got, expected):
    assert got.keys() == expected.keys()
    assert got, "a model that says nothing proves nothing"
    for name in expected:
        np.testing.assert_array_equal(got[name], expected[name], err_msg=name)
