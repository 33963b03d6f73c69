"""Claims of the area detection: boxes, proposals, regions, and the networks built of them."""

from __future__ import annotations

import numpy as np

__all__ = ["random_boxes"]


def random_boxes(seed: int, n: int, side: float = 20.0) -> np.ndarray:
    """Boxes (n, 4) with sides from half a pixel to half of ``side``."""
    rng = np.random.default_rng([seed, n])
    corner = rng.uniform(0, side, size=(n, 2))
    return np.concatenate([corner, corner + rng.uniform(0.5, side / 2, size=(n, 2))], axis=1)
