"""Splits, images and generated data against counts, Pillow and formulas."""

from __future__ import annotations

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.data import quantile_bins, stratified_split, three_way_split, time_split
from margin.data.image_arrays import first_channels
from margin.data.image_sets import preprocess_imagenet

MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


@oracle(*(f"margin.data.{name}" for name in ("time_split", "stratified_split", "quantile_bins", "three_way_split")))
def rows_of_parts(seed: int) -> Verdict:
    """Sizes, order in time, and classes whose fractions are kept to within a row, the largest remainders first."""
    rng = np.random.default_rng(seed)
    times, y = rng.permutation(23) + 100.0, np.repeat(["a", "b", "c"], [17, 9, 5])[rng.permutation(31)]
    early, late = time_split(times, 0.3)
    tied = time_split(np.repeat([3.0, 1.0, 2.0], [4, 5, 3]), 0.25)
    rest, chosen = stratified_split(y, 0.4, seed)
    three = three_way_split(40, 0.25, 0.15, seed)
    values = rng.normal(size=50)
    bins = quantile_bins(values, 7)
    ranks = values.argsort().argsort()
    starts = [int(ranks[bins == b].min()) for b in range(7)]
    return every(
        late=equal((len(early), len(late)), (16, 7)),
        order=equal(times[np.append(early, late)].tolist(), np.sort(times).tolist()),
        tied=equal(sorted(tied[1].tolist()), [0, 1, 2, 3]),
        classes=equal([int((y[chosen] == c).sum()) for c in "abc"], [7, 3, 2]),
        together=equal(sorted([*rest, *chosen]), list(range(31))),
        three=equal([len(part) for part in three], [24, 10, 6]),
        apart=equal(sorted(np.concatenate(three).tolist()), list(range(40))),
        bins=near(np.bincount(bins, minlength=7), np.full(7, 50 / 7), tolerance=1.0),
        rising=equal(starts, sorted(starts)),
    )


@oracle("margin.data.image_sets.preprocess_imagenet", "margin.data.image_arrays.first_channels")
def pictures_by_pillow(seed: int) -> Verdict:
    """A tall picture and a wide one: resized by Pillow, the middle cut out and standardized by hand."""
    from PIL import Image

    rng, parts = np.random.default_rng(seed), {}
    for name, shape, size in (("tall", (60, 40), (256, 384)), ("wide", (50, 75), (384, 256))):
        pixels = rng.integers(0, 256, size=(*shape, 3), dtype=np.uint8)
        large = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR)) / 255
        top, left = (size[1] - 224) // 2, (size[0] - 224) // 2
        expected = (large[top : top + 224, left : left + 224] - MEAN) / DEVIATION
        parts[name] = near(preprocess_imagenet(pixels), np.moveaxis(expected, 2, 0), tolerance=1e-5)
    last, first, gray = rng.random((2, 5, 6, 3)), rng.random((2, 3, 5, 6)), rng.random((2, 5, 6))
    return every(
        **parts,
        last=equal(first_channels("x", last, "auto"), np.moveaxis(last, 3, 1)),
        first=equal(first_channels("x", first, "auto"), first),
        told=equal(first_channels("x", last, "last"), np.moveaxis(last, 3, 1)),
        gray=equal(first_channels("x", gray, "auto"), gray[:, None]),
    )
