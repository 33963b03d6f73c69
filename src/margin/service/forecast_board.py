r"""A board of forecasters: every method continues the series from several origins, and is judged by what came.

.. math:: \mathrm{MASE} = \frac{\text{mean absolute error}}{\text{that of the seasonal naive forecast in the past}}
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from margin.forecasting import conformal_width
from margin.service.comparison_request import ComparisonRequest
from margin.service.forecast_methods import Method, methods_for
from margin.service.forecasting import forecast_columns
from margin.service.requests import BadRequest
from margin.service.series import InTime, in_time
from margin.service.sources import Source, open_source, table_of_frame

__all__ = ["ForecastBoard", "MethodStanding", "compare_forecasters"]

MOST_ORIGINS = 8
LEAST_ORIGINS = 3
COVERAGE = 0.8
ACTING = ("target", "time", "ignore", "models", "exclude", "horizon")  # options that mean something here


@dataclass(frozen=True)
class MethodStanding:
    """One row of the board: errors over all origins and steps, or why there are none."""

    method: str
    mae: float = np.nan
    rmse: float = np.nan
    mase: float = np.nan
    seconds: float = 0.0
    error: str = ""
    by_step: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)  # absolute, (origins, steps)

    def as_dict(self) -> dict[str, Any]:
        if self.error:
            return {"method": self.method, "error": self.error}
        return {name: getattr(self, name) for name in ("method", "mae", "rmse", "mase", "seconds")}


@dataclass(frozen=True)
class ForecastBoard:
    """What came out: standings, the best first; the winner's forecast with its interval; and what was done before."""

    name: str
    target: str
    horizon: int
    period: int
    origins: tuple[int, ...]
    standings: tuple[MethodStanding, ...]
    forecast: dict[str, Any]
    remarks: tuple[str, ...] = ()

    @property
    def winner(self) -> str:
        """The method of the lowest mean absolute error."""
        return self.standings[0].method

    @property
    def board(self) -> Any:
        """The standings as a pandas DataFrame."""
        from pandas import DataFrame

        return DataFrame([standing.as_dict() for standing in self.standings])

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        columns = {name: np.asarray(values).tolist() for name, values in self.forecast.items()}
        return {
            "data": self.name,
            "target": self.target,
            "horizon": self.horizon,
            "period": self.period,
            "origins": list(self.origins),
            "winner": self.winner,
            "standings": [standing.as_dict() for standing in self.standings],
            "forecast": columns,
            "remarks": list(self.remarks),
        }


def compare_forecasters(data: Any, request: ComparisonRequest, *, out: Path | None = None) -> ForecastBoard:
    """Compare methods on the series that ``request`` names; ``out`` is a folder that gets ``board.json``.

    >>> from margin.service.comparison_request import ComparisonRequest
    >>> board = compare_forecasters("airline-passengers", ComparisonRequest(horizon=6, models=("naive", "drift")))
    >>> board.horizon, sorted(standing.method for standing in board.standings)
    (6, ['drift', 'naive'])
    """
    request.check()
    idle = next((name for name in request.given if name not in ACTING), None)
    if idle is not None:
        raise BadRequest(f"compare: {idle} does not act on forecasters; {', '.join(ACTING)} do.")
    horizon = int(request.horizon or 1)
    moments = in_time(_source(data, request.target), request.time, request.ignore)
    source, values = moments.source, np.asarray(moments.source.y, dtype=np.float64)
    period = _period(moments, len(values), horizon)
    origins = _origins(len(values), horizon, period)
    remarks = [*moments.remarks, *_unused_columns(source)]
    methods = _choose(methods_for(period, bool((values > 0).all())), request.models, request.exclude)
    scale = np.abs(values[period:] - values[:-period]).mean() or 1.0
    standings = [_standing(name, method, values, origins, horizon, scale) for name, method in methods.items()]
    ranked = sorted(standings, key=lambda s: (bool(s.error), s.mae))
    if ranked[0].error:
        raise BadRequest(f"compare: no forecaster could be fitted; {ranked[0].method}: {ranked[0].error}")
    ahead = methods[ranked[0].method](values, horizon)
    facts = moments.facts().get("time")
    forecast = forecast_columns(ahead, _interval(ahead, ranked[0].by_step), facts, [])
    board = ForecastBoard(
        source.name, source.target, horizon, period, tuple(origins), tuple(ranked), forecast, tuple(remarks)
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "board.json").write_text(json.dumps(board.as_dict(), indent=2) + "\n")
    return board


