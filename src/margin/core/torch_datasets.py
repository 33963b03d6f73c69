"""A map-style torch Dataset as the arrays that its items are; nothing here loads torch."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["dataset_arrays", "is_dataset"]


def is_dataset(X: Any) -> bool:
    """Whether ``X`` is a ``torch.utils.data.Dataset``."""
    return any(c.__name__ == "Dataset" and c.__module__.startswith("torch.utils.data") for c in type(X).__mro__)


def dataset_arrays(owner: str, X: Any, y: Any = None) -> tuple[Any, Any]:
    """``X`` and ``y`` as they are, or the inputs and targets that a Dataset ``X`` has as the items (input, target)."""
    if not is_dataset(X):
        return X, y
    if not hasattr(X, "__getitem__") or not hasattr(X, "__len__"):
        raise ValueError(f"{owner}: X must be a Dataset with a length and numbered items; got {type(X).__name__}.")
    items = [X[i] for i in range(len(X))]
    if not items:
        raise ValueError(f"{owner}: X must be a Dataset with at least one item; got none.")
    if not isinstance(items[0], tuple | list):
        return _stacked(owner, items), y
    inputs = _stacked(owner, [item[0] for item in items])
    targets = [item[1] for item in items] if y is None and len(items[0]) > 1 else None
    return inputs, y if targets is None else _stacked(owner, targets)


def _stacked(owner: str, items: list[Any]) -> np.ndarray:
    arrays = [np.asarray(item) for item in items]  # tensors and pictures too
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise ValueError(f"{owner}: the items of X must all have one shape; got {sorted(shapes)[:2]}.")
    return np.stack(arrays)
