"""Claims of the area representation: features, embeddings, metrics, contrastive learning."""

from __future__ import annotations

import numpy as np

__all__ = ["rows"]


def rows(seed: int, n: int, d: int) -> np.ndarray:
    """Standard normal rows; different shapes draw from different streams."""
    return np.random.default_rng([seed, n, d]).normal(size=(n, d))