def _choose(methods: dict[str, Method], only: Sequence[str], exclude: Sequence[str]) -> dict[str, Method]:
    unknown = next((name for name in (*only, *exclude) if name not in methods), None)
    if unknown is not None:
        raise BadRequest(f"compare: there is no forecaster {unknown!r} here; there are {', '.join(methods)}.")
    kept = {name: method for name, method in methods.items() if (not only or name in only) and name not in exclude}
    if not kept:
        raise BadRequest("compare: no forecaster is left to compare.")
    return kept


def _source(data: Any, target: str | None) -> Source:
    if isinstance(data, str | Path):
        source = open_source(str(data), target, untargeted="drop")
    else:
        table = table_of_frame(data)
        if table is None:
            raise BadRequest("compare: with horizon the data must be a data frame, a file or a named set.")
        if target is None:
            raise BadRequest("compare: with horizon the series must be named: give its column as target.")
        X, y = table.split_target(target)
        source = Source("table", None, y, X.names, target, "regression", table.hash(), table=X)
    if source.y is None:
        raise BadRequest(f"compare: with horizon the series of {source.name} must be named by --target.")
    if source.y.dtype.kind not in "iuf":
        raise BadRequest(f"compare: a forecaster predicts a quantity, but the target of {source.name} holds labels.")
    return source


def _period(moments: InTime, n: int, horizon: int) -> int:
    """Steps of a season, as the step of the times has it, where two of them are known at the first origin."""
    usual = 1 if moments.steps is None else moments.steps.period
    return usual if n - LEAST_ORIGINS - horizon >= 2 * usual else 1


def _origins(n: int, horizon: int, period: int) -> list[int]:
    """Lengths of the past from which the series is continued: up to eight, the last one ``horizon`` before the end."""
    least = max(2 * period, 2) + horizon
    room = n - horizon - least
    if room < LEAST_ORIGINS - 1:
        raise BadRequest(
            f"compare: a horizon of {horizon} needs at least {least + horizon + LEAST_ORIGINS - 1} values; got {n}."
        )
    apart = max(1, min(horizon, room // (MOST_ORIGINS - 1)))
    count = min(MOST_ORIGINS, room // apart + 1)
    return sorted(n - horizon - apart * k for k in range(count))


def _standing(
    name: str, method: Method, values: np.ndarray, origins: list[int], horizon: int, scale: float
) -> MethodStanding:
    started = time.process_time()
    try:
        errors = np.array([method(values[:o], horizon) - values[o : o + horizon] for o in origins])
        if not np.isfinite(errors).all():
            raise ValueError("its forecast is not finite")
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as problem:
        return MethodStanding(name, error=" ".join(str(problem).split()) or type(problem).__name__)
    mae, rmse = float(np.abs(errors).mean()), float(np.sqrt(np.square(errors).mean()))
    return MethodStanding(name, mae, rmse, mae / scale, time.process_time() - started, by_step=np.abs(errors))


def _interval(ahead: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Ends (steps, 2) by the errors that the method had from its origins at the same step."""
    width = conformal_width(errors, COVERAGE)
    width = np.where(np.isfinite(width), width, errors.max(axis=0))  # too few origins: the largest error
    return np.stack([ahead - width, ahead + width], axis=-1)


def _unused_columns(source: Source) -> list[str]:
    if not source.features:
        return []
    named, one = ", ".join(source.features), len(source.features) == 1
    return [
        f"The column{'' if one else 's'} {named} {'is' if one else 'are'} not known ahead and"
        f" {'was' if one else 'were'} not used; margin fit forecaster takes such columns."
    ]
