"""Pictures mean the same to every model: gray, channels last or first, in flat rows, or as a torch Dataset."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, TensorDataset

import margin
from margin.core import row_files
from margin.data.image_arrays import row_layout
from margin.generative.autoencoder import Autoencoder
from margin.generative.diffusion.model import DiffusionModel
from margin.generative.gan.model import GAN
from margin.generative.vae import VAE
from margin.meta.few_shot import FewShotLearner
from margin.neural.estimators import CNNClassifier

DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS, LABELS = DIGITS[:120] / 16, LABELS[:120]
SMALL = {"max_iter": 1, "random_state": 0}
COLORED = np.random.default_rng(0).random((24, 8, 8, 3)).astype(np.float32)


def test_classifiers_take_colors_in_either_axis_and_in_rows():
    model, y = CNNClassifier(["conv 2 3", "dense 4"], **SMALL), np.arange(24) % 2
    expected = model.fit(COLORED, y).predict_proba(COLORED)
    first = np.moveaxis(COLORED, 3, 1)
    np.testing.assert_array_equal(model.fit(first, y).predict_proba(first), expected)
    for shape, rows in (((8, 8, 3), COLORED), ((3, 8, 8), first)):
        model.set_params(image_shape=shape)
        flat = rows.reshape(24, -1)
        np.testing.assert_array_equal(model.fit(flat, y).predict_proba(flat), expected)


@pytest.mark.parametrize("kind", [Autoencoder, VAE])
def test_coders_take_pictures_and_rows_alike(kind):
    make = partial(kind, 2, (4,))
    pictures, flat = DIGITS.reshape(-1, 8, 8), DIGITS
    expected = make(image_shape=(1, 8, 8), **SMALL).fit(flat).transform(flat)
    np.testing.assert_array_equal(make(image_shape=(8, 8), **SMALL).fit(flat).transform(flat), expected)
    seen = make(**SMALL).fit(pictures)
    np.testing.assert_array_equal(seen.transform(pictures), expected)
    assert seen.reconstruct(pictures).shape == flat.shape
    last = make(image_shape=(8, 8, 3), **SMALL).fit(COLORED.reshape(24, -1))
    channels_first = np.moveaxis(COLORED, 3, 1)
    first = make(image_shape=(3, 8, 8), **SMALL).fit(channels_first.reshape(24, -1))
    np.testing.assert_allclose(last.transform(COLORED), first.transform(channels_first), atol=1e-5)
    np.testing.assert_allclose(
        last.reconstruct(COLORED).reshape(24, 8, 8, 3),
        np.moveaxis(first.reconstruct(channels_first).reshape(24, 3, 8, 8), 1, 3),
        atol=1e-5,
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: DiffusionModel((4,), denoiser="unet", n_steps=4, sampling_steps=2, **o),
        lambda **o: GAN(4, (4, 4), architecture="dcgan", **o),
    ],
    ids=["diffusion", "GAN"],
)
def test_makers_of_images_take_pictures_and_rows_alike(make):
    expected = make(image_shape=(8, 8), **SMALL).fit(DIGITS).sample(2, random_state=0)
    np.testing.assert_array_equal(make(**SMALL).fit(DIGITS.reshape(-1, 8, 8)).sample(2, random_state=0), expected)
    flat, channels_first = COLORED.reshape(24, -1), np.moveaxis(COLORED, 3, 1).reshape(24, -1)
    last = make(image_shape=(8, 8, 3), **SMALL).fit(flat).sample(2, random_state=0).reshape(2, 8, 8, 3)
    first = make(image_shape=(3, 8, 8), **SMALL).fit(channels_first).sample(2, random_state=0).reshape(2, 3, 8, 8)
    np.testing.assert_allclose(last, np.moveaxis(first, 1, 3), atol=1e-4)
    for model in (make(**SMALL), make(image_shape=(8, 8, 3), **SMALL)):
        np.testing.assert_array_equal(model.fit(COLORED).sample(2, random_state=0).reshape(2, 8, 8, 3), last)
    turned = make(image_shape=(8, 8, 3), **SMALL).fit(np.moveaxis(COLORED, 3, 1))  # rows are as image_shape says
    np.testing.assert_array_equal(turned.sample(2, random_state=0).reshape(2, 8, 8, 3), last)
    with pytest.raises(ValueError, match=r"X must have pictures of shape \(8, 8, 3\); got \(6, 32, 1\)"):
        make(image_shape=(8, 8, 3), **SMALL).fit(COLORED.reshape(24, 6, 32, 1))


def test_a_fitted_maker_knows_where_the_channels_of_new_pictures_are(tmp_path):
    model = DiffusionModel((4,), n_steps=4, **SMALL).fit(COLORED)
    margin.save(model, tmp_path / "model.margin")
    again, expected = margin.load(tmp_path / "model.margin"), model.score_samples(COLORED)
    for pictures in (COLORED, np.moveaxis(COLORED, 3, 1), COLORED.reshape(24, -1)):
        np.testing.assert_array_equal(again.score_samples(pictures), expected)


@pytest.mark.parametrize("encoder", [None, ["conv 2 3", "pool 2"]])
def test_few_shot_learners_take_pictures_and_rows_alike(encoder, tmp_path):
    y, first = np.arange(24) % 4, np.moveaxis(COLORED, 3, 1)
    make = partial(FewShotLearner, encoder=encoder, ways=2, queries=2, episodes=2, **SMALL)
    for expected, others in (
        (make().fit(COLORED, y), [(COLORED.reshape(24, -1), (8, 8, 3)), (first, (8, 8, 3))]),
        (make().fit(first, y), [(first.reshape(24, -1), (3, 8, 8)), (COLORED, (3, 8, 8))]),
    ):
        margin.save(expected, tmp_path / "model.margin")
        again = margin.load(tmp_path / "model.margin")
        for pictures, shape in others:
            model = make(image_shape=shape).fit(pictures, y)
            np.testing.assert_array_equal(model.embed(COLORED), expected.embed(first))
            np.testing.assert_array_equal(
                again.predict(first, COLORED[:8], y[:8]), model.predict(first, first[:8], y[:8])
            )
    gray = make().fit(DIGITS[:24].reshape(24, 8, 8), y)
    flat = make(image_shape=(8, 8)).fit(DIGITS[:24], y)
    np.testing.assert_array_equal(gray.embed(DIGITS), flat.embed(DIGITS.reshape(-1, 8, 8)))


def test_columns_that_look_like_pictures_ask_for_their_shape():
    rows, y = np.random.default_rng(0).random((10, 784)), np.arange(10) % 2
    with pytest.raises(ValueError, match=r"^CNNClassifier: X has 784 columns, .* image_shape=\(28, 28\)"):
        CNNClassifier(**SMALL).fit(rows, y)
    model = CNNClassifier(["dense 2"], image_shape=(1, 784), **SMALL).fit(rows, y)
    assert model.image_shape_ == (1, 1, 784)
    with pytest.raises(ValueError, match=r"X has 3072 columns, .* image_shape=\(32, 32, 3\)"):
        CNNClassifier(**SMALL).fit(np.zeros((4, 3072)), [0, 1, 0, 1])


def test_a_row_says_where_its_channels_are():
    assert row_layout("Model", (2, 8, 9), 144) == ((2, 8, 9), False)
    with pytest.raises(ValueError, match="Model: which axis of images"):
        row_layout("Model", (3, 8, 3), 72)


@pytest.mark.parametrize("unit", [255, 1])
def test_pixels_in_other_units_are_told(unit):
    images = DIGITS.reshape(-1, 8, 8)
    fitted, other = (images * 255, images) if unit == 255 else (images, images * 255)
    model = CNNClassifier(["conv 2 3", "dense 4"], **SMALL).fit(fitted, LABELS)
    with pytest.warns(UserWarning, match=r"^CNNClassifier: pixels of X lie between 0 and .* are they in other units"):
        model.predict(other)


@pytest.mark.filterwarnings("error")
def test_pictures_like_those_of_the_fit_are_no_surprise():
    images = DIGITS.reshape(-1, 8, 8)
    model = CNNClassifier(["conv 2 3", "dense 4"], **SMALL).fit(images * 255, LABELS)
    for some in (images[:1] * 255, np.zeros((1, 8, 8)), 0.2 * images * 255, (images * 255).astype(np.uint8)):
        model.predict(some)
    CNNClassifier(["dense 4"], **SMALL).fit(DIGITS, LABELS).predict(DIGITS[:1] * 1e-3)  # a table, not pictures


class Squares(Dataset):
    """Items are pairs; nothing but a length and numbered items."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), int(self.labels[i])


