"""Splits, images and generated data against counts, Pillow and formulas."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from scipy import stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.data import (
    Table,
    detect_task,
    load,
    preprocessor,
    quantile_bins,
    random_folds,
    stratified_split,
    three_way_split,
    time_split,
)
from margin.data.batching import collate
from margin.data.generators import noisy_function, swiss_roll
from margin.data.image_arrays import first_channels
from margin.data.image_sets import load_cifar10, preprocess_imagenet
from margin.data.labeled_images import load_cifar100, load_lsun, read_captioned_images
from margin.data.meshes import AMBIENT, read_mesh, render
from margin.data.preprocessing import frame
from margin.data.splits import random_split

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


@oracle(
    "margin.data.image_sets.load_cifar10",
    "margin.data.labeled_images.load_cifar100",
)
def pictures_byte_by_byte(seed: int) -> Verdict:
    """Files written here, red, green and blue plane by plane, with one or two bytes of labels before them."""
    rng = np.random.default_rng(seed)
    pictures, labels = rng.integers(0, 256, size=(3, 32, 32, 3), dtype=np.uint8), [7, 0, 9]
    with tempfile.TemporaryDirectory() as name:
        for file, before in (("test_batch.bin", ()), ("train.bin", (5,))):
            records = [
                bytes([*before, label, *(picture[r, c, k] for k in range(3) for r in range(32) for c in range(32))])
                for picture, label in zip(pictures, labels)
            ]
            (Path(name) / file).write_bytes(b"".join(records))
        ten, hundred = load_cifar10(name, "test"), load_cifar100(name)
    return every(
        ten=equal(np.asarray(ten.X).reshape(pictures.shape), pictures),
        classes=equal([ten.target_names[i] for i in ten.y], ["horse", "airplane", "truck"]),
        hundred=equal(hundred.images, pictures),
        names=equal([hundred.classes[i] for i in hundred.labels], ["beetle", "apple", "bottle"]),
    )


@oracle(
    "margin.data.image_folder.read_images",
    "margin.data.image_folder.open_image_folder",
    "margin.data.labeled_images.load_lsun",
    "margin.data.labeled_images.read_captioned_images",
)
def pictures_in_folders(seed: int) -> Verdict:
    """Files that Pillow wrote, without loss and not square, read in the order of their names."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    pictures = rng.integers(0, 256, size=(3, 4, 6, 3), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as name:
        for k, (room, picture) in enumerate(zip(("kitchen", "bedroom", "kitchen"), pictures)):
            (Path(name) / room).mkdir(exist_ok=True)
            Image.fromarray(picture).save(Path(name) / room / f"{k}.png")
            (Path(name) / room / f"{k}.txt").write_text(f" scene {k}\n")
        scenes, captioned = load_lsun(name, resize=None), read_captioned_images(name, resize=None)
    order = [1, 0, 2]  # bedroom/1, kitchen/0, kitchen/2
    return every(
        images=equal(scenes.images, pictures[order]),
        rooms=equal([scenes.classes[i] for i in scenes.labels], ["bedroom", "kitchen", "kitchen"]),
        captions=equal(list(captioned.captions), [f"scene {k}" for k in order]),
        their_images=equal(captioned.images, pictures[order]),
    )


@oracle("margin.data.meshes.read_mesh", "margin.data.meshes.render")
def shapes_from_their_corners(seed: int) -> Verdict:
    """A rectangle in two triangles before another, farther and larger; which pixels lie in which, ray by ray."""
    height = float(np.random.default_rng(seed).uniform(0.3, 0.6))
    text = (
        "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nv -0.5 -0.5 0.5\nv 0.5 -0.5 0.5\nv 0.5 {h} 0.9\nf 1 2 3 4\nf 5 6 7\n"
    )
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "shape.obj"
        path.write_text(text.format(h=height))
        mesh = read_mesh(path)
    picture = render(mesh, 33, azimuth=0.0, elevation=0.0)
    tilted = np.cross([1.0, 0, 0], [1.0, height + 0.5, 0.4])
    shades = sorted({round(float(v), 6) for v in picture[picture > 0]})
    ratio = abs(tilted[2]) / np.linalg.norm(tilted)
    rows, columns = np.nonzero(np.isclose(picture, shades[0]))
    span = (np.nonzero(picture.any(axis=0))[0][[0, -1]]).astype(float)
    unit = (span[1] - span[0]) / 2
    x, y = (columns - 16) / unit, (16 - rows) / unit
    below_the_edge = y <= -0.5 + (x + 0.5) * (height + 0.5) + 0.1
    return every(
        triangles=equal(mesh.faces.tolist(), [[0, 1, 2], [0, 2, 3], [4, 5, 6]]),
        shades=near((shades[0] - AMBIENT) / (1 - AMBIENT), ratio, tolerance=1e-5),
        brightest=near(shades[-1], 1.0, tolerance=1e-6),
        where=equal(bool(np.all((np.abs(x) <= 0.56) & (y >= -0.56) & below_the_edge)), True),
        how_many=near(len(x) / unit**2, (height + 0.5) / 2, tolerance=0.15),
    )


