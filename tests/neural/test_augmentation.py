"""Augmentations against loops over single images, and their parsing."""

import numpy as np
import pytest
import torch
from scipy import ndimage

from margin.neural import augment
from margin.neural.augmentation import (
    Augmentation,
    add_noise,
    change_colors,
    crop,
    cutout,
    flip,
    mixup,
    parse_augmentation,
    rotate,
    shift_images,
)
from margin.neural.moves import MOVES, move_boxes, move_images


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def images(n=12, c=2, h=6, w=7):
    return torch.randn(n, c, h, w, generator=generator(5))


def test_flip_mirrors_about_half():
    x = images(200)
    flipped = flip(x, generator())
    same = (flipped == x).flatten(1).all(dim=1)
    mirrored = (flipped == x.flip(3)).flatten(1).all(dim=1)
    assert bool((same | mirrored).all())
    assert 60 < int(mirrored.sum()) < 140


def test_shift_moves_and_continues_the_edge():
    x = images()
    moved = shift_images(x, 2, generator(1))
    offsets = torch.randint(-2, 3, (2, len(x), 1), generator=generator(1))
    for k in range(len(x)):
        dy, dx = int(offsets[0, k]), int(offsets[1, k])
        rows, columns = [min(max(i + dy, 0), 5) for i in range(6)], [min(max(j + dx, 0), 6) for j in range(7)]
        torch.testing.assert_close(moved[k], x[k][:, rows][:, :, columns])


def test_crop_keeps_the_size_and_constant_images():
    x = images()
    assert crop(x, 3, generator()).shape == x.shape
    torch.testing.assert_close(crop(torch.ones(3, 1, 6, 7), 3, generator()), torch.ones(3, 1, 6, 7))
    ramp = torch.arange(7.0).expand(1, 1, 6, 7)
    inner = crop(ramp, 3, generator(3))
    assert float(inner.max() - inner.min()) < 6.0 + 1e-5
    assert float(crop(torch.zeros(2, 1, 1, 1), 4, generator()).abs().max()) == 0.0


def test_cutout_removes_one_square():
    x = images() + 10
    holes = cutout(x, 3, generator()) == 0
    assert bool((holes[:, 0] == holes[:, 1]).all())
    for hole in holes[:, 0]:
        rows, columns = hole.any(dim=1), hole.any(dim=0)
        assert 1 <= int(rows.sum()) <= 3
        assert int(hole.sum()) == int(rows.sum()) * int(columns.sum())


def test_mixup_is_a_convex_combination_with_beta_weights():
    x = images(4000, 1, 1, 1)
    mixed, partner, part = mixup(x, 0.5, generator())
    torch.testing.assert_close(mixed[:, 0, 0, 0], part * x[:, 0, 0, 0] + (1 - part) * x[partner][:, 0, 0, 0])
    assert float(part.mean()) == pytest.approx(0.5, abs=0.03)
    assert float(part.var()) == pytest.approx(1 / 8, abs=0.01)  # of Beta(a, a): 1 / (4 (2a + 1))


def test_augmentations_run_in_order_and_mixup_last():
    change = Augmentation(["mixup 0.2", "flip", "shift 1"])
    found = change(images(), generator())
    assert found.partner is not None
    assert len(change.steps) == 2
    plain = Augmentation(["flip"])(images(), generator())
    assert plain.partner is None


@pytest.mark.parametrize("text", ["turn", "flip 2", "shift", "shift 1.5", "shift 0", "mixup 0", "cutout x", ""])
def test_a_wrong_augmentation_is_refused(text):
    with pytest.raises(ValueError, match="got "):
        parse_augmentation(text)


@pytest.mark.parametrize("name", ["flip", "shift"])
def test_moves_are_the_changes_of_the_images(name):
    x = images(30)
    change = {"flip": lambda g: flip(x, g), "shift": lambda g: shift_images(x, 2, g)}[name]
    moves = MOVES[name]((30, 6, 7), 2, generator(3))
    torch.testing.assert_close(move_images(x, moves), change(generator(3)), rtol=1e-4, atol=1e-5)


