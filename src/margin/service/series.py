"""Tables as series: rows in the order of their times, at equal distances, with gaps filled by a stated rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from margin.data.kinds import missing_mask
from margin.data.table import Table
from margin.service.requests import BadRequest
from margin.service.sources import Source
from margin.service.time_steps import Steps, steps_of, time_text

__all__ = ["InTime", "in_time"]

MOST_FILLED = 1 / 3  # of the steps: with more of them missing the series is not what was measured
PARTS_OF_A_YEAR = ("month", "quarter")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class InTime:
    """A source in the order of time, and what its steps are; ``series`` are the names where there are several."""

    source: Source
    steps: Steps | None = None
    time: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def n_steps(self) -> int:
        return len(self.source.X)

    def facts(self) -> dict[str, Any]:
        """What a run must remember, so that forecasts have dates and names."""
        facts: dict[str, Any] = {"series": list(self.series)} if self.series else {}
        if self.steps is None:
            return facts
        return {**facts, "time": {"columns": list(self.time), "n_steps": self.n_steps, **self.steps.as_dict()}}


def in_time(source: Source, time: str | None = None, ignore: Sequence[str] = (), series: str | None = None) -> InTime:
    """The source sorted by time, without its columns of time, those to ``ignore`` and that of the ``series``.

    ``time`` names a column of dates or numbers, or several as in "year,month"; by default it is the only column of
    dates, or year and month, year and quarter, or a year that is another one in each row. Steps that are missing, and
    targets without a value, are filled by straight lines between their neighbors; other columns keep their last value.
    With ``series``, a column that tells several series apart, each becomes a target of its own.
    """
    if source.table is None:
        if time is not None or series is not None or ignore:
            raise BadRequest(f"{source.name} is a series without columns: --time, --series and --ignore do not act.")
        return InTime(source)
    table, target = source.table, np.asarray(source.y, dtype=np.float64)
    names = _time_columns(source, time, series)
    unknown = [name for name in (*ignore, *names, *([series] if series else [])) if name not in table.names]
    if unknown:
        raise BadRequest(f"{source.name} has no column {unknown[0]!r}; its columns are {', '.join(table.names)}.")
    kept = [name for name in table.names if name not in {*names, *ignore, series}]
    if not names:
        if series is not None:
            raise BadRequest("fit: --series needs --time, the column that says which rows belong together.")
        return _without_times(source, table.select(kept), target)
    times = _times(source, names)
    if series is not None:
        return _several(source, table, kept, times, target, names, series)
    order = np.argsort(times, kind="stable")
    times = times[order]
    _refuse_repeats(source, names, times)
    return _regular(source, table.select(kept).take(order), target[order][:, None], times, names, ())


def _without_times(source: Source, table: Table, target: np.ndarray) -> InTime:
    """Rows in the order of the file, which says nothing of steps that are not there."""
    if source.untargeted:
        raise BadRequest(
            f"{source.name}: {source.untargeted} rows have no value of {source.target!r}; --time names the column by "
            "which such gaps can be filled."
        )
    return InTime(_source_of(source, table, target))


def _several(
    source: Source,
    table: Table,
    kept: list[str],
    times: np.ndarray,
    target: np.ndarray,
    names: tuple[str, ...],
    by: str,
) -> InTime:
    """Series side by side; other columns are those of a time, so they must be the same in all series."""
    labels = np.array([str(value) for value in table[by]])
    groups, moments = np.unique(labels), np.unique(times)
    values = np.full((len(moments), len(groups)), np.nan)
    first = np.zeros(len(moments), dtype=np.int64)
    for k, group in enumerate(groups):
        rows = np.flatnonzero(labels == group)
        rows = rows[np.argsort(times[rows], kind="stable")]
        _refuse_repeats(source, names, times[rows], f" of {by} {group!r}")
        at = np.searchsorted(moments, times[rows])
        values[at, k], first[at] = target[rows], rows
    ours = table.select(kept)
    for name in kept:
        for rows in (np.flatnonzero(times == moment) for moment in moments[:50]):
            if len({str(value) for value in ours[name][rows]}) > 1:
                raise BadRequest(
                    f"{source.name}: column {name!r} differs between series at one time; name it with --ignore, or "
                    "make it a column for each series."
                )
    return _regular(source, ours.take(first), values, moments, names, tuple(groups.tolist()))


def _regular(
    source: Source,
    table: Table,
    values: np.ndarray,
    times: np.ndarray,
    names: tuple[str, ...],
    series: tuple[str, ...],
) -> InTime:
    """The same rows at equal distances."""
    steps, positions = steps_of(" and ".join(names), times)
    n = int(positions[-1]) + 1
    if n - len(times) > MOST_FILLED * n:
        raise BadRequest(
            f"{source.name}: {n - len(times)} of {n} steps of {steps.words} are missing from {' and '.join(names)}; a "
            "series is filled where at most a third is."
        )
    filled, remarks = _filled_target(positions, values, n, steps.words)
    rows = np.maximum.accumulate(np.bincount(positions, weights=np.arange(len(times)), minlength=n).astype(np.int64))
    y = filled if series else filled[:, 0]
    return InTime(_source_of(source, table.take(rows), y), steps, names, series, remarks)


def _filled_target(positions: np.ndarray, values: np.ndarray, n: int, step: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Values (n, k) at all steps, and what was filled in words."""
    filled = np.full((n, values.shape[1]), np.nan)
    filled[positions] = values
    missing = np.isnan(filled)
    if not missing.any():
        return filled, ()
    if missing.all(axis=0).any() or missing.mean() > MOST_FILLED:
        raise BadRequest(f"fit: {int(missing.sum())} of {missing.size} values of the target are missing.")
    for column, gaps in zip(filled.T, missing.T):
        column[gaps] = np.interp(np.flatnonzero(gaps), np.flatnonzero(~gaps), column[~gaps])
    count = int(missing.any(axis=1).sum())
    return filled, (
        f"{count} of {n} steps ({step} each) had no value and {'were' if count > 1 else 'was'} filled by straight "
        "lines between their neighbors.",
    )