@pytest.mark.parametrize("most", [row_files.MOST_BYTES, 1_000], ids=["in memory", "in a file"])
def test_a_data_loader_gives_the_rows_of_its_dataset(most, monkeypatch):
    images = np.stack([DIGITS.reshape(-1, 8, 8)] * 3, axis=3)  # channels last
    model = CNNClassifier(["conv 2 3", "dense 4"], channels="last", early_stopping=True, **SMALL)
    expected = model.fit(images, LABELS).predict_proba(images)
    monkeypatch.setattr(row_files, "MOST_BYTES", most)
    pairs = Squares(images, LABELS)
    for rows in (pairs, DataLoader(pairs, batch_size=7)):
        np.testing.assert_array_equal(model.fit(rows).predict_proba(images), expected)
    with pytest.raises(ValueError, match=r"^CNNClassifier: X must be a DataLoader of batches"):
        model.fit(DataLoader(pairs, batch_size=None))


@pytest.mark.parametrize("channels", ["first", "last"])
def test_pictures_in_a_file_are_not_copied(channels, tmp_path):
    images = np.stack([DIGITS.reshape(-1, 8, 8)] * 3, axis=1 if channels == "first" else 3).astype(np.float32)
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    model = CNNClassifier(["conv 2 3", "dense 4"], channels=channels, early_stopping=True, **SMALL)
    assert np.shares_memory(model._images(mapped, reset=True), mapped)
    seen = []
    for k, source in enumerate((images, mapped)):
        seen.append(model.fit(source, LABELS).predict_proba((mapped, images)[k]))
    np.testing.assert_array_equal(*seen)


def test_torch_datasets_are_taken():
    images = DIGITS.reshape(-1, 8, 8)
    model = CNNClassifier(["conv 2 3", "dense 4"], **SMALL)
    expected = model.fit(images, LABELS).predict_proba(images)
    np.testing.assert_array_equal(model.fit(Squares(images, LABELS)).predict_proba(Squares(images, LABELS)), expected)
    pairs = TensorDataset(torch.from_numpy(DIGITS), torch.from_numpy(LABELS))
    table = margin.MLPClassifier((4,), max_iter=2, random_state=0)
    np.testing.assert_array_equal(table.fit(pairs).predict(DIGITS), table.fit(DIGITS, LABELS).predict(DIGITS))
    with pytest.raises(ValueError, match=r"^MLPClassifier: the items of X must all have one shape"):
        table.fit(Squares([np.zeros(2), np.zeros(3)], [0, 1]))
