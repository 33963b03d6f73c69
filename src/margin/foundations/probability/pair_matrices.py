"""Matrices over all pairs of rows, from one matrix product and elementwise work on blocks that fit into the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["KnownRows", "Matrix", "checked_pair", "checked_rows", "fill_distances", "fill_products", "longest_row"]

Matrix = NDArray[Any]
# Entries of one block (2 MB of float64) and rows of one symmetric block: measured, with 3000 rows the cost is flat
# around them, and many times larger or smaller blocks leave the cache or starve the matrix product.
BLOCK_ENTRIES = 1 << 18
SYMMETRIC_ROWS = 128


def checked_pair(owner: str, X: ArrayLike, Z: ArrayLike | None) -> tuple[Matrix, Matrix | None]:
    """Both as rows of one precision and with as many columns; None stays None."""
    first = checked_rows(owner, "X", X)
    if Z is None:
        return first, None
    second = checked_rows(owner, "Z", Z)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"{owner}: X and Z must have as many columns; got {first.shape[1]} and {second.shape[1]}.")
    dtype = np.result_type(first, second)
    return first.astype(dtype, copy=False), second.astype(dtype, copy=False)


def checked_rows(owner: str, name: str, value: ArrayLike) -> Matrix:
    """Rows of float32 or float64; a vector is read as points on a line."""
    try:
        array = np.asarray(value)
        array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be a matrix of real numbers; got {value!r}.") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{owner}: {name} must be a non-empty matrix of rows; got shape {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{owner}: {name} must be finite; got {array[~np.isfinite(array)][0]} among its entries.")
    return array


def longest_row(dtype: Any) -> float:
    """The squared norm up to which the product of two rows has rounding errors of at most about a tenth.

    Beyond it, an exponential of distances that were computed from products is noise, for a row and itself too.
    """
    return float(0.1 / np.finfo(dtype).eps)


def _fill_gaps(X: Matrix, Z: Matrix, finish: Callable[[Matrix], None]) -> Matrix:
    """``finish`` of squared distances by subtracting rows: slower than a product, exact at distance zero."""
    out = np.empty((len(X), len(Z)), dtype=X.dtype)
    with np.errstate(over="ignore"):  # a distance beyond the range is infinite, and its exponential zero
        for i, x in enumerate(X):
            out[i] = ((Z - x) ** 2).sum(axis=1)
    finish(out)
    return out


def fill_products(
    left: Matrix, right: Matrix, finish: Callable[[Matrix], None], *, symmetric: bool, zero_diagonal: bool = False
) -> Matrix:
    """left right^T with ``finish`` applied in place, a cache-sized block of rows at a time; of a symmetric result
    only the upper triangle is computed and then mirrored."""
    n, m = len(left), len(right)
    out = np.empty((n, m), dtype=left.dtype)
    rows = max(1, min(BLOCK_ENTRIES // m, SYMMETRIC_ROWS if symmetric else n))
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        if not symmetric:
            finish(np.matmul(left[start:stop], right.T, out=out[start:stop]))
            continue
        block = left[start:stop] @ right[start:].T
        if zero_diagonal:
            np.fill_diagonal(block, 0)
        finish(block)
        out[start:stop, start:] = block
        out[stop:, start:stop] = block[:, stop - start :].T
        corner = block[:, : stop - start]
        # The two halves of a product of different factors differ in the last digit; their mean is symmetric.
        out[start:stop, start:stop] = (corner + corner.T) / 2
    return out


def fill_distances(X: Matrix, Z: Matrix | None, finish: Callable[[Matrix], None], *, absolute: bool = False) -> Matrix:
    """The same for squared distances, which are the product of rows [-2x, |x|^2, 1] and [z, 1, |z|^2].

    Where ``finish`` needs their ``absolute`` error to be small, rows too long for that are subtracted instead.
    """
    known = KnownRows(X if Z is None else Z)
    return known.distances(None if Z is None else X, finish, absolute=absolute)


class KnownRows:
    """Rows z that distances of several tables are asked to, with what is the same for all of them."""

    def __init__(self, rows: Matrix):
        self.rows, self.center = rows, rows.mean(axis=0)
        z, norms = _center(rows, self.center)
        self.longest = norms.max()  # squared
        self.right = np.concatenate([z, np.ones_like(norms), norms], axis=1)

    def distances(self, X: Matrix | None, finish: Callable[[Matrix], None], *, absolute: bool = False) -> Matrix:
        """:func:`fill_distances` of rows X, or of all pairs of the known ones, which are of the same type."""
        symmetric = X is None
        if X is None:
            X, x, norms, longest = self.rows, self.right[:, :-2], self.right[:, -1:], self.longest
        else:
            x, norms = _center(X, self.center)
            longest = max(norms.max(), self.longest)

        def clip_and_finish(block: Matrix) -> None:
            np.maximum(block, 0, out=block)
            finish(block)

        if absolute and not longest <= longest_row(X.dtype):
            return _fill_gaps(X, self.rows, finish)
        left = np.concatenate([-2 * x, norms, np.ones_like(norms)], axis=1)
        return fill_products(left, self.right, clip_and_finish, symmetric=symmetric, zero_diagonal=True)


def _center(rows: Matrix, center: Matrix) -> tuple[Matrix, Matrix]:
    """The rows minus the center, and their squared norms (n, 1)."""
    moved = rows - center
    return moved, np.einsum("ij,ij->i", moved, moved)[:, None]
