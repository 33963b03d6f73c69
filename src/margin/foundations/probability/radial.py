"""Kernels of the distance between rows: rows in units of the length scale, one product, an elementwise function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import positive
from margin.foundations.probability.pair_matrices import KnownRows, Matrix, checked_pair, checked_rows, fill_distances

__all__ = ["EXPONENTIAL", "GAUSSIAN", "Radial"]


@dataclass(frozen=True)
class Radial:
    """``finish`` of the squared distances of rows divided by ``unit`` times the length scale, in place."""

    owner: str  # what errors name
    unit: float
    finish: Callable[[Matrix], None]

    def __call__(self, X: ArrayLike, Z: ArrayLike | None, length_scale: float) -> Matrix:
        """The values of all pairs, (n, m); of X with itself without Z."""
        X, Z = checked_pair(self.owner, X, Z)
        scale = self._scale(X, length_scale)
        return fill_distances(X * scale, None if Z is None else Z * scale, self.finish, absolute=True)

    def of_known(self, Z: ArrayLike, length_scale: float) -> Callable[[Matrix], Matrix]:
        """The function of rows X of Z's precision that gives the same bits; what concerns Z alone is done once.

        Of a single row X it is most of the work.
        """
        rows = checked_rows(self.owner, "Z", Z)
        scale = self._scale(rows, length_scale)
        known = KnownRows(rows * scale)

        def values(X: Matrix) -> Matrix:
            return known.distances(checked_rows(self.owner, "X", X) * scale, self.finish, absolute=True)

        return values

    def _scale(self, X: Matrix, length_scale: float) -> np.floating:
        # Scaling the inputs is n d work; scaling the distances would be n m.
        scale: np.floating = X.dtype.type(1 / (self.unit * positive(self.owner, "length_scale", length_scale)))
        return scale


def _exp_of_negative(block: Matrix) -> None:
    np.negative(block, out=block)
    np.exp(block, out=block)


def _exp_of_negative_root(block: Matrix) -> None:
    np.sqrt(block, out=block)
    _exp_of_negative(block)


GAUSSIAN = Radial("rbf_kernel", float(np.sqrt(2)), _exp_of_negative)
EXPONENTIAL = Radial("laplace_kernel", 1.0, _exp_of_negative_root)
