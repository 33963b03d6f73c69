"""Pixels whose class nobody knows, masks that move with their images, and masks of one's own to validate."""

import numpy as np
import pytest
import torch

import margin
from margin.data.scenes import shape_scenes
from margin.vision.segmentation.segmenter import Segmenter, augment_masked, pixel_loss

SCENES = shape_scenes(np.random.default_rng(0), n_samples=24, side=16, sizes=(6, 8))
SETTINGS = {"base_channels": 4, "depth": 1, "max_iter": 3, "random_state": 0}
GENERATOR = torch.Generator().manual_seed(0)


@pytest.mark.parametrize("dice_weight", [0.0, 0.4])
def test_the_loss_of_known_pixels_is_that_of_an_image_of_them(dice_weight):
    scores = torch.randn(2, 3, 4, 6, generator=GENERATOR, dtype=torch.float64)
    codes = torch.randint(0, 3, (2, 4, 6), generator=GENERATOR)
    codes[:, :, 4:] = -1
    expected = pixel_loss(scores[..., :4], codes[..., :4], dice_weight)
    torch.testing.assert_close(pixel_loss(scores, codes, dice_weight, unknown=True), expected)
    nothing = pixel_loss(scores, torch.full_like(codes, -1), dice_weight, unknown=True)
    assert nothing.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "change", [("flip", 0.0), ("flip-vertical", 0.0), ("shift", 3.0), ("rotate", 40.0), ("crop", 5.0)]
)
def test_masks_move_with_their_images(change):
    codes = torch.randint(0, 2, (8, 4, 4), generator=GENERATOR).repeat_interleave(6, 1).repeat_interleave(6, 2)
    x = codes[:, None].double()
    changed, moved = augment_masked(x, codes, [change], torch.Generator().manual_seed(3))
    assert not torch.equal(moved, codes)
    assert set(moved.unique().tolist()) == {0, 1}
    sure = (changed[:, 0] - 0.5).abs() > 0.26  # between two classes interpolation may fall on either side
    assert sure.double().mean() > 0.5
    assert torch.equal(changed[:, 0][sure].round().long(), moved[sure])


def test_what_does_not_move_leaves_masks_alone():
    x, codes = torch.zeros(2, 1, 6, 6), torch.arange(72).view(2, 6, 6) % 3
    changed, same = augment_masked(x, codes, [("noise", 0.5), ("color", 0.1)], torch.Generator().manual_seed(0))
    assert not torch.equal(changed, x)
    assert torch.equal(same, codes)


def test_unknown_pixels_change_nothing():
    """What is written under unknown pixels of the image's mask does not matter, and they are not scored."""
    masks = SCENES.masks.copy()
    masks[:, :, 12:] = 255
    model = Segmenter("fcn", ignore_index=255, augment=["flip"], **SETTINGS).fit(SCENES.images, masks)
    assert 255 not in model.classes_
    assert set(np.unique(model.predict(SCENES.images))) <= set(model.classes_)
    truth = np.where(masks == 255, 255, SCENES.masks)
    found = model.predict(SCENES.images)
    assert model.score(SCENES.images, truth) == model.score(SCENES.images, masks)
    hidden = np.where(masks == 255, 255, found)
    assert model.score(SCENES.images, hidden) == 1.0
    with pytest.raises(ValueError, match="y must have a pixel that is not 255"):
        model.fit(SCENES.images, np.full(SCENES.masks.shape, 255))
    with pytest.raises(ValueError, match="ignore_index must be None for masks of strings"):
        model.fit(SCENES.images, SCENES.masks.astype(str))
    stored = Segmenter("fcn", **SETTINGS).fit(SCENES.images, masks)
    assert 255 in stored.classes_


