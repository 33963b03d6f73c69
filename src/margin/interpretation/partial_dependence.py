r"""How a prediction depends on one or two columns, the others being as they are in the data.

Individual curves and their mean, for any function of rows:

.. math:: f_i(v) = f(v, x_{i, \setminus S}), \qquad \mathrm{PD}_S(v) = \frac1n \sum_i f(v, x_{i, \setminus S}) .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["grid_of", "individual_curves", "partial_dependence"]

Predict = Callable[[np.ndarray], np.ndarray]


def grid_of(x: np.ndarray, points: int = 50, trim: float = 0.05) -> np.ndarray:
    """Values of a column to look at: all if they are few, else evenly from its ``trim`` to its ``1 - trim`` quantile.

    >>> grid_of(np.array([2.0, 1.0, 2.0, np.nan]))
    array([1., 2.])
    """
    known = np.unique(x[~np.isnan(x)])
    if not len(known):
        raise ValueError("grid_of: x must have a value that is not missing.")
    if len(known) <= points:
        return known
    low, high = np.quantile(x[~np.isnan(x)], [trim, 1 - trim])
    return np.linspace(low, high, points) if low < high else known[:points]


def individual_curves(predict: Predict, X: np.ndarray, columns: Sequence[int], grid: np.ndarray) -> np.ndarray:
    """The prediction for every row (n) at every point of ``grid`` (points, len(columns)), (n, points)."""
    X = np.array(X, dtype=np.float64)
    grid = np.asarray(grid, dtype=np.float64).reshape(len(grid), -1)
    _check(X, columns, grid)
    curves = np.empty((len(X), len(grid)))
    for k, point in enumerate(grid):
        X[:, list(columns)] = point
        said = np.asarray(predict(X), dtype=np.float64)
        if said.shape != (len(X),):
            raise ValueError(f"individual_curves: predict must give one number per row; got shape {said.shape}.")
        curves[:, k] = said
    return curves


def partial_dependence(
    predict: Predict, X: np.ndarray, columns: Sequence[int], grid: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """The mean of the individual curves, (points,).

    >>> X = np.array([[0.0, 1.0], [0.0, 3.0]])
    >>> partial_dependence(lambda rows: rows[:, 0] * rows[:, 1], X, [0], np.array([0.0, 1.0, 2.0]))
    array([0., 2., 4.])
    """
    return np.average(individual_curves(predict, X, columns, grid), axis=0, weights=weight)


def _check(X: np.ndarray, columns: Sequence[int], grid: np.ndarray) -> None:
    if X.ndim != 2 or not len(X):
        raise ValueError(f"individual_curves: X must be a table with rows; got shape {X.shape}.")
    if any(not 0 <= column < X.shape[1] for column in columns):
        raise ValueError(f"individual_curves: columns must be from 0 to {X.shape[1] - 1}; got {list(columns)!r}.")
    if grid.shape[1] != len(columns):
        raise ValueError(f"individual_curves: grid must have {len(columns)} numbers per point; got {grid.shape[1]}.")
