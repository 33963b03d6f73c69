"""Which stage each model of the catalog stands on, with what, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from margin import catalog
from margin.lab.stages.equations import plate_edges, plate_residual
from margin.lab.stages.exhibits import EXHIBITS
from margin.lab.stages.parts import code_diffusion, digit_coder, small_network, smooth_classifier
from margin.lab.stages.scene import Made, StageScene

__all__ = ["SCENES", "scene_of"]

TWO_CLASSES = ("moons", "spirals", "circles", "xor", "separable", "three_blobs")
CURVES = ("wave", "line", "steps", "widening")
GROUPS = ("clouds", "three_blobs", "ring", "moons")
DENSE = ("ring", "clouds", "moons", "spirals")


def _classes(*first: str, **params: Any) -> StageScene:
    """Points of classes in the plane, the model's regions behind them."""
    return StageScene("plane", tuple(dict.fromkeys((*first, *TWO_CLASSES))), "regions", params)


def _curve(*first: str, **params: Any) -> StageScene:
    return StageScene("curve", tuple(dict.fromkeys((*first, *CURVES))), "curve", params)


def _table(scene: StageScene, *tables: str) -> StageScene:
    """The same, and with tables of which each column has a weight or an importance."""
    return replace(scene, tables=tables or (("wines",) if scene.kind == "plane" else ("patients",)))


def _density(view: str = "density", **params: Any) -> StageScene:
    return StageScene("plane", DENSE, view, params)


def _map(*data: str, **params: Any) -> StageScene:
    """Rows of many columns drawn in the plane."""
    return StageScene("plane", data, "embedding", params)


def _pictures(view: str, data: str, **params: Any) -> StageScene:
    return StageScene("pictures", (data,), view, params)


def _text(view: str, data: str, **params: Any) -> StageScene:
    return StageScene("text", (data,), view, params)


SMALL_NET = {"hidden_layer_sizes": (16, 16), "max_iter": 200, "learning_rate_init": 0.02, "batch_size": 64}
TABULAR = {"hidden_layer_sizes": (32,), "max_iter": 200, "learning_rate_init": 0.05, "early_stopping": False}
DIGIT = {"image_shape": (8, 8)}  # flat rows would be taken for pictures one pixel high
SMALL_CONVOLUTION = ("conv 8 3", "pool 2", "dense 32")
DEEP_PLANE = {"hidden_layer_sizes": (64, 64), "max_iter": 150, "batch_size": 128, "record_steps": 4}

LINEAR = {
    "linear-regression": _table(_curve("line")),
    "ridge": _table(_curve("line")),
    "logistic-regression": _table(_classes("separable")),
    "lasso": replace(_table(_curve("line", alpha=0.1)), table_first=True),
    "elastic-net": replace(_table(_curve("line", alpha=0.1)), table_first=True),
    "basis-regression": _curve(),
    "polynomial-regression": _curve(degree=5),
    "spline-regression": _curve(n_knots=8),
    "heteroscedastic-regression": _curve("widening", degree=5),
}

KERNELS = {
    "svc": _classes("moons"),
    "hard-margin-svc": _classes("separable", kernel="linear"),
    "linear-svc": _table(_classes("separable")),
    "kernel-ridge": _curve(kernel="rbf", gamma=1.0, alpha=0.1),
    "kernel-regression": _curve(gamma=5.0),
    "svr": _curve(gamma=1.0),
    "gaussian-process-regressor": _curve(max_iter=30),
    "gaussian-process-classifier": _classes(max_iter=20),
    "sparse-gaussian-process-regressor": _curve(max_iter=30, n_inducing=8),
}

NEIGHBORS = {
    "k-neighbors-classifier": _classes(),
    "k-neighbors-regressor": _curve(),
    "histogram-density": _density(),
    "kernel-density": _density(bandwidth=0.2),
}

BAYES = {
    "gaussian-nb": _classes("three_blobs"),
    "multinomial-nb": StageScene("plane", ("counts",), "regions"),
    "bernoulli-nb": StageScene("plane", ("xor", "moons"), "regions"),
    "categorical-nb": StageScene("plane", ("cells",), "cells"),
    "linear-discriminant-analysis": _table(_classes("three_blobs")),
    "quadratic-discriminant-analysis": _classes("three_blobs"),
}

TREES = {
    "decision-tree-classifier": _table(_classes("moons", max_depth=4)),
    "decision-tree-regressor": _table(_curve("steps", max_depth=3)),
    "bagging-classifier": _classes(n_estimators=30),
    "bagging-regressor": _curve(n_estimators=30),
    "random-forest-classifier": _table(_classes(n_estimators=40)),
    "random-forest-regressor": _table(_curve(n_estimators=40)),
    "extra-trees-classifier": _table(_classes(n_estimators=40)),
    "extra-trees-regressor": _table(_curve(n_estimators=40)),
    "id3": StageScene("table", ("tennis",), "branches"),
    "c45": _classes("three_blobs"),
    "adaboost-classifier": _table(_classes(n_estimators=40)),
    "adaboost-regressor": _table(_curve(n_estimators=40)),
    "gradient-boosting-classifier": _table(_classes(n_estimators=60)),
    "gradient-boosting-regressor": _table(_curve("steps", n_estimators=60)),
    "hist-gradient-boosting-classifier": _classes(max_iter=60, min_samples_leaf=5),
    "hist-gradient-boosting-regressor": _curve("steps", max_iter=60, min_samples_leaf=3),
}

