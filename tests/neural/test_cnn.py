"""The image estimators: every form of input, augmentation, resume, files, and bad input in one sentence."""

import itertools
import warnings

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone

import margin
from margin import CNNClassifier, CNNRegressor
from margin.core.invariants import Violation
from margin.store.forms import form_of

RNG = np.random.default_rng(2)
LAYERS = ["conv 4 3", "pool 2", "dense 8"]


def colored(n=40, size=8):
    """Images whose class is their brightest channel."""
    y = np.arange(n) % 3
    X = RNG.integers(0, 120, (n, size, size, 3), dtype=np.uint8)
    X[np.arange(n), :, :, y] += 120
    return X, np.array(["red", "green", "blue"])[y]


def fast(**params):
    return CNNClassifier(LAYERS, **{"max_iter": 12, "learning_rate_init": 0.02, "random_state": 0, **params})


def test_all_layouts_give_the_same_network():
    X, y = colored()
    expected = fast().fit(X, y).predict_proba(X)
    first = X.transpose(0, 3, 1, 2)
    flat = X.reshape(len(X), -1)
    np.testing.assert_array_equal(fast().fit(first, y).predict_proba(first), expected)
    np.testing.assert_array_equal(fast(image_shape=(8, 8, 3)).fit(flat, y).predict_proba(flat), expected)
    with_mix = fast(image_shape=(8, 8, 3)).fit(X, y)
    np.testing.assert_array_equal(with_mix.predict_proba(flat), expected)
    assert fast().fit(X, y).score(X, y) == 1.0


def test_bytes_and_floats_agree():
    X, y = colored()
    a, b = fast().fit(X, y), fast().fit(X.astype(float), y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X.astype(float)), atol=1e-4)
    assert (a.input_dtype_, b.input_dtype_) == ("uint8", "float32")


def test_gray_images_and_rows():
    X, y = colored()
    gray = X[..., 0]
    model = fast().fit(gray, y)
    assert model.image_shape_ == (1, 8, 8)
    flat = fast(image_shape=(8, 8)).fit(gray.reshape(len(X), -1), y)
    np.testing.assert_array_equal(flat.predict_proba(gray), model.predict_proba(gray))


def test_augmented_training_resumes_exactly():
    X, y = colored()
    options = {"augment": ["flip", "shift 1", "crop 2", "cutout 2", "mixup 0.3"], "max_iter": 3, "record_steps": 2}
    options |= {"dropout": 0.2, "early_stopping": True}
    whole = fast(**options)
    expected = [record.as_dict() for record in whole.iterate(X, y)]
    part = fast(**options)
    records = [record.as_dict() for record in itertools.islice(part.iterate(X, y), 2)]
    rest = clone(part)
    records += [record.as_dict() for record in rest.iterate(X, y, state=part.get_state())]
    assert records == expected
    np.testing.assert_array_equal(rest.predict_proba(X), whole.predict_proba(X))
    plain = fast(**{**options, "augment": None}).fit(X, y)
    assert np.abs(plain.predict_proba(X) - whole.predict_proba(X)).max() > 1e-6


@pytest.mark.parametrize(
    "architecture", ["resnet-8", "densenet-40", "vgg-11", ["conv 4 3 norm", "residual 8 stride=2", "dense 6"]], ids=str
)
def test_networks_with_norms_and_dropout_come_back_from_a_file(architecture, tmp_path):
    X, y = colored(24)
    width = 0.1 if isinstance(architecture, str) else 1.0
    model = CNNClassifier(architecture, width=width, max_iter=1, random_state=0).fit(X, y)
    margin.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict_proba(X), model.predict_proba(X))


def test_a_file_that_describes_another_network_is_refused():
    X, y = colored(24)
    model = fast(max_iter=1).fit(X, y)
    form, stored = form_of("margin.neural.CNNClassifier"), vars(model)
    form.check(stored)
    for change in (
        {"architecture": ["conv 5 3", "pool 2", "dense 8"]},
        {"architecture": "no-such-net"},
        {"architecture": ["conv 99999999999 99999999"]},
        {"shape": [3, 8, 9]},
        {"scale": [1.0]},
    ):
        with pytest.raises(Violation):
            form.check({**stored, "network_": {**model.network_, **change}})


