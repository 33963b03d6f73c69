r"""Columns by their median and quartiles, with far values drawn in smoothly.

.. math:: z = \frac{x - q_{50}}{q_{75} - q_{25}}, \qquad u = \frac{z}{\sqrt{1 + (z/3)^2}}

One far value neither sets the scale of its column nor reaches the network as a large number: u stays within 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.core.quantiles import weighted_quantile

__all__ = ["BOUND", "RobustScaling", "smooth_clip"]

BOUND = 3.0


def smooth_clip(z: np.ndarray, bound: float = BOUND) -> np.ndarray:
    """Nearly z for small values, never beyond ``bound``, monotone.

    >>> smooth_clip(np.array([-1e9, 0.0, 0.1])).round(3)
    array([-3. ,  0. ,  0.1])
    """
    return z / np.hypot(1.0, z / bound)


class RobustScaling(NamedTuple):
    """The median and the distance of the quartiles of every column.

    Where the quartiles agree, as in an indicator of a rare category, half the range stands in; a constant column
    becomes 0. Missing values, NaN, have no say, and a column without known values keeps its unit.

    >>> RobustScaling.of(np.array([[1.0], [2.0], [3.0], [4.0], [1e9]])).apply(np.array([[3.0], [1e9]])).round(3)
    array([[0.],
           [3.]])
    """

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weight: np.ndarray | None = None) -> RobustScaling:
        weight = np.ones(len(X)) if weight is None else weight
        columns = [_known(x, weight) for x in X.T]
        levels = (0.25, 0.5, 0.75)
        lower, center, upper = np.array([[weighted_quantile(*column, level) for column in columns] for level in levels])
        half_range = np.array([0.5 * x.max() - 0.5 * x.min() for x, _ in columns])  # halved first: no overflow
        quartiles = upper - lower
        scale = np.where(quartiles > 0, quartiles, np.where(half_range > 0, half_range, 1.0))
        return cls(center, scale)

    def apply(self, X: np.ndarray) -> np.ndarray:
        return smooth_clip((X - self.center) / self.scale).astype(X.dtype, copy=False)


def _known(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of a column that are not missing, and their weights; one 0 where all are."""
    missing = np.isnan(x)
    if not missing.any():
        return x, weight
    return (np.zeros(1, x.dtype), np.ones(1)) if missing.all() else (x[~missing], weight[~missing])
