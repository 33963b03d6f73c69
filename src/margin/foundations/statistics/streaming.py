r"""Mean, variance and covariance of data that need not fit in memory.

After ``n`` observations the state is the count, the mean and the sum of squared deviations,

.. math:: \mu_n = \mu_{n-1} + \frac{x_n - \mu_{n-1}}{n}, \qquad
          S_n = S_{n-1} + (x_n - \mu_n)(x_n - \mu_{n-1}), \qquad \sigma_n^2 = S_n / n .

A block of :math:`b` rows is taken at once. With the deviations :math:`d_i = x_i - \mu_n` from the mean so far
and :math:`\bar d` their mean,

.. math:: \mu_{n+b} = \mu_n + \frac{b}{n+b}\bar d, \qquad S_{n+b} = S_n + \sum_i d_i^2 - \frac{b^2}{n+b}\bar d^2 ,

which is the line above for :math:`b = 1`. Because :math:`\sum_i d_i^2 \ge b\,\bar d^2`, the subtraction costs
at most one bit once :math:`n \ge b`; the first block is centered at its own mean. Nothing as large as the data
is ever allocated: a block lives in one buffer that fits in cache.

The mean is kept in two parts, the float64 ``mean`` and the ``tail`` that rounding leaves out. Near 1e9 a float64
is only good to 1e-7; without the tail that error would enter every later deviation, and sorted data or merged
partitions would lose half their digits.

Textbook form; models on chunks keep the sums they need themselves (:mod:`margin.linear.moments`,
:mod:`margin.bayes.statistics`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.statistics.arguments import Floats, finite

__all__ = ["CoMoments", "Moments", "updated_mean", "updated_squares", "updated_squares_from_means"]

BUFFER_VALUES = 131_072  # 1 MB of float64: the deviations of a block stay in a core's L2 cache
LANE_VALUES = 1_024  # short rows are laid side by side until this wide, so that the inner loops are long


def updated_mean(mean: Any, x: Any, n: int) -> Any:
    r"""The mean after the ``n``-th observation: :math:`\mu_{n-1} + (x_n - \mu_{n-1}) / n`.

    Parameters
    ----------
    mean : float or ndarray
        Mean before the observation.
    x : float or ndarray
        The observation.
    n : int
        Its number, from 1.
    """
    return mean + (x - mean) / n


def updated_squares(squares: Any, x: Any, mean_before: Any, mean_after: Any) -> Any:
    r"""Welford's sum of squared deviations: :math:`S_{n-1} + (x_n - \mu_n)(x_n - \mu_{n-1})`.

    Parameters
    ----------
    squares : float or ndarray
        Sum of squared deviations so far.
    x : float or ndarray
        The observation.
    mean_before : float or ndarray
        Mean before the observation.
    mean_after : float or ndarray
        Mean after it.
    """
    return squares + (x - mean_after) * (x - mean_before)


def updated_squares_from_means(squares: Any, n: int, mean_before: Any, mean_after: Any) -> Any:
    r"""The same sum without the observation: :math:`S_{n-1} + n(n-1)(\mu_n - \mu_{n-1})^2`.

    Parameters
    ----------
    squares : float or ndarray
        Sum of squared deviations so far.
    n : int
        Number of the observation, from 1.
    mean_before : float or ndarray
        Mean before the observation.
    mean_after : float or ndarray
        Mean after it.
    """
    return squares + n * (n - 1) * (mean_after - mean_before) ** 2


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean (with its tail) and sum of squared deviations per component; every operation returns a new state.

    >>> state = Moments.of([1.0, 2.0]).push(6.0)
    >>> state.count, float(state.mean), float(state.variance(ddof=1))
    (3, 3.0, 7.0)
    >>> merged = Moments.of([1.0]).merge(Moments.of([2.0, 6.0]))
    >>> round(float(merged.variance()), 12)
    4.666666666667
    """

    count: int
    mean: Floats
    tail: Floats
    squares: Floats

    @classmethod
    def empty(cls, shape: tuple[int, ...] = ()) -> Moments:
        return cls(0, np.zeros(shape), np.zeros(shape), np.zeros(shape))

    @classmethod
    def of(cls, X: ArrayLike) -> Moments:
        """Moments over the first axis of ``X``, shape (n,) or (n, ...)."""
        rows, shape = _rows("Moments.of", X)
        count, squares, buffer = 0, np.zeros(rows.shape[1]), _buffer(rows)
        mean, tail = _first_center(rows), np.zeros(rows.shape[1])
        with np.errstate(invalid="ignore", over="ignore"):
            for block in _blocks(rows):
                b, deviations = len(block), _deviations(block, mean, buffer)
                average = _column_sums(deviations) / b
                gap = average - tail
                total = _column_squares(deviations) - tail * b * (2 * average - tail)  # about mean + tail
                squares = squares + total - b * b / (count + b) * gap**2
                mean, tail = _two_sum(mean, tail + b / (count + b) * gap)
                count += b
        _require_finite("Moments.of", rows, squares)
        squares = np.maximum(squares, 0.0)  # of a constant, rounding may leave less than nothing
        return cls(count, mean.reshape(shape), tail.reshape(shape), squares.reshape(shape))

    def push(self, x: ArrayLike) -> Moments:
        """One more observation; the updates run in coordinates centered at ``mean``, where nothing is lost."""
        value = _observation("Moments.push", x, self.mean.shape) - self.mean
        n = self.count + 1
        moved = updated_mean(self.tail, value, n)
        squares = updated_squares(self.squares, value, self.tail, moved)
        return Moments(n, *_two_sum(self.mean, moved), squares)

    def update(self, X: ArrayLike) -> Moments:
        """All rows of ``X``, which may be a chunk of something larger."""
        return self.merge(Moments.of(X))

    def merge(self, other: Moments) -> Moments:
        r"""The moments of both samples together, as if they had been one:

        .. math:: S = S_a + S_b + \frac{n_a n_b}{n_a + n_b} (\mu_b - \mu_a)^2 .
        """
        n, mean, tail, gap, weight = _merged_mean("Moments.merge", self, other)
        return Moments(n, mean, tail, self.squares + other.squares + weight * gap**2)

    def variance(self, ddof: int = 0) -> Floats:
        """Divisor ``n - ddof``: 0 for the mean square, 1 for the unbiased estimate."""
        return self.squares / _divisor("Moments.variance", self.count, ddof)


