"""Filters of images against their frequency response, measured with plane waves."""

from __future__ import annotations

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.vision.features.filters import butterworth, high_pass, low_pass_mask
from margin.vision.features.hog import cell_histograms, hog, image_gradients
from margin.vision.features.keypoints import match_descriptors
from margin.vision.features.morph import morph, warp
from margin.vision.features.surf import hessian_determinant, integral_image, surf


@oracle("margin.vision.features.filters.butterworth")
def gain_of_a_wave(seed: int) -> Verdict:
    """A plane wave of frequency u comes out as 1 / (1 + (u / cutoff)^(2 order)) of itself, or the root of that."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:16, :24]
    a, b = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    wave = np.cos(2 * np.pi * (a * rows / 16 + b * columns / 24) + 0.4)
    frequency, cutoff, order = np.hypot(a / 16, b / 24), 0.21, 1.5
    gain = 1 / (1 + (frequency / cutoff) ** (2 * order))
    return every(
        low=near(butterworth(wave, cutoff, order), gain * wave, tolerance=1e-10),
        once=near(butterworth(wave, cutoff, order, squared=False), np.sqrt(gain) * wave, tolerance=1e-10),
        high=near(butterworth(wave, cutoff, order, high=True), (1 - gain) * wave, tolerance=1e-10),
    )


@oracle(
    "margin.vision.features.filters.low_pass",
    *(f"margin.vision.features.filters.{name}" for name in ("low_pass_mask", "high_pass")),
)
def gains_of_masks(seed: int) -> Verdict:
    """Half the power at the cutoff for both kinds, and their formulas elsewhere; what is left has mean 0."""
    rng = np.random.default_rng(seed)
    image, shape, cutoff = rng.random((12, 9)), (12, 9), 0.23
    u = np.sqrt(np.fft.fftfreq(12)[:, None] ** 2 + np.fft.fftfreq(9) ** 2) / cutoff
    masks = {"gaussian": 2 ** (-(u**2) / 2), "butterworth": (1 + u**3) ** -0.5}
    parts: dict[str, Verdict] = {}
    for kind, mask in masks.items():
        parts[kind] = near(low_pass_mask(shape, cutoff, kind, 1.5), mask, tolerance=1e-12)
        left = image - np.real(np.fft.ifft2(np.fft.fft2(image) * mask))
        parts[f"{kind}_high"] = near(high_pass(image, cutoff, kind, 1.5), left, tolerance=1e-10)
    return every(**parts)


@oracle(
    "margin.vision.features.hog.cell_histograms",
    "margin.vision.features.hog.hog",
    "margin.vision.features.keypoints.match_descriptors",
)
def gradients_pixel_by_pixel(seed: int) -> Verdict:
    """Cells that are not square in images that are not, three channels, each pixel's vote shared by two directions."""
    rng = np.random.default_rng(seed)
    images, (tall, wide), bins = rng.random((2, 3, 11, 14)), (5, 4), 7
    rows, columns = image_gradients(images)
    expected = np.zeros((2, 2, 3, bins))
    for n in range(2):
        for i in range(tall * 2):
            for j in range(wide * 3):
                c = int(np.argmax([np.hypot(rows[n, c, i, j], columns[n, c, i, j]) for c in range(3)]))
                dy, dx = rows[n, c, i, j], columns[n, c, i, j]
                at = (np.degrees(np.arctan2(dy, dx)) % 180) / (180 / bins) - 0.5
                low = int(np.floor(at))
                for b, part in ((low, 1 - (at - low)), (low + 1, at - low)):
                    expected[n, i // tall, j // wide, b % bins] += np.hypot(dy, dx) * part / (tall * wide)
    blocks = np.array([[np.moveaxis(expected[n, :, k : k + 2], 2, 0).ravel() for k in range(2)] for n in range(2)])
    blocks = np.minimum(blocks / np.linalg.norm(blocks, axis=-1, keepdims=True), 0.2)
    blocks = blocks / np.linalg.norm(blocks, axis=-1, keepdims=True)
    a = rng.normal(size=(6, 4))
    others = np.vstack([a[[3, 1]] + 0.1, a[4] + 0.3, a[4] - 0.3, rng.normal(size=(2, 4)) + 9])
    gaps = np.sqrt(((a[:, None] - others) ** 2).sum(axis=2))
    pairs = [(i, int(row.argmin())) for i, row in enumerate(gaps)
             if np.sort(row)[0] < 0.6 * np.sort(row)[1] and gaps[:, row.argmin()].argmin() == i]  # fmt: skip
    return every(
        cells=near(cell_histograms(images, (tall, wide), bins), expected, tolerance=1e-10),
        blocks=near(hog(images, (tall, wide), bins, (2, 2)).reshape(2, 2, -1), blocks, tolerance=1e-3),
        pairs=equal(match_descriptors(a, others, 0.6).tolist(), [list(pair) for pair in pairs]),
        none=equal(len(match_descriptors(a, others[:1])), 0),
    )


@oracle(*(f"margin.vision.features.surf.{name}" for name in ("integral_image", "hessian_determinant")))
def boxes_added_pixel_by_pixel(seed: int) -> Verdict:
    """Second differences by boxes whose pixels are added one by one, in an image that is no square, with a border."""
    image = np.random.default_rng(seed).random((17, 14))
    integral = integral_image(image)
    sums = [[image[:i, :j].sum() for j in range(15)] for i in range(18)]
    size, lobe, half = 9, 3, 4
    expected = np.empty(image.shape)
    for r, c in np.ndindex(*image.shape):
        total = dict.fromkeys(("yy", "xx", "xy"), 0.0)
        for i, j in np.ndindex(*image.shape):
            dr, dc, value = i - r, j - c, image[i, j]
            if abs(dr) <= half and abs(dc) < lobe:
                total["yy"] += value * (-2 if abs(dr) <= lobe // 2 else 1)
            if abs(dc) <= half and abs(dr) < lobe:
                total["xx"] += value * (-2 if abs(dc) <= lobe // 2 else 1)
            if 1 <= abs(dr) <= lobe and 1 <= abs(dc) <= lobe:
                total["xy"] += value * (-1 if dr * dc > 0 else 1)
        expected[r, c] = (total["xx"] * total["yy"] - (0.9 * total["xy"]) ** 2) / size**4
    return every(
        sums=near(integral, sums, tolerance=1e-10),
        determinant=near(hessian_determinant(integral, size), expected, tolerance=1e-10),
    )


@oracle("margin.vision.features.surf.surf")
def a_blob_where_it_was_painted(seed: int) -> Verdict:
    """One bright blob away from the middle: the strongest point is there; turned images have turned points."""
    rng = np.random.default_rng(seed)
    row, column = rng.integers(24, 40, size=2)
    y, x = np.mgrid[:64, :72]
    image = np.exp(-((x - column) ** 2 + (y - row) ** 2) / (2 * 4.0**2))
    found, turned = surf(image), surf(np.rot90(image).copy())
    place = found.positions[0]
    return every(
        place=near(place, [row, column], tolerance=1.5),
        turned=near(turned.positions[0], [71 - place[1], place[0]], tolerance=1.5),
        scale=near(turned.scales[0], found.scales[0], tolerance=1e-9),
        unit=near(np.linalg.norm(found.descriptors, axis=1), np.ones(len(found.descriptors)), tolerance=1e-9),
    )


@oracle(*(f"margin.vision.features.morph.{name}" for name in ("morph", "warp")))
def points_move_with_the_image(seed: int) -> Verdict:
    """A ramp, which interpolation reads exactly: a bent image at the moved points is the ramp at the points."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:21, :17].astype(float)
    a, b = 0.3 * rows - 0.7 * columns, 2.0 + 0.1 * rows * columns
    points = np.array([[6.0, 5.0], [14.0, 10.0]])
    moved = points + rng.integers(-2, 3, size=(2, 2))
    bent = warp(a, points, moved)
    at = moved.astype(int)
    between = 0.75 * points + 0.25 * moved
    expected = 0.75 * warp(a, points, between) + 0.25 * warp(b, moved, between)
    return every(
        at_the_points=near(bent[at[:, 0], at[:, 1]], 0.3 * points[:, 0] - 0.7 * points[:, 1], tolerance=1e-6),
        corners=near(bent[[0, 0, -1, -1], [0, -1, 0, -1]], a[[0, 0, -1, -1], [0, -1, 0, -1]], tolerance=1e-6),
        still=near(warp(b, points, points), b, tolerance=1e-6),
        mixed=near(morph(a, b, points, moved, 0.25), expected, tolerance=1e-9),
        ends=near(morph(a, b, points, moved, 1.0), b, tolerance=1e-6),
    )
