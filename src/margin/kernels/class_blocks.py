"""Kernel matrices of all pairs of classes of a small table, no value computed twice.

Every pair (i, j) needs the blocks of i with i, i with j and j with j. The first and the last are needed by other pairs
too and are kept; the second belongs to this pair alone. So all pairs together cost about half of the matrix of all
rows, and only the blocks on its diagonal are in memory.
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
        # New memory costs a page fault every 4 kB, more than what is computed into it: one buffer serves all pairs.
        self.buffer = np.empty(0)

    def pair(self, first: int, second: int) -> NDArray[np.float64]:
        """The kernel matrix of the rows of two classes, one after the other, valid until the next pair is asked for."""
        cut = self.ends[first] - self.starts[first]
        n = cut + self.ends[second] - self.starts[second]
        if len(self.buffer) < n * n:
            self.buffer = np.empty(n * n)
        out = self.buffer[: n * n].reshape(n, n)
        out[:cut, :cut], out[cut:, cut:] = self._within(first), self._within(second)
        across = self._block(first, second)
        out[:cut, cut:], out[cut:, :cut] = across, across.T
        return out

    def _within(self, code: int) -> NDArray[Any]:
        if code not in self.diagonal:
            self.diagonal[code] = self._block(code, code)
        return self.diagonal[code]

    def _block(self, first: int, second: int) -> NDArray[Any]:
        rows = slice(self.starts[second], self.ends[second])
        out = np.empty((self.ends[first] - self.starts[first], rows.stop - rows.start), dtype=self.columns.dtype)
        self.columns.block(np.arange(self.starts[first], self.ends[first]))(rows, out)
        return out