@dataclass(frozen=True, eq=False)
class CoMoments:
    r"""Count, mean vector (with its tail) and matrix of summed products of deviations, for covariance matrices.

    >>> state = CoMoments.of([[0.0, 0.0], [2.0, 4.0]]).merge(CoMoments.of([[4.0, 2.0]]))
    >>> state.covariance(ddof=1).tolist()
    [[4.0, 2.0], [2.0, 4.0]]
    """

    count: int
    mean: Floats
    tail: Floats
    products: Floats

    @classmethod
    def of(cls, X: ArrayLike) -> CoMoments:
        """``X`` has shape (n, p)."""
        rows, shape = _rows("CoMoments.of", X)
        if len(shape) != 1:
            raise ValueError(f"CoMoments.of: X must be a matrix; got shape {np.shape(X)}.")
        count, products, buffer = 0, np.zeros((shape[0], shape[0])), _buffer(rows)
        mean, tail = _first_center(rows), np.zeros(shape)
        with np.errstate(invalid="ignore", over="ignore"):
            for block in _blocks(rows):
                b, deviations = len(block), _deviations(block, mean, buffer)
                average = _column_sums(deviations) / b
                gap = average - tail
                cross = np.outer(tail, average)
                total = deviations.T @ deviations - b * (cross + cross.T - np.outer(tail, tail))  # about mean + tail
                products = products + total - b * b / (count + b) * np.outer(gap, gap)
                mean, tail = _two_sum(mean, tail + b / (count + b) * gap)
                count += b
        _require_finite("CoMoments.of", rows, products)
        return cls(count, mean, tail, products)

    def update(self, X: ArrayLike) -> CoMoments:
        """All rows of ``X``, which may be a chunk of something larger."""
        return self.merge(CoMoments.of(X))

    def merge(self, other: CoMoments) -> CoMoments:
        """The co-moments of both samples together, as if they had been one."""
        n, mean, tail, gap, weight = _merged_mean("CoMoments.merge", self, other)
        return CoMoments(n, mean, tail, self.products + other.products + weight * np.outer(gap, gap))

    def covariance(self, ddof: int = 0) -> Floats:
        """The covariance matrix with divisor ``n - ddof``."""
        return self.products / _divisor("CoMoments.covariance", self.count, ddof)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sum and exactly what rounding left out (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _merged_mean(
    caller: str, mine: Moments | CoMoments, others: Moments | CoMoments
) -> tuple[int, Floats, Floats, Floats, float]:
    """Joint count, mean and tail, the gap between the two means, and the weight of its square."""
    if mine.mean.shape != others.mean.shape:
        raise ValueError(f"{caller}: both must describe one shape; got {mine.mean.shape} and {others.mean.shape}.")
    n = mine.count + others.count
    fraction = others.count / n if n else 0.0
    gap = (others.mean - mine.mean) + (others.tail - mine.tail)
    mean, tail = _two_sum(mine.mean, mine.tail + fraction * gap)
    return n, mean, tail, gap, mine.count * fraction


def _blocks(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    size = _block_rows(rows.shape[1])
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _buffer(rows: NDArray[Any]) -> Floats:
    return np.empty((min(_block_rows(rows.shape[1]), len(rows)), rows.shape[1]))


def _deviations(block: NDArray[Any], center: Floats, buffer: Floats) -> Floats:
    """``block`` minus ``center``, written into the buffer."""
    deviations = buffer[: len(block)]
    lanes = _lanes(deviations)
    np.subtract(block.reshape(lanes.shape), np.tile(center, lanes.shape[1] // len(center)), out=lanes)
    return deviations


def _block_rows(p: int) -> int:
    """Rows per block: a power of two, so that rows can be laid side by side evenly."""
    return 2 ** max(0, int(np.log2(max(1, BUFFER_VALUES // p))))


def _lanes(block: Floats) -> Floats:
    """The same memory with as many rows side by side as divide the block evenly and stay within a lane."""
    b, p = block.shape
    side = max(1, LANE_VALUES // p)
    while b % side:
        side -= 1
    return block.reshape(b // side, side * p)


def _column_sums(block: Floats) -> Floats:
    return np.add.reduce(_lanes(block), axis=0).reshape(-1, block.shape[1]).sum(axis=0)


def _column_squares(block: Floats) -> Floats:
    lanes = _lanes(block)
    return np.einsum("ij,ij->j", lanes, lanes).reshape(-1, block.shape[1]).sum(axis=0)


def _first_center(rows: NDArray[Any]) -> Floats:
    """The mean of the first block; any value near the data does, its rounding is corrected."""
    return rows[: _block_rows(rows.shape[1])].mean(axis=0, dtype=np.float64)


def _rows(caller: str, X: ArrayLike) -> tuple[NDArray[Any], tuple[int, ...]]:
    """``X`` as (n, p) without a copy where NumPy can, and the shape of one observation."""
    array = np.asarray(X)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{caller}: X must hold real numbers; got {array.dtype.name} values.")
    if array.ndim == 0 or array.size == 0:
        raise ValueError(f"{caller}: X must hold at least one observation along its first axis; got {array.shape}.")
    return array.reshape(len(array), -1), array.shape[1:]


def _observation(caller: str, x: ArrayLike, shape: tuple[int, ...]) -> Floats:
    value = finite(caller, "x", x)
    if value.shape != shape:
        raise ValueError(f"{caller}: x must have shape {shape}; got {value.shape}.")
    return value


def _divisor(caller: str, count: int, ddof: int) -> int:
    if count - ddof < 1:
        raise ValueError(f"{caller}: ddof must be below the {count} observations seen; got {ddof}.")
    return count - ddof


def _require_finite(caller: str, rows: NDArray[Any], sums: Floats) -> None:
    """A NaN or infinity anywhere shows in the sums, so the data need no pass of their own unless it does."""
    if np.isfinite(sums).all():
        return
    finite(caller, "X", rows)
    raise ValueError(f"{caller}: X is so large that its squares overflow; got {np.abs(rows).max():g}.")
