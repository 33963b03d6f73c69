"""One small problem per task, and everything a fitted model can say about it: what the contracts compare."""

import numpy as np
from sklearn.datasets import load_diabetes, load_iris, make_blobs

from margin import catalog
from margin.core.parameters import parameters_of
from margin.data.boxes import Boxes
from margin.data.scenes import SHAPES, shape_scenes
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
    "gaussian-hmm": {"n_components": 2, "max_iter": 20},
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
    "tabular-net-classifier": {"hidden_layer_sizes": (8,), "max_iter": 30, "early_stopping": False, "batch_size": 256},
    "tabular-net-regressor": {"hidden_layer_sizes": (8,), "max_iter": 50, "early_stopping": False, "batch_size": 256},
    "cnn-classifier": {"max_iter": 10, "learning_rate_init": 0.01, "batch_size": 32},
    "vision-transformer": {
        "patch_size": 1,
        "d_model": 8,
        "n_heads": 2,
        "n_blocks": 1,
        "max_iter": 15,
        "learning_rate_init": 0.02,
        "batch_size": 32,
    },
    "cnn-regressor": {"max_iter": 15, "learning_rate_init": 0.02, "batch_size": 32},
    "neural-classifier": {"dtype": "float64", "max_iter": 10, "learning_rate_init": 0.02, "batch_size": 32},
    "neural-regressor": {"dtype": "float64", "max_iter": 10, "learning_rate_init": 0.02, "batch_size": 32},
    "hog": {"cell": 2},
    "visual-words": {"n_words": 4},
    "sequence-classifier": {"cell": "gru", "hidden_size": 8, "max_iter": 8, "learning_rate_init": 0.05},
    "sequence-regressor": {"cell": "gru", "hidden_size": 16, "max_iter": 25, "learning_rate_init": 0.03},
    "forecaster": {"window_length": 4, "horizon": 2},
    "latent-dirichlet-allocation": {"n_components": 2, "max_iter": 5},
    "word2vec": {"vector_size": 4, "min_count": 1, "max_iter": 4},
    "glove": {"vector_size": 4, "min_count": 1, "max_iter": 4},
    "token-tagger": {"d_model": 8, "hidden_size": 8, "max_iter": 4, "learning_rate_init": 0.02},
    "text-classifier": {"d_model": 8, "max_iter": 4, "learning_rate_init": 0.02},
    "language-model": {
        "d_model": 8,
        "n_heads": 2,
        "n_blocks": 1,
        "context": 8,
        "batch_size": 8,
        "max_iter": 3,
        "learning_rate_init": 0.02,
    },
    "masked-language-model": {"d_model": 8, "n_heads": 2, "n_blocks": 1, "context": 16, "max_iter": 3},
    "translator": {"tokens": "char", "d_model": 8, "n_heads": 2, "n_blocks": 1, "context": 48, "max_iter": 2},
    "gan": {"hidden_layer_sizes": (16,), "n_components": 2, "max_iter": 3},
    "cyclegan": {"hidden_layer_sizes": (8,), "max_iter": 3},
    "diffusion-model": {"hidden_layer_sizes": (16,), "n_steps": 10, "bound_samples": 2, "max_iter": 3},
    "object-detector": {"architecture": "yolo", "base_channels": 4, "max_iter": 3, "batch_size": 4},
    "segmenter": {"architecture": "fcn", "depth": 1, "base_channels": 4, "max_iter": 3, "batch_size": 4},
    "simclr": {"encoder": ("conv 4 3", "pool 2"), "n_components": 6, "n_projected": 4, "max_iter": 3, "batch_size": 64},
    "clip": {"encoder": ("conv 4 3", "pool 4"), "n_components": 8, "max_iter": 3, "batch_size": 4},
    "flow-matching": {"hidden_layer_sizes": (16,), "n_steps": 10, "bound_samples": 2, "max_iter": 3},
    "latent-diffusion": {
        "autoencoder": catalog.class_of("vae")(2, (8,), max_iter=2, record_steps=2),
        "diffusion": catalog.class_of("diffusion-model")((16,), n_steps=10, max_iter=2, record_steps=2),
    },
    "score-model": {"hidden_layer_sizes": (16,), "n_levels": 3, "steps_per_level": 2, "max_iter": 3},
    "table-synthesizer": {
        "model": catalog.class_of("diffusion-model")((16,), n_steps=10, max_iter=3, record_steps=2, batch_size=32)
    },
    "vae": {"hidden_layer_sizes": (16,), "n_components": 2, "max_iter": 3},
    "autoencoder": {"hidden_layer_sizes": (16,), "n_components": 2, "max_iter": 3},
    "sparse-autoencoder": {"expansion": 2.0, "max_iter": 3},
    "normalizing-flow": {"hidden_layer_sizes": (16,), "n_blocks": 2, "max_iter": 3},
    "node-classifier": {"width": 16, "max_iter": 60, "learning_rate_init": 0.03},
    "graph-classifier": {"width": 16, "n_layers": 2, "max_iter": 12, "learning_rate_init": 0.02, "batch_size": 32},
    "graph-regressor": {"width": 16, "n_layers": 2, "max_iter": 15, "learning_rate_init": 0.02, "batch_size": 32},
    "link-predictor": {"width": 8, "max_iter": 10},
    "pinn": {"hidden_layer_sizes": (16,), "max_iter": 40},
    "neural-ode": {"hidden_layer_sizes": (8,), "interval": 0.2, "window": 3, "steps": 1, "max_iter": 5},
    "few-shot-learner": {"ways": 2, "queries": 2, "hidden_layer_sizes": (16,), "episodes": 20, "max_iter": 4},
}

