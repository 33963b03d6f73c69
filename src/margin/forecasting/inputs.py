"""From checked series to what a regressor sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from margin.core.number_range import in_safe_units
from margin.core.targets import numeric_target

__all__ = ["column_scaling", "regressor_inputs", "series_of", "step_parts", "takes_series"]


def series_of(y: Any) -> np.ndarray:
    """A series (n,) or several (n, k) as (n, k)."""
    y = check_array(
        numeric_target("Forecaster", y), dtype=np.float64, ensure_2d=False, input_name="series", estimator="Forecaster"
    )
    if y.ndim > 2 or y.ndim < 1:
        raise ValueError(f"Forecaster: a series must have the shape (n,) or (n, k); got {y.shape}.")
    return y.reshape(len(y), -1)


def column_scaling(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of every column; a constant one is divided by 1."""
    mean, deviation = in_safe_units(lambda rows: (rows.mean(axis=0), rows.std(axis=0)), columns)
    return mean, np.where(deviation > 0, deviation, 1.0)


def step_parts(block: int, one_each: bool) -> list[Sequence[int]]:
    """For every regressor the steps of a block that it gives."""
    return [[step] for step in range(block)] if one_each else [range(block)]


def takes_series(model: Any) -> bool:
    """Whether a regressor takes series (n, steps, channels) in place of rows."""
    return bool(getattr(model, "takes_series", False))


def regressor_inputs(
    model: Any, windows: np.ndarray, level: np.ndarray, context: np.ndarray, steps: Sequence[int]
) -> np.ndarray:
    """What a regressor for ``steps`` sees: windows (m, length, k), their level (m, 1, k), exogenous columns of steps.

    Those of the last known step stand beside them, since targets count from there. A recurrent one sees them as
    channels, moved back in time until the last step that it gives stands at the end.
    """
    m, length = windows.shape[:2]
    if takes_series(model):
        shift = steps[-1] + 1
        return np.concatenate([windows, np.repeat(level, length, axis=1), context[:, shift : shift + length]], axis=2)
    ahead = context[:, [length - 1, *(length + step for step in steps)]]
    return np.concatenate([windows.reshape(m, -1), level.reshape(m, -1), ahead.reshape(m, -1)], axis=1)
