"""Methods that continue a series, as functions of its past: what a board of forecasters compares.

Exponential smoothing and ARIMA are those of statsmodels, where it is installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from margin.forecasting import Forecaster, seasonal_naive

__all__ = ["Method", "methods_for"]

#: Seasons of more steps are waves to ARIMA, so many of them.
LONG_SEASON, WAVES = 24, 4
Method = Callable[[np.ndarray, int], np.ndarray]  # past values (n,) and steps ahead to values (steps,)


def methods_for(period: int, positive: bool) -> dict[str, Method]:
    """The methods that suit a series with seasons of ``period`` steps (1: none); logarithms where all is positive."""
    methods: dict[str, Method] = {"naive": lambda past, steps: seasonal_naive(past, 1, steps), "drift": _drift}
    if period > 1:
        methods["seasonal-naive"] = lambda past, steps: seasonal_naive(past, period, steps)
    methods["forecaster"] = lambda past, steps: _windows(past, steps, period)
    if positive:
        methods["forecaster-log"] = lambda past, steps: np.exp(_windows(np.log(past), steps, period))
    if find_spec("statsmodels") is not None:
        methods["exponential-smoothing"] = lambda past, steps: _smoothing(past, steps, period, positive)
        methods["arima"] = lambda past, steps: _arima(past, steps, period, positive)
    return methods


def _drift(past: np.ndarray, steps: int) -> np.ndarray:
    """The straight line through the first and the last value."""
    return past[-1] + (past[-1] - past[0]) / max(len(past) - 1, 1) * np.arange(1, steps + 1)


def _windows(past: np.ndarray, steps: int, period: int) -> np.ndarray:
    """Our regression on windows of two seasons, or as much of the past as leaves enough windows to learn from."""
    length = max(1, min(2 * period if period > 1 else 12, (len(past) - steps) // 2))
    model = Forecaster(window_length=length, horizon=steps, calibration_fraction=0.0)
    return np.asarray(model.fit(past).predict(steps))


def _harmonic_arima(past: np.ndarray, steps: int, period: int, positive: bool) -> np.ndarray:
    """A line and ``WAVES`` waves that fit into a season, with ARIMA(0, 1, 1) errors."""
    from statsmodels.tsa.arima.model import ARIMA

    n, series = len(past), np.log(past) if positive else past
    angles = 2 * np.pi / period * np.outer(np.arange(n + steps), np.arange(1, WAVES + 1))
    waves = np.hstack([np.cos(angles), np.sin(angles)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ARIMA(series, exog=waves[:n], order=(0, 1, 1), trend="t").fit()
        ahead = np.asarray(fitted.forecast(steps, exog=waves[n:]))
    return np.exp(ahead) if positive else ahead


def _smoothing(past: np.ndarray, steps: int, period: int, positive: bool) -> np.ndarray:
    """Level, damped trend and seasons, added or (for positive series) multiplied: whichever has the lower AIC."""
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    seasons = period > 1 and len(past) >= 2 * period
    kinds = ["add", "mul"] if seasons and positive else ["add"] if seasons else [None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an optimizer that stopped early: the board judges what came out
        fits = [
            ExponentialSmoothing(
                past, trend="add", damped_trend=True, seasonal=kind, seasonal_periods=period if kind else None
            ).fit()
            for kind in kinds
        ]
        return np.asarray(min(fits, key=lambda fit: fit.aic).forecast(steps))


def _arima(past: np.ndarray, steps: int, period: int, positive: bool) -> np.ndarray:
    """The airline model (0, 1, 1)(0, 1, 1) of Box and Jenkins, on logarithms where all is positive.

    Its state is as long as the season and a fit costs the square of that, so long seasons (52 weeks) are a few waves
    that the series is regressed on, with the errors (0, 1, 1): dynamic harmonic regression.
    """
    from statsmodels.tsa.arima.model import ARIMA

    if period > LONG_SEASON and len(past) >= 2 * period:
        return _harmonic_arima(past, steps, period, positive)
    seasonal = (0, 1, 1, period) if period > 1 and len(past) >= 3 * period else (0, 0, 0, 0)
    series = np.log(past) if positive else past
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ahead = np.asarray(ARIMA(series, order=(0, 1, 1), seasonal_order=seasonal).fit().forecast(steps))
    return np.exp(ahead) if positive else ahead