def test_own_masks_judge_every_epoch_and_a_fit_goes_on_exactly(tmp_path):
    own = (SCENES.images[:6], SCENES.masks[:6])
    train = (SCENES.images[6:], SCENES.masks[6:])
    model = Segmenter("fcn", augment=["flip", "shift 1"], **SETTINGS)
    *_, last = model.iterate(*train, validation_data=own)
    proba = model.predict_proba(own[0])
    codes = np.searchsorted(model.classes_, own[1])
    loss = -np.log(np.take_along_axis(proba, codes[:, None], axis=1)).mean()
    assert last["valid_loss"] == pytest.approx(loss, rel=1e-4)
    assert model.n_iter_ == 3

    again = Segmenter("fcn", augment=["flip", "shift 1"], **SETTINGS)
    records = again.iterate(*train, validation_data=own)
    next(records)
    state = again.get_state()
    records.close()
    resumed = Segmenter("fcn", augment=["flip", "shift 1"], **SETTINGS)
    for _ in resumed.iterate(*train, validation_data=own, state=state):
        pass
    np.testing.assert_array_equal(resumed.predict_proba(own[0]), proba)
    stored = margin.load(margin.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(stored.predict_proba(own[0]), proba)
    assert stored.augment == ["flip", "shift 1"]


@pytest.mark.parametrize(
    ("params", "data", "words"),
    [
        ({"augment": ["mixup 0.2"]}, None, "augment must not name 'mixup'"),
        ({"augment": ["shake 3"]}, None, "augment must name one of"),
        ({"class_weight": {77: 2.0}}, None, "class_weight names 77, which is not a class of y"),
        ({"class_weight": dict.fromkeys(range(9), 0.0)}, None, "class_weight names"),
        ({}, (SCENES.images, SCENES.masks + 50), "validation_data must have classes of y"),
    ],
)
def test_wrong_wishes_are_refused(params, data, words):
    with pytest.raises(ValueError, match=words):
        Segmenter("fcn", **SETTINGS, **params).fit(SCENES.images, SCENES.masks, validation_data=data)


def test_an_image_counts_as_often_as_its_weight_says():
    settings = {"batch_size": 1, "shuffle": False, "learning_rate": "constant", "solver": "sgd", "momentum": 0.0}
    settings |= {"base_channels": 4, "max_iter": 2, "random_state": 0, "alpha": 0.0}
    images, masks = SCENES.images[:6], SCENES.masks[:6]
    weight = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    weighted = Segmenter("fcn", **settings).fit(images, masks, sample_weight=weight)
    rest = Segmenter("fcn", **settings).fit(images[weight > 0], masks[weight > 0])
    assert all(np.array_equal(weighted.weights_[name], array) for name, array in rest.weights_.items())
    weight = np.array([2.0, 0.0, 1.0, 3.0, 1.0, 0.0])
    several = np.repeat(np.arange(6), weight.astype(int))
    *_, judged = Segmenter("fcn", **settings).iterate(images, masks, weight, validation_data=(images, masks, weight))
    again = Segmenter("fcn", **settings)
    *_, repeated = again.iterate(images, masks, weight, validation_data=(images[several], masks[several]))
    assert judged["valid_loss"] == pytest.approx(repeated["valid_loss"], rel=1e-5)
    unweighted = Segmenter("fcn", **settings).fit(images[weight > 0], masks[weight > 0])
    assert any(not np.array_equal(again.weights_[name], array) for name, array in unweighted.weights_.items())


def test_rare_classes_of_pixels_are_found_when_all_count_alike():
    rng = np.random.default_rng(0)
    images = rng.random((12, 16, 16)).astype(np.float32)
    masks = (images > 0.9) & (rng.random(images.shape) < 0.4)  # four of ten: the likelier answer is none
    settings = {"base_channels": 4, "max_iter": 10, "random_state": 0}
    plain = Segmenter("fcn", **settings).fit(images, masks).predict(images)
    balanced = Segmenter("fcn", class_weight="balanced", **settings).fit(images, masks).predict(images)
    assert plain[masks].mean() < 0.1 < 0.8 < balanced[masks].mean()
