"""Attributions asked of estimators: complete in the units of their outputs, and equal to captum's where it is there."""

from functools import cache

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from margin.data.scenes import shape_scenes
from margin.interpretation.networks import attribute_inputs
from margin.linear import Ridge
from margin.neural import (
    CNNClassifier,
    CNNRegressor,
    MLPClassifier,
    MLPRegressor,
    NeuralClassifier,
    NeuralRegressor,
    SequenceClassifier,
)
from margin.representation import CLIP, SimCLR
from margin.vision.detection import ObjectDetector
from margin.vision.segmentation import Segmenter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LAYERS = ["conv 4 3", "conv 6 3", "global-avg-pool"]


def digits():
    data = load_digits(n_class=3)
    return data.images[:60].astype(np.float32), np.array(["zero", "one", "two"])[data.target[:60]]


def table():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, X[:, 0] + np.sin(X[:, 1])


@cache
def models():
    """Fitted networks and what they were fitted to."""
    images, names = digits()
    X, y = table()
    classes = np.where(y > 0, "high", "low")
    series = X[:, :, None]
    short = {"max_iter": 3, "random_state": 0}
    scenes = shape_scenes(np.random.default_rng(0), n_samples=8, side=12, sizes=(5, 7), n_objects=(1, 1))
    return {
        "mlp-classifier": (MLPClassifier((8,), **short).fit(X, classes), X),
        "mlp-regressor": (MLPRegressor((8,), **short).fit(X, 100 + 10 * y), X),
        "poisson-regressor": (MLPRegressor((8,), loss="poisson", **short).fit(X, np.exp(y)), X),
        "neural-classifier": (NeuralClassifier(**short).fit(X, classes), X),
        "neural-regressor": (NeuralRegressor(**short).fit(X, y), X),
        "sequence-classifier": (SequenceClassifier("gru", hidden_size=4, **short).fit(series, classes), series),
        "cnn-classifier": (CNNClassifier(LAYERS, **short).fit(images, names), images),
        "cnn-regressor": (CNNRegressor(LAYERS, **short).fit(images, images.mean(axis=(1, 2))), images),
        "segmenter": (Segmenter("fcn", base_channels=4, **short).fit(scenes.images, scenes.masks), scenes.images),
        "simclr": (SimCLR(LAYERS, n_components=5, **short).fit(images), images),
        "clip": (CLIP(LAYERS, n_components=5, **short).fit(images, names.tolist()), images),
    }


NAMES = (
    *("mlp-classifier", "mlp-regressor", "poisson-regressor", "neural-classifier", "neural-regressor"),
    *("sequence-classifier", "cnn-classifier", "cnn-regressor", "segmenter", "simclr", "clip"),
)


@pytest.mark.parametrize("name", NAMES)
def test_integrated_gradients_add_up_to_the_difference_of_the_outputs(name):
    model, X = models()[name]
    outputs, x = model.differentiable(X[:3])
    baseline = torch.full_like(x, 0.3)
    with torch.no_grad():
        expected = (outputs(x) - outputs(baseline))[:, 1 if name != "cnn-regressor" and outputs(x).shape[1] > 1 else 0]
    label = None if outputs(x).shape[1] == 1 else 1
    if label is not None and hasattr(model, "classes_"):
        label = model.classes_[1]
    found = attribute_inputs(model, X[:3], label, baseline=0.3, steps=300)
    assert found.shape == tuple(x.shape)
    scale = max(1e-3, float(expected.abs().max()))
    np.testing.assert_allclose(found.reshape(3, -1).sum(axis=1), expected.numpy(), atol=0.02 * scale)