UNSUPERVISED = {
    "kmeans": StageScene("plane", GROUPS, "clusters", {"n_clusters": 4, "n_init": 1, "init": "random"}),
    "gaussian-mixture": StageScene(
        "plane", GROUPS, "clusters", {"n_components": 4, "init_params": "random_from_data", "tol": 1e-6}
    ),
    "bayesian-network": StageScene(
        # Edges from causes to effects: a search by score cannot tell their direction.
        "network",
        ("sprinkler",),
        "network",
        {"structure": "given", "required_edges": [[0, 1], [0, 2], [1, 3], [2, 3]]},
    ),
    "gaussian-hmm": StageScene("curve", ("regimes",), "states", {"n_components": 3, "tol": 1e-6}),
    "sum-product-network": _density(min_rows=30),
    "pca": StageScene("plane", ("slanted", "mixed_sources"), "axes", {"n_components": 2}),
    "fast-ica": StageScene("plane", ("mixed_sources", "slanted"), "axes"),
    "correspondence-analysis": StageScene("table", ("hair_and_eyes",), "biplot"),
    "mds": _map("digits", max_iter=60),
    "isomap": _map("digits", n_neighbors=8),
    "t-sne": _map("digits", max_iter=500, perplexity=25.0),
    "umap": _map("digits", n_epochs=200),
    "neighborhood-components-analysis": _map("digits", n_components=2, max_iter=50),
}

NEURAL = {
    "mlp-classifier": _classes("spirals", **SMALL_NET),
    "mlp-regressor": _curve(**SMALL_NET),
    "tabular-net-classifier": _classes(**TABULAR),
    "tabular-net-regressor": _curve(**TABULAR),
    "neural-classifier": _classes(max_iter=100, learning_rate_init=0.02, batch_size=64),
    "neural-regressor": _curve(max_iter=100, n_iter_no_change=100, learning_rate_init=0.02, batch_size=64),
    "cnn-classifier": _pictures(
        "readers",
        "digits",
        **DIGIT,
        architecture=SMALL_CONVOLUTION,
        max_iter=15,
        learning_rate_init=0.01,
        batch_size=64,
    ),
    "vision-transformer": _pictures(
        "readers",
        "digits",
        **DIGIT,
        patch_size=2,
        d_model=16,
        n_heads=2,
        n_blocks=1,
        max_iter=20,
        learning_rate_init=0.01,
    ),
    "cnn-regressor": _pictures(
        "measures",
        "slants",
        image_shape=(12, 12),
        architecture=SMALL_CONVOLUTION,
        max_iter=20,
        learning_rate_init=0.01,
    ),
    "sequence-classifier": StageScene(
        "curve", ("rhythms",), "series", {"cell": "gru", "hidden_size": 8, "max_iter": 20, "learning_rate_init": 0.03}
    ),
    "sequence-regressor": StageScene(
        "curve", ("growth",), "series", {"cell": "gru", "hidden_size": 8, "max_iter": 20, "learning_rate_init": 0.03}
    ),
    "forecaster": StageScene("curve", ("passengers",), "forecast"),
    "self-training-classifier": StageScene(
        "plane",
        ("few_labels",),
        "regions",
        {"estimator": Made(smooth_classifier), "criterion": "k_best", "k_best": 10, "max_iter": 20},
    ),
    "pseudo-label": StageScene("plane", ("few_labels",), "regions", {"estimator": Made(small_network)}),
    "domain-adaptation-classifier": StageScene("plane", ("two_instruments",), "adapted"),
    "few-shot-learner": StageScene(
        "plane",
        ("three_blobs",),
        "regions",
        {"ways": 3, "queries": 3, "hidden_layer_sizes": (16,), "n_components": 8, "episodes": 10},
    ),
    "zero-shot": StageScene(
        "table",
        ("animals",),
        "traits",
        {"attributes": {0: [1, 0, 1], 1: [0, 1, 1], 2: [1, 1, 0], 3: [0, 0, 0], 4: [1, 1, 1]}},
    ),
}

