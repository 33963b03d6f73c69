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
from margin.core.invariants import ArrayOf, Count, ListOf, ModelWith, TrueOrFalse, optional
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, seed_estimator, seed_from
from margin.core.targets import numeric_target
from margin.forecasting.inputs import column_scaling, regressor_inputs, series_of, step_parts, takes_series
from margin.forecasting.stored import every_step_has_a_regressor
from margin.forecasting.windows import conformal_width, sliding_windows
from margin.linear import Ridge

__all__ = ["Forecaster"]


class Forecaster(Estimator):
    r"""Forecasts a series by regression on windows of its past.

    .. math:: (\hat y_{t+1}, \ldots, \hat y_{t+H}) = f(y_{t-L+1}, \ldots, y_t;\; x_{t+1}, \ldots, x_{t+H})

    ``fit(y)`` learns one series (n,) or several that move together (n, k); ``fit(X, y)`` takes columns ``X`` beside
    it that are known ahead, such as prices or holidays (exogenous variables). ``predict(12)`` gives the next 12 values,
    ``predict(X)`` as many as ``X`` has rows, which are the exogenous columns of the steps to come. The order of the
    rows is time: they are never shuffled, and folds must be too (``TimeSeriesSplit``).

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
    single_series_: bool = attribute(TrueOrFalse(), "Whether fit saw one series as a vector.")
    n_features_in_: int = attribute(Count(size="n_features"))

    _stored_rules = (every_step_has_a_regressor,)
    _may_be_empty = ("n_features",)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the series ``X``, or the series ``y`` with the exogenous columns ``X``, rows in the order of time."""
        self._check_parameters()
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
        self.block_ = 1 if self.strategy == "recursive" else int(self.horizon)
        seed = seed_from(self.random_state)
        self.errors_ = self._window_errors(series, exogenous, seed) if self.calibration_fraction else None
        self.estimators_ = self._regressors(series, exogenous, seed)
        self.last_window_, self.last_exogenous_ = (part[n - self.window_length :] for part in (series, exogenous))
        return self

    def predict(self, X: Any = None, *, last_window: Any = None) -> np.ndarray:
        """The values that come next, (steps,) or (steps, k).

        ``X`` says how far: an integer, or the exogenous columns of the coming steps; None is the horizon. They follow
        the series of the fit, or ``last_window``: at least window_length values of a series like it, where there are no
        exogenous columns.
        """
        return self._as_given(self._ahead(X, last_window))

    def predict_interval(self, X: Any = None, *, coverage: float = 0.9, last_window: Any = None) -> np.ndarray:
        """Lower and upper ends (steps, 2) or (steps, k, 2) that hold each next value with probability ``coverage``.

        ``X`` and ``last_window`` are those of :meth:`predict`; ``X`` is at most the horizon, beyond which nothing was
        calibrated.
        """
        forecast = self._ahead(X, last_window)
        if self.errors_ is None:
            raise ValueError("Forecaster: calibration_fraction was 0 in fit, so there are no intervals.")
        if not 0 < coverage < 1:
            raise ValueError(f"Forecaster: coverage must be between 0 and 1; got {coverage!r}.")
        n_windows, horizon = self.errors_.shape[:2]
        if len(forecast) > horizon:
            raise ValueError(f"Forecaster: intervals reach {horizon} steps, the horizon of fit; got {len(forecast)}.")
        width = conformal_width(self.errors_[:, : len(forecast)], coverage)
        if np.isinf(width).any():
            raise ValueError(
                f"Forecaster: coverage {coverage} needs at least {int(np.ceil(coverage / (1 - coverage)))} calibration "
                f"windows; fit had {n_windows}."
            )
        low, high = self._as_given(forecast - width), self._as_given(forecast + width)
        return np.stack([low, high], axis=-1)

    def score(self, X: Any, y: Any = None) -> float:
        """R^2 of the forecast of the values ``y`` (or ``X``, where fit had no exogenous columns) that came next."""
        check_is_fitted(self)
        given = X if y is None else y
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

    def _window_errors(self, series: np.ndarray, exogenous: np.ndarray, seed: int) -> np.ndarray:
        """Errors of the last windows by regressors that have seen nothing of what these forecast."""
        length, horizon = self.window_length, self.horizon
        windows, targets = sliding_windows(series, length, horizon)
        first = len(windows) - int(np.ceil(self.calibration_fraction * len(windows)))
        if first < self.block_:
            raise ValueError(
                f"Forecaster: calibration_fraction {self.calibration_fraction} leaves no window to learn from in a "
                f"series of n_samples = {len(series)}; a longer series, a shorter window_length or horizon, or 0 would."
            )
        known = first + length  # values before the first one that a calibration window forecasts
        regressors = self._regressors(series[:known], exogenous[:known], seed)
        context, behind = sliding_windows(exogenous, length, horizon)
        context = np.concatenate([context, behind], axis=1)[first:]
        forecast = self._continue_windows(regressors, windows[first:], context, horizon)
        return np.abs(targets[first:] - forecast)

    def _regressors(self, series: np.ndarray, exogenous: np.ndarray, seed: int) -> list[Any]:
        windows, targets = sliding_windows(series, self.window_length, self.block_)
        context = np.concatenate(sliding_windows(exogenous, self.window_length, self.block_), axis=1)
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
