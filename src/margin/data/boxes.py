"""Boxes around the objects of an image: corners, labels, and for predictions a score each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Boxes"]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes (x_min, y_min, x_max, y_max) of one image, in pixels from the upper left corner of its first pixel.

    A box of one whole pixel in the corner is (0, 0, 1, 1): coordinates are edges, not numbers of pixels. ``labels``
    has one entry per box, ``scores`` too where the boxes were predicted. A box must have an area.

    >>> boxes = Boxes([[0, 0, 4, 2]], ["car"])
    >>> len(boxes), boxes.areas
    (1, array([8.]))
    """

    xyxy: np.ndarray
    labels: np.ndarray
    scores: np.ndarray | None = None

    def __init__(self, xyxy: Any, labels: Any, scores: Any = None):
        corners = np.asarray(xyxy, dtype=np.float64)
        corners = corners.reshape(0, 4) if corners.size == 0 else corners
        labels = np.asarray(labels)
        labels = labels.astype(np.int64) if labels.size == 0 and labels.dtype.kind == "f" else labels
        if corners.ndim != 2 or corners.shape[1] != 4:
            raise ValueError(f"Boxes: xyxy must have 4 columns (x_min, y_min, x_max, y_max); got {corners.shape}.")
        if labels.shape != (len(corners),):
            raise ValueError(f"Boxes: labels must have one entry per box; got {labels.shape} for {len(corners)} boxes.")
        _check_areas(corners)
        if scores is not None:
            scores = np.asarray(scores, dtype=np.float64)
            if scores.shape != labels.shape:
                raise ValueError(
                    f"Boxes: scores must have one entry per box; got {scores.shape} for {len(corners)} boxes."
                )
        for name, value in (("xyxy", corners), ("labels", labels), ("scores", scores)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.xyxy)

    def __iter__(self) -> Iterator[tuple[np.ndarray, Any, float | None]]:
        """Triples (box, label, score), as a detection is often written."""
        scores = [None] * len(self) if self.scores is None else self.scores.tolist()
        return iter(zip(self.xyxy, self.labels.tolist(), scores))

    @property
    def areas(self) -> np.ndarray:
        return np.prod(self.xyxy[:, 2:] - self.xyxy[:, :2], axis=1)

    def take(self, index: Any) -> Boxes:
        """The boxes numbered or masked by ``index``."""
        return Boxes(self.xyxy[index], self.labels[index], None if self.scores is None else self.scores[index])

    def inside(self, height: int, width: int) -> bool:
        """Whether all boxes lie within an image of this size."""
        return bool(np.all(self.xyxy >= 0) and np.all(self.xyxy <= [width, height, width, height]))


def _check_areas(corners: np.ndarray) -> None:
    if not np.all(np.isfinite(corners)):
        raise ValueError("Boxes: xyxy must be finite; got NaN or infinity.")
    flat = np.flatnonzero(np.any(corners[:, 2:] <= corners[:, :2], axis=1))
    if len(flat):
        raise ValueError(
            f"Boxes: a box must have x_min < x_max and y_min < y_max; got {corners[flat[0]].tolist()} (box {flat[0]})."
        )
