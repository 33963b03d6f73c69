r"""Mean and scatter of a table in one pass, and its rows minus the mean, block after block.

.. math:: \bar x = \tfrac1n \sum_i x_i, \qquad S = \sum_i (x_i - \bar x)(x_i - \bar x)^\top .

Rows are visited in blocks, so nothing as large as ``X`` is ever allocated. Where the mean of a column is large against
its spread, :math:`\sum x x^\top - n \bar x \bar x^\top` would cancel digits: then sums are taken about the mean of a
few rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.core.chunks import map_row_chunks
from margin.foundations.linalg.gram import add_gram, mirror

__all__ = ["Scatter", "centered_product", "scatter"]

# Rows of a block: 512 kB to 12 MB for 32 to 784 float32 columns, where the product is at full speed (measured).
BLOCK_ROWS = 4096
# Of a column's sum of squares, at least this fraction must be left after its mean is taken out: three digits of sixteen
# may go, one of seven.
LEAST_REMAINDER = {np.dtype(np.float64): 1e-3, np.dtype(np.float32): 1e-1}
SAMPLE_ROWS = 256  # rows whose mean is the origin of the sums: it is then within std / 16 of the mean of all


class Scatter(NamedTuple):
    """``mean`` (p,) and ``matrix`` (p, p), the sum of centered outer products, both float64."""

    mean: np.ndarray
    matrix: np.ndarray


def scatter(X: np.ndarray) -> Scatter:
    """Mean and scatter of the rows of ``X`` (n, p), float32 or float64.

    A NaN, an infinity or an overflow in ``X`` shows as a number of the diagonal that is not finite.

    >>> scatter(np.array([[1.0, 0.0], [3.0, 4.0]])).matrix
    array([[2., 4.],
           [4., 8.]])
    """
    least = LEAST_REMAINDER[X.dtype]
    with np.errstate(invalid="ignore", over="ignore"):
        some = X[:: max(1, len(X) // SAMPLE_ROWS)].astype(np.float64)
        equal = np.full(len(some), 1 / len(some))
        origin = (equal @ some).astype(X.dtype)
        squares = equal @ np.square(some, out=some)
        # Where a column's mean is large against its spread, the difference would lose digits (not in a column of
        # zeros); rows that show it beforehand save a pass.
        if (squares - np.square(origin, dtype=np.float64) >= least * squares).all():
            raw, sums = _sums(X, None)
            mean = sums / len(X)
            matrix = raw - np.outer(sums, mean)
            diagonal, total = matrix.diagonal(), raw.diagonal()
            if (diagonal >= least * total).all() or not np.isfinite(total).all():
                return Scatter(mean, matrix)
        total, offset = _sums(X, origin)
        offset /= len(X)
        return Scatter(origin.astype(np.float64) + offset, total - len(X) * np.outer(offset, offset))


def _sums(X: np.ndarray, origin: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Sums of outer products (p, p) and of rows (p,) about ``origin`` (zero if None), in the order of the rows."""
    parts = map_row_chunks(lambda rows: _chunk(X, origin, rows), len(X), work=X.size * X.shape[1])
    total, offset = parts[0][0].astype(np.float64, copy=False), parts[0][1]
    for gram, sums in parts[1:]:  # in the order of the rows, without a stack of all of them
        total += gram
        offset += sums
    return total, offset


def centered_product(X: np.ndarray, mean: np.ndarray, right: np.ndarray) -> np.ndarray:
    r""":math:`(X - \mathbf 1 \bar x^\top) R` (n, k) in the precision of ``X``, without a centered copy of ``X``."""
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    mean, right = mean.astype(dtype), np.ascontiguousarray(right, dtype=dtype)
    out = np.empty((len(X), right.shape[1]), dtype=dtype)

    def fill(rows: slice) -> None:
        buffer = np.empty((min(BLOCK_ROWS, rows.stop - rows.start), X.shape[1]), dtype=dtype)
        for low in range(rows.start, rows.stop, BLOCK_ROWS):
            high = min(low + BLOCK_ROWS, rows.stop)
            block = np.subtract(X[low:high], mean, out=buffer[: high - low])
            np.matmul(block, right, out=out[low:high])

    map_row_chunks(fill, len(X), work=X.size * right.shape[1])
    return out


def _chunk(X: np.ndarray, origin: np.ndarray | None, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    """The same over some rows, block by block; without an origin nothing of the size of a block is copied."""
    p, most = X.shape[1], min(BLOCK_ROWS, rows.stop - rows.start)
    sums, buffer = np.zeros(p), np.empty((0 if origin is None else most, p), dtype=X.dtype)
    # Single precision inside a block, double between blocks: one block alone needs no sum.
    alone = most == rows.stop - rows.start and X.dtype == np.float32
    gram, ones = np.zeros((0, 0) if alone else (p, p)), np.ones(most, dtype=X.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for low in range(rows.start, rows.stop, BLOCK_ROWS):
            high = min(low + BLOCK_ROWS, rows.stop)
            block = X[low:high] if origin is None else np.subtract(X[low:high], origin, out=buffer[: high - low])
            sums += ones[: high - low] @ block
            if alone:
                return block.T @ block, sums
            if X.dtype == np.float64 and (block.flags.c_contiguous or block.T.flags.c_contiguous):
                add_gram(block, gram)
            elif X.dtype == np.float64:
                gram += np.tril(block.T @ block)
            else:
                gram += block.T @ block
    return (mirror(gram) if X.dtype == np.float64 else gram), sums
