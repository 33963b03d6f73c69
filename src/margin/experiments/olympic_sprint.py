r"""A line fitted to winning times, and where it does not reach

Winning times of the Olympic 100 m have fallen, women's faster than men's. Lines through both series cross far in the
future, in a published extrapolation in 2156, and later still predict negative times. The prediction interval
:math:`\hat y(x) \pm t\,\hat\sigma\sqrt{1 + 1/n + (x - \bar x)^2/S_{xx}}` grows with the leverage of a year outside the
data, and even that assumes that the line goes on. Times in seconds, rounded to a tenth, every second or third games.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from margin.core.verdict import Verdict, above, every, within
from margin.linear import LinearRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

YEARS = (1928, 1932, 1948, 1952, 1960, 1968, 1976, 1988, 1996, 2004)
WOMEN = dict(zip(YEARS, (12.2, 11.9, 11.9, 11.5, 11.0, 11.1, 11.1, 10.5, 10.9, 10.9)))
MEN = dict(zip(YEARS, (10.8, 10.3, 10.3, 10.4, 10.2, 10.0, 10.1, 9.9, 9.8, 9.9)))


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Both lines and their 95 percent prediction intervals to the year 2300; nothing here is random."""
    del seed
    grid = np.linspace(1900, 2300, 101 if fast else 401)
    data: dict[str, Any] = {"grid": grid}
    for name, series in (("women", WOMEN), ("men", MEN)):
        years, times = np.array(list(series), dtype=float), np.array(list(series.values()))
        model = LinearRegression().fit(years[:, None], times)
        leverage = 1 / len(years) + (grid - years.mean()) ** 2 / np.sum((years - years.mean()) ** 2)
        half = float(stdtrit(len(years) - 2, 0.975)) * np.sqrt(model.residual_variance_ * (1 + leverage))
        data[name] = {
            "years": years,
            "times": times,
            "slope": float(model.coef_[0]),
            "intercept": float(model.intercept_),
            "line": model.predict(grid[:, None]),
            "half": half,
            "leverage": leverage,
            "last": float(years.max()),
        }
    women, men = data["women"], data["men"]
    data["crossing"] = (men["intercept"] - women["intercept"]) / (women["slope"] - men["slope"])
    data["women_at_zero"] = -women["intercept"] / women["slope"]
    return data


def check(data: dict[str, Any]) -> Verdict:
    women, crossing = data["women"], data["crossing"]
    at = int(np.argmin(np.abs(data["grid"] - crossing)))
    inside = int(np.argmin(np.abs(data["grid"] - women["years"].mean())))
    return every(
        crosses_beyond_the_data=within(crossing, women["last"] + 20, 2300),
        leverage_outside=above(float(women["leverage"][at]), 1.0),
        interval_is_wider=above(float(women["half"][at]), 1.5 * float(women["half"][inside])),
        absurd_in_the_end=within(data["women_at_zero"], 2300, 4000),  # by then a race would take no time at all
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots()
    for name, color in (("women", "tab:red"), ("men", "tab:blue")):
        part = data[name]
        axes.fill_between(
            data["grid"], part["line"] - part["half"], part["line"] + part["half"], color=color, alpha=0.15
        )
        axes.plot(data["grid"], part["line"], color=color, lw=1.5, ls="--", label=f"{name}, extrapolated")
        axes.plot(part["years"], part["times"], "o", color=color, ms=5, label=f"{name}, winning times")
    axes.axvspan(data["women"]["last"], 2300, color="0.5", alpha=0.08)
    axes.axvline(data["crossing"], color="0.3", lw=1)
    axes.text(data["crossing"] + 4, 12.0, f"lines cross in {data['crossing']:.0f},\noutside the data", fontsize=9)
    axes.set(
        xlabel="year", ylabel="seconds for 100 m", ylim=(5.5, 13), title="A line is no law: winning times of sprinters"
    )
    axes.legend(fontsize=8, loc="lower left")
