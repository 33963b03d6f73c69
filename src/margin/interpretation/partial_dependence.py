r"""How a prediction depends on one or two columns, the others being as they are in the data.

Individual curves and their mean, for any function of rows:

.. math:: f_i(v) = f(v, x_{i, \setminus S}), \qquad \mathrm{PD}_S(v) = \frac1n \sum_i f(v, x_{i, \setminus S}) .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike
from margin.interpretation.columns import TableColumns

__all__ = ["grid_of", "individual_curves", "partial_dependence"]

Predict = Callable[[Any], np.ndarray]


def grid_of(x: np.ndarray, points: int = 50, trim: float = 0.05) -> np.ndarray:
    """Values of a column to look at: all if they are few, else evenly from its ``trim`` to its ``1 - trim`` quantile.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values of a column; NaN are left out.
    points : int
        Most values.
    trim : float in [0, 0.5)
        Quantile at which the grid begins.

    Examples
    --------
    >>> grid_of(np.array([2.0, 1.0, 2.0, np.nan]))
    array([1., 2.])
    """
    finite = x[np.isfinite(x)]  # infinite values count as missing wherever columns are prepared
    known = np.unique(finite)
    if not len(known):
        raise ValueError("grid_of: x must have a value that is not missing.")
    if len(known) <= points:
        return known
    low, high = np.quantile(finite, [trim, 1 - trim])
    return np.linspace(low, high, points) if low < high else known[:points]


def individual_curves(predict: Predict, X: MatrixLike, columns: Sequence[int], grid: Any) -> np.ndarray:
    """The prediction for every row (n) at every point of ``grid`` (points, len(columns)), (n, points).

    ``X`` is an array or a data frame; of a data frame, columns of labels may be asked too, with labels as grid.

    Parameters
    ----------
    predict : callable
        Maps rows to predictions.
    X : array or data frame of shape (n, p)
        Rows.
    columns : sequence of int
        Numbers of the columns.
    grid : array-like of shape (points, len(columns))
        Values of these columns, jointly; (points,) for one column.
    """
    table, points = _check(X, columns, grid)
    curves = np.empty((table.n_rows, len(points)))
    for k, point in enumerate(points):
        predictions = np.asarray(predict(table.with_values(dict(zip(columns, point, strict=True)))), dtype=np.float64)
        if predictions.shape != (table.n_rows,):
            raise ValueError(f"individual_curves: predict must give one number per row; got shape {predictions.shape}.")
        curves[:, k] = predictions
    return curves


def partial_dependence(
    predict: Predict, X: MatrixLike, columns: Sequence[int], grid: Any, weight: np.ndarray | None = None
) -> np.ndarray:
    """The mean of the individual curves, (points,).

    Parameters
    ----------
    predict : callable
        Maps rows to predictions.
    X : array or data frame of shape (n, p)
        Rows.
    columns : sequence of int
        Numbers of the columns.
    grid : array-like of shape (points, len(columns))
        Values of these columns, jointly; (points,) for one column.
    weight : ndarray of shape (n,), optional
        Weights of the rows in the mean.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 3.0]])
    >>> partial_dependence(lambda rows: rows[:, 0] * rows[:, 1], X, [0], np.array([0.0, 1.0, 2.0]))
    array([0., 2., 4.])
    """
    return np.average(individual_curves(predict, X, columns, grid), axis=0, weights=weight)


def _check(X: Any, columns: Sequence[int], grid: Any) -> tuple[TableColumns, list[tuple[Any, ...]]]:
    shape = np.shape(X)
    if len(shape) != 2 or not shape[0]:
        raise ValueError(f"individual_curves: X must be a table with rows; got shape {shape}.")
    if any(not 0 <= column < shape[1] for column in columns):
        raise ValueError(f"individual_curves: columns must be from 0 to {shape[1] - 1}; got {list(columns)!r}.")
    points = np.asarray(grid)
    points = points.reshape(len(points), -1)
    if points.shape[1] != len(columns):
        raise ValueError(f"individual_curves: grid must have {len(columns)} numbers per point; got {points.shape[1]}.")
    return TableColumns(X), [tuple(point) for point in points]
