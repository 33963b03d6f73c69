"""The box of one object, and regions joined step by step, written out."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.data.boxes import Boxes
from margin.data.scenes import shape_scenes
from margin.vision.detection.localization import fit_localizer, localize
from margin.vision.detection.selective_search import _histograms, selective_search_hierarchy

PATH = "margin.vision.detection"


class _Says:
    """A model that predicts what it was given."""

    def __init__(self, boxes: np.ndarray):
        self.boxes = boxes

    def predict(self, _: object) -> np.ndarray:
        return self.boxes


@oracle(f"{PATH}.localization.localize", f"{PATH}.localization.fit_localizer")
def boxes_from_middles(seed: int) -> Verdict:
    """Corners from middle and sides, none below 0; the network's targets are centered at the mean middle and sides."""
    rng = np.random.default_rng(seed)
    corners = np.concatenate([low := rng.uniform(0, 3, size=(12, 2)), low + rng.uniform(1, 5, size=(12, 2))], axis=1)
    boxes = [Boxes(corner[None], np.array([0])) for corner in corners]
    model: Any = fit_localizer(rng.normal(size=(12, 8, 10)), boxes, ["conv 2 3"], max_iter=1, random_state=seed)
    said = np.array([[5.0, 4.0, 3.0, 2.0], [1.0, 7.0, -1.0, 4.0]])
    means = [np.mean([(a + c) / 2 for a, _, c, _ in corners]), np.mean([(b + d) / 2 for _, b, _, d in corners]),
             np.mean([c - a for a, _, c, _ in corners]), np.mean([d - b for _, b, _, d in corners])]  # fmt: skip
    return every(
        corners=near(localize(cast(Any, _Says(said)), None), [[3.5, 3.0, 3.0, 2.0], [1.0, 5.0, 0.0, 4.0]],
                     tolerance=2e-3),
        targets=near(model.target_center_, means, tolerance=1e-6),
    )  # fmt: skip


@oracle(f"{PATH}.selective_search.selective_search_hierarchy")
def regions_and_their_boxes(seed: int) -> Verdict:
    """Boxes of all regions by the pixels of the segments in them; only neighbors are joined, each region once."""
    image = shape_scenes(np.random.default_rng(seed), n_samples=1, side=24).images[0][:, :19]
    found = selective_search_hierarchy(image, k=0.3, min_size=4)
    n = int(found.segments.max()) + 1
    pixels = [set(zip(*np.nonzero(found.segments == k))) for k in range(n)]
    touching = []
    for a, b in found.merges:
        around = {(r + i, c + j) for r, c in pixels[a] for i in (-1, 0, 1) for j in (-1, 0, 1)}
        touching.append(bool(around & pixels[b]))
        pixels.append(pixels[a] | pixels[b])
    boxes = [
        [min(c for _, c in p), min(r for r, _ in p), max(c for _, c in p) + 1, max(r for r, _ in p) + 1] for p in pixels
    ]
    return every(
        boxes=near(found.boxes, boxes, tolerance=1e-9),
        neighbors=equal(all(touching), True),
        once=equal(sorted(found.merges.ravel().tolist()), list(range(2 * n - 2))),
        whole=equal(len(pixels[-1]), 24 * 19),
        the_most_alike_first=near(*likeness_of_merges(image, found, pixels), tolerance=1e-9),
    )


def likeness_of_merges(image: np.ndarray, found: Any, pixels: list[set[tuple[int, int]]]) -> tuple[Any, Any]:
    """How alike the regions of each merge are, and the most alike neighbors then.

    A region's histogram is the mean over its pixels of those of the first segments.
    """
    n, joined, best = int(found.segments.max()) + 1, [], []
    alive, first_ones = set(range(n)), _histograms(image[..., None], found.segments)

    def of_pixels(region: set[tuple[int, int]]) -> np.ndarray:
        return np.mean([first_ones[found.segments[pixel]] for pixel in region], axis=0)

    for step, pair in enumerate(found.merges.tolist()):
        order = sorted(alive)
        labels = np.empty(found.segments.shape, dtype=np.int64)
        for number, region in enumerate(order):
            rows, columns = zip(*pixels[region])
            labels[rows, columns] = number
        touching = {
            (order[a], order[b])
            for first, second in (
                (labels[1:], labels[:-1]),
                (labels[:, 1:], labels[:, :-1]),
                (labels[1:, 1:], labels[:-1, :-1]),
                (labels[1:, :-1], labels[:-1, 1:]),
            )
            for a, b in {*zip(first.ravel(), second.ravel()), *zip(second.ravel(), first.ravel())}
            if a < b
        }
        likeness = {}
        for a, b in touching:
            both = pixels[a] | pixels[b]
            height, width = (max(p[k] for p in both) - min(p[k] for p in both) + 1 for k in (0, 1))
            shared = np.minimum(*(of_pixels(region) for region in (pixels[a], pixels[b]))).sum()
            likeness[a, b] = shared + 2 - (len(both) + height * width - len(both)) / labels.size
        joined.append(likeness[min(pair), max(pair)])
        best.append(max(likeness.values()))
        alive = (alive - set(pair)) | {n + step}
    return np.array(joined), np.array(best)
