"""One small problem per task, and everything a fitted model can say about it: what the contracts compare."""

import numpy as np
from sklearn.datasets import load_diabetes, load_iris, make_blobs

from margin import catalog
from margin.core.parameters import parameters_of
from margin.data.boxes import Boxes
from margin.data.scenes import SHAPES, shape_scenes

ITERATIVE = [entry for entry in catalog.ENTRIES if hasattr(catalog.class_of(entry.name), "iterate")]

# Cheap enough for hundreds of checks per model; tolerances are tight where a check compares two fits.
TEST_PARAMETERS = {
    "spline-regression": {"n_knots": 20},
    "svc": {"tol": 1e-10},
    "hard-margin-svc": {"kernel": "rbf", "gamma": 5.0, "tol": 1e-10},  # separable whatever the labels of the checks
    "linear-svc": {"tol": 1e-12},
    "kernel-regression": {"gamma": 20.0},
    "svr": {"tol": 1e-10},
    "gaussian-process-regressor": {"max_iter": 20},
    "gaussian-process-classifier": {"max_iter": 20},
    "sparse-gaussian-process-regressor": {"max_iter": 20, "n_inducing": 30},
    "quadratic-discriminant-analysis": {"reg_param": 0.1},
    "bagging-classifier": {"n_estimators": 5, "oob_score": True},
    "bagging-regressor": {"n_estimators": 5, "oob_score": True},
    "random-forest-classifier": {"n_estimators": 5, "oob_score": True},
    "random-forest-regressor": {"n_estimators": 5, "oob_score": True},
    "extra-trees-classifier": {"n_estimators": 5},
    "extra-trees-regressor": {"n_estimators": 5, "min_samples_leaf": 1},
    "adaboost-classifier": {"n_estimators": 5},
    "adaboost-regressor": {"n_estimators": 5},
    "gradient-boosting-classifier": {"n_estimators": 10},
    "gradient-boosting-regressor": {"n_estimators": 10},
    "hist-gradient-boosting-classifier": {"max_iter": 10, "min_samples_leaf": 1},
    "hist-gradient-boosting-regressor": {"max_iter": 10, "min_samples_leaf": 1},
    "kmeans": {"n_clusters": 3, "n_init": 2, "max_iter": 20},
    "gaussian-mixture": {"n_components": 2, "max_iter": 20},
    "kernel-density": {"bandwidth": 0.2},
    "sum-product-network": {"min_rows": 20},
    "pca": {"n_components": 1},
    "fast-ica": {"max_iter": 50},
    "correspondence-analysis": {"n_components": 1},
    "mds": {"max_iter": 20},
    "isomap": {"n_components": 1, "n_neighbors": 5},
    "t-sne": {"perplexity": 2.0, "max_iter": 60},
    "umap": {"n_neighbors": 3, "n_epochs": 30},
    "mlp-classifier": {"hidden_layer_sizes": (16,), "max_iter": 10, "learning_rate_init": 0.02, "batch_size": 32},
    "mlp-regressor": {"hidden_layer_sizes": (16,), "max_iter": 10, "learning_rate_init": 0.02, "batch_size": 32},
    "cnn-classifier": {"max_iter": 10, "learning_rate_init": 0.01, "batch_size": 32},
    "cnn-regressor": {"max_iter": 15, "learning_rate_init": 0.02, "batch_size": 32},
    "neural-classifier": {"dtype": "float64", "max_iter": 10, "learning_rate_init": 0.02, "batch_size": 32},
    "neural-regressor": {"dtype": "float64", "max_iter": 10, "learning_rate_init": 0.02, "batch_size": 32},
    "hog": {"cell": 2},
    "visual-words": {"n_words": 4},
    "sequence-classifier": {"cell": "gru", "hidden_size": 8, "max_iter": 8, "learning_rate_init": 0.05},
    "sequence-regressor": {"cell": "gru", "hidden_size": 16, "max_iter": 25, "learning_rate_init": 0.03},
    "object-detector": {"architecture": "yolo", "base_channels": 4, "max_iter": 3, "batch_size": 4},
    "segmenter": {"architecture": "fcn", "depth": 1, "base_channels": 4, "max_iter": 3, "batch_size": 4},
    "simclr": {"encoder": ("conv 4 3", "pool 2"), "n_components": 6, "n_projected": 4, "max_iter": 3, "batch_size": 64},
    "clip": {"encoder": ("conv 4 3", "pool 4"), "n_components": 8, "max_iter": 3, "batch_size": 4},
    "vae": {"hidden_layer_sizes": (16,), "n_components": 2, "max_iter": 3},
}