def _source_of(source: Source, table: Table, y: np.ndarray) -> Source:
    return replace(source, given=None, y=y, features=table.names, table=table)


def _time_columns(source: Source, time: str | None, series: str | None) -> tuple[str, ...]:
    assert source.table is not None
    if time is not None:
        return tuple(part.strip() for part in time.split(",")) if time not in source.table.names else (time,)
    dates = [name for name in source.table.names if source.table.kinds[name] == "date" and name != series]
    if len(dates) > 1:
        raise BadRequest(f"{source.name} has several columns of dates ({', '.join(dates)}); name the one with --time.")
    lower = {name.lower(): name for name in source.table.names}
    if dates or "year" not in lower:
        return tuple(dates)
    part = next((lower[name] for name in PARTS_OF_A_YEAR if name in lower), None)
    if part is not None:
        return lower["year"], part
    return (lower["year"],) if _one_row_each(source.table[lower["year"]], series) else ()


def _one_row_each(years: np.ndarray, series: str | None) -> bool:
    """Whether the years of a column can be the times of rows: numbers, and none twice in one series."""
    return years.dtype.kind in "iuf" and (series is not None or len(np.unique(years)) == len(years))


def _times(source: Source, names: tuple[str, ...]) -> np.ndarray:
    """One time for every row."""
    table = source.table
    assert table is not None
    columns = [np.asarray(table[name]) for name in names]
    missing = np.flatnonzero(np.any([missing_mask(column) for column in columns], axis=0))
    if len(missing):
        raise BadRequest(f"{source.name}: column {names[0]!r} has no time at row {missing[0] + 2}.")
    if len(names) == 1:
        return _one_column(source, names[0], columns[0])
    if len(names) != 2:
        raise BadRequest(f"--time takes one column, or year and month; got {', '.join(names)}.")
    try:
        month = _first_of_quarter if names[1].lower() == "quarter" else _month
        years, months = columns[0].astype(int), np.array([month(value) for value in columns[1].tolist()])
    except ValueError:
        parts = "quarters from 1 to 4" if names[1].lower() == "quarter" else "months"
        raise BadRequest(f"{source.name}: columns {names[0]!r} and {names[1]!r} must be years and {parts}.") from None
    return (years - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (months - 1)


def _one_column(source: Source, name: str, column: np.ndarray) -> np.ndarray:
    if column.dtype.kind == "M":
        return column
    if column.dtype.kind in "iuf":
        return column.astype(np.float64)
    try:
        return column.astype(str).astype("datetime64[s]")
    except ValueError:
        raise BadRequest(f"{source.name}: column {name!r} must hold dates or numbers; got {column[0]!r}.") from None


def _first_of_quarter(value: Any) -> int:
    """The first month of a quarter, as in 3 or "Q3"."""
    number = int(float(str(value).strip().lower().removeprefix("q")))
    if not 1 <= number <= 4:
        raise ValueError(value)
    return 3 * number - 2


def _month(value: Any) -> int:
    text = str(value).strip().lower()
    if text[:3] in MONTHS:
        return MONTHS.index(text[:3]) + 1
    number = int(float(text))
    if not 1 <= number <= 12:
        raise ValueError(value)
    return number


def _refuse_repeats(source: Source, names: tuple[str, ...], times: np.ndarray, whose: str = "") -> None:
    repeated = np.flatnonzero(times[1:] == times[:-1])
    if len(repeated):
        moment = time_text(times[repeated[0]])
        raise BadRequest(
            f"{source.name}: several rows{whose} have the time {moment} in {' and '.join(names)}; name the column that "
            "tells series apart with --series."
        )
