"""Non-maximum suppression: of boxes that overlap, the one with the best score stays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["non_maximum_suppression"]


def non_maximum_suppression(
    boxes: Any, scores: Any, threshold: float = 0.5, *, labels: Any = None, max_boxes: int | None = None
) -> np.ndarray:
    """Numbers of the boxes that stay, best first (of equal scores the earlier one).

    Boxes are visited from the best score down; one whose IoU with a box that stays is above ``threshold`` goes. With
    ``labels`` only boxes of one class suppress each other.

    >>> boxes = [[0, 0, 4, 4], [0, 0, 4, 5], [6, 6, 9, 9]]
    >>> non_maximum_suppression(boxes, [0.8, 0.9, 0.5])
    array([1, 2])
    """
    boxes = np.ascontiguousarray(boxes, dtype=np.float64).reshape(-1, 4)
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(boxes),):
        raise ValueError(f"non_maximum_suppression: scores must be one per box; got {scores.shape}, {len(boxes)}.")
    if not 0 <= threshold <= 1:
        raise ValueError(f"non_maximum_suppression: threshold must lie in [0, 1]; got {threshold!r}.")
    codes = np.zeros(len(boxes), np.int64) if labels is None else np.unique(labels, return_inverse=True)[1]
    from margin.compiled.vision import suppress

    order = np.argsort(-scores, kind="stable")
    kept = np.zeros(len(boxes), dtype=np.bool_)
    suppress(boxes, codes.astype(np.int64), order, float(threshold), np.empty_like(order), kept.view(np.uint8))
    return order[kept[order]][:max_boxes]
