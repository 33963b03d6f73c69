"""Time series: the next values of a series by regression on windows of its past."""

from margin.forecasting.forecaster import Forecaster
from margin.forecasting.windows import conformal_width, seasonal_naive, sliding_windows

__all__ = ["Forecaster", "conformal_width", "seasonal_naive", "sliding_windows"]
