r"""Pooling: windows of an image reduced to their largest, smallest or mean value, channel by channel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.neural.convolution.equations import Numbers, patches
from margin.neural.convolution.padding import per_axis

__all__ = ["POOLINGS", "Pooled", "downsample", "global_pool", "max_unpool", "pool", "pool_backward", "subsample"]

POOLINGS = ("max", "min", "mean")
_FILL = {"max": -np.inf, "min": np.inf, "mean": 0.0}  # what padding must be for a window to ignore it; a mean counts it


class Pooled(NamedTuple):
    """Values (N, C, H', W') and where in its flattened image each stood (-1 for means)."""

    values: np.ndarray
    indices: np.ndarray


def pool(
    x: np.ndarray, window: Numbers, stride: Numbers | None = None, padding: Numbers = 0, kind: str = "max"
) -> Pooled:
    """Images (N, C, H, W); windows lie side by side unless ``stride`` says otherwise.

    >>> grid = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> [float(pool(grid, 2, kind=kind).values[0, 0, 0, 0]) for kind in POOLINGS]
    [4.0, 1.0, 2.5]
    """
    if kind not in POOLINGS:
        raise ValueError(f"pool: kind must be one of {', '.join(POOLINGS)}; got {kind!r}.")
    size = per_axis(window, 2, "window")
    rows, columns = (_padded_indices(n, p) for n, p in zip(x.shape[2:], per_axis(padding, 2, "padding")))
    flat = np.where((rows[:, None] >= 0) & (columns >= 0), rows[:, None] * x.shape[3] + columns, -1)
    padded = np.where(flat >= 0, x.reshape(*x.shape[:2], -1)[:, :, flat], _FILL[kind])
    seen = patches(padded, size, size if stride is None else stride)
    seen = seen.reshape(*seen.shape[:4], -1)
    if kind == "mean":
        values = seen.mean(axis=-1)
        return Pooled(values, np.full(values.shape, -1))
    best = (seen.argmax if kind == "max" else seen.argmin)(axis=-1)[..., None]
    where = patches(flat[None, None], size, size if stride is None else stride)
    where = np.broadcast_to(where.reshape(1, 1, *seen.shape[2:4], -1), seen.shape)
    return Pooled(np.take_along_axis(seen, best, -1)[..., 0], np.take_along_axis(where, best, -1)[..., 0])


def _padded_indices(n: int, padding: int) -> np.ndarray:
    return np.concatenate([np.full(padding, -1), np.arange(n), np.full(padding, -1)])


def pool_backward(
    delta: np.ndarray,
    x: np.ndarray,
    window: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    kind: str = "max",
) -> np.ndarray:
    """The gradient in ``x``: all of it to the entry that was chosen, or in equal parts to all entries of the window."""
    if kind != "mean":
        indices = pool(x, window, stride, padding, kind).indices
        return _scatter(delta, indices, x.shape[2:])
    size, cut = per_axis(window, 2, "window"), per_axis(padding, 2, "padding")
    steps = size if stride is None else per_axis(stride, 2, "stride")
    grad = np.zeros((*x.shape[:2], *(n + 2 * c for n, c in zip(x.shape[2:], cut))))
    for i, j in np.ndindex(*delta.shape[2:]):
        rows, columns = (slice(p * s, p * s + k) for p, s, k in zip((i, j), steps, size))
        grad[:, :, rows, columns] += delta[:, :, i, j, None, None] / (size[0] * size[1])
    return grad[:, :, cut[0] : cut[0] + x.shape[2], cut[1] : cut[1] + x.shape[3]]


def max_unpool(values: np.ndarray, indices: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The maxima back where they stood, zeros elsewhere; what the maxima had hidden is lost."""
    out = np.zeros((*values.shape[:2], size[0] * size[1]))
    np.put_along_axis(out, indices.reshape(*values.shape[:2], -1), values.reshape(*values.shape[:2], -1), axis=-1)
    return out.reshape(*values.shape[:2], *size)


def _scatter(values: np.ndarray, indices: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Like :func:`max_unpool`, but an entry that several windows chose gets the sum."""
    n, c = values.shape[:2]
    out = np.zeros((n * c, int(np.prod(size))))
    np.add.at(out, (np.arange(n * c)[:, None], indices.reshape(n * c, -1)), values.reshape(n * c, -1))
    return out.reshape(n, c, *size)


def global_pool(x: np.ndarray, kind: str = "mean") -> np.ndarray:
    """One number per channel: (N, C, H, W) becomes (N, C).

    >>> global_pool(np.arange(8.0).reshape(1, 2, 2, 2))
    array([[1.5, 5.5]])
    """
    if kind not in POOLINGS:
        raise ValueError(f"global_pool: kind must be one of {', '.join(POOLINGS)}; got {kind!r}.")
    return getattr(x, kind)(axis=(2, 3))


def subsample(x: np.ndarray, step: int) -> np.ndarray:
    """Every ``step``-th row and column."""
    return x[..., ::step, ::step]


def downsample(x: np.ndarray, method: str, step: int) -> np.ndarray:
    """Sides shorter by the factor ``step``, channels untouched: 'stride' keeps every so-many-th entry, or pools.

    >>> downsample(np.arange(16.0).reshape(1, 1, 4, 4), "max", 2)[0, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """
    if method == "stride":
        return subsample(x, step)
    if method not in POOLINGS:
        raise ValueError(f"downsample: method must be 'stride' or one of {', '.join(POOLINGS)}; got {method!r}.")
    return pool(x, step, kind=method).values
