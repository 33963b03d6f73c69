"""The variables that a decomposed dual problem is solved for at once, and the kernel matrix of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from margin.kernels.kernel_columns import KernelColumns

__all__ = ["WorkingSet"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class WorkingSet:
    """Variables in ``generations``, oldest first, and ``matrix``, the kernel matrix of all of them in this order."""

    def __init__(self, columns: KernelColumns):
        self.columns = columns
        self.generations: list[Indices] = []
        self.matrix: Floats = np.zeros((0, 0))

    @property
    def members(self) -> Indices:
        return np.concatenate(self.generations)

    def join(self, chosen: Indices) -> None:
        """A new generation, whose rows and columns are added to the matrix.

        Every pair of generations is a product of its own: the same bits whichever others were there at the time.
        """
        self.generations.append(chosen)
        cuts = np.cumsum([0, *map(len, self.generations)])
        old, matrix = cuts[-2], np.empty((cuts[-1], cuts[-1]))
        matrix[:old, :old] = self.matrix
        for start, stop, other in zip(cuts, cuts[1:], self.generations):
            block = np.empty((len(chosen), len(other)), dtype=self.columns.dtype)
            self.columns.of_rows(other).fill(chosen, block)
            matrix[old:, start:stop] = block
        matrix[:old, old:] = matrix[old:, :old].T
        self.matrix = matrix

    def drop_oldest(self) -> None:
        gone = len(self.generations.pop(0))
        self.matrix = self.matrix[gone:, gone:]

    def restart(self, generations: Sequence[Indices]) -> None:
        """These generations in place of those there are."""
        self.generations, self.matrix = [], np.zeros((0, 0))
        for chosen in generations:
            self.join(chosen)
