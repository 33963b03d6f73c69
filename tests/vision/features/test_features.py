"""Filters, histograms and keypoints against direct loops, exact symmetries and synthetic blobs."""

import numpy as np
import pytest
from sklearn.datasets import load_sample_image

from margin.vision.features import HOG, VisualWords, butterworth, hog, match_descriptors, morph, sift, surf, warp
from margin.vision.features.filters import low_pass_mask, radius
from margin.vision.features.hog import CLIP, EPSILON
from margin.vision.features.surf import box_sum, integral_image

RNG = np.random.default_rng(3)


def photo(size=120):
    gray = load_sample_image("china.jpg").mean(axis=2)[100 : 100 + size, 200 : 200 + size] / 255
    return gray


def hog_by_loops(image, cell, bins, block):
    """The definition, pixel by pixel."""
    h, w = image.shape
    cells = np.zeros((h // cell, w // cell, bins))
    for r in range(h // cell * cell):
        for c in range(w // cell * cell):
            dr = (image[r + 1, c] - image[r - 1, c]) / 2 if 0 < r < h - 1 else 0.0
            dc = (image[r, c + 1] - image[r, c - 1]) / 2 if 0 < c < w - 1 else 0.0
            angle = np.degrees(np.arctan2(dr, dc)) % 180
            place = angle / (180 / bins) - 0.5
            low = int(np.floor(place))
            cells[r // cell, c // cell, low % bins] += np.hypot(dr, dc) * (1 - (place - low)) / cell**2
            cells[r // cell, c // cell, (low + 1) % bins] += np.hypot(dr, dc) * (place - low) / cell**2
    out = []
    for r in range(cells.shape[0] - block + 1):
        for c in range(cells.shape[1] - block + 1):
            v = cells[r : r + block, c : c + block].transpose(2, 0, 1).ravel()
            for _ in range(2):
                v = v / np.sqrt(v @ v + EPSILON**2)
                v = np.minimum(v, CLIP) if _ == 0 else v
            out.append(v)
    return np.concatenate(out)


@pytest.mark.parametrize(("cell", "bins", "block"), [(4, 9, 2), (8, 6, 1), (5, 9, 2)])
def test_hog_equals_the_loops(cell, bins, block):
    images = RNG.random((2, 17, 22))
    ours = hog(images[:, None], cell, bins, block)
    np.testing.assert_allclose(ours, [hog_by_loops(image, cell, bins, block) for image in images], atol=1e-12)


def test_hog_of_bytes_and_of_colors():
    images = RNG.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    gray = np.repeat(images[..., :1], 3, axis=3)
    np.testing.assert_allclose(HOG(4).fit_transform(gray), HOG(4).fit_transform(gray[..., 0].astype(float)), atol=1e-12)
    assert HOG(4).fit_transform(images).shape == (3, 9 * 4 * 9)


def test_masks_have_half_the_power_at_the_cutoff():
    r = radius((40, 40))
    at = np.isclose(r, 0.1)
    for kind in ("gaussian", "butterworth"):
        np.testing.assert_allclose(low_pass_mask((40, 40), 0.1, kind, 3)[at], np.sqrt(0.5), atol=1e-12)


def test_butterworth_low_and_high_pass_add_up():
    image = RNG.random((20, 31))
    both = butterworth(image, 0.08, 3) + butterworth(image, 0.08, 3, high=True)
    np.testing.assert_allclose(both, image, atol=1e-13)


def test_sift_of_a_turned_image_is_the_same_turned():
    image = photo()
    a, b = sift(image), sift(np.rot90(image))
    pairs = match_descriptors(a.descriptors, b.descriptors)
    moved = np.column_stack([len(image) - 1 - a.positions[:, 1], a.positions[:, 0]])  # where rot90 puts a point
    right = np.hypot(*(moved[pairs[:, 0]] - b.positions[pairs[:, 1]]).T) < 2
    assert len(a) > 30
    assert right.mean() > 0.9
    assert right.sum() > 0.4 * len(a)


def test_sift_finds_the_scale_of_a_blob():
    y, x = np.mgrid[:96, :96]
    for sigma in (3.0, 5.0, 8.0):
        found = sift(np.exp(-((x - 40.0) ** 2 + (y - 50.0) ** 2) / (2 * sigma**2)))
        assert np.abs(found.positions - [50, 40]).max() < 1
        assert found.scales[0] == pytest.approx(sigma, rel=0.2)


def test_box_sums_equal_slices():
    image = RNG.random((9, 11))
    integral = integral_image(image)
    for _ in range(20):
        top, left, height, width = (int(v) for v in RNG.integers(-2, 8, 4))
        height, width = abs(height) + 1, abs(width) + 1
        rows, columns = slice(max(top, 0), max(top + height, 0)), slice(max(left, 0), max(left + width, 0))
        got = box_sum(integral, np.array(top), np.array(left), height, width)
        assert got == pytest.approx(image[rows, columns].sum())


def test_surf_of_a_turned_image_matches():
    image = photo()
    a, b = surf(image), surf(np.rot90(image))
    pairs = match_descriptors(a.descriptors, b.descriptors)
    moved = np.column_stack([len(image) - 1 - a.positions[:, 1], a.positions[:, 0]])
    right = np.hypot(*(moved[pairs[:, 0]] - b.positions[pairs[:, 1]]).T) < 3
    assert len(a) > 20
    assert right.mean() > 0.8


def test_a_warp_moves_its_points():
    image = np.zeros((30, 30))
    image[10, 12] = 1.0
    moved = warp(image, np.array([[10, 12]]), np.array([[15, 14]]))
    assert np.unravel_index(moved.argmax(), moved.shape) == (15, 14)


def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match="both images must be gray and of one shape"):
        morph(np.zeros((3, 3)), np.zeros((4, 4)), np.zeros((1, 2)), np.zeros((1, 2)), 0.5)
    with pytest.raises(ValueError, match=r"t must lie in \[0, 1\]"):
        morph(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((1, 2)), np.ones((1, 2)), 2)
    with pytest.raises(ValueError, match="image must be gray"):
        sift(np.zeros((3, 3, 3)))
    with pytest.raises(ValueError, match=r"HOG: image_shape must be .* product of 12"):
        HOG(image_shape=(3, 5)).fit(np.zeros((4, 12)))


def test_visual_words_tell_textures_apart():
    y, x = np.mgrid[:32, :32]
    blobs = [np.sin(x / 2 + a) * np.sin(y / 2 + b) for a, b in RNG.random((10, 2)) * 6]
    stripes = [np.sin(x / 2 + a) + 0.5 * np.sin(y / 5 + b) for a, b in RNG.random((10, 2)) * 6]
    features = VisualWords(n_words=8, random_state=0).fit_transform(np.array([*blobs, *stripes]))
    inner = np.linalg.norm(features[:10] - features[:10].mean(0), axis=1).mean()
    assert np.linalg.norm(features[:10].mean(0) - features[10:].mean(0)) > inner
