"""Series of different lengths as one array: (n, T, d), the steps after the end of a series NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike

__all__ = ["is_table", "lengths_of", "pad"]


def is_table(X: MatrixLike) -> bool:
    """Whether ``X`` has two axes, so that a row is a series of one number per step.

    >>> is_table([[1.0, 2.0], [3.0, 4.0]]), is_table([[1.0], [3.0, 4.0]]), is_table(np.zeros((2, 3, 1)))
    (True, False, False)
    """
    if isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1):
        sizes = {np.shape(series) for series in X if not np.isscalar(series)}
        return len(X) == 0 or not sizes or (len(sizes) == 1 and len(next(iter(sizes))) == 1)
    return getattr(X, "ndim", 2) != 3


def pad(owner: str, X: Any) -> np.ndarray:
    """A list of arrays (T_i, d) or (T_i,), or a 3-D array padded with NaN, as one float array (n, T, d).

    >>> pad("model", [np.ones((2, 1)), np.ones(3)])[:, :, 0]
    array([[ 1.,  1., nan],
           [ 1.,  1.,  1.]])
    """
    if isinstance(X, np.ndarray) and X.ndim == 3:
        array = X.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
        _check_padding(owner, array)
        return array
    return _join(owner, [_series(owner, i, series) for i, series in enumerate(X)])


def lengths_of(X: np.ndarray) -> np.ndarray:
    """Steps of every series before its padding."""
    return (~np.isnan(X[:, :, 0])).sum(axis=1)


def _series(owner: str, i: int, series: Any) -> np.ndarray:
    try:
        array = np.asarray(series, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: every series must be an array of numbers; series {i} is not.") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{owner}: every series must have shape (steps,) or (steps, channels) with at least one of each; "
            f"series {i} has shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{owner}: a series in a list must have finite numbers only; series {i} has NaN or infinity.")
    return array


def _join(owner: str, series: Sequence[np.ndarray]) -> np.ndarray:
    if not series:
        raise ValueError(f"{owner}: X must hold at least one series; got none.")
    channels = sorted({array.shape[1] for array in series})
    if len(channels) > 1:
        raise ValueError(
            f"{owner}: all series must have the same number of channels; got {channels[0]} and {channels[1]}."
        )
    out = np.full((len(series), max(map(len, series)), channels[0]), np.nan)
    for row, array in zip(out, series):
        row[: len(array)] = array
    return out


def _check_padding(owner: str, X: np.ndarray) -> None:
    if 0 in X.shape:
        raise ValueError(f"{owner}: X must have series, steps and channels; got shape {X.shape}.")
    if np.isinf(X).any():
        raise ValueError(f"{owner}: X must not contain infinity.")
    missing = np.isnan(X)
    present = ~missing[:, :, 0]
    if (missing != missing[:, :, :1]).any() or (present[:, 1:] & ~present[:, :-1]).any():
        wrong = np.flatnonzero(
            (missing != missing[:, :, :1]).any(axis=(1, 2)) | (present[:, 1:] & ~present[:, :-1]).any(axis=1)
        )
        raise ValueError(
            f"{owner}: NaN in a 3-D X marks the steps after the end of a series, in all channels; "
            f"series {wrong[0]} has NaN elsewhere."
        )
    if not present[:, 0].all():
        empty = int(np.flatnonzero(~present[:, 0])[0])
        raise ValueError(f"{owner}: every series must have at least one step; series {empty} has none.")
