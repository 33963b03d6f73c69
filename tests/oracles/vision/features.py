"""Filters of images against their frequency response, measured with plane waves."""

from __future__ import annotations

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.vision.features.filters import butterworth, high_pass, low_pass_mask
from margin.vision.features.hog import cell_histograms, hog, image_gradients
from margin.vision.features.keypoints import match_descriptors


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


@oracle(*(f"margin.vision.features.filters.{name}" for name in ("low_pass_mask", "high_pass")))
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
