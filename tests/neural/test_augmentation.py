"""Augmentations against loops over single images, and their parsing."""

import pytest
import torch

from margin.neural.augmentation import Augmentation, crop, cutout, flip, mixup, parse_augmentation, shift_images


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
