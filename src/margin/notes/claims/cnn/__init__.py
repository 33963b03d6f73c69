"""Claims of the area cnn: images, convolution, pooling, upsampling, and the networks built of them."""

from __future__ import annotations

import numpy as np

__all__ = ["normal", "stream"]


def stream(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(seed: int, *shape: int) -> np.ndarray:
    """Standard normal numbers; different shapes draw from different streams."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)
