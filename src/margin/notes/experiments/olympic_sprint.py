r"""A line fitted to winning times, and where it does not reach

Winning times of the Olympic 100 m have fallen, women's faster than men's. Lines through both series, men from 1900 and
women from 1928 to 2004, cross between the Games of 2152 and 2156, at which women would win in 8.079 s and men in 8.098:
the extrapolation published in 2004 (Tatem and others, Nature 431). The mean of a line at year x is known up to
:math:`t\,\hat\sigma\sqrt{1/n + (x - \bar x)^2/S_{xx}}`, and a time up to the same with :math:`1 + {}` under the root.
Years at which both means may be equal (Fieller's set) reach over centuries, and all of this assumes that the lines go
on, which the five Games since have not done.

Times to a tenth of a second, up to 1964, were taken by hand; the times of 1952 to 1964 that were also measured
electronically are up to 0.4 s slower and are listed apart. The women's winner of 2000 (10.75) was disqualified in 2007;
the second had 11.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from margin.core.verdict import Verdict, above, below, equal, every, near, within
from margin.linear import LinearRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEN = {
    **{1900: 11.0, 1904: 11.0, 1908: 10.8, 1912: 10.8, 1920: 10.8, 1924: 10.6, 1928: 10.8, 1932: 10.3, 1936: 10.3},
    **{1948: 10.3, 1952: 10.4, 1956: 10.5, 1960: 10.2, 1964: 10.0, 1968: 9.95, 1972: 10.14, 1976: 10.06, 1980: 10.25},
    **{1984: 9.99, 1988: 9.92, 1992: 9.96, 1996: 9.84, 2000: 9.87, 2004: 9.85},
}
WOMEN = {
    **{1928: 12.2, 1932: 11.9, 1936: 11.5, 1948: 11.9, 1952: 11.5, 1956: 11.5, 1960: 11.0, 1964: 11.4, 1968: 11.08},
    **{1972: 11.07, 1976: 11.08, 1980: 11.06, 1984: 10.97, 1988: 10.54, 1992: 10.82, 1996: 10.94, 2000: 10.75},
    **{2004: 10.93},
}
ELECTRONIC_MEN = {1952: 10.79, 1956: 10.62, 1960: 10.32, 1964: 10.06}
ELECTRONIC_WOMEN = {1952: 11.67, 1956: 11.82, 1960: 11.18, 1964: 11.49}
LATER_MEN = {2008: 9.69, 2012: 9.63, 2016: 9.81, 2020: 9.80, 2024: 9.79}
LATER_WOMEN = {2008: 10.78, 2012: 10.75, 2016: 10.71, 2020: 10.61, 2024: 10.72}
LAST, MEETING = 2004, 2156


def fit(series: dict[int, float], at: np.ndarray) -> dict[str, Any]:
    """The line through a series, its values ``at`` some years, and the variances of its mean and of a time there."""
    years, times = np.array(list(series), dtype=float), np.array(list(series.values()))
    model = LinearRegression().fit(years[:, None], times)
    leverage = 1 / len(years) + (at - years.mean()) ** 2 / np.sum((years - years.mean()) ** 2)
    return {
        "years": years,
        "times": times,
        "slope": float(model.coef_[0]),
        "intercept": float(model.intercept_),
        "line": model.predict(at[:, None]),
        "leverage": leverage,
        "mean_variance": model.residual_variance_ * leverage,
        "half": float(stdtrit(len(years) - 2, 0.975)) * np.sqrt(model.residual_variance_ * (1 + leverage)),
    }


def crossing(women: dict[int, float], men: dict[int, float]) -> float:
    """The year in which both lines meet."""
    w, m = (fit(series, np.array([float(MEETING)])) for series in (women, men))
    return (m["intercept"] - w["intercept"]) / (w["slope"] - m["slope"])


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Lines, intervals to the year 3300, and the crossing for several tables; nothing here is random."""
    del seed
    grid = np.arange(1900.0, 3300.0, 4.0 if fast else 1.0)
    women, men = fit(WOMEN, grid), fit(MEN, grid)
    width = float(stdtrit(len(WOMEN) + len(MEN) - 4, 0.975)) * np.sqrt(women["mean_variance"] + men["mean_variance"])
    may_be_equal = grid[np.abs(women["line"] - men["line"]) <= width]
    tables = {
        "as published": (WOMEN, MEN),
        "electronic where known": (WOMEN | ELECTRONIC_WOMEN, MEN | ELECTRONIC_MEN),
        "2000: 11.12 for women": (WOMEN | {2000: 11.12}, MEN),
        "with 2008 to 2024": (WOMEN | LATER_WOMEN, MEN | LATER_MEN),
    }
    later = fit(WOMEN, np.array(list(LATER_WOMEN), dtype=float))
    return {
        "grid": grid,
        "women": women,
        "men": men,
        "at_meeting": [float(np.interp(MEETING, grid, part["line"])) for part in (women, men)],
        "crossings": {name: crossing(*pair) for name, pair in tables.items()},
        "interval": (float(may_be_equal.min()), float(may_be_equal.max())),
        "women_late": np.array(list(LATER_WOMEN.values())) - later["line"],
        "women_at_zero": -women["intercept"] / women["slope"],
    }


