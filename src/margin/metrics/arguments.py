"""Checks of the arguments of metrics; an error is one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core import arguments
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import encode_classes
from margin.core.missing import any_missing

__all__ = ["UndefinedMetricError", "finite", "labels_pair", "points_and_labels", "positive_label", "ratio", "weights"]


class UndefinedMetricError(ValueError):
    """The arguments are in order, but the metric has no value for them: one class, one cluster, one row."""


def finite(where: str, name: str, values: Any, ndim: tuple[int, ...] = (1,)) -> np.ndarray:
    """``values`` as a non-empty float64 array of finite numbers with an allowed number of dimensions."""
    array = arguments.finite(where, name, values)
    if array.ndim not in ndim:
        allowed = " or ".join(map(str, ndim))
        raise ValueError(f"{where}: {name} must have {allowed} dimension(s); got shape {array.shape}.")
    if not array.size:
        raise ValueError(f"{where}: {name} must not be empty.")
    return array


def weights(where: str, sample_weight: ArrayLike | None, n: int) -> np.ndarray:
    """Non-negative weights with a positive sum; ones if there are none."""
    if sample_weight is None:
        return np.ones(n)
    w = finite(where, "sample_weight", sample_weight)
    if len(w) != n:
        raise ValueError(f"{where}: sample_weight must have {n} entries; got {len(w)}.")
    if np.any(w < 0) or not w.sum() > 0:
        raise ValueError(f"{where}: sample_weight must not be negative and must not be all zero.")
    return w


def labels_pair(
    where: str, first: Any, second: Any, names: tuple[str, str] = ("y_true", "y_pred")
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorted labels that occur in either list, and both lists as positions in them."""
    a, b = _labels(where, names[0], first), _labels(where, names[1], second)
    if len(a) != len(b):
        raise ValueError(f"{where}: {names[0]} and {names[1]} must have equal length; got {len(a)} and {len(b)}.")
    if (a.dtype.kind in "biuf") != (b.dtype.kind in "biuf"):
        raise ValueError(f"{where}: {names[0]} and {names[1]} mix numbers and strings: {a.dtype} and {b.dtype}.")
    labels, codes = encode_classes(np.concatenate([a, b]))
    return labels, codes[: len(a)], codes[len(a) :]


def _labels(where: str, name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{where}: {name} must be a non-empty list of labels; got shape {array.shape}.")
    if array.dtype == object:
        if any_missing(array.tolist()):
            raise ValueError(f"{where}: {name} must not have missing labels.")
        # Objects compare slowly and not at all across types; one NumPy type of their own sorts them.
        array = np.array(array.tolist())
    elif array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise ValueError(f"{where}: {name} must be finite; it holds NaN or infinity.")
    return array


def positive_label(where: str, labels: np.ndarray, pos_label: Any = None) -> Any:
    """The label that counts as positive: the given one, 1 among {0, 1} and {-1, 1}, else the larger of two."""
    if pos_label is not None:
        if len(labels) > 1 and pos_label not in labels.tolist():
            raise ValueError(f"{where}: pos_label {pos_label!r} does not occur; there are {labels.tolist()[:5]}.")
        return pos_label
    if labels.dtype.kind in "biuf" and (set(labels.tolist()) <= {0, 1} or set(labels.tolist()) <= {-1, 1}):
        return 1
    if len(labels) == 2:
        return labels[1]
    raise ValueError(f"{where}: two classes are needed; got {len(labels)} ({', '.join(map(str, labels[:5]))}).")


def points_and_labels(where: str, X: MatrixLike, labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (n, d), each one's cluster as a code, and the clusters' sizes."""
    points = finite(where, "X", X, ndim=(2,))
    names = _labels(where, "labels", labels)
    if len(names) != len(points):
        raise ValueError(f"{where}: X and labels must have equal length; got {len(points)} and {len(names)}.")
    codes = encode_classes(names)[1]
    return points, codes, np.bincount(codes)


def ratio(numerator: np.ndarray, denominator: np.ndarray, otherwise: float) -> np.ndarray:
    """Element by element, ``otherwise`` where the denominator is zero."""
    numerator, denominator = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), otherwise, dtype=np.float64)
    return np.divide(numerator, denominator, out=result, where=denominator != 0)
