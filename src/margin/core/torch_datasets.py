"""A torch Dataset, or a DataLoader, as the arrays that its items are; nothing here loads torch.

What is larger than memory goes to a file (:class:`~margin.core.row_files.RowFile`), item by item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from margin.core.row_files import RowFile

__all__ = ["dataset_arrays", "is_dataset"]


def is_dataset(X: Any) -> bool:
    """Whether ``X`` is a ``torch.utils.data.Dataset``."""
    return _is_of_torch(X, "Dataset")


def dataset_arrays(owner: str, X: Any, y: Any = None) -> tuple[Any, Any]:
    """``X`` and ``y`` as they are, or the inputs and targets that a Dataset has as the items (input, target), and a
    DataLoader in one pass over its batches."""
    loads = _is_of_torch(X, "DataLoader")
    if not (loads or is_dataset(X)):
        return X, y
    pieces = _batches(owner, X) if loads else _single(owner, X)
    inputs, targets = RowFile(), []
    for piece in pieces:
        has_target = isinstance(piece, tuple | list)
        rows = np.asarray(piece[0] if has_target else piece)  # tensors and pictures too
        try:
            inputs.append(rows if loads else rows[None])
        except ValueError as error:
            raise ValueError(f"{owner}: the items of X must all have one {error}.") from None
        if y is None and has_target and len(piece) > 1:
            targets += list(np.asarray(piece[1])) if loads else [np.asarray(piece[1])]
    if not len(inputs):
        raise ValueError(f"{owner}: X must be a {_kind(loads)} with at least one item; got none.")
    return inputs.array(), _stack(owner, targets) if targets else y


def _kind(loads: bool) -> str:
    return "DataLoader" if loads else "Dataset"


def _single(owner: str, dataset: Any) -> Iterator[Any]:
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise ValueError(
            f"{owner}: X must be a Dataset with a length and numbered items; got {type(dataset).__name__}."
        )
    return (dataset[i] for i in range(len(dataset)))


def _batches(owner: str, loader: Any) -> Iterator[Any]:
    if not hasattr(loader.dataset, "__len__") or (loader.batch_size is None and loader.batch_sampler is None):
        raise ValueError(f"{owner}: X must be a DataLoader of batches from a Dataset with a length; got neither.")
    return iter(loader)


def _is_of_torch(X: Any, name: str) -> bool:
    return any(c.__name__ == name and c.__module__.startswith("torch.utils.data") for c in type(X).__mro__)


def _stack(owner: str, targets: list[np.ndarray]) -> np.ndarray:
    shapes = {array.shape for array in targets}
    if len(shapes) > 1:
        raise ValueError(f"{owner}: the targets of X must all have one shape; got {sorted(shapes)[:2]}.")
    return np.stack(targets)
