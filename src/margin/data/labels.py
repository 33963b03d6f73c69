"""Strings that are numbers or dates in some other spelling: detected per column, and reported in a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from margin.data.date_formats import MONTH_FIRST, date_order, parse_date
from margin.data.kinds import EXACT
from margin.data.number_formats import NumberFormat, number_format, parse_numbers

__all__ = ["Reading", "read_labels"]


@dataclass(frozen=True)
class Reading:
    """What distinct strings mean: a kind, one value for each, and a note on the spelling."""

    kind: str
    values: np.ndarray
    note: str


def read_labels(labels: Sequence[str], *, decimal_comma: bool = False) -> Reading | None:
    """The distinct ``labels`` as numbers or dates, or None if they are neither.

    >>> read_labels(["$1,234.50", "$7"])
    Reading(kind='number', values=array([1234.5,    7. ]), note='read as numbers from text such as "$1,234.50"')
    >>> read_labels(["red", "blue"]) is None
    True
    """
    if not labels:
        return None
    return _numbers(labels, decimal_comma) or _dates(labels)


def _numbers(labels: Sequence[str], decimal_comma: bool) -> Reading | None:
    detected = number_format(labels, decimal_comma=decimal_comma)
    if detected is None:
        return None
    values = parse_numbers(labels, detected)
    present = values[~np.isnan(values)]
    if np.all(present == np.floor(present)) and np.max(np.abs(present)) >= EXACT:
        return None  # integers too long for float64 are identifiers
    return Reading("number", values, _number_note(labels, detected))


def _number_note(labels: Sequence[str], detected: NumberFormat) -> str:
    example = next(label for label in labels if label not in detected.strays)
    comma = " with a decimal comma" if detected.decimal == "," and any("," in label for label in labels) else ""
    strays = ""
    if detected.strays:
        listed = ", ".join(f'"{stray}"' for stray in detected.strays)
        strays = f"; {listed} {'counts' if len(detected.strays) == 1 else 'count'} as missing"
    return f'read as numbers{comma} from text such as "{example}"{strays}'


def _dates(labels: Sequence[str]) -> Reading | None:
    order = date_order(labels)
    if order is None:
        return None
    values = np.array([parse_date(label, order) for label in labels], dtype="datetime64[us]")
    first = f", the {order}," if order == MONTH_FIRST else ""
    return Reading("date", values, f'read as dates{first} from text such as "{labels[0]}"')
