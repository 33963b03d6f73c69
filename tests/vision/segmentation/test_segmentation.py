"""Networks for pixels, measures of maps, and the estimator."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import f1_score, jaccard_score

from margin.data.scenes import shape_scenes
from margin.neural.nets.pixels import FCN, HourglassStack, UNet, begin_with_frequencies, pixel_network
from margin.neural.weights import build
from margin.vision.segmentation import Segmenter, class_dice, class_hausdorff, class_iou, mean_iou, pixel_accuracy
from margin.vision.segmentation.segmenter import pixel_loss


def maps(seed, classes=4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, size=(3, 9, 11))
    return truth, np.where(rng.random(truth.shape) < 0.6, truth, rng.integers(0, classes, size=truth.shape))


def test_overlap_is_scikit_learns():
    truth, found = maps(1)
    flat = truth.ravel(), found.ravel()
    np.testing.assert_allclose(class_iou(truth, found), jaccard_score(*flat, average=None))
    np.testing.assert_allclose(class_dice(truth, found), f1_score(*flat, average=None))
    assert pixel_accuracy(truth, found) == pytest.approx((truth == found).mean())
    assert np.isnan(class_iou(truth, found, 5)[4])
    assert mean_iou(truth, found, 5) == pytest.approx(mean_iou(truth, found))


def test_hausdorff_of_a_class():
    truth, found = np.zeros((8, 8), int), np.zeros((8, 8), int)
    assert class_hausdorff(truth, found, 1) == 0
    truth[2, 2] = 1
    assert class_hausdorff(truth, found, 1) == np.inf
    found[2, 2] = found[5, 6] = 1
    assert class_hausdorff(truth, found, 1) == 5


@pytest.mark.parametrize("size", [(16, 16), (13, 22), (1, 5)])
@pytest.mark.parametrize("kind", [FCN, UNet, HourglassStack])
def test_size_is_kept(kind, size):
    net = build(lambda: kind(2, 3, depth=3, channels=4), seed=0).eval()
    assert net(torch.zeros(2, 2, *size)).shape == (2, 3, *size)


def test_unet_concatenates_and_the_hourglass_adds():
    net = UNet(1, 2, depth=2, channels=4)
    assert [step.convolve[0].in_channels for step in net.up] == [16, 8]  # twice what the transposed convolution gives
    assert [step.convolve[0].in_channels for step in UNet(1, 2, depth=2, channels=4, skips=False).up] == [8, 4]
    glass = HourglassStack(1, 2, depth=2, channels=4, stacks=2)
    assert {layer.out_channels for layer in glass.glasses.modules() if isinstance(layer, torch.nn.Conv2d)} == {4}
    assert len(glass.predictions(torch.zeros(2, 1, 8, 8))) == 2


def test_dice_part_of_the_loss():
    codes = torch.tensor([[[0, 1], [1, 1]]])
    sure = 40 * torch.nn.functional.one_hot(codes, 3).permute(0, 3, 1, 2).float()
    assert float(pixel_loss(sure, codes, 1.0)) == pytest.approx(0, abs=1e-6)
    wrong = 40 * torch.nn.functional.one_hot(2 - codes, 3).permute(0, 3, 1, 2).float()
    expected = 1 - np.mean([1 / 2, (2 * 3 + 1) / 7, 1 / 2])  # class 1 stays, classes 0 and 2 are exchanged
    assert float(pixel_loss(wrong, codes, 1.0)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("architecture", ["fcn", "unet", "encoder-decoder", "hourglass"])
def test_segmenter_learns_resumes_and_repeats(architecture):
    scenes = shape_scenes(np.random.default_rng(2), n_samples=24, side=16, sizes=(6, 9), n_objects=(1, 1))
    model = Segmenter(architecture, base_channels=4, max_iter=3, batch_size=6, random_state=3, dice_weight=0.3)
    model.fit(scenes.images, scenes.masks)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert model.predict(scenes.images[:2, :12]).shape == (2, 12, 16)
    again = clone(model)
    records = again.iterate(scenes.images, scenes.masks)
    next(records)
    state = again.get_state()
    resumed = clone(model)
    list(resumed.iterate(scenes.images, scenes.masks, state=state))
    np.testing.assert_array_equal(resumed.predict_proba(scenes.images), model.predict_proba(scenes.images))


def test_segmenter_says_what_is_wrong():
    images = np.zeros((3, 8, 8))
    with pytest.raises(ValueError, match="masks of 8 x 8 pixels"):
        Segmenter().fit(images, np.zeros((3, 8, 7), int))
    with pytest.raises(ValueError, match="y must be given"):
        Segmenter().fit(images)
    with pytest.raises(ValueError, match="integers or strings, for pixels; got float64 numbers"):
        Segmenter().fit(images, np.full((3, 8, 8), 0.5))
    model = Segmenter(base_channels=2, depth=1, max_iter=1, random_state=0).fit(images, np.zeros((3, 8, 8), int))
    with pytest.raises(ValueError, match="must have the classes of the fit"):
        model.score(images, np.ones((3, 8, 8), int))
    with pytest.raises(ValueError, match="one shape"):
        class_iou(np.zeros((2, 2), int), np.zeros((2, 3), int))
    with pytest.raises(KeyError):
        pixel_network("vgg", 1, 2, 2, 4)


@pytest.mark.parametrize("architecture", ["fcn", "unet", "encoder-decoder", "hourglass"])
def test_scores_begin_at_the_frequencies_of_the_classes(architecture):
    network = build(lambda: pixel_network(architecture, 1, 3, 2, 4), seed=0).eval()
    with torch.no_grad():
        before = network(torch.zeros(1, 1, 8, 8))  # without biases nothing comes of black images
        begin_with_frequencies(network, torch.tensor([0.5, 0.3, 0.2]))
        after = network(torch.zeros(1, 1, 8, 8))
    assert not before.any()
    torch.testing.assert_close(after.softmax(dim=1)[0, :, 3, 5], torch.tensor([0.5, 0.3, 0.2]))


@pytest.mark.parametrize("start", [12, 16, 17])
def test_a_narrow_unet_tells_the_shapes_from_starts_that_favor_the_ground(start):
    """From these drawn weights it learned the ground only, as its features were off in all shapes."""
    scenes = shape_scenes(np.random.default_rng(0), n_samples=120, side=20, sizes=(7, 10), n_objects=(1, 1))
    options = {"base_channels": 8, "max_iter": 10, "batch_size": 12, "learning_rate_init": 0.01}
    model = Segmenter(random_state=start, **options).fit(scenes.images, scenes.masks)
    assert model.score(scenes.images, scenes.masks) > 0.9


def test_masks_of_several_sizes_and_images_without_pixels_are_refused():
    scenes = shape_scenes(np.random.default_rng(0), n_samples=4, side=16, sizes=(6, 9))
    model = Segmenter("fcn", depth=1, base_channels=4, max_iter=1, random_state=0).fit(scenes.images, scenes.masks)
    with pytest.raises(ValueError, match="Segmenter: y must have masks of one size"):
        model.fit(scenes.images, [np.zeros((16 - i, 16), dtype=int) for i in range(4)])
    with pytest.raises(ValueError, match="Segmenter: X must have images with pixels"):
        model.predict(scenes.images[:, :0])
    with pytest.raises(ValueError, match="computed in float32"):
        model.predict_proba(scenes.images.astype(float) * 1e300)
