r"""Passes over a tall table: products with it in blocks that stay in cache, rows shared over threads in a fixed order.

The table may be sparse (CSR); then a pass costs its stored numbers. :math:`\tilde X` is X with a last column of ones
if ``ones``, which is never formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.core.chunks import map_row_chunks

__all__ = ["Table", "times", "transposed_times", "weighted_gram"]

Floats = NDArray[np.float64]
Table = Any  # an array or a CSR matrix of float64

BLOCK_ENTRIES = 1 << 17  # one megabyte of float64: read from memory once, used twice


def blocks(part: slice, columns: int) -> Iterator[slice]:
    """The slice in pieces of about BLOCK_ENTRIES numbers."""
    rows = max(16, BLOCK_ENTRIES // max(1, columns))
    for start in range(part.start, part.stop, rows):
        yield slice(start, min(start + rows, part.stop))


def times(X: Table, theta: Floats, *, ones: bool) -> Floats:
    r""":math:`\tilde X\theta`."""
    if not ones:
        return X @ theta
    out = X @ theta[:-1]
    out += theta[-1]
    return out


def transposed_times(X: Table, r: Floats, *, ones: bool) -> Floats:
    r""":math:`\tilde X^\top r`."""
    if sp.issparse(X):
        total = X.T @ r
    else:
        total = reduce(np.add, map_row_chunks(lambda rows: X[rows].T @ r[rows], len(X), work=X.size))
    if not ones:
        return total
    out = np.empty(len(total) + 1)
    out[:-1], out[-1] = total, r.sum()
    return out


def weighted_gram(X: Table, weights: Floats, *, ones: bool) -> Floats:
    r""":math:`\tilde X^\top\mathrm{diag}(w)\tilde X` over the rows of positive weight."""
    d = X.shape[1]
    if sp.issparse(X):
        return _sparse_gram(X, weights, ones=ones)

    def chunk(part: slice) -> Floats:
        total = np.zeros((d + 1, d + 1))
        for rows in blocks(part, d):
            used = weights[rows] > 0
            w = weights[rows][used]
            scaled = np.empty((len(w), d + 1))
            root = np.sqrt(w)
            np.multiply(X[rows][used], root[:, None], out=scaled[:, :d])
            scaled[:, d] = root
            total += scaled.T @ scaled
        return total

    total = reduce(np.add, map_row_chunks(chunk, len(X), work=X.size * d))
    return total if ones else np.ascontiguousarray(total[:d, :d])


def _sparse_gram(X: Table, weights: Floats, *, ones: bool) -> Floats:
    used = weights > 0
    rows, w = X[used], weights[used]
    total = np.empty((X.shape[1] + ones,) * 2)
    scaled = rows.multiply(np.sqrt(w)[:, None]).tocsr()
    total[: X.shape[1], : X.shape[1]] = (scaled.T @ scaled).toarray()
    if ones:
        total[-1, :-1] = total[:-1, -1] = rows.T @ w
        total[-1, -1] = w.sum()
    return total
