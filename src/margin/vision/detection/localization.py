"""One object, one box: localization as a regression of four numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.data.boxes import Boxes
from margin.neural.estimators import CNNRegressor
from margin.vision.detection.boxes import to_centers

__all__ = ["fit_localizer", "localize"]


def fit_localizer(images: Any, boxes: Sequence[Boxes], architecture: Any, **options: Any) -> CNNRegressor:
    """A network for the box of the only object of each image; ``options`` are those of ``CNNRegressor``.

    It learns middle and sides, which a network tells better than a corner.
    """
    several = [k for k, objects in enumerate(boxes) if len(objects) != 1]
    if several:
        raise ValueError(
            f"fit_localizer: every image must have one box; image {several[0]} has {len(boxes[several[0]])}."
        )
    target = to_centers(np.concatenate([objects.xyxy for objects in boxes]))
    return CNNRegressor(architecture, **options).fit(images, target)


def localize(model: CNNRegressor, images: Any) -> np.ndarray:
    """Boxes (n, 4) as (x, y, width, height), x and y being the upper left corner."""
    boxes = model.predict(images)
    sides = np.maximum(boxes[:, 2:], 1e-3)
    return np.concatenate([boxes[:, :2] - sides / 2, sides], axis=1)