BOOTSTRAP = "a bootstrap draws rows, so a row of weight two and two equal rows are drawn with different luck"

FLOAT32 = "a network computes in float32, where a weighted sum and the sum of repeated rows round differently"

TIME = "the rows of X are steps in time that follow the fitted series, so their order and number decide the forecast"

# scikit-learn's checks that a model cannot pass, each with the reason.
EXPECTED_FAILURES = {
    **{
        name: {f"check_sample_weight_equivalence_on_{kind}_data": BOOTSTRAP for kind in ("dense", "sparse")}
        for name in ("bagging-classifier", "bagging-regressor", "random-forest-classifier", "random-forest-regressor")
    },
    **{
        name: {"check_sample_weight_equivalence_on_dense_data": FLOAT32}
        for name in ("cnn-classifier", "vision-transformer")
    },
    "forecaster": {
        "check_methods_sample_order_invariance": TIME,
        "check_methods_subset_invariance": TIME,
    },
}

OUTPUTS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


TORCH_PACKAGES = tuple(
    f"margin.{name}."
    for name in (
        *("neural", "generative", "representation", "graphs", "physics", "meta"),
        *("vision.detection", "vision.segmentation"),
    )
)


def ids(entry):
    return entry.name


def uses_torch(entry):
    if entry.family == "text":
        return issubclass(catalog.class_of(entry.name), NeuralEstimator)
    return entry.path.startswith(TORCH_PACKAGES) and entry.name != "self-training-classifier"


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
    if task == "translation":
        return X, [" ".join(reversed(text.split())) for text in X]
    return X, subjects if task == "classification" else None


def pictures(task):
    """Scenes of shapes with what the task learns: boxes, masks or captions."""
    scenes = shape_scenes(np.random.default_rng(0), n_samples=12, side=16, sizes=(6, 9), n_objects=(1, 2))
    captions = [" and ".join(f"a {SHAPES[label]}" for label in boxes.labels) for boxes in scenes.boxes]
    return scenes.images, {"detection": scenes.boxes, "segmentation": scenes.masks, "retrieval": captions}[task]


def graphs(name):
    """Nodes of two blocks, rings and trees, or links: a graph or several, and what is to be learned about them."""
    from margin.graphs.generators import block_model, rings_and_trees

    if name in ("node-classifier", "link-predictor"):
        graph = block_model([20, 20], 0.3, 0.05, random_state=0)
        return graph, graph.target if name == "node-classifier" else None
    several, closed = rings_and_trees(40, random_state=0)
    return several, closed if name == "graph-classifier" else np.array([float(len(graph)) for graph in several])


def trajectories():
    """Three circles from different starts, (3, 20, 2)."""
    angle = 0.2 * np.arange(20) + np.arange(3)[:, None]
    return np.stack([np.cos(angle), np.sin(angle)], axis=2)


def seasons():
    """A series with seasons of 6 that grow with its level, and one exogenous column that moves it."""
    t = np.arange(90)
    X = np.random.default_rng(0).normal(size=(90, 1))
    return X, (5 + 0.1 * t) * (2 + np.sin(2 * np.pi * t / 6)) + X[:, 0]


def two_sets():
    """Rows of four columns and fewer rows of three, none of which belongs to one of the others."""
    rng = np.random.default_rng(0)
    return rng.random((120, 4)), rng.normal(size=(90, 3)) * [1.0, 0.2, 3.0]


def is_table(X):
    """Whether ``X`` is rows of columns, which scikit-learn's scalers can be put in front of."""
    return isinstance(X, np.ndarray) and X.ndim == 2


def problem(entry):
    """X and y (None where the task has none), scaled so that every family can work with them."""
    if entry.data == "text":
        return texts(entry.task)
    if entry.task in ("detection", "segmentation", "retrieval"):
        return pictures(entry.task)
    if entry.data == "graph":
        return graphs(entry.name)
    if entry.name == "neural-ode":
        return trajectories(), None
    if entry.name == "forecaster":
        return seasons()
    if entry.name == "cyclegan":
        return two_sets()
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
    """An array of what a model says; of texts and images with several answers each, one after another."""
    if isinstance(said, list) and said and isinstance(said[0], Boxes):
        return np.concatenate([np.column_stack([boxes.xyxy, boxes.labels, boxes.scores]) for boxes in said])
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
