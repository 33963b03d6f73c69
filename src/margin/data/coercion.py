"""Any pandas column as the kind that training saw: what cannot be read as it is missing, never an error far below.

``spelling_of`` finds out on training rows how strings spell numbers or dates; ``coerce`` reads any rows that way.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.missing import is_missing
from margin.data.date_formats import UNAMBIGUOUS, date_order, parse_date
from margin.data.dialect import MISSING
from margin.data.number_formats import NumberFormat, number_format, parse_number

if TYPE_CHECKING:
    import pandas

__all__ = ["LARGEST", "SPELLINGS", "coerce", "spelling_of"]

#: Numbers beyond this count as missing, as infinite ones do: sums of products of their squares would overflow.
LARGEST = 1e50
#: Decimal signs, and what comes first in a date; "" where nothing had to be found out.
SPELLINGS = ("", ".", ",", UNAMBIGUOUS, "day first", "month first")

_MARKERS = frozenset(MISSING)
_TRUE = frozenset(("true", "yes", "y", "t", "on", "1"))
_FALSE = frozenset(("false", "no", "n", "f", "off", "0"))
_NAT = np.datetime64("NaT", "us")


def spelling_of(series: pandas.Series, kind: str) -> str:
    """How the strings of a column spell its numbers or dates; "" if it holds none.

    >>> import pandas as pd
    >>> spelling_of(pd.Series(["1,5", "2,25"]), "number"), spelling_of(pd.Series([1.5]), "number")
    (',', '')
    """
    if kind not in ("number", "date") or not _is_object(series):
        return ""
    labels = _strings(series)
    if not labels:
        return ""
    if kind == "date":
        return date_order(labels) or _commonest_order(labels)
    detected = number_format(labels)
    return detected.decimal if detected else "."


def _strings(series: pandas.Series) -> list[str]:
    """The distinct strings of a column that are not missing markers."""
    values = {value: None for value in series.tolist() if isinstance(value, str)}
    return [value for value in values if value.strip() not in _MARKERS]


def coerce(series: pandas.Series, kind: str, spelling: str = "") -> np.ndarray:
    """The column as ``kind``: float64 for numbers and flags (NaN is missing), datetime64 for dates, objects for labels.

    A missing label is None. A value that is not of the kind is missing too. Without a ``spelling`` the rows themselves
    must tell it; dates with two readings are then missing.

    >>> import pandas as pd
    >>> coerce(pd.Series(["12 %", "?", 7]), "number"), coerce(pd.Series([3.0, None]), "category")
    (array([12., nan,  7.]), array(['3', None], dtype=object))
    """
    return _COERCIONS[kind](series, spelling)


def _is_object(series: pandas.Series) -> bool:
    return series.dtype.kind in "OSU" or str(series.dtype) in ("category", "string", "str")


def _by_distinct(series: pandas.Series, convert: Callable[[Any], Any], absent: Any, dtype: Any) -> np.ndarray:
    """Convert each distinct value once; values that cannot be hashed, such as lists, one by one."""
    import pandas as pd

    objects = series.astype(object).to_numpy()
    codes: np.ndarray
    distinct: np.ndarray
    try:
        codes, distinct = pd.factorize(objects)
    except TypeError:
        codes, distinct = np.arange(len(objects)), objects
    lookup = np.empty(len(distinct) + 1, dtype=dtype)
    for i, value in enumerate(distinct):
        lookup[i] = convert(value)
    lookup[len(distinct)] = absent
    return lookup[codes]


def _numbers(series: pandas.Series, spelling: str) -> np.ndarray:
    if series.dtype.kind in "mM" or str(series.dtype).startswith("period"):
        numbers = np.full(len(series), np.nan)
        if series.dtype.kind == "m":
            numbers = series.dt.total_seconds().to_numpy(dtype=np.float64, na_value=np.nan)
    elif _is_object(series):
        format = NumberFormat(spelling or spelling_of(series, "number") or ".")
        numbers = _by_distinct(series, lambda value: _number(value, format), np.nan, np.float64)
    elif series.dtype.kind == "c":
        numbers = np.full(len(series), np.nan)
    else:
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        beyond = np.abs(numbers) > LARGEST
    return np.where(beyond, np.nan, numbers) if beyond.any() else numbers


def _number(value: Any, format: NumberFormat) -> float:
    if isinstance(value, str):
        return np.nan if value.strip() in _MARKERS else parse_number(value, format)
    if isinstance(value, timedelta | np.timedelta64):
        return float(np.timedelta64(value) / np.timedelta64(1, "s"))
    try:
        return np.nan if is_missing(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _flags(series: pandas.Series, _: str) -> np.ndarray:
    return _by_distinct(series, _flag, np.nan, np.float64)


def _flag(value: Any) -> float:
    text = str(value).strip().lower().removesuffix(".0")
    return 1.0 if text in _TRUE else 0.0 if text in _FALSE else np.nan


def _labels(series: pandas.Series, _: str) -> np.ndarray:
    if series.dtype.kind == "f":  # the label of 3.0 is "3"
        series = series.astype(object)
    return _by_distinct(series, _label, None, object)


def _label(value: Any) -> str | None:
    if isinstance(value, str):
        if value.strip() in _MARKERS:
            return None
        # Half of a surrogate pair is no character, and no file can hold it.
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if is_missing(value):
        return None
    if isinstance(value, list | tuple | set | np.ndarray):
        return " ".join(map(str, value)) or None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _dates(series: pandas.Series, spelling: str) -> np.ndarray:
    if series.dtype.kind == "M":
        naive = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
        return naive.to_numpy().astype("datetime64[us]")
    order = spelling or (date_order(_strings(series)) if _is_object(series) else None) or UNAMBIGUOUS
    return _by_distinct(series, lambda value: _date(value, order), _NAT, "datetime64[us]")


def _date(value: Any, spelling: str) -> np.datetime64:
    import pandas as pd

    if isinstance(value, str) and value.strip() not in _MARKERS:
        date = parse_date(value, spelling)
        return _with_offset(value) if np.isnat(date) else date
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        text = f"{value:.0f}"  # years, and days written 20230514
        if len(text) == 4 and value == int(value):
            return np.datetime64(text, "us")
        return parse_date(f"{text[:4]}-{text[4:6]}-{text[6:]}", UNAMBIGUOUS) if len(text) == 8 else _NAT
    try:
        value = value.to_timestamp() if isinstance(value, pd.Period) else value
        moment: Any = pd.NaT if isinstance(value, str) else pd.Timestamp(value)
    except (TypeError, ValueError, OverflowError):
        return _NAT
    if moment is pd.NaT:
        return _NAT
    naive = moment.tz_convert("UTC").tz_localize(None) if moment.tz is not None else moment
    return naive.to_datetime64().astype("datetime64[us]")


def _with_offset(text: str) -> np.datetime64:
    """An ISO moment with an offset, in UTC."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return _NAT
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment, "us")


def _commonest_order(labels: list[str]) -> str:
    """Where some labels are no dates or all have two readings: the order in which most can be read, the day first."""
    readable = {order: sum(not np.isnat(parse_date(label, order)) for label in labels) for order in SPELLINGS[3:]}
    return max(("day first", "month first", UNAMBIGUOUS), key=lambda order: readable[order])


_COERCIONS = {"number": _numbers, "flag": _flags, "category": _labels, "text": _labels, "date": _dates}
