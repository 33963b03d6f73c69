"""Images of several sizes: resized as Pillow does it, or laid on one canvas."""

import numpy as np
import pytest
from PIL import Image

import margin
from margin.data.boxes import Boxes
from margin.data.mixed_images import are_mixed, on_one_canvas, resized, to_one_size

RNG = np.random.default_rng(0)
SIZES = [(9, 7), (6, 12), (8, 8)] * 8
IMAGES = [RNG.random(size).astype(np.float32) for size in SIZES]
LABELS = [image.mean() > 0.5 for image in IMAGES]


@pytest.mark.parametrize("size", [(5, 4), (20, 31), (9, 3)])
def test_resizing_is_that_of_pillow(size):
    image = RNG.integers(0, 256, (11, 13, 3)).astype(np.uint8)
    expected = np.asarray(Image.fromarray(image).resize(size[::-1], Image.Resampling.BILINEAR))
    found = resized(image, *size)
    assert found.dtype == np.uint8
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1


def test_whole_images_get_the_median_size_or_one_that_is_said():
    assert to_one_size("Model", IMAGES, None).shape == (24, 8, 8)
    color = [RNG.random((3, *size)) for size in SIZES[:3]]
    assert to_one_size("Model", color, (4, 5), "first").shape == (3, 3, 4, 5)
    model = margin.CNNClassifier(["conv 4 3", "pool 2"], max_iter=1, random_state=0).fit(IMAGES, LABELS)
    assert model.image_shape_ == (1, 8, 8)
    assert len(model.predict(IMAGES[:5])) == 5
    alone = model.predict_proba([resized(IMAGES[0], 8, 8)])
    np.testing.assert_allclose(model.predict_proba(IMAGES[:2])[:1], alone, atol=1e-6)
    model.set_params(image_shape=(10, 6)).fit(IMAGES, LABELS)
    assert model.image_shape_ == (1, 10, 6)


def test_pixels_keep_the_sizes_of_their_images():
    masks = [(image > 0.5).astype(int) for image in IMAGES]
    model = margin.Segmenter("fcn", base_channels=4, max_iter=2, random_state=0).fit(IMAGES, masks)
    assert [mask.shape for mask in model.predict(IMAGES[:3])] == SIZES[:3]
    assert set(model.classes_) == {0, 1}
    assert 0 <= model.score(IMAGES, masks) <= 1
    with pytest.raises(ValueError, match=r"Segmenter: y\[1\] must have 6 x 12 pixels"):
        model.fit(IMAGES, [masks[0], masks[0], *masks[2:]])


def test_pixels_outside_an_image_have_no_loss():
    """The same images with other numbers on the canvas around them: no pixel of the canvas is learned from."""
    canvas = on_one_canvas("Model", IMAGES)
    spread = canvas.spread([np.full(size, k) for k, size in enumerate(SIZES)])
    for k, (height, width) in enumerate(SIZES):
        assert canvas.inside[k].sum() == height * width
        np.testing.assert_array_equal(canvas.images[k, :height, :width], IMAGES[k])
        assert (spread[k][canvas.inside[k]] == k).all()


def test_objects_are_found_in_images_of_several_sizes():
    boxes = [Boxes([[1, 1, 5, 5]], ["square"]) for _ in IMAGES]
    model = margin.ObjectDetector("yolo", base_channels=4, max_iter=1, random_state=0).fit(IMAGES, boxes)
    found = model.predict(IMAGES[:3])
    assert len(found) == 3
    assert all(one.inside(*size) for one, size in zip(found, SIZES))


def test_pictures_of_pillow_are_resized_as_arrays_are():
    arrays = [np.arange(size[0] * size[1] * 3, dtype=np.uint8).reshape(*size, 3) for size in SIZES]
    pictures = [Image.fromarray(array) for array in arrays]
    assert are_mixed(pictures)
    np.testing.assert_array_equal(to_one_size("Model", pictures, (7, 5)), to_one_size("Model", arrays, (7, 5)))


def test_channels_that_differ_are_refused():
    with pytest.raises(ValueError, match="equally many channels"):
        to_one_size("Model", [np.zeros((4, 4, 3)), np.zeros((5, 5))], None)
