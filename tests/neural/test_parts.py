"""Parts chosen by name or as objects in every network: fits, clones, searches, files and resumes with the same bits."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_friedman1
from sklearn.model_selection import GridSearchCV

import margin
import margin.graphs.generators
from margin import catalog
from margin.core.parts import Part
from margin.neural import activations, initialize, losses, normalization, regularizers
from margin.neural.parts import choose, describe
from margin.store.container import StoreError
from margin.store.models import load_state, save_state

XC, YC = load_iris(return_X_y=True)
XR, YR = make_friedman1(120, random_state=0)
IMAGES, DIGITS = load_digits(return_X_y=True)
IMAGES, DIGITS = IMAGES[:120].reshape(-1, 8, 8), DIGITS[:120]
SERIES = XR[:, :6].reshape(120, 3, 2)

ROWS = {"max_iter": 3, "random_state": 0}
MODELS = {
    "mlp-classifier": ({**ROWS, "hidden_layer_sizes": (6, 5)}, XC, YC),
    "mlp-regressor": ({**ROWS, "hidden_layer_sizes": (6, 5)}, XR, np.abs(YR)),
    "tabular-net-classifier": (ROWS, XC, YC),
    "tabular-net-regressor": (ROWS, XR, np.abs(YR)),
    "cnn-classifier": ({**ROWS, "max_iter": 2, "architecture": ["conv 4 3", "pool 2", "residual 4", "dense 6"]},
                       IMAGES, DIGITS),
    "cnn-regressor": ({**ROWS, "max_iter": 2, "width": 0.5}, IMAGES, DIGITS.astype(float)),
    "neural-classifier": (ROWS, XC, YC),
    "neural-regressor": (ROWS, XR, np.abs(YR)),
    "sequence-classifier": ({**ROWS, "hidden_size": 4}, SERIES, YR > 14),
    "sequence-regressor": ({**ROWS, "hidden_size": 4}, SERIES, np.abs(YR)),
    "vision-transformer": ({**ROWS, "max_iter": 1, "d_model": 8, "n_heads": 2, "n_blocks": 1}, IMAGES, DIGITS),
}  # fmt: skip

WORDS = ["good fine nice", "bad poor awful", "nice good", "awful bad"] * 6
GRAPHS = [margin.graphs.generators.ring(n) for n in (3, 4, 5, 8, 9, 10) for _ in range(4)]
MODELS |= {
    "text-classifier": ({**ROWS, "max_iter": 2}, WORDS, ["up", "down", "up", "down"] * 6),
    "graph-classifier": ({**ROWS, "max_iter": 2}, GRAPHS, [len(graph) > 6 for graph in GRAPHS]),
    "node-classifier": ({**ROWS, "max_iter": 2}, XC, YC),
}

TARGETS = [losses.Huber(2.0), losses.Pinball(0.3), losses.NormalLikelihood(), *losses.TARGET_LOSSES]
CLASSES = [losses.CrossEntropy(label_smoothing=0.1), losses.MarginLoss(0.5), *losses.CLASS_LOSSES]
UNITS = ["mish", "sine", "gaussian", "relu_squared", activations.ELU(0.5), activations.LeakyReLU(0.2)]
STARTS = [*initialize.INITIALIZERS, initialize.HeInitializer("mean", "uniform"), initialize.OrthogonalInitializer(1.4)]
ROW_NORMS = [*normalization.ROW_NORMS, normalization.BatchNormalization(momentum=0.3)]
IMAGE_NORMS = [*normalization.IMAGE_NORMS, normalization.GroupNormalization(groups=2)]
WEIGHTS = [*regularizers.REGULARIZERS, regularizers.L1(0.1), regularizers.MaxNorm(0.7)]

CHOICES = {
    "mlp-classifier": {"loss": CLASSES, "activation": [*UNITS, "maxout", activations.MaxoutUnits(3)],
                       "initializer": STARTS, "norm": ROW_NORMS, "regularizer": WEIGHTS},
    "mlp-regressor": {"loss": TARGETS, "activation": UNITS[:1], "initializer": STARTS[:1], "norm": ROW_NORMS[:1]},
    "tabular-net-classifier": {"loss": CLASSES, "activation": UNITS, "regularizer": WEIGHTS[:1]},
    "tabular-net-regressor": {"loss": TARGETS},
    "cnn-classifier": {"loss": CLASSES, "activation": UNITS, "initializer": STARTS, "norm": IMAGE_NORMS,
                       "regularizer": WEIGHTS[:1]},
    "cnn-regressor": {"loss": TARGETS, "norm": IMAGE_NORMS[:1]},
    "neural-classifier": {"loss": CLASSES, "regularizer": WEIGHTS[:1]},
    "neural-regressor": {"loss": TARGETS},
    "sequence-classifier": {"loss": CLASSES},
    "sequence-regressor": {"loss": TARGETS},
    "text-classifier": {"loss": CLASSES},
    "graph-classifier": {"loss": CLASSES},
    "node-classifier": {"loss": CLASSES},
    "vision-transformer": {"loss": CLASSES[:1], "regularizer": WEIGHTS[-1:]},
}  # fmt: skip
CASES = [(name, key, value) for name, keys in CHOICES.items() for key, values in keys.items() for value in values]


# The default itself, or a bound that no weight of a short fit reaches.
LIKE_THE_DEFAULT = [
    *((name, "loss", "cross_entropy") for name in CHOICES),
    *((name, "loss", "squared_error") for name in CHOICES),
    ("tabular-net-classifier", "loss", losses.CrossEntropy(label_smoothing=0.1)),
    ("mlp-classifier", "regularizer", "max_norm"),
]


def build(name, **chosen_parts):
    params, X, y = MODELS[name]
    return catalog.create(name, **params, **chosen_parts), X, y


def outputs(model, X):
    return [getattr(model, name)(X) for name in ("predict", "predict_proba") if hasattr(model, name)]


@pytest.mark.parametrize(("name", "key", "value"), CASES, ids=lambda part: str(part))
def test_a_part_is_used_cloned_and_stored(name, key, value, tmp_path):
    model, X, y = build(name, **{key: value})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X, y)
        plain = build(name)[0].fit(X, y)
    assert getattr(fitted, key) == value
    assert all(np.isfinite(said).all() for said in outputs(fitted, X) if said.dtype.kind == "f")
    if (name, key, value) not in LIKE_THE_DEFAULT:
        assert not all(np.array_equal(a, b) for a, b in zip(fitted.weights_.values(), plain.weights_.values()))
    margin.save(fitted, tmp_path / "model.margin")
    again = margin.load(tmp_path / "model.margin")
    assert getattr(again, key) == value
    for ours, theirs in zip(outputs(again, X), outputs(fitted, X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


RESUMED = {
    "mlp-classifier": {"loss": losses.MarginLoss(0.5), "norm": "batch", "initializer": "orthogonal",
                       "activation": activations.ELU(0.5), "regularizer": regularizers.MaxNorm(1.0), "dropout": 0.2},
    "mlp-regressor": {"loss": losses.NormalLikelihood(), "norm": "rms", "activation": "maxout"},
    "cnn-classifier": {"loss": losses.CrossEntropy(0.1), "norm": "batch", "initializer": "he_uniform",
                       "activation": "mish", "regularizer": "l1"},
    "cnn-regressor": {"loss": losses.Huber(0.5), "norm": "instance"},
    "tabular-net-regressor": {"loss": losses.LaplaceLikelihood(), "activation": activations.LeakyReLU(0.3)},
    "sequence-regressor": {"loss": losses.Pinball(0.2)},
    "neural-regressor": {"loss": losses.Huber(2.0)},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_fit_with_parts_has_the_same_bits(name, tmp_path):
    model, X, y = build(name, **RESUMED[name], record_steps=2)
    whole = clone(model)
    records = list(whole.iterate(X, y))
    cut = max(1, len(records) // 2)
    first = clone(model)
    list(itertools.islice(first.iterate(X, y), cut))
    save_state(first.get_state(), tmp_path / "state")
    state, _ = load_state(tmp_path / "state")
    second = clone(model)
    list(second.iterate(X, y, state=state))
    for key, array in whole.weights_.items():
        np.testing.assert_array_equal(second.weights_[key], array)
    for ours, theirs in zip(outputs(second, X), outputs(whole, X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_grid_reaches_into_a_part():
    model, X, y = build("mlp-regressor", loss=losses.Huber())
    search = GridSearchCV(model, {"loss__delta": [0.1, 5.0]}, cv=2).fit(X, y)
    assert search.best_params_["loss__delta"] in (0.1, 5.0)
    assert model.get_params()["loss__delta"] == 1.0
    assert model.set_params(loss__delta=3.0).loss == losses.Huber(3.0)


@pytest.mark.parametrize("name", ["autoencoder", "vae", "few-shot-learner", "neural-ode"])
@pytest.mark.parametrize("activation", ["mish", activations.ELU(0.5)], ids=str)
def test_other_networks_take_activations_too(name, activation, tmp_path):
    X = {"neural-ode": XR.reshape(60, 10, 2), "few-shot-learner": XC}.get(name, XR)
    episodes = {"ways": 3} if name == "few-shot-learner" else {}
    model = catalog.create(name, activation=activation, max_iter=2, random_state=0, **episodes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, YC) if name == "few-shot-learner" else model.fit(X)
    margin.save(model, tmp_path / "model.margin")
    again = margin.load(tmp_path / "model.margin")
    assert again.activation == activation
    for key, array in model.weights_.items():
        np.testing.assert_array_equal(again.weights_[key], array)


def test_a_file_with_a_wrong_part_is_refused(tmp_path):
    """Writing checks no parameters, reading does: what is no loss, and a loss that is out of its domain."""
    for wrong in (margin.Ridge(), losses.Huber(-1.0), losses.CrossEntropy(), "hubert", {"name": "huber"}):
        margin.save(margin.MLPRegressor(loss=wrong), tmp_path / "model.margin")
        with pytest.raises(StoreError, match=r"loss must be|delta must be"):
            margin.load(tmp_path / "model.margin")
    network = margin.MLPRegressor((3,), activation=activations.ELU(0.5), max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(XR, YR)
    for wrong in ({"name": "elu", "alpha": -1.0}, {"name": "exec"}, {"name": "elu", "alpha": "x"}, {"name": ["elu"]}):
        network.network_["activation"] = wrong
        margin.save(network, tmp_path / "model.margin")
        with pytest.raises(StoreError, match="describes no part"):
            margin.load(tmp_path / "model.margin")


def test_a_search_tries_the_usual_activations_only():
    draw = margin.search_space(margin.MLPClassifier)["activation"]
    drawn = {draw.rvs(random_state=seed) for seed in range(60)}
    assert drawn <= set(activations.USUAL)
    assert "loss" not in margin.search_space(margin.MLPClassifier)


class OwnLoss(losses.TargetLoss):
    """A loss of a user's."""

    def __call__(self, outputs, target, training=True):
        return (outputs - target).abs().sqrt().mean(dim=-1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_users_own_loss_trains_and_is_refused_by_a_file(tmp_path):
    model, X, y = build("mlp-regressor", loss=OwnLoss())
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    with pytest.raises(StoreError, match="OwnLoss, which is not in the registry"):
        margin.save(model, tmp_path / "model.margin")


def test_a_warm_start_refuses_other_layers():
    model, X, y = build("mlp-classifier", norm="layer", warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y).fit(X, y)
    with pytest.raises(
        ValueError, match="warm_start must go on with the norm and units of the last fit; got norm None"
    ):
        model.set_params(norm=None).fit(X, y)
    cnn, X, y = build("cnn-classifier", warm_start=True)
    cnn.fit(X, y)
    with pytest.raises(ValueError, match="warm_start must go on with the network of the last fit, whose norm is None"):
        cnn.set_params(norm="group").fit(X, y)


def test_a_norm_stands_behind_every_convolution():
    from margin.neural.nets.images import image_network

    net = image_network("lenet-5", (1, 28, 28), 10, norm="group")
    names = [type(layer).__name__ for layer in net]
    assert names[:3] == ["Conv2d", "GroupNorm", "ReLU"]
    assert names.count("GroupNorm") == 2
    assert net[0].bias is None
    residual = image_network("resnet-8", (1, 8, 8), 10, norm="layer")
    assert not any(type(layer).__name__ == "BatchNorm" for layer in residual.modules())


def test_parts_in_files_are_checked():
    table = activations.ACTIVATIONS
    assert describe("activation", "relu", table) == "relu"
    assert describe("activation", activations.ELU(0.5), table) == {"name": "elu", "alpha": 0.5}
    for wrong in ("swish", {"name": "elu", "alpha": -1}, {"name": "elu", "beta": 1}, {"alpha": 1.0}, 3, None):
        with pytest.raises((ValueError, TypeError)):
            choose("activation", wrong, table)

    class Own(activations.Activation):
        name = "own"

    with pytest.raises(ValueError, match=r"must be an object of a class of the library.*got Own"):
        describe("activation", Own(), table)


def test_every_part_of_the_tables_is_in_the_registry():
    tables = [
        losses.TARGET_LOSSES, losses.CLASS_LOSSES, activations.ACTIVATIONS, {"maxout": activations.MaxoutUnits},
        initialize.INITIALIZERS, normalization.NORMALIZATIONS, regularizers.REGULARIZERS,
    ]  # fmt: skip
    for table in tables:
        for make in table.values():
            part = make()
            assert isinstance(part, Part)
            assert catalog.name_of(part) is not None, type(part).__name__
