"""Classes that a conditional generative model learns and samples from."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from margin.core.array_types import ArrayLike
from margin.core.classes import check_classes, encode_classes

__all__ = ["class_numbers", "encode_labels"]


def encode_labels(estimator: Any, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes of ``y`` and the number of each row's class."""
    owner = type(estimator).__name__
    if y is None:
        raise ValueError(f"{owner}: y must hold a class per row when conditional is True; got None.")
    y = column_or_1d(y)
    check_classes(y)
    if len(y) != n_rows:
        raise ValueError(f"{owner}: y must have a class for each of the {n_rows} rows; got {len(y)}.")
    classes, numbers = encode_classes(y)
    return classes, numbers.astype(np.int64)


def class_numbers(estimator: Any, y: ArrayLike, n_samples: int) -> Tensor | None:
    """Codes of the requested classes ``y``, one for all samples or one each; None for None."""
    if y is None:
        return None
    owner, classes = type(estimator).__name__, estimator.classes_
    if classes is None:
        raise ValueError(f"{owner}: y must be None for a model that was fitted without classes; got {y!r}.")
    wanted = np.asarray(y)
    if wanted.ndim > 1 or (wanted.ndim == 1 and len(wanted) != n_samples):
        raise ValueError(f"{owner}: y must be one class or one for each of the {n_samples} samples.")
    wanted = np.broadcast_to(wanted, n_samples)
    unknown = set(wanted.tolist()) - set(classes.tolist())
    if unknown:
        raise ValueError(f"{owner}: y must name classes of the fit, {classes.tolist()}; got {sorted(unknown)[0]!r}.")
    return torch.from_numpy(np.searchsorted(classes, wanted))