def test_several_targets_in_their_own_unit():
    X = RNG.normal(size=(120, 8, 8))
    Y = np.column_stack([X[:, :4].mean((1, 2)), 100 * X[:, 4:].mean((1, 2)) + 7])
    model = CNNRegressor(["conv 4 3", "dense 16"], max_iter=40, learning_rate_init=0.01, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (120, 2)
    assert model.score(X, Y) > 0.7


def test_warm_start_goes_on_and_refuses_another_network():
    X, y = colored()
    model = fast(max_iter=2, warm_start=True).fit(X, y)
    weights = {name: array.copy() for name, array in model.weights_.items()}
    model.fit(X, y)
    assert (model.n_iter_, len(model.loss_curve_)) == (2, 4)
    assert any(np.abs(model.weights_[name] - weights[name]).max() > 0 for name in weights)
    with pytest.raises(ValueError, match="warm_start must go on with the network"):
        model.set_params(architecture=["dense 4"]).fit(X, y)


def test_predictions_on_files(tmp_path):
    X, y = colored()
    files = []
    for k in range(4):
        files.append(tmp_path / f"{k}.png")
        Image.fromarray(X[k]).resize((16, 16), Image.Resampling.NEAREST).save(files[-1])
    for data in (X, X / 255):
        model = fast().fit(data, y)
        assert model.predict_files(files).tolist() == y[:4].tolist()
    with pytest.raises(ValueError, match=r"nothing.png: there is no such file"):
        model.predict_files([tmp_path / "nothing.png"])


BAD = [
    (lambda m, X, y: m.set_params(image_shape=(5, 5)).fit(X.reshape(len(X), -1), y), "image_shape must be .* 192"),
    (lambda m, X, y: m.fit(X, y).predict(X[:, :6]), "must have images of 3 channels and 8 x 8 pixels"),
    (lambda m, X, y: m.fit(RNG.random((6, 4, 9, 4)), y[:6]), "channels must be 'first' or 'last'"),
    (lambda m, X, y: m.fit(RNG.random((6, 2, 3, 4, 4)), y[:6]), "must have 2, 3 or 4 axes"),
    (lambda m, X, y: m.set_params(architecture=["conv 3"]).fit(X, y), "architecture: layer 'conv' takes 2"),
    (lambda m, X, y: m.set_params(augment=["turn 3"]).fit(X, y), "augment must name one of flip"),
    (lambda m, X, y: m.set_params(width=2.0).fit(X, y), "width must be 1 where architecture is a list"),
    (lambda m, X, y: m.fit(X, y[:-1]), "inconsistent numbers of samples"),
    (lambda m, X, y: m.fit(X), "y must be given"),
    (
        lambda m, X, y: m.fit([*X[:11], X[11][:3, :, 0]], y),
        r"must have pixels and equally many channels; X\[0\] has .* and X\[11\]",
    ),
    (
        lambda m, X, y: m.fit([*X[:11].tolist(), [[1.0, 2.0], [3.0]]], y),
        r"one length; those of X\[11\] differ",
    ),
    (lambda m, X, y: m.fit(X * 1e300, y), r"CNNClassifier: X must lie between -1e\+30 and 1e\+30, .*; got .*e\+302"),
    (lambda m, X, y: m.fit(X, y).predict(-1e38 * X), r"computed in float32; got -.*e\+40"),
    (lambda m, X, y: m.fit(X[:, :, :0], y), r"must have images with pixels; got images of shape \(8, 0, 3\)"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_bad_input_is_one_sentence(call, sentence):
    X, y = colored(12)
    with pytest.raises(ValueError, match=sentence):
        call(fast(max_iter=1), X, y)


def test_a_batch_larger_than_the_data_is_said():
    X, y = colored(12)
    with pytest.warns(UserWarning, match="batch_size 50 is larger than the 12 training images"):
        fast(max_iter=1, batch_size=50).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast(max_iter=1).fit(X, y)


def test_a_loss_that_is_not_finite_is_said_and_the_model_stays():
    X, y = colored(12)
    model = fast(learning_rate_init=1e30, solver="sgd", max_iter=5)
    with pytest.raises(FloatingPointError, match="a smaller learning rate or a clip_norm"):
        model.fit(X, y)
    assert all(np.isfinite(array).all() for array in model.weights_.values())
    assert np.isfinite(model.predict_proba(X)).all()
