r"""The triangular factor of centered rows, taken block by block and merged without losing digits.

.. math:: R^\top R = \sum_i (x_i - \bar x)(x_i - \bar x)^\top,\qquad
          R^\top R = R_1^\top R_1 + R_2^\top R_2 + \tfrac{n_1 n_2}{n_1 + n_2}\, \delta\delta^\top

with :math:`\delta` the difference of the means: one more row below the two factors. R has the singular values of the
centered rows, whose squares the scatter matrix would have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from margin.core.invariants import ArrayOf, Count, FieldsOf

__all__ = ["FACTOR_FIELDS", "ScatterFactor", "triangle"]

#: What a model file holds of a factor.
FACTOR_FIELDS = FieldsOf({"rows": Count(low=1), "mean": ArrayOf("n_features"), "R": ArrayOf(None, "n_features")})
BLOCK_ROWS = 1024  # at least four times the columns, so that the factor so far is a small part of each step


def triangle(parts: Iterable[np.ndarray], columns: int) -> np.ndarray:
    """R of the QR factorization of all rows, taken whenever twice as many rows as columns have come together.

    >>> triangle([np.array([[3.0], [4.0]]), np.array([[12.0]])], 1).round(12) ** 2
    array([[169.]])
    """
    waiting = [np.zeros((0, columns))]
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= 2 * columns:
            waiting = [_upper(waiting, columns)]
    return _upper(waiting, columns)


@dataclass(frozen=True)
class ScatterFactor:
    """Number, mean (p,) and triangular factor (at most p, p) of some rows about their mean.

    >>> X = np.array([[1.0], [3.0], [5.0]])
    >>> both = ScatterFactor.of(X[:1]).merge(ScatterFactor.of(X[1:]))
    >>> both.rows, both.mean, (both.R.T @ both.R).round(12)
    (3, array([3.]), array([[8.]]))
    """

    rows: int
    mean: np.ndarray
    R: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> ScatterFactor:
        """The factor of the rows of ``X`` (n, p)."""
        n, p = X.shape
        mean = X.mean(axis=0)
        size = max(BLOCK_ROWS, 4 * p)
        R = triangle((X[start : start + size] - mean for start in range(0, n, size)), p)
        # In the order that another process would get it in: sums along columns round by the order in memory.
        return cls(n, mean, np.ascontiguousarray(R))

    def merge(self, other: ScatterFactor) -> ScatterFactor:
        """The factor of both sets of rows."""
        rows = self.rows + other.rows
        step = other.mean - self.mean
        between = np.sqrt(self.rows * (other.rows / rows)) * step
        R = _upper([self.R, other.R, between[None]], len(step))
        return ScatterFactor(rows, self.mean + other.rows / rows * step, np.ascontiguousarray(R))


def _upper(parts: list[np.ndarray], columns: int) -> np.ndarray:
    (R,) = sl.qr(np.vstack(parts), mode="r", overwrite_a=True, check_finite=False)
    return np.asarray(R[:columns])