def test_rotation_agrees_with_scipy():
    smooth = ndimage.gaussian_filter(np.random.default_rng(0).normal(size=(3, 1, 40, 30)), (0, 0, 3, 3))
    turned = rotate(torch.from_numpy(smooth), 30, generator(2)).numpy()
    angles = (2 * torch.rand(3, generator=generator(2)) - 1) * 30
    for before, after, degrees in zip(smooth[:, 0], turned[:, 0], angles.tolist(), strict=True):
        expected = ndimage.rotate(before, degrees, reshape=False, order=1)
        np.testing.assert_allclose(after[12:28, 10:20], expected[12:28, 10:20], atol=1e-5)


def test_noise_and_colors_have_their_spread():
    noise = add_noise(torch.zeros(50, 2, 20, 20), 0.3, generator())
    assert float(noise.std()) == pytest.approx(0.3, rel=0.03)
    x = images(400, 3)
    changed = change_colors(x, 0.2, generator())
    slope = (changed[..., 0, 1] - changed[..., 0, 0]) / (x[..., 0, 1] - x[..., 0, 0])  # one per image and channel
    assert float(slope.min()) >= 0.8 - 1e-3
    assert float(slope.max()) <= 1.2 + 1e-3
    assert float(slope.std()) == pytest.approx(0.2 / 3**0.5, rel=0.1)


@pytest.mark.parametrize("name", list(MOVES))
def test_boxes_and_masks_move_with_their_image(name):
    """A rectangle of ones: the box that moved is the box about the pixels that moved, up to a pixel."""
    value = {"shift": 3, "crop": 8, "rotate": 20}.get(name, 0)
    image = torch.zeros(20, 1, 24, 32)
    image[:, :, 8:14, 9:20] = 1
    moves = MOVES[name]((20, 24, 32), value, generator(4))
    moved = move_images(image, moves, mode="nearest")[:, 0]
    for pixels, move in zip(moved, moves, strict=True):
        (box,), (part,) = move_boxes(torch.tensor([[9.0, 8.0, 20.0, 14.0]]), move, 24, 32)
        rows, columns = pixels.any(1).nonzero(), pixels.any(0).nonzero()
        found = torch.tensor([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]).float()
        assert float(part) == pytest.approx(1.0)
        assert float((found - box).abs().max()) <= 1.0001


def test_augment_keeps_kinds_and_says_which_boxes_left():
    x = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8)
    masks = (x % 3).astype(np.int16)
    boxes = [[[0, 0, 8, 8], [7, 7, 8, 8]], []]
    found = augment(x, ["shift 4", "rotate 10", "noise 2", "color 0.1"], masks=masks, boxes=boxes, random_state=3)
    assert found.images.dtype == np.uint8
    assert found.masks.dtype == np.int16
    assert set(np.unique(found.masks)) <= {0, 1, 2}
    assert [len(of) for of in found.boxes] == [2, 0]
    assert found.kept[0][0]
    again = augment(x, ["shift 4", "rotate 10", "noise 2", "color 0.1"], masks=masks, boxes=boxes, random_state=3)
    assert np.array_equal(found.images, again.images)
    gone = augment(x, ["shift 8"] * 3, boxes=[[[0, 0, 1, 1]], [[0, 0, 1, 1]]], random_state=1)
    assert not all(kept[0] for kept in gone.kept)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((3, 4)), ["flip"]), "images must be numbers"),
        ((np.zeros((1, 4, 4)), "flip"), "must be a list"),
        ((np.zeros((1, 4, 4)), ["turn"]), "operations must name one of flip"),
        ((np.zeros((1, 4, 4)), ["rotate -1"]), "'rotate' with a number above 0"),
        ((np.zeros((1, 4, 4)), ["mixup 0.2"]), "must not name 'mixup'"),
    ],
)
def test_wrong_requests_to_augment(arguments, message):
    with pytest.raises(ValueError, match=message):
        augment(*arguments)
    with pytest.raises(ValueError, match="masks must be integers"):
        augment(np.zeros((1, 4, 4)), ["flip"], masks=np.zeros((1, 4, 5), int))
    with pytest.raises(ValueError, match="one list per image"):
        augment(np.zeros((1, 4, 4)), ["flip"], boxes=[])
