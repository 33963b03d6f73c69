r"""The next values of a series, by any regressor on windows of its past."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Integer, Nested, Number, Optional, Seed
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count, ListOf, ModelWith, TrueOrFalse, optional, sometimes
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, seed_estimator, seed_from
from margin.core.targets import numeric_target
from margin.forecasting.inputs import column_scaling, regressor_inputs, series_of, step_parts, takes_series
from margin.forecasting.panel import Panel, is_panel
from margin.forecasting.stored import every_step_has_a_regressor
from margin.forecasting.windows import conformal_width, sliding_windows
from margin.linear import Ridge

__all__ = ["Forecaster"]


class Forecaster(Estimator):
    r"""Forecasts a series by regression on windows of its past.

    .. math:: (\hat y_{t+1}, \ldots, \hat y_{t+H}) = f(y_{t-L+1}, \ldots, y_t;\; x_{t+1}, \ldots, x_{t+H})

    ``fit(y)`` learns one series (n,) or several that move together (n, k); a list of series of any lengths is a panel,
    from all of which the regressor learns, each in its own units, and forecasts are lists too. ``fit(X, y)`` takes
    columns ``X`` beside it that are known ahead, such as prices or holidays (exogenous variables). ``predict(12)``
    gives the next 12 values, ``predict(X)`` as many as ``X`` has rows, which are the exogenous columns of the steps to
    come. The order of the rows is time: they are never shuffled, and folds must be too (``TimeSeriesSplit``).

    Any regressor will do; it gets a row per window, a recurrent one (``SequenceRegressor``, best with the strategy
    'multioutput') a series per window.
    Values count from the last one of their window, in deviations of the series; beside them stands the level of that
    last one, so that both a series that wanders and one that returns to its mean can be learned. Intervals are
    conformal: their widths are errors on windows at the end of the series, made by regressors that had not seen it;
    errors of a series are not exchangeable, so the coverage is what it was there, no guarantee.

    Examples
    --------
    >>> from margin.data import load
    >>> passengers = load("airline-passengers").y
    >>> model = Forecaster(window_length=24, horizon=12).fit(passengers[:-12])
    >>> error = np.abs(model.predict() - passengers[-12:]).mean()
    >>> naive = np.abs(passengers[-24:-12] - passengers[-12:]).mean()
    >>> bool(error < naive / 2)
    True
    >>> model.predict_interval(coverage=0.8).shape
    (12, 2)
    """

    estimator: Any = parameter(
        None,
        Optional(Nested("fit", "predict")),
        "Regressor on windows; with 'multioutput' and with several series it must take several targets. None: Ridge().",
    )
    _: KW_ONLY
    window_length: int = parameter(
        24, Integer(low=1, search=(4, 64), log=True), "Values of the past that a forecast is made from."
    )
    horizon: int = parameter(12, Integer(low=1), "Steps ahead that the regressors are fitted for and judged by.")
    strategy: str = parameter(
        "direct",
        Choice("direct", "multioutput", "recursive"),
        "'direct': one regressor per step of the horizon, each with the exogenous columns of its own step; "
        "'multioutput': one regressor gives all steps, which saves time with networks, and sees the exogenous columns "
        "of all of them (where X ends within a horizon, its last row goes on); 'recursive': one regressor gives the "
        "next step and is fed its own forecasts. Beyond the horizon all are fed their own.",
    )
    calibration_fraction: float = parameter(
        0.2,
        Number(low=0, below=1),
        "Fraction of the windows, the last ones, on which intervals are set, before all windows are learned from; 0: "
        "no intervals, in half the time.",
    )
    random_state: RandomLike = parameter(None, Seed(), "Seeds the regressors, if they draw anything.")

    estimators_: list[Any] = attribute(
        ListOf(ModelWith(["predict"]), "n_regressors"), "The fitted regressors: one, or one per step with 'direct'."
    )
    block_: int = attribute(Count(low=1), "Steps that the regressors give at once.")
    last_window_: np.ndarray = attribute(
        ArrayOf("window_length", "n_series"), "The last values of the series, (window_length, k)."
    )
    last_exogenous_: np.ndarray = attribute(
        ArrayOf("window_length", "n_features"),
        "Exogenous columns of the last values, scaled, (window_length, columns).",
    )
    center_: np.ndarray = attribute(ArrayOf("n_series"), "The mean of every series, (k,).")
    scale_: np.ndarray = attribute(ArrayOf("n_series", low=0.0), "The deviation of every series, (k,).")
    exogenous_center_: np.ndarray = attribute(ArrayOf("n_features"), "The mean of every exogenous column.")
    exogenous_scale_: np.ndarray = attribute(ArrayOf("n_features", low=0.0), "The deviation of every exogenous column.")
    errors_: np.ndarray | None = attribute(
        optional(ArrayOf("n_windows", "horizon", "n_series", low=0.0)),
        "Absolute errors (windows, horizon, k) of the calibration; None without.",
    )
    single_series_: bool = attribute(TrueOrFalse(), "Whether fit saw one series as a vector, or a panel of such.")
    panel_windows_: np.ndarray = attribute(
        sometimes(ArrayOf("n_panel", "window_length")), "The last values of every series of a panel, scaled."
    )
    panel_center_: np.ndarray = attribute(sometimes(ArrayOf("n_panel")), "The mean of every series of a panel.")
    panel_scale_: np.ndarray = attribute(
        sometimes(ArrayOf("n_panel", low=0.0)), "The deviation of every series of a panel."
    )
    n_features_in_: int = attribute(Count(size="n_features"))

    _stored_rules = (every_step_has_a_regressor,)
    _may_be_empty = ("n_features",)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the series ``X``, or the series ``y`` with the exogenous columns ``X``, rows in the order of time."""
        self._check_parameters()
        for name in ("panel_windows_", "panel_center_", "panel_scale_"):
            self.__dict__.pop(name, None)
        if y is None and is_panel(X):
            return self._fit_panel(Panel.of(X, self.window_length + self.horizon))
        series, exogenous = self._learn_from(X, y)
        n, least = len(series), self.window_length + self.horizon
        if n < least:
            raise ValueError(
                f"Forecaster: the series must have at least window_length + horizon = {least} values; "
                f"got n_samples = {n}."
            )
        self._refuse_hidden_columns()
        self.center_, self.scale_ = column_scaling(series)
        self.exogenous_center_, self.exogenous_scale_ = column_scaling(exogenous)
        exogenous = self._scale_rows(exogenous)
        self._learn([series], [exogenous])
        self.last_window_, self.last_exogenous_ = (part[n - self.window_length :] for part in (series, exogenous))
        return self

    def _fit_panel(self, panel: Panel) -> Self:
        """Learn from all series, whose scaled values are those of one that is in its units already."""
        length = self.window_length
        self.single_series_, self.n_features_in_ = True, 0
        self.__dict__.pop("feature_names_in_", None)
        self.center_, self.scale_ = np.zeros(1), np.ones(1)
        self.exogenous_center_, self.exogenous_scale_ = np.empty(0), np.empty(0)
        self._learn(panel.series, [np.empty((len(series), 0)) for series in panel.series])
        self.panel_windows_ = np.stack([series[len(series) - length :, 0] for series in panel.series])
        self.panel_center_, self.panel_scale_ = panel.center, panel.scale
        self.last_window_, self.last_exogenous_ = self.panel_windows_[0][:, None], np.empty((length, 0))
        return self

    def _learn(self, series: list[np.ndarray], exogenous: list[np.ndarray]) -> None:
        """Fit the regressors to the windows of all ``series``, and measure their errors."""
        self.block_ = 1 if self.strategy == "recursive" else int(self.horizon)
        seed = seed_from(self.random_state)
        self.errors_ = self._window_errors(series, exogenous, seed) if self.calibration_fraction else None
        self.estimators_ = self._regressors(series, exogenous, seed)

    def predict(self, X: Any = None, *, last_window: Any = None) -> Any:
        """The values that come next, (steps,) or (steps, k); of a panel, a list with those of every series.

        ``X`` says how far: an integer, or the exogenous columns of the coming steps; None is the horizon. They follow
        the series of the fit, or ``last_window``: at least window_length values of a series like it, where there are no
        exogenous columns. After a fit to a panel, ``last_window`` is a panel too, of whichever series.
        """
        check_is_fitted(self)
        if hasattr(self, "panel_windows_"):
            panel, forecasts = self._panel_ahead(X, last_window)
            return panel.undo(forecasts)
        return self._as_given(self._ahead(X, last_window))

    def predict_interval(self, X: Any = None, *, coverage: float = 0.9, last_window: Any = None) -> Any:
        """Lower and upper ends (steps, 2) or (steps, k, 2) that hold each next value with probability ``coverage``.

        Of a panel they are a list.

        Of a panel it is a list of them. ``X`` and ``last_window`` are those of :meth:`predict`; ``X`` is at most the
        horizon, beyond which nothing was calibrated.
        """
        check_is_fitted(self)
        if hasattr(self, "panel_windows_"):
            panel, forecasts = self._panel_ahead(X, last_window)
            width = self._width(forecasts.shape[1], coverage)[:, 0]
            ends = zip(panel.undo(forecasts - width), panel.undo(forecasts + width))
            return [np.stack(pair, axis=-1) for pair in ends]
        forecast = self._ahead(X, last_window)
        width = self._width(len(forecast), coverage)
        low, high = self._as_given(forecast - width), self._as_given(forecast + width)
        return np.stack([low, high], axis=-1)

    def _width(self, steps: int, coverage: float) -> np.ndarray:
        """Half the widths of intervals for the next ``steps``, (steps, k)."""
        if self.errors_ is None:
            raise ValueError("Forecaster: calibration_fraction was 0 in fit, so there are no intervals.")
        if not 0 < coverage < 1:
            raise ValueError(f"Forecaster: coverage must be between 0 and 1; got {coverage!r}.")
        n_windows, horizon = self.errors_.shape[:2]
        if steps > horizon:
            raise ValueError(f"Forecaster: intervals reach {horizon} steps, the horizon of fit; got {steps}.")
        width = conformal_width(self.errors_[:, :steps], coverage)
        if np.isinf(width).any():
            raise ValueError(
                f"Forecaster: coverage {coverage} needs at least {int(np.ceil(coverage / (1 - coverage)))} calibration "
                f"windows; fit had {n_windows}."
            )
        return width

    def score(self, X: Any, y: Any = None) -> float:
        """R^2 of the forecast of the values ``y`` (or ``X``, where fit had no exogenous columns) that came next."""
        check_is_fitted(self)
        given = X if y is None else y
        if hasattr(self, "panel_windows_"):
            return self._panel_score(given)
        truth = series_of(given)
        steps = len(truth) if y is None or not self.n_features_in_ else X
        forecast = self.predict(steps)
        forecast = forecast.reshape(len(forecast), -1)
        if forecast.shape != truth.shape:
            raise ValueError(
                f"Forecaster: y must have {len(forecast)} values, one for each row of X, of {forecast.shape[1]} "
                f"series; got shape {truth.shape}."
            )
        return float(r2_score(truth, forecast))

    def _panel_score(self, given: Any) -> float:
        """R^2 over all series, each in deviations of its own, of equally many next values each."""
        panel = Panel.of(given, 1) if is_panel(given) else None
        if panel is None or len(panel.series) != len(self.panel_windows_):
            raise ValueError(f"Forecaster: the next values must be a list for {len(self.panel_windows_)} series.")
        forecasts = self._panel_ahead(max(map(len, panel.series)), None)[1]
        truth = [np.asarray(values, dtype=np.float64) for values in given]
        scaled = [(v - c) / s for v, c, s in zip(truth, self.panel_center_, self.panel_scale_)]
        guesses = [row[: len(values)] for row, values in zip(forecasts, scaled)]
        return float(r2_score(np.concatenate(scaled), np.concatenate(guesses)))

    def _panel_ahead(self, X: Any, last_window: Any) -> tuple[Panel, np.ndarray]:
        """The series that are gone on with, and their forecasts (m, steps), scaled."""
        length = self.window_length
        if last_window is None:
            panel = Panel(list(self.panel_windows_[..., None]), self.panel_center_, self.panel_scale_)
        elif is_panel(last_window):
            panel = Panel.of(last_window, length)
        else:
            raise ValueError("Forecaster: last_window must be a list of series after a fit to a panel.")
        windows = np.stack([series[len(series) - length :] for series in panel.series])
        steps, _ = self._steps(X)
        context = np.empty((len(windows), length + steps, 0))
        return panel, self._continue_windows(self.estimators_, windows, context, steps)[..., 0]

    def _learn_from(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """The series (n, k) and its exogenous columns (n, d)."""
        if y is None:
            series = series_of(X)
            self.single_series_ = np.ndim(X) == 1
            self.n_features_in_ = 0
            self.__dict__.pop("feature_names_in_", None)
            return series, np.empty((len(series), 0))
        X, y = validate_data(self, X, numeric_target(self, y), dtype=np.float64, multi_output=True, y_numeric=True)
        self.single_series_ = y.ndim == 1
        return y.reshape(len(y), -1).astype(np.float64), X

    def _refuse_hidden_columns(self) -> None:
        channels = self.n_features_in_ and takes_series(self.estimator) and self.strategy == "multioutput"
        if channels and self.window_length < self.horizon:
            raise ValueError(
                f"Forecaster: window_length must be at least horizon ({self.horizon}) where a recurrent regressor "
                f"takes exogenous columns; got {self.window_length}."
            )

    def _window_errors(self, series: list[np.ndarray], exogenous: list[np.ndarray], seed: int) -> np.ndarray:
        """Errors of the last windows of every series by regressors that have seen nothing of what these forecast."""
        length, horizon = self.window_length, self.horizon
        firsts = [self._first_calibrated(len(values)) for values in series]
        known = [first + length for first in firsts]  # values before the first one that a calibration window forecasts
        regressors = self._regressors(
            [values[:end] for values, end in zip(series, known)],
            [columns[:end] for columns, end in zip(exogenous, known)],
            seed,
        )
        errors = []
        for values, columns, first in zip(series, exogenous, firsts):
            windows, targets = sliding_windows(values, length, horizon)
            context = np.concatenate(sliding_windows(columns, length, horizon), axis=1)[first:]
            errors.append(
                np.abs(targets[first:] - self._continue_windows(regressors, windows[first:], context, horizon))
            )
        return np.concatenate(errors)

    def _first_calibrated(self, n: int) -> int:
        """The first window of a series of ``n`` values that is not learned from before its errors are measured."""
        n_windows = n - self.window_length - self.horizon + 1
        first = n_windows - int(np.ceil(self.calibration_fraction * n_windows))
        if first < self.block_:
            raise ValueError(
                f"Forecaster: calibration_fraction {self.calibration_fraction} leaves no window to learn from in a "
                f"series of n_samples = {n}; a longer series, a shorter window_length or horizon, or 0 would."
            )
        return first

    def _regressors(self, series: list[np.ndarray], exogenous: list[np.ndarray], seed: int) -> list[Any]:
        pairs = [sliding_windows(values, self.window_length, self.block_) for values in series]
        windows, targets = (np.concatenate(side) if len(side) > 1 else side[0] for side in zip(*pairs))
        behind = [sliding_windows(columns, self.window_length, self.block_) for columns in exogenous]
        context = np.concatenate([np.concatenate(pair, axis=1) for pair in behind])
        windows, last, level = self._relative(windows)
        targets = (targets - last) / self.scale_
        rng, fitted = np.random.default_rng(seed), []
        for steps in step_parts(self.block_, self.strategy == "direct"):
            model = clone(Ridge() if self.estimator is None else self.estimator)
            seed_estimator(model, rng)
            goal = targets[:, steps].reshape(len(targets), -1)
            model.fit(
                regressor_inputs(model, windows, level, context, steps), goal[:, 0] if goal.shape[1] == 1 else goal
            )
            fitted.append(model)
        return fitted

    def _relative(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Windows (m, length, k) counted from their last values; these values (m, 1, k); and their level."""
        last = windows[:, -1:]
        return (windows - last) / self.scale_, last, (last - self.center_) / self.scale_

    def _continue_windows(
        self, regressors: list[Any], windows: np.ndarray, context: np.ndarray, steps: int
    ) -> np.ndarray:
        """The ``steps`` values behind every window (m, length, k); ``context`` (m, length + steps, d) lies along."""
        length, block = windows.shape[1], self.block_
        parts = step_parts(block, len(regressors) == block)
        # The last block may be longer than requested: what is not known of its exogenous columns stays as it was.
        context = np.concatenate([context, np.repeat(context[:, -1:], block, axis=1)], axis=1)
        extended = windows
        for done in range(0, steps, block):
            recent, last, level = self._relative(extended[:, done : done + length])
            near = context[:, done : done + length + block]
            predicted = [
                np.reshape(
                    model.predict(regressor_inputs(model, recent, level, near, part)), (len(recent), len(part), -1)
                )
                for model, part in zip(regressors, parts)
            ]
            extended = np.concatenate([extended, np.concatenate(predicted, axis=1) * self.scale_ + last], axis=1)
        return extended[:, length : length + steps]

    def _ahead(self, X: Any, last_window: Any) -> np.ndarray:
        """The forecast (steps, k)."""
        check_is_fitted(self)
        steps, exogenous = self._steps(X)
        window = self.last_window_ if last_window is None else self._given_window(last_window)
        context = np.concatenate([self.last_exogenous_, exogenous])[None]
        return self._continue_windows(self.estimators_, window[None], context, steps)[0]

    def _steps(self, X: Any) -> tuple[int, np.ndarray]:
        """The number of requested steps, and their exogenous columns."""
        columns = self.n_features_in_
        if X is None or (isinstance(X, Integral) and not isinstance(X, bool)):
            steps = self.horizon if X is None else int(X)
            if steps < 1:
                raise ValueError(f"Forecaster: the steps to forecast must be at least 1; got {steps}.")
            if columns:
                raise ValueError(
                    f"Forecaster: X must give the {columns} exogenous columns of the steps to forecast; got "
                    f"{'None' if X is None else steps}."
                )
            return steps, np.empty((steps, 0))
        if not columns:
            raise ValueError("Forecaster: fit had no exogenous columns, so X must be None or a number of steps.")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return len(X), self._scale_rows(X)

    def _scale_rows(self, exogenous: np.ndarray) -> np.ndarray:
        return (exogenous - self.exogenous_center_) / self.exogenous_scale_

    def _given_window(self, last_window: Any) -> np.ndarray:
        window, (length, k) = series_of(last_window), self.last_window_.shape
        if self.n_features_in_:
            raise ValueError("Forecaster: last_window belongs to a series without exogenous columns; fit had some.")
        if len(window) < length or window.shape[1] != k:
            raise ValueError(
                f"Forecaster: last_window must have at least {length} values of {k} series; got shape {window.shape}."
            )
        return window[len(window) - length :]

    def _as_given(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self.single_series_ else values
