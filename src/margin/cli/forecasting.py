"""``margin forecast``: the next values of a series as CSV."""

from __future__ import annotations

from typing import Annotated

import typer

from margin.cli.output import reported
from margin.cli.tables import Json, Out, Spreadsheet, Trained, write_columns

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("forecast")(forecast)


def forecast(
    run: Trained,
    data: Annotated[
        str | None, typer.Argument(help="Exogenous columns of the steps to come, where the model has any.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option("--horizon", "-n", min=1, help="Steps ahead; default: those of the fit.")
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Adds the ends of intervals that hold the next value this often, such as 0.9.")
    ] = None,
    out: Out = None,
    as_json: Json = False,
    for_spreadsheet: Spreadsheet = False,
) -> None:
    """Forecast the next values of the series a forecaster was trained on; CSV on stdout."""
    from margin.service import forecasting

    with reported():
        write_columns(
            forecasting.forecast(run, data, horizon=horizon, coverage=coverage), out, as_json, for_spreadsheet
        )
