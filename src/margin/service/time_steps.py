"""Times at equal distances: which step a column of times has, where it has gaps, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.service.requests import BadRequest

__all__ = ["Steps", "steps_of", "time_text"]

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
#: How many steps usually repeat themselves, by unit and count: a year of months, a week of days, a day of hours.
PERIODS = {("month", 1): 12, ("month", 3): 4, ("day", 1): 7, ("business day", 1): 5, ("week", 1): 52, ("hour", 1): 24}


def time_text(moment: Any) -> str:
    """A time as people write it: a date without the hour 0, a number without zeros.

    >>> time_text(np.datetime64("2024-01-01T00:00:00")), time_text(np.datetime64("2024-01-01T06")), time_text(3.0)
    ('2024-01-01', '2024-01-01T06:00:00', '3')
    """
    if not isinstance(moment, np.datetime64):
        return f"{moment:g}"
    day, second = moment.astype("datetime64[D]"), moment.astype("datetime64[s]")
    return str(day if day == second else second)


@dataclass(frozen=True)
class Steps:
    """Steps of ``count`` times ``unit`` behind the time ``first``; a number's unit is "number"."""

    unit: str
    count: float
    first: Any

    @property
    def period(self) -> int:
        """Steps of a season; 1 where none is usual."""
        return PERIODS.get((self.unit, int(self.count)), 1) if self.count == int(self.count) else 1

    @property
    def words(self) -> str:
        """The step in words, as in "1 month"."""
        if self.unit == "number":
            return f"{self.count:g}"
        return f"{self.count:g} {self.unit}{'s' * (self.count != 1)}"

    def times(self, positions: np.ndarray) -> np.ndarray:
        """The times so many steps behind the first."""
        if self.unit == "number":
            moments = self.first + self.count * np.asarray(positions)
            return moments.astype(np.int64) if float(self.first).is_integer() and self.count % 1 == 0 else moments
        if self.unit == "month":
            month = self.first.astype("datetime64[M]")
            return (month + (positions * int(self.count)).astype(int)).astype("datetime64[D]") + (
                self.first.astype("datetime64[D]") - month.astype("datetime64[D]")
            )
        if self.unit == "business day":
            return np.busday_offset(self.first.astype("datetime64[D]"), positions * int(self.count))
        seconds = (positions * int(self.count) * SECONDS[self.unit]).astype("timedelta64[s]")
        return self.first.astype("datetime64[s]") + seconds

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a manifest."""
        first = float(self.first) if self.unit == "number" else str(self.first)
        return {"unit": self.unit, "count": self.count, "first": first}

    @classmethod
    def of_dict(cls, facts: dict[str, Any]) -> Steps:
        first = facts["first"] if facts["unit"] == "number" else np.datetime64(facts["first"])
        return cls(facts["unit"], facts["count"], first)


def steps_of(name: str, times: np.ndarray) -> tuple[Steps, np.ndarray]:
    """The step of ascending ``times``, and how many steps each is behind the first.

    >>> months = np.array(["2024-01-01", "2024-02-01", "2024-04-01"], dtype="datetime64[D]")
    >>> steps, positions = steps_of("month", months)
    >>> steps.words, positions.tolist(), steps.times(np.array([2, 4])).astype(str).tolist()
    ('1 month', [0, 1, 3], ['2024-03-01', '2024-05-01'])
    """
    if len(times) < 3:
        raise BadRequest(f"Column {name!r} must have at least 3 times to show their step; got {len(times)}.")
    if times.dtype.kind != "M":
        return _numbers(name, times.astype(np.float64))
    days = times.astype("datetime64[D]")
    months = times.astype("datetime64[M]")
    if (days == times).all() and len(np.unique(days - months.astype("datetime64[D]"))) == 1:
        apart = np.diff(months.astype(int))
        step = int(np.gcd.reduce(apart))
        return Steps("month", step, days[0]), _count_steps(months.astype(int) - int(months[0].astype(int)), step)
    seconds = times.astype("datetime64[s]").astype(np.int64)
    step = int(np.gcd.reduce(np.diff(seconds)))
    if step == SECONDS["day"] and np.is_busday(days).all() and len(days) > 5:
        return Steps("business day", 1, days[0]), np.busday_count(days[0], days)
    unit = next((unit for unit in reversed(SECONDS) if step % SECONDS[unit] == 0), "second")
    return Steps(unit, step // SECONDS[unit], times[0].astype("datetime64[s]")), _count_steps(
        seconds - seconds[0], step
    )


def _numbers(name: str, times: np.ndarray) -> tuple[Steps, np.ndarray]:
    apart = np.diff(times)
    step = float(apart.min())
    positions = (times - times[0]) / step
    if not np.allclose(positions, positions.round(), atol=1e-6):
        raise BadRequest(f"Column {name!r} must have times at equal distances, some of which may be missing.")
    return Steps("number", step, float(times[0])), positions.round().astype(np.int64)


def _count_steps(distance: np.ndarray, step: int) -> np.ndarray:
    return (distance // step).astype(np.int64)
