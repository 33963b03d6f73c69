"""From a column of strings to a kind and a stored array, in PyArrow, a whole column at a time.

The order of trial is number, flag, ISO date, other spellings of numbers and dates (:mod:`margin.data.labels`), then
category or text. A column of integers is *not* a number when it is written like an identifier: with leading zeros
(``02134``) or with more digits than float64 holds exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.data.arrow_values import arrow_values
from margin.data.dialect import MISSING
from margin.data.kinds import EXACT, label_kind
from margin.data.labels import read_labels

__all__ = ["infer", "is_integer_column", "object_column"]

# A column of strings fails to be numbers or dates in its first rows; trying all of them first would cost a whole cast.
_HEAD_ROWS = 64


def infer(strings: Any, *, padded: bool, decimal_comma: bool) -> tuple[str, np.ndarray, str]:
    """Kind, stored values and a note of a PyArrow column: strings with missing markers already null, or float64.

    The note says how values in an unusual spelling were read; it is "" where there was nothing to decide.
    ``padded``: values may carry surrounding spaces, which are removed (and markers looked for again).
    ``decimal_comma``: ``1,5`` may be a number because the comma does not separate fields.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(strings.type):
        return "number", _numpy(strings), ""
    if padded:
        strings = pc.utf8_trim_whitespace(strings)
        marker = pc.is_in(strings, value_set=pa.array(MISSING, pa.string()))
        strings = pc.if_else(marker, pa.scalar(None, pa.string()), strings)
    numbers = _numbers(strings, decimal_comma)
    if numbers is not None:
        return "number", numbers, ""
    encoded = pc.dictionary_encode(strings)
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    if isinstance(encoded, pa.ChunkedArray):  # an empty chunked array stays chunked
        encoded = pa.array([], pa.string()).dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    if distinct and all(label.lower() in ("true", "false") for label in distinct):
        return "flag", object_column(encoded, [label.lower() == "true" for label in distinct]), ""
    dates = _dates(strings)
    if dates is not None:
        return "date", dates, ""
    reading = read_labels(distinct, decimal_comma=decimal_comma)
    if reading is not None:
        return reading.kind, _value_column(encoded, reading.values), reading.note
    return label_kind(len(distinct), len(encoded) - encoded.null_count), object_column(encoded, distinct), ""


def object_column(encoded: Any, values: list[Any]) -> np.ndarray:
    """An object array from dictionary codes: every distinct value exists once in memory; null becomes None."""
    lookup = np.empty(len(values) + 1, dtype=object)
    lookup[: len(values)] = values
    return lookup[_codes(encoded, len(values))]


def _value_column(encoded: Any, values: np.ndarray) -> np.ndarray:
    """Numbers or dates from dictionary codes; null becomes NaN or NaT."""
    lookup = np.append(values, np.array(["NaT"] if values.dtype.kind == "M" else [np.nan], dtype=values.dtype))
    return lookup[_codes(encoded, len(values))]


def _codes(encoded: Any, null: int) -> np.ndarray:
    return arrow_values(encoded.indices, np.int32, null)


def is_integer_column(column: Any) -> bool:
    """Whether no number of a float64 column has a fraction."""
    return all(np.all(_fractionless(_numpy(part))) for part in (column.slice(0, _HEAD_ROWS), column))


def _numpy(column: Any) -> np.ndarray:
    return arrow_values(column, np.float64, np.nan)


def _fractionless(numbers: np.ndarray) -> np.ndarray:
    finite = numbers[np.isfinite(numbers)]
    return finite == np.floor(finite)


def _cast(strings: Any, kind: Any) -> Any | None:
    """The column as ``kind``, or None if some value is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.cast(strings.slice(0, _HEAD_ROWS), kind)
        return pc.cast(strings, kind)
    except pa.ArrowInvalid:
        return None


def _numbers(strings: Any, decimal_comma: bool) -> np.ndarray | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    cast = _cast(strings, pa.float64())
    if cast is None:
        if not decimal_comma or not _all_match(strings, r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$"):
            return None
        strings = pc.replace_substring(strings, ",", ".")
        cast = pc.cast(strings, pa.float64())
    numbers = _numpy(cast)
    return None if _identifiers(strings, numbers) else numbers


def _identifiers(strings: Any, numbers: np.ndarray) -> bool:
    """Whether integers are written as identifiers: see the head of this file."""
    import pyarrow.compute as pc

    finite = numbers[np.isfinite(numbers)]
    if not finite.size or not np.all(_fractionless(finite)):
        return False
    if np.max(np.abs(finite)) >= EXACT and _all_match(strings, r"^[+-]?\d+$"):
        return True
    zeros = strings.filter(pc.starts_with(strings, "0"))
    return bool(pc.any(pc.match_substring_regex(zeros, r"^0\d+$")).as_py())


def _dates(strings: Any) -> np.ndarray | None:
    """ISO dates and moments, those with an offset in UTC."""
    import pyarrow as pa

    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        moments = _cast(strings, kind)
        if moments is not None:
            return arrow_values(moments, "datetime64[us]", "NaT")
    return None


def _all_match(strings: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(strings, pattern)).as_py())
