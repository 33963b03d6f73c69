"""Rows that a user gives to judge every epoch by, in place of rows that the fit holds out itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d

from margin.core.arguments import shown

__all__ = ["OwnRows", "known_classes", "own_rows", "own_targets"]


class OwnRows(NamedTuple):
    """The rows as they came."""

    X: Any
    y: Any
    weight: Any


def own_rows(owner: Any, validation_data: Any) -> OwnRows | None:
    """``validation_data`` of a fit: (X, y) or (X, y, sample_weight); None without."""
    if validation_data is None:
        return None
    if not isinstance(validation_data, tuple | list) or len(validation_data) not in (2, 3):
        raise ValueError(
            f"{type(owner).__name__}: validation_data must be (X, y) or (X, y, sample_weight); "
            f"got {shown(validation_data)}."
        )
    X, y, *weight = validation_data
    if y is None:
        raise ValueError(f"{type(owner).__name__}: validation_data must have a y; it is None.")
    return OwnRows(X, y, weight[0] if weight else None)


def own_targets(owner: Any, y: np.ndarray, n_targets: int) -> np.ndarray:
    """Targets (n, k), as many for a row as the rows to learn from have."""
    Y = np.reshape(y, (len(y), -1))
    if Y.shape[1] != n_targets:
        raise ValueError(
            f"{type(owner).__name__}: validation_data must have {n_targets} targets per row like y; got {Y.shape[1]}."
        )
    return Y


def known_classes(owner: Any, y: Any, classes: np.ndarray) -> np.ndarray:
    """The positions of the labels ``y`` in ``classes``, those of the rows to learn from."""
    y = column_or_1d(y, warn=True)
    strange = y[~np.isin(y, classes)]
    if len(strange):
        raise ValueError(
            f"{type(owner).__name__}: validation_data must have classes of y, {classes}; got {strange[0]!r}."
        )
    return np.searchsorted(classes, y)