@oracle("margin.data.generators.swiss_roll", "margin.data.generators.noisy_function", "margin.data.load")
def rows_drawn_from_formulas(seed: int) -> Verdict:
    """On the roll the radius is the angle; residuals of a noisy function are normal with the given deviation."""
    X, t = swiss_roll(np.random.default_rng(seed), 400)
    named = load("swiss-roll", n_samples=400, seed=seed)
    x, y = noisy_function(np.random.default_rng(seed), np.cos, 3000, 0.3, low=1.0, high=4.0)
    cholesterol = load("cholesterol")
    return every(
        radius=near(np.hypot(X[:, 0], X[:, 2]), t, tolerance=1e-9),
        angle=near(np.cos(np.arctan2(X[:, 2], X[:, 0]) - t), np.ones(400), tolerance=1e-9),
        ranges=equal(bool(t.min() > 4.7 and t.max() < 14.2 and X[:, 1].min() >= 0 and 15 < X[:, 1].max() <= 21), True),
        by_name=near(np.hypot(*np.asarray(named.X)[:, [0, 2]].T), named.y, tolerance=1e-9),
        spread=equal(bool(stats.kstest((y - np.cos(x[:, 0])) / 0.3, "norm").pvalue > 1e-6), True),
        inputs=equal(bool(stats.kstest(x[:, 0], "uniform", (1.0, 3.0)).pvalue > 1e-6), True),
        patients=equal((len(cholesterol.y), sorted(np.concatenate(cholesterol.split).tolist())), (10, list(range(10)))),
    )


@oracle("margin.data.preprocessing.preprocessor", "margin.data.preprocessor", "margin.data.batching.collate")
def columns_by_hand(seed: int) -> Verdict:
    """Numbers with a gap, and labels of three kinds, standardized and told apart by loops; examples stacked."""
    rng = np.random.default_rng(seed)
    ages, kinds = [*rng.normal(40, 9, size=7).round(2).tolist(), None], ["b", "a", "c", "a", "a", "b", "c", "a"]
    table = Table({"age": ages, "kind": kinds})
    found = np.asarray(preprocessor(table).fit_transform(frame(table)), dtype=float)
    known = sorted(a for a in ages if a is not None)
    filled = np.array([known[3] if a is None else a for a in ages])
    scaled = (filled - filled.mean()) / np.sqrt(np.mean((filled - filled.mean()) ** 2))
    marks = [[float(kind == label) for label in "abc"] for kind in kinds]
    batch = rng.normal(size=(3, 2, 5))
    return every(
        columns=near(found, np.column_stack([scaled, marks]), tolerance=1e-9),
        stacked=near(collate(list(batch))[2, 1], [float(v) for v in batch[2][1]], tolerance=0.0),
        order=equal(collate(list(batch)).shape, (3, 2, 5)),
    )


@oracle("margin.data.random_folds", "margin.data.splits.random_split", "margin.data.detect_task")
def rows_dealt_and_targets_told(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    folds, again = (list(random_folds(14, 4, seed)) for _ in range(2))
    train, test = random_split(30, 0.3, seed)
    firsts = np.bincount(np.concatenate([random_split(10, 0.2, s)[1] for s in range(1000 * seed, 1000 * seed + 500)]))
    targets = {
        "regression": [rng.normal(size=30), rng.permutation(30), np.arange(25) % 23],
        "classification": [rng.choice(["a", "b"], 9), np.arange(60) % 3, np.array([4, 9, 9, 4]), np.arange(8) % 2 == 0],
    }
    return every(
        once=equal(sorted(np.concatenate([part for _, part in folds]).tolist()), list(range(14))),
        rest=equal([sorted([*a, *b]) for a, b in folds], [list(range(14))] * 4),
        sizes=equal(sorted(len(part) for _, part in folds), [3, 3, 4, 4]),
        same_seed=equal([part.tolist() for _, part in folds], [part.tolist() for _, part in again]),
        split=equal((sorted([*train, *test]), len(test)), (list(range(30)), 9)),
        evenly=near(firsts / 100, np.ones(10), tolerance=0.5),  # standard errors are 0.09
        tasks=equal({name: [detect_task(y) for y in ys] for name, ys in targets.items()},
                    {name: [name] * len(ys) for name, ys in targets.items()}),
    )  # fmt: skip
