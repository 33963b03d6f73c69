"""Suppression and mean average precision against torchvision, pycocotools and plain NumPy.

Boxes lie in clusters, as a detector leaves them; everyone is handed the same boxes. The quality of a suppression is the
fraction of kept boxes on which it agrees with the NumPy loop, that of a mean the number itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.data.box_files import coco_results
from margin.data.boxes import Boxes
from margin.vision.detection import coco_map, non_maximum_suppression

__all__ = ["cases"]

THRESHOLD = 0.5
N_CLASSES = 5


def cases(quick: bool) -> list[Case]:
    small = 10 if quick else 1
    listed = [suppression(n // small, per) for n, per in ((2_000, 10), (20_000, 10), (20_000, 200))]
    return [*listed, average_precision(1_000 // small), average_precision(5_000 // small)]


def clustered(n: int, per: int) -> dict[str, Any]:
    """Boxes around ``n / per`` objects in an image of 1000 x 1000 pixels, with scores."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(0, 1000, size=(max(1, n // per), 2))[rng.integers(max(1, n // per), size=n)]
    centers = centers + rng.normal(scale=4, size=(n, 2))
    half = rng.uniform(15, 25, size=(n, 2))
    boxes = np.concatenate([centers - half, centers + half], axis=1)
    return {"boxes": boxes, "scores": rng.permutation(n) / n}


def suppression(n: int, per: int) -> Case:
    return Case(
        "non-maximum suppression",
        f"{n} boxes, {per} per object",
        partial(clustered, n, per),
        lambda data: non_maximum_suppression(data["boxes"], data["scores"], THRESHOLD),
        (Peer("torchvision", "torchvision", _torchvision), Peer("NumPy loop", "numpy", _loop)),
        _agreement,
        "agreement with the loop",
        first_call=n >= 20_000 and per == 10,
    )


def _torchvision(data: dict[str, Any]) -> np.ndarray:
    import torch
    from torchvision.ops import nms

    return nms(torch.from_numpy(data["boxes"]), torch.from_numpy(data["scores"]), THRESHOLD).numpy()


def _loop(data: dict[str, Any]) -> np.ndarray:
    """The best box that is left suppresses what overlaps it, with whole arrays."""
    boxes, left, kept = data["boxes"], np.argsort(-data["scores"], kind="stable"), []
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    while len(left):
        best, left = left[0], left[1:]
        kept.append(best)
        shared = np.minimum(boxes[best, 2:], boxes[left, 2:]) - np.maximum(boxes[best, :2], boxes[left, :2])
        shared = np.prod(shared.clip(min=0), axis=1)
        left = left[shared <= THRESHOLD * (areas[best] + areas[left] - shared)]
    return np.array(kept)


def _agreement(data: dict[str, Any], kept: np.ndarray) -> float:
    truth = data.setdefault("truth", set(_loop(data).tolist()))
    return len(truth & set(kept.tolist())) / max(len(truth), len(kept))


def detections(n: int) -> dict[str, Any]:
    """Objects of five classes in ``n`` images, found with errors, and false alarms."""
    rng = np.random.default_rng(1)
    truth, predicted = [], []
    for _ in range(n):
        k = int(rng.integers(1, 12))
        corner = rng.uniform(0, 400, size=(k, 2))
        boxes = np.concatenate([corner, corner + rng.uniform(20, 120, size=(k, 2))], axis=1)
        labels = rng.integers(N_CLASSES, size=k)
        moved = np.concatenate([boxes + rng.normal(scale=4, size=(k, 4)), boxes + rng.normal(scale=15, size=(k, 4))])
        again = np.concatenate([labels, np.where(rng.random(k) < 0.7, labels, rng.integers(N_CLASSES, size=k))])
        good = (moved[:, 2:] > moved[:, :2] + 1).all(axis=1)
        truth.append(Boxes(boxes, labels))
        predicted.append(Boxes(moved[good], again[good], rng.random(int(good.sum()))))
    return {"truth": truth, "found": predicted}


def average_precision(n: int) -> Case:
    return Case(
        "COCO mean average precision",
        f"{n} images",
        partial(detections, n),
        lambda data: coco_map(data["truth"], data["found"]),
        (Peer("pycocotools", "pycocotools", _pycocotools),),
        lambda _data, found: float(found),
        "mean average precision",
    )


def _pycocotools(data: dict[str, Any]) -> float:
    from contextlib import redirect_stdout
    from io import StringIO

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    annotations = []
    for image, boxes in enumerate(data["truth"], start=1):
        for (left, top, right, bottom), label, _ in boxes:
            box = [left, top, right - left, bottom - top]
            annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": int(label), "bbox": box,
                                "area": box[2] * box[3], "iscrowd": 0})  # fmt: skip
    numbers = range(1, len(data["truth"]) + 1)
    with redirect_stdout(StringIO()):
        known = COCO()
        known.dataset = {
            "images": [{"id": k} for k in numbers],
            "annotations": annotations,
            "categories": [{"id": k} for k in range(N_CLASSES)],
        }
        known.createIndex()
        results = coco_results(data["found"], list(numbers), {k: k for k in range(N_CLASSES)})
        judge = COCOeval(known, known.loadRes(results), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return float(judge.stats[0])
