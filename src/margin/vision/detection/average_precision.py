r"""Mean average precision of detections, as Pascal VOC and as COCO define it.

Detections of one class are sorted by score over all images. Each is a hit if it lies on an object of its class that no
better detection has taken (IoU at least the threshold), else a false alarm; recall and precision follow along the list.
The precision at a recall is then the best one at that recall or beyond, :math:`p(r) = \max_{r' \ge r} \hat p(r')`, and

.. math:: \mathrm{AP}_{07} = \tfrac1{11}\sum_{r \in \{0, 0.1, \ldots, 1\}} p(r),\quad
          \mathrm{AP}_{VOC} = \int_0^1 p(r)\,dr,\quad
          \mathrm{AP}_{COCO} = \tfrac1{101}\sum_{r \in \{0, 0.01, \ldots, 1\}} p(r).

They also match differently. In VOC a detection belongs to the object it overlaps most, and is a false alarm if that one
is taken; in COCO it belongs to the free object it overlaps most. COCO's mean is over classes and over the thresholds
0.5, 0.55, ..., 0.95, with at most 100 detections per image. Crowds and difficult objects are not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from margin.data.boxes import Boxes
from margin.vision.detection.boxes import pairwise_iou

__all__ = ["COCO_THRESHOLDS", "average_precision", "coco_map", "mean_average_precision", "precision_recall"]

COCO_THRESHOLDS = tuple(np.round(np.arange(0.5, 1.0, 0.05), 2).tolist())
MOST_PER_IMAGE = 100
METHODS = ("voc", "voc07", "coco")


class ClassOverlaps(NamedTuple):
    """Detections of one class: their scores and overlaps with the objects of their image, image by image."""

    scores: np.ndarray
    overlaps: list[np.ndarray]
    n_objects: int

    @classmethod
    def of(cls, truth: Sequence[Boxes], predicted: Sequence[Boxes], label: object, method: str) -> ClassOverlaps:
        scores, overlaps, n_objects = [], [], 0
        for objects, detections in zip(truth, predicted, strict=True):
            theirs = objects.xyxy[objects.labels == label]
            n_objects += len(theirs)
            mine = _of_class(detections, label, method)
            overlaps.append(pairwise_iou(mine.xyxy, theirs))
            scores.append(np.asarray(mine.scores))
        return cls(np.concatenate(scores), overlaps, n_objects)

    def curve(self, threshold: float, method: str) -> tuple[np.ndarray, np.ndarray]:
        """Precision and recall after each detection, best score first."""
        hits = np.concatenate([_hits(overlap, threshold, method) for overlap in self.overlaps])
        hit = np.cumsum(hits[np.argsort(-self.scores, kind="stable")])
        return hit / np.arange(1, len(hit) + 1), hit / max(self.n_objects, 1)


def precision_recall(
    truth: Sequence[Boxes], found: Sequence[Boxes], label: object, threshold: float = 0.5, method: str = "voc"
) -> tuple[np.ndarray, np.ndarray]:
    """Precision and recall of one class after each of its detections, best score first.

    Parameters
    ----------
    truth : sequence of Boxes
        The objects of every image.
    found : sequence of Boxes
        The detections of every image, with scores.
    label : object
        The class.
    threshold : float
        Overlap (IoU) from which on a detection is right.
    method : {"voc", "voc07", "coco"}
        Whose rules of matching hold.
    """
    return ClassOverlaps.of(truth, found, label, method).curve(threshold, method)


def _of_class(detections: Boxes, label: object, method: str) -> Boxes:
    """Detections of one class, best first; COCO keeps the best hundred."""
    if detections.scores is None:
        raise ValueError("precision_recall: found must hold boxes with scores; got boxes without.")
    mine = np.flatnonzero(detections.labels == label)
    mine = mine[np.argsort(-detections.scores[mine], kind="stable")]
    return detections.take(mine[:MOST_PER_IMAGE] if method == "coco" else mine)


def _hits(overlap: np.ndarray, threshold: float, method: str) -> np.ndarray:
    """Which of the detections (rows, best first) take an object (column) that is free."""
    hit = np.zeros(len(overlap), dtype=bool)
    if overlap.shape[1] == 0:
        return hit
    free = np.ones(overlap.shape[1], dtype=bool)
    for i, row in enumerate(overlap):
        j = int(np.argmax(np.where(free, row, -1.0) if method == "coco" else row))
        if row[j] >= threshold and free[j]:
            hit[i], free[j] = True, False
    return hit


def average_precision(precision: np.ndarray, recall: np.ndarray, method: str = "voc") -> float:
    """The area under the curve, "voc", or its mean at 11 ("voc07") or 101 ("coco") levels of recall.

    Parameters
    ----------
    precision : ndarray of shape (k,)
        Precision after each detection.
    recall : ndarray of shape (k,)
        Recall after each detection.
    method : {"voc", "voc07", "coco"}
        How the area under the curve is taken.

    Examples
    --------
    >>> average_precision(np.array([1.0, 0.5, 2 / 3]), np.array([0.5, 0.5, 1.0]))
    0.8333333333333333
    """
    if method not in METHODS:
        raise ValueError(f"average_precision: method must be one of {', '.join(METHODS)}; got {method!r}.")
    best = np.maximum.accumulate(np.asarray(precision, dtype=np.float64)[::-1])[::-1]
    recall = np.asarray(recall, dtype=np.float64)
    if method == "voc":
        return float(np.sum(np.diff(recall, prepend=0.0) * best))
    # A recall often meets a level exactly; as in pycocotools, linspace's rounding decides and there is no tolerance.
    levels = np.linspace(0, 1, 11 if method == "voc07" else 101)
    first = np.searchsorted(recall, levels, side="left")
    return float(np.append(best, 0.0)[first].mean())


def mean_average_precision(
    truth: Sequence[Boxes], found: Sequence[Boxes], threshold: float = 0.5, method: str = "voc"
) -> float:
    """The mean over the classes that occur among the objects; NaN without any object.

    Parameters
    ----------
    truth : sequence of Boxes
        The objects of every image.
    found : sequence of Boxes
        The detections of every image, with scores.
    threshold : float
        Overlap (IoU) from which on a detection is right.
    method : {"voc", "voc07", "coco"}
        How the area under the curve is taken.
    """
    return _mean_precision(truth, found, (threshold,), method)


def coco_map(truth: Sequence[Boxes], found: Sequence[Boxes]) -> float:
    """COCO's headline number: the mean over classes and the thresholds 0.5 to 0.95.

    Parameters
    ----------
    truth : sequence of Boxes
        The objects of every image.
    found : sequence of Boxes
        The detections of every image, with scores.
    """
    return _mean_precision(truth, found, COCO_THRESHOLDS, "coco")


def _mean_precision(
    truth: Sequence[Boxes], predicted: Sequence[Boxes], thresholds: Sequence[float], method: str
) -> float:
    if len(truth) != len(predicted):
        raise ValueError(f"mean_average_precision: found must have {len(truth)} entries, one per image of truth; "
                         f"got {len(predicted)}.")  # fmt: skip
    labels = np.unique(np.concatenate([objects.labels for objects in truth])) if truth else np.empty(0)
    if not len(labels):
        return float("nan")
    of_labels = [ClassOverlaps.of(truth, predicted, label, method) for label in labels]
    return float(np.mean([[average_precision(*one.curve(t, method), method) for one in of_labels] for t in thresholds]))