BOOTSTRAP = "a bootstrap draws rows, so a row of weight two and two equal rows are drawn with different luck"

FLOAT32 = "a network computes in float32, where a weighted sum and the sum of repeated rows round differently"

# scikit-learn's checks that a model cannot pass, each with the reason.
EXPECTED_FAILURES = {
    **{
        name: {f"check_sample_weight_equivalence_on_{kind}_data": BOOTSTRAP for kind in ("dense", "sparse")}
        for name in ("bagging-classifier", "bagging-regressor", "random-forest-classifier", "random-forest-regressor")
    },
    **{name: {"check_sample_weight_equivalence_on_dense_data": FLOAT32} for name in ("cnn-classifier",)},
}

OUTPUTS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


TORCH_PACKAGES = {
    "neural",
    "generative",
    "text",
    "detection",
    "segmentation",
    "representation",
    "graphs",
    "physics",
    "meta",
}


def ids(entry):
    return entry.name


def uses_torch(entry):
    return entry.path.split(".")[1] in TORCH_PACKAGES or entry.name == "pseudo-label"


def build(entry, **params):
    cls = catalog.class_of(entry.name)
    chosen = {**TEST_PARAMETERS.get(entry.name, {}), **params}
    if "random_state" in parameters_of(cls):
        chosen.setdefault("random_state", 0)
    return cls(**chosen)


def pictures(task):
    """Scenes of shapes with what the task learns: boxes, masks or captions."""
    scenes = shape_scenes(np.random.default_rng(0), n_samples=12, side=16, sizes=(6, 9), n_objects=(1, 2))
    captions = [" and ".join(f"a {SHAPES[label]}" for label in boxes.labels) for boxes in scenes.boxes]
    return scenes.images, {"detection": scenes.boxes, "segmentation": scenes.masks, "retrieval": captions}[task]


def problem(entry):
    """X and y (None where the task has none), scaled so that every family can work with them."""
    if entry.task in ("detection", "segmentation", "retrieval"):
        return pictures(entry.task)
    if entry.task == "classification":
        X, y = load_iris(return_X_y=True)
    elif entry.task == "regression":
        X, y = load_diabetes(return_X_y=True)
        X, y = X[:150], y[:150]
    else:
        X, y = make_blobs(120, 4, centers=3, random_state=0)
        y = y if build(entry).__sklearn_tags__().target_tags.required else None
    X = np.asarray(X, dtype=float)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))  # non-negative: some models count
    rows = np.random.default_rng(0).permutation(len(X))
    return X[rows], None if y is None else y[rows]


def as_array(said):
    """An array of what a model says; of all images one after another where each has boxes of its own."""
    if isinstance(said, list) and said and isinstance(said[0], Boxes):
        return np.concatenate([np.column_stack([boxes.xyxy, boxes.labels, boxes.scores]) for boxes in said])
    return np.asarray(said)


def outputs(model, X):
    """Every array the fitted model gives for X."""
    said = {name: as_array(getattr(model, name)(X)) for name in OUTPUTS if hasattr(model, name)}
    if hasattr(model, "sample"):
        said["sample"] = np.asarray(model.sample(5, random_state=1))
    return said


def assert_same_bits(got, expected):
    assert got.keys() == expected.keys()
    assert got, "a model that says nothing proves nothing"
    for name in expected:
        np.testing.assert_array_equal(got[name], expected[name], err_msg=name)
