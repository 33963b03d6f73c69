r"""First and second moments of a regression problem: all that least squares needs to know about the rows.

For rows :math:`x_i \in \mathbb{R}^p`, targets :math:`y_i \in \mathbb{R}^q` and weights :math:`w_i \ge 0`

.. math::
    W = \sum_i w_i,\quad \bar x = \tfrac1W \sum_i w_i x_i,\quad
    S_{xx} = \sum_i w_i (x_i-\bar x)(x_i-\bar x)^\top,\quad S_{xy} = \sum_i w_i (x_i-\bar x)(y_i-\bar y)^\top .

Moments of parts merge into the moments of the whole, so a table may be read chunk by chunk. Rows are visited in
blocks that fit the cache: nothing as large as ``X`` is ever allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.chunks import map_row_chunks
from margin.foundations.linalg.gram import add_gram, mirror

__all__ = ["Block", "RegressionMoments", "blocks", "moments", "varies"]

BLOCK_BYTES = 2**21  # a block of rows stays in the second-level cache while both products read it

# Deviation of a column, as a fraction of its mean, from which on it is more than the rounding of that mean.
LEAST_SPREAD = 64 * np.finfo(float).eps
# A centered sum of squares this much smaller than the raw one has lost 8 of its 16 digits to cancellation.
CANCELLATION = 1e-8


@dataclass(frozen=True)
class Block:
    """Some rows as float64: ``x`` (b, p) and ``y`` (b, q), both times the square root of the weight in ``root``."""

    x: np.ndarray
    y: np.ndarray
    root: np.ndarray | None


@dataclass(frozen=True)
class RegressionMoments:
    """Weighted moments of ``rows`` rows; with ``centered`` False the means are zero and the scatter is raw."""

    rows: int
    weight: float
    mean_x: np.ndarray  # (p,)
    mean_y: np.ndarray  # (q,)
    xx: np.ndarray  # (p, p)
    xy: np.ndarray  # (p, q)
    yy: np.ndarray  # (q,), only the diagonal
    centered: bool = True

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.xx.diagonal()).all() and np.isfinite(self.xy).all() and np.isfinite(self.yy).all())

    def without_constants(self) -> RegressionMoments:
        """With zeros for columns that do not vary: what their squares show is the rounding of their mean."""
        varying = varies(np.sqrt(np.maximum(self.xx.diagonal(), 0.0)), self.mean_x, self.weight)
        if varying.all():
            return self
        return replace(
            self, xx=np.where(np.outer(varying, varying), self.xx, 0.0), xy=np.where(varying[:, None], self.xy, 0.0)
        )

    def merge(self, other: RegressionMoments) -> RegressionMoments:
        r"""The moments of both sets of rows, :math:`S = S_1 + S_2 + \frac{W_1 W_2}{W_1 + W_2} \delta\delta^\top`."""
        weight = self.weight + other.weight
        fraction = other.weight / weight if weight else 0.0
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        between = self.weight * fraction
        return RegressionMoments(
            rows=self.rows + other.rows,
            weight=weight,
            mean_x=self.mean_x + fraction * dx,
            mean_y=self.mean_y + fraction * dy,
            xx=self.xx + other.xx + between * np.outer(dx, dx),
            xy=self.xy + other.xy + between * np.outer(dx, dy),
            yy=self.yy + other.yy + between * dy**2,
            centered=self.centered,
        )


def varies(norms: np.ndarray, mean: np.ndarray, total: float) -> np.ndarray:
    """Which columns (p,) are more than the rounding of their mean, by the norms of the centered ones; zeros are not."""
    return norms > LEAST_SPREAD * np.sqrt(total) * np.abs(mean)


def moments(X: Any, Y: np.ndarray, weights: np.ndarray | None = None, *, centered: bool = True) -> RegressionMoments:
    """Moments of ``X`` (n, p; dense or CSR) and ``Y`` (n, q): one pass, a second one only where centering cancels.

    A NaN, an infinity or an overflow in ``X`` shows as a non-finite diagonal of ``xx``; it is not an error here.

    >>> m = moments(np.array([[1.0], [3.0]]), np.array([[2.0], [6.0]]))
    >>> m.mean_x, m.xx, m.xy
    (array([2.]), array([[2.]]), array([[4.]]))
    """
    p, q = X.shape[1], Y.shape[1]
    raw = _sums(X, Y, weights, np.zeros(p), np.zeros(q))
    if not centered:
        return replace(raw, mean_x=np.zeros(p), mean_y=np.zeros(q), centered=False)
    first = _center(raw)
    lost = (first.xx.diagonal() <= CANCELLATION * raw.xx.diagonal()) & (raw.xx.diagonal() > 0)
    lost_y = (first.yy <= CANCELLATION * raw.yy) & (raw.yy > 0)
    if not (lost.any() or lost_y.any()) or not raw.finite:
        return first
    second = _center(_sums(X, Y, weights, first.mean_x, first.mean_y))
    return replace(second, mean_x=first.mean_x + second.mean_x, mean_y=first.mean_y + second.mean_y)


def blocks(
    X: Any, Y: np.ndarray, weights: np.ndarray | None, shift: tuple[np.ndarray, np.ndarray], rows: slice
) -> Iterator[Block]:
    """The given rows of ``X`` and ``Y`` minus ``shift``, block after block; a reused buffer where a view cannot do."""
    start, stop, _ = rows.indices(X.shape[0])
    size = block_rows(X.shape[1])
    shift_x, shift_y = shift
    packed = isinstance(X, np.ndarray) and X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)
    as_it_is = packed and weights is None and not shift_x.any()
    buffer = np.empty((0, 0)) if as_it_is else np.empty((min(size, max(stop - start, 0)), X.shape[1]))
    for low in range(start, stop, size):
        high = min(low + size, stop)
        y = Y[low:high] - shift_y if shift_y.any() or weights is not None else Y[low:high]
        if as_it_is:
            yield Block(X[low:high], y, None)
            continue
        x = buffer[: high - low]
        np.subtract(X[low:high].toarray() if sp.issparse(X) else X[low:high], shift_x, out=x)
        root = None if weights is None else np.sqrt(weights[low:high])[:, None]
        if root is not None:
            x *= root
            y *= root
        yield Block(x, y, root)


def block_rows(p: int) -> int:
    """Rows of a block of ``p`` float64 columns."""
    return max(64, BLOCK_BYTES // (8 * max(p, 1)))


def _sums(
    X: Any, Y: np.ndarray, weights: np.ndarray | None, shift_x: np.ndarray, shift_y: np.ndarray
) -> RegressionMoments:
    """Raw second moments about ``shift``; the means are relative to it."""
    n, p = X.shape
    weight = float(n) if weights is None else float(weights.sum())
    if sp.issparse(X) and not shift_x.any():
        gram, cross, yy, sum_y = _sparse_sums(X, Y, weights, shift_y)
    else:
        parts = map_row_chunks(
            lambda rows: _chunk_sums(blocks(X, Y, weights, (shift_x, shift_y), rows), p, Y.shape[1]), n, work=n * p * p
        )
        gram, cross, yy, sum_y = parts[0] if len(parts) == 1 else (np.sum(part, axis=0) for part in zip(*parts))
    with np.errstate(invalid="ignore", over="ignore"):
        divisor = weight or 1.0
        return RegressionMoments(n, weight, cross[-1] / divisor, sum_y / divisor, gram, cross[:-1].T, yy)


def _chunk_sums(parts: Iterator[Block], p: int, q: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sums of x x', of x times [y, 1] (q + 1, p), of y squared (q,) and of y (q,) over the blocks."""
    gram, cross, yy, sum_y = np.zeros((p, p)), np.zeros((q + 1, p)), np.zeros(q), np.zeros(q)
    targets = np.ones((q + 1, 0))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in parts:
            if len(block.y) != targets.shape[1]:  # the first and the last block: targets above a row of ones
                targets = np.ones((q + 1, len(block.y)))
            targets[:q] = block.y.T
            if block.root is not None:
                targets[q] = block.root[:, 0]
            add_gram(block.x, gram)
            cross += targets @ block.x
            yy += np.einsum("ji,ji->j", targets[:q], targets[:q])
            sum_y += targets[:q] @ targets[q]
    return mirror(gram), cross, yy, sum_y


def _sparse_sums(
    X: Any, Y: np.ndarray, weights: np.ndarray | None, shift_y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    weighted = X if weights is None else sp.diags_array(weights) @ X
    y = Y - shift_y
    targets = np.hstack([y, np.ones((len(y), 1))])
    weighted_y = y if weights is None else weights[:, None] * y
    with np.errstate(over="ignore", invalid="ignore"):
        gram, cross = (X.T @ weighted).toarray(), (weighted.T @ targets).T
        return gram, cross, (y * weighted_y).sum(axis=0), weighted_y.sum(axis=0)


def _center(raw: RegressionMoments) -> RegressionMoments:
    r"""Scatter about the mean: :math:`S = M - W m m^\top`, with m the mean relative to the shift of the raw sums."""
    with np.errstate(invalid="ignore", over="ignore"):
        return replace(
            raw,
            xx=raw.xx - raw.weight * np.outer(raw.mean_x, raw.mean_x),
            xy=raw.xy - raw.weight * np.outer(raw.mean_x, raw.mean_y),
            yy=raw.yy - raw.weight * raw.mean_y**2,
        )
