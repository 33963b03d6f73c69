"""A kernel between texts, which are not vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["word_kernel"]


def word_kernel(texts: Sequence[str], others: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Cosine of word counts.

    >>> word_kernel(["the cat sat", "the cat ran"]).round(3).tolist()
    [[1.0, 0.667], [0.667, 1.0]]
    """
    left = [Counter(text.lower().split()) for text in texts]
    right = left if others is None else [Counter(text.lower().split()) for text in others]
    norms = [np.sqrt(sum(c * c for c in counts.values())) or 1.0 for counts in (*left, *right)]
    products = [[sum(c * b[word] for word, c in a.items()) for b in right] for a in left]
    return np.array(products) / np.outer(norms[: len(left)], norms[len(left) :])