@pytest.mark.parametrize("name", ["mlp-regressor", "poisson-regressor", "neural-regressor", "cnn-regressor"])
def test_outputs_are_in_the_units_of_the_target(name):
    model, X = models()[name]
    outputs, x = model.differentiable(X[:5])
    np.testing.assert_allclose(outputs(x).detach().numpy()[:, 0], model.predict(X[:5]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["mlp-classifier", "neural-classifier", "sequence-classifier", "cnn-classifier"])
def test_outputs_are_scores_of_the_classes(name):
    model, X = models()[name]
    outputs, x = model.differentiable(X[:5])
    np.testing.assert_allclose(outputs(x).softmax(dim=1).detach().numpy(), model.predict_proba(X[:5]), atol=1e-5)


def test_occlusion_of_a_column_is_what_the_output_loses():
    model, X = models()["mlp-regressor"]
    painted = X[:4].copy()
    painted[:, 2] = 0.5
    found = attribute_inputs(model, X[:4], method="occlusion", value=0.5)
    assert found.shape == (4, 4)
    np.testing.assert_allclose(found[:, 2], model.predict(X[:4]) - model.predict(painted), rtol=1e-3, atol=1e-3)


def test_maps_of_the_image_and_where_the_two_agree():
    model, X = models()["cnn-classifier"]
    by_weight, by_gradient = (attribute_inputs(model, X[:3], "two", method=m) for m in ("cam", "grad-cam"))
    assert by_weight.shape == by_gradient.shape == (3, 8, 8)
    # Interpolation and rectifier do not commute, but at full size nothing is interpolated here.
    np.testing.assert_allclose(by_gradient, np.maximum(by_weight, 0) / 64, atol=1e-6)
    assert attribute_inputs(model, X[:3], method="occlusion", size=4).shape == (3, 2, 2)


def test_a_fit_goes_on_after_its_network_was_asked():
    """Records are looked at while a network learns: what is asked of it changes nothing in it."""
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    losses = {False: [], True: []}
    for asks, told in losses.items():
        model = NeuralClassifier(max_iter=3, random_state=0)
        for record in model.iterate(X, y):
            told.append(record["train_loss"])
            if asks:
                attribute_inputs(model, X[:3])
    assert losses[True] == losses[False]
    assert len(losses[True]) == 3


def test_bad_input_is_named():
    model, X = models()["cnn-classifier"]
    with pytest.raises(ValueError, match="method must be one of integrated-gradients"):
        attribute_inputs(model, X[:2], method="magic")
    with pytest.raises(ValueError, match="label must be one of"):
        attribute_inputs(model, X[:2], "seven")
    with pytest.raises(ValueError, match="'cam' needs a network that ends with global-avg-pool"):
        attribute_inputs(*models()["mlp-regressor"], method="cam")
    with pytest.raises(ValueError, match="'grad-cam' needs a network with feature maps"):
        attribute_inputs(*models()["mlp-regressor"], method="grad-cam")
    with pytest.raises(TypeError, match="must be one of the networks; got Ridge"):
        attribute_inputs(Ridge(), X)
    scenes = shape_scenes(np.random.default_rng(0), n_samples=4, side=12, sizes=(5, 7))
    detector = ObjectDetector("yolo", base_channels=4, max_iter=1, random_state=0).fit(scenes.images, scenes.boxes)
    with pytest.raises(TypeError, match="ObjectDetector: its outputs are no table of numbers"):
        attribute_inputs(detector, scenes.images)


def test_equal_to_captum():
    captum = pytest.importorskip("captum.attr")
    model, X = models()["cnn-classifier"]
    outputs, x = model.differentiable(X[:3])
    theirs = captum.IntegratedGradients(outputs).attribute(x, 0.0, target=1, n_steps=64, method="gausslegendre")
    ours = attribute_inputs(model, X[:3], model.classes_[1], steps=64)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=1e-5)
    module = model._ready_module()
    layer = [part for part in module.body if isinstance(part, torch.nn.ReLU)][-1]
    maps = captum.LayerGradCam(module, layer).attribute(x, target=1, relu_attributions=True)
    ours = attribute_inputs(model, X[:3], model.classes_[1], method="grad-cam")
    np.testing.assert_allclose(ours, maps.detach().numpy()[:, 0], atol=1e-5)
