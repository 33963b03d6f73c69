"""One small problem per task, and everything a fitted model can say about it: what the contracts compare."""

import numpy as np
from sklearn.datasets import load_diabetes, load_iris, make_blobs

from margin import catalog
from margin.core.parameters import parameters_of
from margin.neural.estimators.base import NeuralEstimator

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
    "latent-dirichlet-allocation": {"n_components": 2, "max_iter": 5},
    "word2vec": {"vector_size": 4, "min_count": 1, "max_iter": 4},
    "glove": {"vector_size": 4, "min_count": 1, "max_iter": 4},
    "token-tagger": {"d_model": 8, "hidden_size": 8, "max_iter": 4, "learning_rate_init": 0.02},
    "text-classifier": {"d_model": 8, "max_iter": 4, "learning_rate_init": 0.02},
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


TORCH_PACKAGES = {"neural", "generative", "detection", "graphs", "physics", "meta"}


def ids(entry):
    return entry.name


def uses_torch(entry):
    if entry.family == "text":
        return issubclass(catalog.class_of(entry.name), NeuralEstimator)
    return entry.family in TORCH_PACKAGES or entry.name == "pseudo-label"


def build(entry, **params):
    cls = catalog.class_of(entry.name)
    chosen = {**TEST_PARAMETERS.get(entry.name, {}), **params}
    if "random_state" in parameters_of(cls):
        chosen.setdefault("random_state", 0)
    return cls(**chosen)


def texts(task):
    """Short sentences on two subjects, and their labels or the tags of their words where the task has them."""
    rng = np.random.default_rng(0)
    words, subjects = [[f"{name}{i}" for i in range(5)] for name in ("sea", "wine")], rng.integers(2, size=60)
    X = [" ".join(rng.choice(words[subject], rng.integers(2, 7))) for subject in subjects]
    if task == "tagging":
        return X, [" ".join("S" if word.startswith("sea") else "W" for word in text.split()) for text in X]
    return X, subjects if task == "classification" else None


def problem(entry):
    """X and y (None where the task has none), scaled so that every family can work with them."""
    if entry.data == "text":
        return texts(entry.task)
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


def as_array(said):
    """An array of what a model says; of texts, what it says of all words one after another."""
    per_text = isinstance(said, list) and said and isinstance(said[0], list | np.ndarray)
    return np.concatenate([np.asarray(part) for part in said]) if per_text else np.asarray(said)


def outputs(model, X):
    """Every array the fitted model gives for X."""
    said = {name: as_array(getattr(model, name)(X)) for name in OUTPUTS if hasattr(model, name)}
    if callable(getattr(model, "sample", None)):  # word2vec has a parameter of this name
        said["sample"] = np.asarray(model.sample(5, random_state=1))
    return said


def assert_same_bits(got, expected):
    assert got.keys() == expected.keys()
    assert got, "a model that says nothing proves nothing"
    for name in expected:
        np.testing.assert_array_equal(got[name], expected[name], err_msg=name)
