"""Is a straight line enough? A linear and a flexible fit compared by the variance they explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike
from margin.foundations.statistics import linearity_test
from margin.linear import LinearRegression, SplineRegression
from margin.metrics import r2

__all__ = ["LinearityCheck", "linearity_check"]


@dataclass(frozen=True)
class LinearityCheck:
    """R squared of the line and of a cubic smoothing spline, and the p-value of "the line is enough" (F-test)."""

    linear_r2: float
    spline_r2: float
    p_value: float


def linearity_check(x: Any, y: ArrayLike) -> LinearityCheck:
    """Fit a line and a smoothing spline; the F-test is that of the line within natural splines with five knots.

    >>> x = np.linspace(0, 6, 60)
    >>> found = linearity_check(x, np.sin(x))
    >>> found.linear_r2 < 0.7 < found.spline_r2, found.p_value < 1e-6
    (True, True)
    """
    test = linearity_test(x, y)
    column, target = np.asarray(x, dtype=np.float64)[:, None], np.asarray(y, dtype=np.float64)
    line, spline = (model.fit(column, target).predict(column) for model in (LinearRegression(), SplineRegression()))
    return LinearityCheck(r2(target, line), r2(target, spline), test.p_value)
