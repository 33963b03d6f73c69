"""Boxes, anchors and suppression, box by box."""

from __future__ import annotations

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.vision.detection import anchors, boxes
from margin.vision.detection.suppression import non_maximum_suppression

PATH = "margin.vision.detection"


def drawn(rng: np.random.Generator, n: int) -> np.ndarray:
    corner = rng.uniform(0, 20, size=(n, 2))
    return np.concatenate([corner, corner + rng.uniform(2, 9, size=(n, 2))], axis=1)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    high = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = wide * high
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


@oracle(*(f"{PATH}.boxes.{name}" for name in ("box_encode", "box_decode", "pairwise_iou")),
        f"{PATH}.anchors.make_anchors", f"{PATH}.suppression.non_maximum_suppression")  # fmt: skip
def boxes_one_by_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    some, others, scores, labels = drawn(rng, 12), drawn(rng, 12), rng.random(12), rng.integers(2, size=12)
    offsets = []
    for (a, b, c, d), (e, f, g, h) in zip(some, others):
        wide, high = g - e, h - f
        offsets.append([((a + c) - (e + g)) / 2 / wide, ((b + d) - (f + h)) / 2 / high,
                        np.log((c - a) / wide), np.log((d - b) / high)])  # fmt: skip
    grid = []
    for row in range(2):
        for column in range(3):
            for scale in (4.0, 7.0):
                for ratio in (0.5, 2.0):  # height over width, of equal area
                    wide, high = scale / np.sqrt(ratio), scale * np.sqrt(ratio)
                    x, y = (column + 0.5) * 5.0, (row + 0.5) * 5.0
                    grid.append([x - wide / 2, y - high / 2, x + wide / 2, y + high / 2])
    crowd = np.concatenate([some, some[:6] + rng.uniform(-1, 1, size=(6, 4))])
    chances, kinds = np.append(scores, rng.random(6)), np.append(labels, labels[:6])

    def kept(same_class_only: bool) -> list[int]:
        best: list[int] = []
        for i in sorted(range(18), key=lambda i: -chances[i]):
            rivals = [j for j in best if not same_class_only or kinds[j] == kinds[i]]
            if all(overlap(crowd[i], crowd[j]) <= 0.3 for j in rivals):
                best.append(i)
        return best

    return every(
        encoded=near(boxes.box_encode(some, others), offsets, tolerance=1e-10),
        decoded=near(boxes.box_decode(np.array(offsets), others), some, tolerance=1e-9),
        overlaps=near(
            boxes.pairwise_iou(some, others), [[overlap(a, b) for b in others] for a in some], tolerance=1e-10
        ),
        anchors=near(anchors.make_anchors(2, 3, 5.0, [4.0, 7.0], [0.5, 2.0]), grid, tolerance=1e-10),
        kept=equal(non_maximum_suppression(crowd, chances, 0.3).tolist(), kept(False)),
        kept_by_class=equal(non_maximum_suppression(crowd, chances, 0.3, labels=kinds).tolist(), kept(True)),
        first_three=equal(non_maximum_suppression(crowd, chances, 0.3, max_boxes=3).tolist(), kept(False)[:3]),
    )
