"""Kernel matrices of all pairs of classes of a small table, no value computed twice.

Every pair (i, j) needs the blocks of i with i, i with j and j with j. The first and the last are needed by other pairs
too and are kept. The second belongs to this pair alone, but one product makes it for all j > i, whose pairs come one
after another. So all pairs together cost about half of the matrix of all rows, and only the blocks on its diagonal and
one strip are in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.kernels.kernel_columns import KernelColumns

__all__ = ["ClassBlocks", "values_kept"]


def values_kept(sizes: NDArray[np.int64]) -> int:
    """How many kernel values are in memory at once: the blocks on the diagonal and the largest strip."""
    later = sizes.sum() - np.cumsum(sizes)
    return int(np.square(sizes).sum() + (later * sizes).max())


class ClassBlocks:
    """Of ``columns`` whose rows are ordered by class, ``sizes`` of each."""

    def __init__(self, columns: KernelColumns, sizes: NDArray[np.int64]):
        ends = np.cumsum(sizes)
        self.columns, self.ends, self.starts = columns, ends, ends - sizes
        # The block of a class with itself is in ``diagonal`` from its entry of ``block_starts`` on, once it is known.
        squares = np.cumsum(np.square(sizes))
        self.block_starts = squares - np.square(sizes)
        self.diagonal = np.empty(squares[-1], dtype=columns.dtype)
        self.known = np.zeros(len(ends), dtype=bool)
        # New memory costs a page fault every 4 kB, more than what is computed into it: buffers serve all pairs.
        self.buffer = np.empty(0)
        self.memory = np.empty(np.max((ends[-1] - ends) * sizes), dtype=columns.dtype)
        self.strip: tuple[int, NDArray[Any]] = (-1, self.memory)  # a class, and its values with all later ones

    def pair(self, first: int, second: int) -> NDArray[np.float64]:
        """The kernel matrix of the rows of two classes, one after the other, valid until the next call."""
        cut = self.ends[first] - self.starts[first]
        n = cut + self.ends[second] - self.starts[second]
        if len(self.buffer) < n * n:
            self.buffer = np.empty(n * n)
        out = self.buffer[: n * n].reshape(n, n)
        out[:cut, :cut], out[cut:, cut:] = self.within(first), self.within(second)
        across = self.across(first)[:, self.starts[second] - self.ends[first] : self.ends[second] - self.ends[first]]
        out[:cut, cut:], out[cut:, :cut] = across, across.T
        return out

    def within(self, code: int) -> NDArray[Any]:
        """The values of the rows of a class with each other."""
        size, begin = self.ends[code] - self.starts[code], self.block_starts[code]
        out = self.diagonal[begin : begin + size * size].reshape(size, size)
        if not self.known[code]:
            self._write(code, slice(self.starts[code], self.ends[code]), out)
            self.known[code] = True
        return out

    def all_within(self) -> NDArray[Any]:
        """``diagonal``, with the blocks of all classes."""
        for code in np.flatnonzero(~self.known).tolist():
            self.within(code)
        return self.diagonal

    def across(self, first: int) -> NDArray[Any]:
        """The values of the rows of a class with those of all later ones."""
        if self.strip[0] != first:
            shape = self.ends[first] - self.starts[first], self._later(first)
            out = self.memory[: shape[0] * shape[1]].reshape(shape)
            self.strip = first, self._write(first, slice(self.ends[first], self.ends[-1]), out)
        return self.strip[1]

    def _later(self, code: int) -> int:
        """How many rows are of later classes."""
        return int(self.ends[-1] - self.ends[code])

    def _write(self, code: int, rows: slice, out: NDArray[Any]) -> NDArray[Any]:
        """The values of the rows of a class with a slice of all rows."""
        self.columns.block(np.arange(self.starts[code], self.ends[code]))(rows, out)
        return out
