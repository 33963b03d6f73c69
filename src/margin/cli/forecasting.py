"""``margin forecast``: the next values of a series as CSV; and the board of ``margin compare --horizon``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margin.cli.output import log, print_json, print_table, report_problems, result
from margin.cli.tables import Json, Out, Spreadsheet, Trained, write_columns

if TYPE_CHECKING:
    from margin.service.comparison_request import ComparisonRequest

__all__ = ["compare_forecasts", "register"]


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

    with report_problems():
        write_columns(
            forecasting.forecast(run, data, horizon=horizon, coverage=coverage), out, as_json, for_spreadsheet
        )


def compare_forecasts(
    data: str, request: ComparisonRequest, jobs: int | None, folder: Path | None, as_json: bool
) -> None:
    """Run the comparison of forecasters, print their board and the winner's forecast."""
    from margin.service.forecast_board import compare_forecasters
    from margin.service.requests import BadRequest

    with report_problems():
        if jobs is not None:
            raise BadRequest("compare: jobs does not act on forecasters, which are fitted one after the other.")
        board = compare_forecasters(data, request, out=folder)
    for remark in board.remarks:
        log().print(remark, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        print_json(board.as_dict())
        return
    numbers = ("mae", "rmse", "mase", "seconds")
    rows = [
        [s.method, *([s.error, "", "", ""] if s.error else [f"{getattr(s, name):.4g}" for name in numbers])]
        for s in board.standings
    ]
    print_table(["method", *numbers], rows)
    season = f", seasons of {board.period}" if board.period > 1 else ""
    result().print(
        f"{board.winner} is best over {len(board.origins)} origins, {board.horizon} steps ahead{season}. Its forecast:",
        highlight=False,
        soft_wrap=True,
    )
    columns = board.forecast
    print_table(list(columns), [[_cell(values[i]) for values in columns.values()] for i in range(board.horizon)])


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
