"""Networks that begin with what a fitted model of images has learned."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits

import margin
from margin.neural.estimators.fine_tuning import PretrainedNetwork

LAYERS = ["conv 6 3", "pool 2", "conv 5 3 stride=2"]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.reshape(-1, 8, 8)[:400], y[:400]


def encoders(images, y):
    captions = [f"the digit {label}" for label in y]
    return {
        "SimCLR": margin.SimCLR(LAYERS, n_components=7, max_iter=1, random_state=0).fit(images),
        "CLIP": margin.CLIP(LAYERS, n_components=7, max_iter=1, random_state=0).fit(images, captions),
    }


@pytest.mark.parametrize("kind", ["SimCLR", "CLIP"])
def test_a_frozen_encoder_gives_the_features_that_it_had(kind, digits):
    images, y = digits
    encoder = encoders(images[:200], y[:200])[kind]
    model = margin.CNNClassifier.from_encoder(encoder, freeze="encoder", max_iter=2, random_state=1)
    model.fit(images[200:], y[200:] % 3)
    *first, last = model.module_.body
    x = model.module_.prepare(torch.from_numpy(images[:9, None].astype(np.float32)))
    with torch.no_grad():
        features = torch.nn.Sequential(*first)(x).numpy()
    wanted = np.maximum(encoder.transform(images[:9]), 0)  # the layer is followed by the activation
    if kind == "CLIP":  # which gives directions
        features, wanted = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (features, wanted))
    np.testing.assert_allclose(features, wanted, rtol=1e-4, atol=1e-5)
    assert last.out_features == 3


def test_a_network_begins_with_one_for_other_targets(digits):
    images, y = digits
    first = margin.CNNClassifier(LAYERS, activation="elu", norm="group", max_iter=2, random_state=0).fit(images, y)
    model = margin.CNNRegressor.from_encoder(first, freeze="encoder", max_iter=1, random_state=0)
    model.fit(images, y.astype(float))
    assert model.activation == "elu"
    assert model.norm == "group"
    assert set(model.weights_) == set(first.weights_)
    last = sorted(model.weights_)[-1].rpartition(".")[0]
    for name, array in first.weights_.items():
        assert np.array_equal(model.weights_[name], array) == (not name.startswith(last)), name


def test_clones_begin_alike_and_files_hold_what_was_learned(digits, tmp_path):
    images, y = digits
    start = margin.SimCLR(LAYERS, n_components=7, max_iter=1, random_state=0).fit(images[:100])
    model = margin.CNNClassifier.from_encoder(start, layer_rates=0.5, max_iter=2, random_state=3)
    expected = clone(model).fit(images, y).predict_proba(images)
    np.testing.assert_array_equal(model.fit(images, y).predict_proba(images), expected)
    margin.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict_proba(images), expected)


def test_a_start_changes_neither_the_encoder_nor_its_other_uses(digits):
    images, y = digits
    encoder = margin.SimCLR(LAYERS, n_components=7, max_iter=1, random_state=0).fit(images[:100])
    before = {name: array.copy() for name, array in encoder.weights_.items()}
    model = margin.CNNClassifier.from_encoder(encoder, max_iter=2, random_state=0)
    start = {name: array.copy() for name, array in model.pretrained.weights.items()}
    model.fit(images, y)
    assert all(np.array_equal(encoder.weights_[name], array) for name, array in before.items())
    assert all(np.array_equal(model.pretrained.weights[name], array) for name, array in start.items())


def test_what_cannot_be_a_start_is_refused(digits):
    images, y = digits
    encoder = margin.SimCLR(LAYERS, n_components=7, max_iter=1, random_state=0).fit(images[:100])
    with pytest.raises(ValueError, match=r"^CNNClassifier: encoder must be a fitted SimCLR.*got PCA\.$"):
        margin.CNNClassifier.from_encoder(margin.PCA())
    with pytest.raises(ValueError, match=r"^CNNClassifier: architecture is what the encoder has; got 'resnet-20'"):
        margin.CNNClassifier.from_encoder(encoder, architecture="resnet-20")
    model = margin.CNNClassifier.from_encoder(encoder, max_iter=1, random_state=0)
    with pytest.raises(ValueError, match=r"X must have images of the encoder.*\(1, 8, 8\); got \(1, 6, 6\)\.$"):
        model.fit(images[:, :6, :6], y)
    with pytest.warns(UserWarning, match="other units"):
        model.fit(images / 4000, y)
    assert isinstance(model.pretrained, PretrainedNetwork)
