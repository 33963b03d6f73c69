r"""Layers and losses made of primitives: their derivatives follow, and nothing is derived by hand.

Each is equal to torch's function of the same name, in value and in derivatives of any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.neural.autodiff.primitives import erf, exp, log, reshape, sqrt, swap_last_axes, take, total, transpose
from margin.neural.autodiff.tracing import raw, shape_of

__all__ = [
    "attention", "batch_norm", "conv2d", "cross_entropy", "dense", "dropout", "embedding", "gelu", "largest",
    "layer_norm", "log_softmax", "log_sum_exp", "max_pool2d", "mean", "mse", "softmax",
]  # fmt: skip


def mean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of all entries, or along axes."""
    shape = shape_of(a)
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    return total(a, axis=axis, keepdims=keepdims) / math.prod(shape[i] for i in axes)


def largest(a: Any, axis: int) -> Any:
    """The largest entry along an axis; where several are equal, the first gets the derivative."""
    winner = np.expand_dims(np.argmax(raw(a), axis=axis), axis)
    index = [
        np.arange(n).reshape([-1 if i == k else 1 for i in range(winner.ndim)]) for k, n in enumerate(winner.shape)
    ]
    index[axis] = winner
    kept = [n for k, n in enumerate(winner.shape) if k != axis % winner.ndim]
    return reshape(take(a, index=tuple(index)), shape=tuple(kept))


def gelu(a: Any) -> Any:
    r""":math:`a\,\Phi(a)` with the distribution function of the normal law."""
    return 0.5 * a * (1.0 + erf(a / math.sqrt(2)))


def log_sum_exp(a: Any, axis: int = -1) -> Any:
    """Without overflow: the largest entry is subtracted first and counts as a constant, as its derivative cancels."""
    top = np.max(raw(a), axis=axis, keepdims=True)
    return log(total(exp(a - top), axis=axis, keepdims=True)) + top


def log_softmax(a: Any, axis: int = -1) -> Any:
    return a - log_sum_exp(a, axis)


def softmax(a: Any, axis: int = -1) -> Any:
    return exp(log_softmax(a, axis))


def dense(x: Any, weight: Any, bias: Any) -> Any:
    """Rows (N, n_in), ``weight`` (n_out, n_in), ``bias`` (n_out,)."""
    return x @ transpose(weight, axes=(1, 0)) + bias


def dropout(a: Any, mask: np.ndarray, p: float) -> Any:
    """The entries that ``mask`` keeps, divided by the probability 1 - p of being kept."""
    return a * (mask / (1 - p))


def layer_norm(a: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    """Every row brought to mean 0 and deviation 1."""
    return _normalize(a, -1, eps) * gamma + beta


def batch_norm(a: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    """Every column brought to mean 0 and deviation 1 over the rows of the batch."""
    return _normalize(a, 0, eps) * gamma + beta


def _normalize(a: Any, axis: int, eps: float) -> Any:
    centered = a - mean(a, axis=axis, keepdims=True)
    return centered / sqrt(mean(centered * centered, axis=axis, keepdims=True) + eps)


def embedding(table: Any, codes: np.ndarray) -> Any:
    """The rows of ``table`` that ``codes`` name."""
    return take(table, index=(codes,))


def mse(a: Any, target: Any) -> Any:
    """The mean squared error."""
    difference = a - target
    return mean(difference * difference)


def cross_entropy(a: Any, classes: np.ndarray) -> Any:
    """Mean negative log-probability of the classes of the rows."""
    return -mean(take(log_softmax(a), index=(np.arange(len(classes)), classes)))


def attention(query: Any, key: Any, value: Any) -> Any:
    r""":math:`\mathrm{softmax}(QK^\top/\sqrt{d})\,V`, over the last two axes."""
    scores = query @ swap_last_axes(key) / math.sqrt(shape_of(query)[-1])
    return softmax(scores) @ value


def conv2d(x: Any, weight: Any, bias: Any) -> Any:
    """(N, C, H, W) with kernels (O, C, h, w): every window is a row of a matrix product."""
    (n, channels, height, width), (outputs, _, h, w) = shape_of(x), shape_of(weight)
    rows, columns = height - h + 1, width - w + 1
    windows = reshape(_windows(x, h, w, 1), shape=(n, channels, rows * columns, h * w))
    flat = reshape(transpose(windows, axes=(0, 2, 1, 3)), shape=(n, rows * columns, channels * h * w))
    out = flat @ transpose(reshape(weight, shape=(outputs, channels * h * w)), axes=(1, 0)) + bias
    return reshape(transpose(out, axes=(0, 2, 1)), shape=(n, outputs, rows, columns))


def max_pool2d(x: Any, size: int) -> Any:
    """The largest entry of every window of ``size`` by ``size`` that do not overlap."""
    windows = _windows(x, size, size, size)
    return largest(reshape(windows, shape=(*shape_of(windows)[:4], size * size)), axis=-1)


def _windows(x: Any, h: int, w: int, stride: int) -> Any:
    """(N, C, H, W) to (N, C, rows, columns, h, w)."""
    height, width = shape_of(x)[2:]
    top = np.arange(0, height - h + 1, stride)[:, None, None, None]
    left = np.arange(0, width - w + 1, stride)[None, :, None, None]
    index = top + np.arange(h)[None, None, :, None], left + np.arange(w)[None, None, None, :]
    return take(x, index=(slice(None), slice(None), *index))
