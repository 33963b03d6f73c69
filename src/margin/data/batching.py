"""Examples of one shape put into one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["collate"]


def collate(examples: Sequence[Any]) -> np.ndarray:
    """A batch with a new first axis: B examples of shape (C, ...) become (B, C, ...).

    >>> collate([np.zeros((4, 8, 8)), np.ones((4, 8, 8))]).shape
    (2, 4, 8, 8)
    """
    arrays = [np.asarray(example) for example in examples]
    shapes = sorted({array.shape for array in arrays})
    if len(shapes) != 1:
        shapes_text = " and ".join(map(str, shapes[:2])) if shapes else "none"
        raise ValueError(f"collate: examples must be at least one, all of one shape; got {shapes_text}.")
    return np.stack(arrays)
