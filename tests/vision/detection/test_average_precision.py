"""Average precision against loops over thresholds, written from the definitions."""

import numpy as np
import pytest

from margin.data.boxes import Boxes
from margin.vision.detection.average_precision import average_precision, coco_map, mean_average_precision
from margin.vision.detection.boxes import pairwise_iou


def scenes(seed, n_images=6):
    """Objects, and detections that are objects moved a little, some missing, some invented, some twice."""
    rng = np.random.default_rng(seed)
    truth, found = [], []
    for _ in range(n_images):
        low = rng.uniform(0, 30, size=(rng.integers(1, 6), 2))
        boxes = np.concatenate([low, low + rng.uniform(4, 14, size=low.shape)], axis=1)
        labels = rng.integers(0, 2, size=len(boxes))
        truth.append(Boxes(boxes, labels))
        again = np.flatnonzero(rng.random(len(boxes)) < 0.8)
        again = np.concatenate([again, again[: len(again) // 2]])
        moved = boxes[again] + rng.normal(scale=0.8, size=(len(again), 4))
        invented = np.array([[1.0, 1.0, 6.0, 6.0]])
        scores = rng.integers(1, 50, size=len(again) + 1) / 50
        found.append(Boxes(np.concatenate([moved, invented]), np.append(labels[again], 0), scores))
    return truth, found


def slow_ap(truth, found, label, threshold, method):
    """One detection after the other, over all images at once, objects in a set."""
    detections = [
        (-s, k, i) for k, boxes in enumerate(found)
        for i, (s, other) in enumerate(zip(boxes.scores, boxes.labels)) if other == label
    ]  # fmt: skip
    taken, outcome = set(), []
    for _, k, i in sorted(detections):
        best, best_iou = None, -1.0
        for j in np.flatnonzero(truth[k].labels == label):
            overlap = pairwise_iou(found[k].xyxy[[i]], truth[k].xyxy[[j]])[0, 0]
            if method == "coco" and ((k, j) in taken or overlap < threshold):
                continue
            if overlap > best_iou:
                best, best_iou = (k, j), overlap
        hit = best is not None and best_iou >= threshold and best not in taken
        if hit:
            taken.add(best)
        outcome.append(hit)
    n = sum(int((boxes.labels == label).sum()) for boxes in truth)
    points = [(sum(outcome[:i]) / n, sum(outcome[:i]) / i) for i in range(1, len(outcome) + 1)]

    def precision_at(r):
        return max((p for recall, p in points if recall >= r), default=0.0)

    if method == "voc":
        return sum(precision_at(k / n) for k in range(1, n + 1)) / n  # recall moves in steps of 1 / n
    # Recall meets many levels exactly, so whose rounding counts is part of the definition: here linspace's.
    return np.mean([precision_at(r) for r in np.linspace(0, 1, 11 if method == "voc07" else 101)])


@pytest.mark.parametrize("method", ["voc", "voc07", "coco"])
@pytest.mark.parametrize("seed", range(4))
def test_average_precision_is_its_definition(method, seed):
    truth, found = scenes(seed)
    labels = np.unique(np.concatenate([boxes.labels for boxes in truth]))
    for threshold in (0.5, 0.75):
        expected = np.mean([slow_ap(truth, found, label, threshold, method) for label in labels])
        assert mean_average_precision(truth, found, threshold, method) == pytest.approx(expected, abs=1e-12)


def test_coco_is_the_mean_over_ten_thresholds():
    truth, found = scenes(9)
    labels = np.unique(np.concatenate([boxes.labels for boxes in truth]))
    thresholds = [0.5 + 0.05 * k for k in range(10)]
    expected = np.mean([[slow_ap(truth, found, c, t, "coco") for c in labels] for t in thresholds])
    assert coco_map(truth, found) == pytest.approx(expected, abs=1e-12)


def test_the_two_matchings_differ():
    """A detection on two objects, the better of which is taken: VOC calls it false, COCO gives it the other."""
    truth = [Boxes([[0, 0, 10, 10], [0, 2, 10, 12]], [0, 0])]
    found = [Boxes([[0, 0, 10, 10], [0, 0.5, 10, 10.5]], [0, 0], [0.9, 0.8])]
    assert mean_average_precision(truth, found, 0.5, "voc") == pytest.approx(0.5)
    assert mean_average_precision(truth, found, 0.5, "coco") == pytest.approx(1.0)


def test_perfect_and_empty():
    truth, _ = scenes(2)
    perfect = [Boxes(boxes.xyxy, boxes.labels, np.ones(len(boxes))) for boxes in truth]
    nothing = [Boxes([], [], []) for _ in truth]
    for method in ("voc", "voc07", "coco"):
        assert mean_average_precision(truth, perfect, 0.95, method) == pytest.approx(1.0)
        assert mean_average_precision(truth, nothing, 0.5, method) == 0.0
    assert np.isnan(mean_average_precision([Boxes([], [])], [Boxes([], [], [])]))


def test_bad_input_is_named():
    truth, found = scenes(0)
    with pytest.raises(ValueError, match="one per image"):
        mean_average_precision(truth, found[1:])
    with pytest.raises(ValueError, match="with scores"):
        mean_average_precision(truth, truth)
    with pytest.raises(ValueError, match="method must be one of"):
        average_precision(np.ones(1), np.ones(1), "coco17")
