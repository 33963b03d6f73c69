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

__all__ = ["ClassBlocks"]


class ClassBlocks:
    """Of ``columns`` whose rows are ordered by class, ``sizes`` of each."""

    def __init__(self, columns: KernelColumns, sizes: list[int]):
        ends = np.cumsum(sizes)
        self.columns, self.ends, self.starts = columns, ends, ends - sizes
        self.diagonal: dict[int, NDArray[Any]] = {}
        # New memory costs a page fault every 4 kB, more than what is computed into it: buffers serve all pairs.
        self.buffer = np.empty(0)
        self.memory = np.empty(max(self._later(code) * size for code, size in enumerate(sizes)), dtype=columns.dtype)
        self.strip: tuple[int, NDArray[Any]] = (-1, self.memory)  # a class, and its values with all later ones

    def pair(self, first: int, second: int) -> NDArray[np.float64]:
        """The kernel matrix of the rows of two classes, one after the other, valid until the next call."""
        cut = self.ends[first] - self.starts[first]
        n = cut + self.ends[second] - self.starts[second]
        if len(self.buffer) < n * n:
            self.buffer = np.empty(n * n)
        out = self.buffer[: n * n].reshape(n, n)
        out[:cut, :cut], out[cut:, cut:] = self._within(first), self._within(second)
        across = self._across(first)[:, self.starts[second] - self.ends[first] : self.ends[second] - self.ends[first]]
        out[:cut, cut:], out[cut:, :cut] = across, across.T
        return out

    def _later(self, code: int) -> int:
        """How many rows are of later classes."""
        return int(self.ends[-1] - self.ends[code])

    def _within(self, code: int) -> NDArray[Any]:
        if code not in self.diagonal:
            size = self.ends[code] - self.starts[code]
            out = np.empty((size, size), dtype=self.columns.dtype)
            self.diagonal[code] = self._write(code, slice(self.starts[code], self.ends[code]), out)
        return self.diagonal[code]

    def _across(self, first: int) -> NDArray[Any]:
        if self.strip[0] != first:
            shape = self.ends[first] - self.starts[first], self._later(first)
            out = self.memory[: shape[0] * shape[1]].reshape(shape)
            self.strip = first, self._write(first, slice(self.ends[first], self.ends[-1]), out)
        return self.strip[1]

    def _write(self, code: int, rows: slice, out: NDArray[Any]) -> NDArray[Any]:
        """The values of the rows of a class with a slice of all rows."""
        self.columns.block(np.arange(self.starts[code], self.ends[code]))(rows, out)
        return out
