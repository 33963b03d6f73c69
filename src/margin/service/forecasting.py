"""Forecast: series from tables whose rows are steps in time, and the forecasts of a trained model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from margin.service.prediction import Columns, last_step, open_model, source_for
from margin.service.requests import BadRequest
from margin.service.sources import Source

__all__ = ["forecast", "in_time"]


def in_time(source: Source) -> Source:
    """The source without its dates, which must grow from row to row: they order the steps and explain nothing."""
    if source.table is None:
        return source
    dates = [name for name in source.table.names if source.table.kinds[name] == "date"]
    for name in dates:
        steps = np.diff(source.table.columns[name])
        wrong = np.flatnonzero(~(steps > np.timedelta64(0)))
        if len(wrong):
            raise BadRequest(
                f"{source.name}: rows must be in the order of time, but column {name!r} does not grow at row "
                f"{wrong[0] + 2}; sort them, and make several series several columns."
            )
    kept = source.table.select([name for name in source.table.names if name not in dates])
    return replace(source, X=kept.to_pandas(), features=kept.names, table=kept)


def forecast(model_path: str, data: str | None, *, horizon: int | None, coverage: float | None) -> Columns:
    """The next values as columns: ``step``, ``forecast`` and, with ``coverage``, ``lower`` and ``upper``.

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
    values = values[:horizon]
    columns = {"step": np.arange(1, len(values) + 1), "forecast": values}
    return columns if ends is None else {**columns, "lower": ends[:horizon, 0], "upper": ends[:horizon, 1]}


def _ahead(model: Any, forecaster: Any, manifest: dict[str, Any], data: str | None, horizon: int | None) -> Any:
    """The argument of predict: rows of exogenous columns, or a number of steps (None: its horizon)."""
    if data is None:
        return horizon
    if not forecaster.n_features_in_:
        raise BadRequest(f"forecast: the model has no exogenous columns, so {data} says nothing; give --horizon.")
    rows = source_for(manifest, data).X
    if horizon is not None:  # steps are forecast in blocks, of which the last is given whole
        rows = rows[: -(-horizon // forecaster.block_) * forecaster.block_]
    return model[:-1].transform(rows) if hasattr(model, "steps") and len(model.steps) > 1 else rows