GENERATIVE = {
    "vae": StageScene(
        "pictures",
        ("digits",),
        "latent",
        # A divergence of less weight lets classes lie further apart than the prior would have them.
        {
            **{"n_components": 2, "hidden_layer_sizes": (128, 64), "likelihood": "bernoulli", "beta": 0.3},
            **{"max_iter": 60, "learning_rate_init": 0.01, "batch_size": 32},
        },
    ),
    "autoencoder": _pictures("reconstructions", "digits", n_components=6, hidden_layer_sizes=(48,), max_iter=40),
    "sparse-autoencoder": _pictures("reconstructions", "digits", expansion=2.0, max_iter=30),
    "normalizing-flow": _density(n_blocks=3, hidden_layer_sizes=(32,), max_iter=60),
    "gan": _density("samples", hidden_layer_sizes=(48, 48), n_components=4, max_iter=150),
    "cyclegan": StageScene("plane", ("two_sets",), "translated", {"hidden_layer_sizes": (32,), "record_steps": 2}),
    "diffusion-model": _density("path", **DEEP_PLANE),
    "flow-matching": _density("path", **DEEP_PLANE),
    "latent-diffusion": _pictures("drawn", "digits", autoencoder=Made(digit_coder), diffusion=Made(code_diffusion)),
    "score-model": _density("path", **DEEP_PLANE),
    "table-synthesizer": _density("samples"),
}

VISION = {
    "hog": _pictures("features", "digits", **DIGIT, cell=2),
    "image-filter": _pictures("features", "digits", **DIGIT, cutoff=0.2),
    "visual-words": _pictures("features", "shapes", image_shape=(40, 40), n_words=12),
    "object-detector": _pictures(
        "detections", "scenes_with_boxes", architecture="yolo", base_channels=8, max_iter=40, batch_size=8
    ),
    "segmenter": _pictures("masks", "scenes_with_masks", depth=1, base_channels=8, max_iter=30, batch_size=8),
    "simclr": _pictures(
        "embedded", "digits", **DIGIT, encoder=("conv 8 3", "pool 2"), n_components=16, n_projected=8, max_iter=20
    ),
    "clip": _pictures(
        "similarity", "scenes_with_captions", encoder=("conv 8 3", "pool 4"), n_components=16, batch_size=12
    ),
}

TEXT = {
    "latent-dirichlet-allocation": _text("topics", "word_counts", n_components=3, max_iter=15),
    "word2vec": _text("words", "sentences", vector_size=8, min_count=1, max_iter=150),
    "glove": _text("words", "sentences", vector_size=8, min_count=1, max_iter=30),
    "hmm-tagger": _text("tags", "tagged"),
    "crf-tagger": _text("tags", "tagged"),
    "token-tagger": _text("tags", "tagged", d_model=16, hidden_size=16, max_iter=12),
    "text-classifier": _text("opinion", "reviews", d_model=16, max_iter=12),
    "language-model": _text(
        "writing", "story", d_model=32, n_heads=2, n_blocks=2, context=32, max_iter=150, learning_rate_init=0.01
    ),
    "translator": _text("translation", "number_words", tokens="char", d_model=32, n_heads=2, n_blocks=1, max_iter=120),
    "masked-language-model": _text("cloze", "sentences", d_model=16, n_heads=2, n_blocks=1, context=16, max_iter=100),
}

GRAPHS = {
    "node-classifier": StageScene(
        "graph", ("karate_club",), "nodes", {"width": 16, "max_iter": 100}, {"labeled": [0, 33, 1, 32]}
    ),
    "graph-classifier": StageScene(
        "graph", ("rings_and_trees",), "graphs", {"width": 16, "n_layers": 3, "max_iter": 80, "batch_size": 16}
    ),
    "graph-regressor": StageScene(
        "graph",
        ("graph_sizes",),
        "graphs",
        {"width": 16, "n_layers": 2, "max_iter": 80, "batch_size": 16, "learning_rate_init": 0.03},
    ),
    "link-predictor": StageScene("graph", ("communities",), "links", {"width": 16, "max_iter": 60}),
}

PHYSICS = {
    "pinn": StageScene(
        "field",
        ("plate",),
        "solution",
        {"residual": plate_residual, "conditions": Made(plate_edges), "hidden_layer_sizes": (16, 16), "max_iter": 150},
    ),
    "neural-ode": StageScene(
        "field",
        ("circling",),
        "flow",
        {"hidden_layer_sizes": (16,), "interval": 0.2, "window": 5, "steps": 1, "max_iter": 80},
    ),
}

SCENES: Mapping[str, StageScene] = {
    "optimizers": StageScene("landscape", ("rosenbrock", "narrow_ravine", "himmelblau", "beale", "saddle"), "race"),
    **LINEAR,
    **KERNELS,
    **NEIGHBORS,
    **BAYES,
    **TREES,
    **UNSUPERVISED,
    **NEURAL,
    **GENERATIVE,
    **VISION,
    **TEXT,
    **GRAPHS,
    **PHYSICS,
}


def scene_of(model: str) -> StageScene:
    """The scene of a model of the catalog, or of an exhibit."""
    name = model if model in EXHIBITS else catalog.entry(model).name
    if name not in SCENES:
        raise KeyError(f"There is no stage for {model!r}.")
    return SCENES[name]
