"""Several series of their own lengths, forecast by one regressor that learns from all: a panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from margin.forecasting.inputs import column_scaling, series_of

__all__ = ["Panel", "is_panel"]


def is_panel(X: Any) -> bool:
    """Whether ``X`` is a list of series, each an array of one axis, or lists of several lengths.

    >>> is_panel([np.zeros(3), np.zeros(5)]), is_panel([[1, 2, 3], [4, 5]]), is_panel([[1, 2], [3, 4]])
    (True, True, False)
    """
    if not isinstance(X, list | tuple) or not X:
        return False
    if all(hasattr(series, "shape") for series in X):
        return all(len(series.shape) == 1 for series in X)
    sized = all(isinstance(series, list | tuple) for series in X)
    return sized and len({len(series) for series in X}) > 1 and all(np.ndim(series) == 1 for series in X)


class Panel(NamedTuple):
    """Series in deviations around their own means, (n, 1) each, with these means and deviations, (m,)."""

    series: list[np.ndarray]
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: Sequence[Any], least: int) -> Panel:
        """Every series of ``X``, of at least so many values."""
        series = [series_of(values) for values in X]
        for k, values in enumerate(series):
            if len(values) < least:
                raise ValueError(
                    f"Forecaster: each series must have at least {least} values; series {k} has {len(values)}."
                )
        center, scale = (np.concatenate(parts) for parts in zip(*map(column_scaling, series)))
        scaled = [(values - c) / s for values, c, s in zip(series, center, scale)]
        return cls(scaled, center, scale)

    def undo(self, forecasts: np.ndarray) -> list[np.ndarray]:
        """Forecasts (m, steps) in deviations as one array per series, in its units."""
        return [row * s + c for row, c, s in zip(forecasts, self.center, self.scale)]
