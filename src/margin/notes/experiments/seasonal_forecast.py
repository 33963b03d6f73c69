r"""A year ahead: forecasts of airline passengers against the year before

Every forecast is a regression on windows of two years. From each of several starts within the last years the next
twelve months are forecast by three strategies and by repeating the last year; the picture shows the last start with
its 80 % intervals, whose widths are errors on held-out windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

YEAR = 12
STRATEGIES = ("direct", "multioutput", "recursive")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.data import load
    from margin.forecasting import Forecaster, seasonal_naive

    y = np.asarray(load("airline-passengers").y)
    starts = np.arange(len(y) - (3 if fast else 5) * YEAR, len(y) - YEAR + 1, 3 if fast else 1)
    errors: dict[str, list[float]] = {name: [] for name in (*STRATEGIES, "the year before")}
    held = []
    for start in starts:
        past, truth = y[:start], y[start : start + YEAR]
        errors["the year before"].append(float(np.abs(seasonal_naive(past, YEAR, YEAR) - truth).mean()))
        for strategy in STRATEGIES:
            model = Forecaster(strategy=strategy, random_state=seed).fit(past)
            errors[strategy].append(float(np.abs(model.predict(YEAR) - truth).mean()))
            if strategy == "direct":
                ends = model.predict_interval(YEAR, coverage=0.8)
                held.append(float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))))
                forecast = model.predict(YEAR)
    means = {name: float(np.mean(own_errors)) for name, own_errors in errors.items()}
    return {"series": y, "forecast": forecast, "ends": ends, "errors": means, "covered": float(np.mean(held))}


def check(data: dict[str, Any]) -> Verdict:
    errors = data["errors"]
    better = {name: below(errors[name], 0.75 * errors["the year before"]) for name in STRATEGIES}
    half_width = float(np.diff(data["ends"], axis=1).mean()) / 2
    return every(
        **better,
        intervals_hold=above(data["covered"], 0.65),  # starts share most months, so 80 % is not met closely
        intervals_say_something=below(half_width, 0.75 * float(data["series"][-3 * YEAR :].std())),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2, width_ratios=[3, 1])
    y, months = data["series"], np.arange(len(data["series"]))
    ahead = months[-YEAR:]
    left.plot(months[-4 * YEAR :], y[-4 * YEAR :], label="passengers")
    left.plot(ahead, data["forecast"], "--", label="forecast")
    left.fill_between(ahead, data["ends"][:, 0], data["ends"][:, 1], alpha=0.25, label="80 % interval")
    left.set(title=f"intervals held {data['covered']:.0%} of the months", xlabel="month", ylabel="thousands")
    left.legend()
    right.barh(list(data["errors"]), list(data["errors"].values()))
    right.set(title="mean absolute error", xlabel="thousands")
