"""Days and moments as people write them: ``2023-05-14``, ``14.05.2023``, ``5/14/2023 3:30 PM``, ``14 May 2023``.

With points the day comes first. With slashes or hyphens the day or the month may: the column decides, because some
value above 12 can only be a day; where none is, there are two readings and the strings stay labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

__all__ = ["DAY_FIRST", "MONTH_FIRST", "UNAMBIGUOUS", "date_order", "parse_date"]

DAY_FIRST, MONTH_FIRST, UNAMBIGUOUS = "day first", "month first", "unambiguous"

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: i + 1 for i, name in enumerate(_MONTH_NAMES)}
_NAME = rf"(?P<name>{'|'.join(_MONTH_NAMES)})[a-z]*\.?"
_TIME = (
    r"(?:[ T,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,6})\d*)?)?"
    r"\s*(?P<half>[ap]\.?m\.?)?)?Z?"
)
_PATTERNS = [
    re.compile(day + _TIME, re.IGNORECASE)
    for day in (
        r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4}|\d{2})",
        r"(?P<one>\d{1,2})(?P<sep>[-/])(?P<two>\d{1,2})(?P=sep)(?P<year>\d{4}|\d{2})",
        rf"(?P<day>\d{{1,2}})[. -]+{_NAME}[ ,-]+(?P<year>\d{{4}}|\d{{2}})",
        rf"{_NAME} ?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
    )
]


def date_order(labels: Sequence[str]) -> str | None:
    """Which comes first in the dates that all of the distinct ``labels`` are: None if one is no date or all have two
    readings.

    >>> date_order(["14.05.2023"]), date_order(["3/4/2025", "12/25/2025"]), date_order(["3/4/2025"])
    ('unambiguous', 'month first', None)
    """
    possible = {DAY_FIRST, MONTH_FIRST}
    open_question = False
    for label in labels:
        match = _match(label)
        if match is None:
            return None
        if "one" in match.groupdict():
            open_question = True
            possible &= {o for o in (DAY_FIRST, MONTH_FIRST) if not np.isnat(_moment(match, o))}
        elif np.isnat(_moment(match, UNAMBIGUOUS)):
            return None
    if not labels or (open_question and len(possible) != 1):
        return None
    return possible.pop() if open_question else UNAMBIGUOUS


def parse_date(label: str, order: str) -> np.datetime64:
    """The moment in one string, NaT if there is none.

    >>> parse_date("14.05.2023", "unambiguous"), parse_date("5/14/23 3:30 PM", "month first")
    (np.datetime64('2023-05-14T00:00:00.000000'), np.datetime64('2023-05-14T15:30:00.000000'))
    """
    match = _match(label)
    if match is None or ("one" in match.groupdict() and order == UNAMBIGUOUS):
        return np.datetime64("NaT", "us")
    return _moment(match, order)


def _match(label: str) -> re.Match[str] | None:
    text = label.strip()
    return next((match for pattern in _PATTERNS if (match := pattern.fullmatch(text))), None)


def _moment(match: re.Match[str], order: str) -> np.datetime64:
    from datetime import datetime

    part = match.groupdict()
    if "one" in part:
        part["day"], part["month"] = (part["one"], part["two"]) if order == DAY_FIRST else (part["two"], part["one"])
    month = _MONTHS[part["name"].lower()] if part.get("name") else int(part["month"])
    year = int(part["year"])
    if len(part["year"]) == 2:
        year += 1900 if year >= 69 else 2000  # as POSIX reads %y
    hour = int(part["hour"] or 0)
    if part["half"]:
        hour = hour % 12 + (12 if part["half"].lower().startswith("p") else 0)
    micro = int((part["fraction"] or "0").ljust(6, "0"))
    try:
        moment = datetime(
            year, month, int(part["day"]), hour, int(part["minute"] or 0), int(part["second"] or 0), micro
        )
    except ValueError:  # the 31st of February
        return np.datetime64("NaT", "us")
    return np.datetime64(moment, "us")
