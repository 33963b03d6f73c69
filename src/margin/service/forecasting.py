"""Forecast: the next values of the series that a run was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.service.prediction import Columns, last_step, open_model, source_for
from margin.service.requests import BadRequest
from margin.service.time_steps import Steps, time_text

__all__ = ["forecast", "forecast_columns"]


def forecast(model_path: str, data: str | None, *, horizon: int | None, coverage: float | None) -> Columns:
    """The next values as columns: their times (``step`` without), ``forecast`` and, with ``coverage``, ``lower`` and
    ``upper``; of several series one of each for every series.

    ``data`` holds the exogenous columns of the steps to come, where the model has any; otherwise ``horizon`` says how
    many steps.
    """
    model, manifest = open_model(model_path)
    forecaster = last_step(model)
    if not hasattr(forecaster, "predict_interval"):
        raise BadRequest(f"{type(forecaster).__name__} in {model_path} forecasts no series; use margin predict.")
    ahead = _ahead(model, forecaster, manifest, data, horizon)
    try:
        values = np.asarray(forecaster.predict(ahead))
        ends = None if coverage is None else forecaster.predict_interval(ahead, coverage=coverage)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    ends = None if ends is None else ends[:horizon]
    return forecast_columns(values[:horizon], ends, manifest.get("time"), manifest.get("series", []))


def forecast_columns(
    values: np.ndarray, ends: np.ndarray | None, time: dict[str, Any] | None, series: list[str]
) -> Columns:
    """Forecasts (steps,) or (steps, k), and the ends (..., 2) of their intervals, beside the times of the steps."""
    ahead = np.arange(1, len(values) + 1)
    columns: Columns = {"step": ahead}
    if time is not None:
        steps = Steps.of_dict(time)
        name = "_".join(time["columns"])
        columns = {name: steps.times(int(time["n_steps"]) - 1 + ahead)}
        if columns[name].dtype.kind == "M":
            columns[name] = np.array([time_text(moment) for moment in columns[name]])
    tables = values.reshape(len(values), -1).T
    for k, one in enumerate(tables):
        label = f"{series[k]}_" if series else "" if len(tables) == 1 else f"{k}_"
        columns[f"{label}forecast"] = one
        if ends is not None:
            low, high = np.moveaxis(ends.reshape(len(values), -1, 2)[:, k], -1, 0)
            columns |= {f"{label}lower": low, f"{label}upper": high}
    return columns


def _ahead(model: Any, forecaster: Any, manifest: dict[str, Any], data: str | None, horizon: int | None) -> Any:
    """The argument of predict: rows of exogenous columns, or a number of steps (None: its horizon)."""
    if data is None:
        if forecaster.n_features_in_:
            names = ", ".join(manifest.get("features", []))
            raise BadRequest(
                f"forecast: the model was trained with the columns {names} beside the series: give the file of their "
                f"coming values, or train without them (fit --ignore)."
            )
        return horizon
    if not forecaster.n_features_in_:
        raise BadRequest(f"forecast: the model has no exogenous columns, so {data} says nothing; give --horizon.")
    rows = source_for(manifest, data).X
    if horizon is not None:  # steps are forecast in blocks, of which the last is given whole
        rows = rows[: -(-horizon // forecaster.block_) * forecaster.block_]
    return model[:-1].transform(rows) if hasattr(model, "steps") and len(model.steps) > 1 else rows
