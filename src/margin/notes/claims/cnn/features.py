"""Claims on handcrafted features: filters in Fourier space, histograms of gradients, keypoints, morphing."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near, within
from margin.notes.claims import claim
from margin.notes.claims.cnn import normal, stream
from margin.vision.features import (
    Keypoints,
    butterworth,
    high_pass,
    hog,
    low_pass,
    match_descriptors,
    morph,
    sift,
    surf,
)
from margin.vision.features.filters import radius


def blobs(seed: int, size: int = 96, count: int = 14) -> np.ndarray:
    """An image of Gaussian blobs of several sizes, dark and bright, with values from 0 to 1."""
    rng = stream(seed)
    rows, columns = np.mgrid[:size, :size]
    image = np.zeros((size, size))
    for _ in range(count):
        (r, c), s = rng.uniform(12, size - 12, 2), rng.uniform(2.5, 5.5)
        stretch, turn = rng.uniform(1.0, 1.6), rng.uniform(0, np.pi)
        u = np.cos(turn) * (columns - c) + np.sin(turn) * (rows - r)
        v = -np.sin(turn) * (columns - c) + np.cos(turn) * (rows - r)
        image += rng.choice([-1.0, 1.0]) * np.exp(-(u**2 / stretch + v**2 * stretch) / (2 * s**2))
    return (image - image.min()) / np.ptp(image)


@claim("hog-features")
def gradients_vote_for_their_orientation() -> Verdict:
    rows, columns = np.mgrid[:32, :32].astype(float)
    bins, parts = 9, {}
    for degrees in (10, 50, 110, 170):  # middles of bins
        angle = np.radians(degrees)
        ramp = np.cos(angle) * columns + np.sin(angle) * rows
        cells = hog(ramp[None, None], cell=8, bins=bins, block=1).reshape(16, bins)
        inner = cells[[5, 6, 9, 10]].mean(axis=0)  # cells away from the border
        parts[f"at_{degrees}"] = equal(int(inner.argmax()), int(degrees // (180 / bins)))
        parts[f"alone_{degrees}"] = above(float(inner.max() / inner.sum()), 0.95)
    return every(**parts, size=equal(hog(np.zeros((2, 3, 64, 48)), 8, 9, 2).shape, (2, 7 * 5 * 4 * 9)))


@claim("sift-features")
def sift_survives_rotation_and_scaling(seed: int) -> Verdict:
    from scipy.ndimage import zoom

    image = blobs(seed)
    upright, turned, larger = (
        sift(image),
        sift(np.rot90(image)),
        sift(zoom(image, 2, order=3, grid_mode=True, mode="nearest")),
    )
    n = len(image)
    rotated = np.column_stack([n - 1 - upright.positions[:, 1], upright.positions[:, 0]])
    scaled = 2 * upright.positions + 0.5

    def right(places: np.ndarray, other: Keypoints, tolerance: float) -> tuple[float, int]:
        pairs = match_descriptors(upright.descriptors, other.descriptors)
        gap = np.hypot(*(places[pairs[:, 0]] - other.positions[pairs[:, 1]]).T)
        return float((gap < tolerance).mean()), int((gap < tolerance).sum())

    fraction, count = right(rotated, turned, 2.0)
    fraction_scaled, count_scaled = right(scaled, larger, 4.0)
    return every(
        descriptors=equal(upright.descriptors.shape, (len(upright), 128)),
        keypoints=above(len(upright), 7),
        rotated_matches_are_right=above(fraction, 0.8),
        most_are_matched=above(count, 0.5 * len(upright)),
        scaled_matches_are_right=above(fraction_scaled, 0.7),
        many_are_matched=above(count_scaled, 0.4 * len(upright)),
    )


@claim("surf-features")
def surf_finds_blobs_at_their_scale(seed: int) -> Verdict:
    rng = stream(seed)
    rows, columns = np.mgrid[:110, :110]
    parts = {}
    for k, sigma in enumerate((2.5, 4.0, 6.0)):
        r, c = rng.uniform(45, 65, 2)
        keypoints = surf(np.exp(-((rows - r) ** 2 + (columns - c) ** 2) / (2 * sigma**2)))
        strongest = keypoints.positions[0]  # they come in the order of their response
        parts[f"position_{k}"] = below(float(np.hypot(*(strongest - [r, c]))), 2.0)
        parts[f"scale_{k}"] = within(float(keypoints.scales[0] / sigma), 0.6, 1.5)
        parts[f"values_{k}"] = equal(keypoints.descriptors.shape[1], 64)
    return every(**parts)


def energy(image: np.ndarray, above_frequency: float) -> float:
    """Energy of the frequencies beyond a radius."""
    spectrum = np.abs(np.fft.fft2(image)) ** 2
    return float(spectrum[radius(image.shape) > above_frequency].sum())


@claim("low-pass-filter")
def low_pass_removes_noise(seed: int) -> Verdict:
    clean, noise = blobs(seed), 0.2 * normal(seed, 96, 96)
    parts = {}
    for kind in ("gaussian", "butterworth"):
        smooth = low_pass(clean + noise, 0.08, kind)
        parts[f"{kind}_frequencies"] = below(energy(smooth, 0.16), 0.2 * energy(clean + noise, 0.16))
        parts[f"{kind}_noise"] = below(float(np.var(smooth - clean)), 0.5 * float(np.var(noise)))
        parts[f"{kind}_mean"] = near(smooth.mean(), (clean + noise).mean(), tolerance=1e-12)
    return every(**parts)


@claim("high-pass-filter")
def high_pass_keeps_edges(seed: int) -> Verdict:
    step = np.zeros((64, 64))
    step[:, 20:44] = 1.0
    edges = high_pass(step, 0.1)
    at_edges = np.abs(edges[:, [19, 20, 43, 44]]).mean()
    image = normal(seed, 40, 50)
    return every(
        mean_is_gone=near(high_pass(image + 7, 0.1).mean(), 0.0, tolerance=1e-12),
        edges_stay=above(float(at_edges), 5 * float(np.abs(edges[:, 30:34]).mean())),
        complementary=near(low_pass(image, 0.1) + high_pass(image, 0.1), image, tolerance=1e-13),
        complementary_butterworth=near(
            butterworth(image, 0.1, 3) + butterworth(image, 0.1, 3, high=True), image, tolerance=1e-13
        ),
    )


@claim("morphing")
def morphing_moves_shapes(seed: int) -> Verdict:
    rng = stream(seed)
    rows, columns = np.mgrid[:40, :40]
    start, end = rng.uniform(10, 16, 2), rng.uniform(24, 30, 2)

    def spot(place: np.ndarray) -> np.ndarray:
        return np.exp(-((rows - place[0]) ** 2 + (columns - place[1]) ** 2) / (2 * 2.5**2))

    a, b = spot(start), spot(end)
    points_a = start + np.array([[0, 0], [3, 0], [-3, 0], [0, 3], [0, -3.0]])
    points_b = points_a - start + end
    half = morph(a, b, points_a, points_b, 0.5)
    peak = np.array(np.unravel_index(half.argmax(), half.shape))
    dissolved = 0.5 * a + 0.5 * b
    return every(
        begin=near(morph(a, b, points_a, points_b, 0.0), a, tolerance=1e-9),
        end=near(morph(a, b, points_a, points_b, 1.0), b, tolerance=1e-9),
        halfway=below(float(np.hypot(*(peak - (start + end) / 2))), 1.5),
        one_spot_of_full_height=above(float(half.max()), 0.9),
        a_mere_mixture_has_two_faint_ones=below(float(dissolved.max()), 0.6),
    )