def check(data: dict[str, Any]) -> Verdict:
    year, women = data["crossings"]["as published"], data["women"]
    at = int(np.argmin(np.abs(data["grid"] - year)))
    inside = int(np.argmin(np.abs(data["grid"] - women["years"].mean())))
    low, high = data["interval"]
    return every(
        women_and_men_in_2156=near(data["at_meeting"], [8.079, 8.098], tolerance=5e-4),
        first_games_after_the_crossing=equal(4 * int(np.ceil(year / 4)), MEETING),
        interval_begins=within(low, LAST + 40, year - 50),
        interval_ends=above(high, year + 500),
        leverage_outside=above(float(women["leverage"][at]), 1.0),
        interval_is_wider=above(float(women["half"][at]), 2 * float(women["half"][inside])),
        other_tables_move_it=above(max(data["crossings"].values()) - min(data["crossings"].values()), 100.0),
        later_women_are_slower_than_the_line=above(float(data["women_late"].min()), 0.2),
        absurd_in_the_end=below(data["women_at_zero"], 3000),  # by then a race would take no time at all
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    shown = data["grid"] <= 2320
    series = (("women", "C3", LATER_WOMEN), ("men", "C0", LATER_MEN))
    for name, color, later in series:
        part, grid = data[name], data["grid"][shown]
        line, half = part["line"][shown], part["half"][shown]
        left.fill_between(grid, line - half, line + half, color=color, alpha=0.12)
        left.plot(grid, line, color=color, lw=1.5, ls="--")
        left.plot(part["years"], part["times"], "o", color=color, ms=4, label=f"{name} to {LAST}")
        left.plot(list(later), list(later.values()), "x", color=color, ms=5, label=f"{name} since")
    left.axvspan(LAST, 2320, color="0.5", alpha=0.07)
    year = data["crossings"]["as published"]
    left.axvline(year, color="0.3", lw=1)
    left.text(year + 4, 11.6, f"lines cross\nin {year:.0f}", fontsize=9)
    left.set(xlabel="year", ylabel="seconds for 100 m", ylim=(5.5, 13), title="Lines and 95 % prediction intervals")
    left.legend(fontsize=8, loc="lower left")
    names, years = list(data["crossings"]), list(data["crossings"].values())
    right.barh(0, np.subtract(*data["interval"][::-1]), left=data["interval"][0], height=0.5, color="0.85")
    right.plot(years, range(len(years)), "o", color="0.2")
    right.set_yticks(range(len(names)), names, fontsize=8)
    right.invert_yaxis()
    right.set(
        xlabel="year of the crossing",
        xlim=(2040, 3000),
        title=f"95 %: {data['interval'][0]:.0f} to {data['interval'][1]:.0f}",
    )
    figure.suptitle("A line is no law: winning times of sprinters")
