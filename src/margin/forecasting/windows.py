r"""What forecasting by regression is made of: windows, the naive forecast, widths of intervals.

.. math:: (y_{t-L+1}, \ldots, y_t) \mapsto (y_{t+1}, \ldots, y_{t+H})
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["conformal_width", "seasonal_naive", "sliding_windows"]


def sliding_windows(series: np.ndarray, length: int, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """All windows of ``length`` rows (m, length, ...) and the ``horizon`` rows behind each (m, horizon, ...).

    >>> inputs, targets = sliding_windows(np.arange(5), length=2, horizon=2)
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1], [1, 2]], [[2, 3], [3, 4]])
    """
    windows = np.lib.stride_tricks.sliding_window_view(series, length + horizon, axis=0)
    windows = np.moveaxis(windows, -1, 1)  # (m, length + horizon, ...)
    return windows[:, :length], windows[:, length:]


def seasonal_naive(series: np.ndarray, period: int, steps: int) -> np.ndarray:
    """The forecast that every other one must beat: the last season once more; ``period`` 1 repeats the last value.

    >>> seasonal_naive(np.array([1, 2, 3, 4]), period=2, steps=3)
    array([3, 4, 3])
    """
    if not 1 <= period <= len(series):
        raise ValueError(
            f"seasonal_naive: period must be from 1 to the length of the series, {len(series)}; got {period}."
        )
    return np.asarray(series)[len(series) - period + np.arange(steps) % period]


def conformal_width(errors: np.ndarray, coverage: float) -> np.ndarray:
    r"""The :math:`\lceil (m+1)c \rceil`-th smallest of the m absolute ``errors`` along the first axis.

    An interval of this half width holds a new value with probability ``coverage`` at least, if its error and these m
    are exchangeable (Vovk et al. 2005). Infinite where m is too small for the coverage.

    >>> float(conformal_width(np.arange(1.0, 10.0), 0.8)), float(conformal_width(np.ones(3), 0.9))
    (8.0, inf)
    """
    m = len(errors)
    # (m+1) * coverage may miss an integer by rounding: 0.7 * 10 is 7.000000000000001
    rank = math.ceil(round((m + 1) * coverage, 9))
    if rank > m:
        return np.full(errors.shape[1:], np.inf)
    return np.partition(errors, rank - 1, axis=0)[rank - 1]
