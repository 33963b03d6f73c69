"""Two clouds of points with labels -1 and 1, apart or overlapping, for claims about margins."""

from __future__ import annotations

import numpy as np


def separable(seed: int, n: int = 40, gap: float = 4.0, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of spread 1/2 whose centers are ``gap`` apart, labels -1 and 1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return 0.5 * rng.normal(size=(n, d)) + gap * y[:, None] / (2 * np.sqrt(d)), y


def overlapping(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return rng.normal(size=(n, 2)) + y[:, None], y
