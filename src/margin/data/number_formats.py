r"""Numbers as people write them: ``$1,234.50``, ``1.234,50 €``, ``12 %``, ``(300)``, ``1 250``, ``72 kg``.

A column is numbers when every value is, all written with one decimal sign and with one unit; a few different strings
without a digit ("unknown", "-") may stand among many numbers and count as missing. ``1,234`` alone
could mean 1234 or 1.234: a decimal comma is assumed only where the reader says so (fields are not separated by commas)
or where another value of the column leaves no choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["NumberFormat", "number_format", "parse_number", "parse_numbers"]

#: So many different strings without a digit may stand among numbers, of which there must be so many different ones;
FEW_STRAYS, FEWEST_NUMBERS = 3, 10
#: up to so many where there are so many times as many numbers.
MOST_STRAYS, NUMBERS_PER_STRAY = 10, 20

_CURRENCY = r"[$€£¥₹₽₩]|US\$|R\$|USD|EUR|GBP|CHF|JPY|kr|zł"
_GROUP = "[ '\u00a0\u202f\u2019{other}]"  # between thousands: spaces, apostrophes and the sign that is not decimal
_BODY = r"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)(?:{decimal}\d*)?|{decimal}\d+"
_WHOLE = (
    rf"(?P<open>\()?\s*(?P<sign>[+\-\u2212])?\s*(?:{_CURRENCY})?\s*(?P<sign2>[+\-\u2212])?(?P<body>{{body}})"
    rf"(?P<power>[eE][+-]?\d+)?\s*(?P<unit>{_CURRENCY}|[%‰°]?[A-Za-zµ°²³/]{{{{0,5}}}})\s*(?P<close>\))?"
)


def _pattern(decimal: str, other: str) -> re.Pattern[str]:
    body = _BODY.format(group=_GROUP.format(other=re.escape(other)), decimal=re.escape(decimal))
    return re.compile(_WHOLE.format(body=body))


_PATTERNS = {".": _pattern(".", ","), ",": _pattern(",", ".")}
_GROUPS = str.maketrans("", "", " '\u00a0\u202f\u2019")
_IDENTIFIER = re.compile(r"0\d+")


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written: the decimal sign, the unit after them, and strings that stand for none.

    >>> number_format(["1.234,50 €", "12 €", "-3,5 €"])
    NumberFormat(decimal=',', unit='€', strays=())
    """

    decimal: str = "."
    unit: str = ""
    strays: tuple[str, ...] = ()


def number_format(labels: Sequence[str], *, decimal_comma: bool = False) -> NumberFormat | None:
    """The format in which all of the distinct ``labels`` are numbers; None if they are not, or are identifiers."""
    for decimal in ",." if decimal_comma else ".,":
        detected = _format(labels, decimal)
        if detected is not None:
            return detected
    return None


def _format(labels: Sequence[str], decimal: str) -> NumberFormat | None:
    pattern, units, strays, numbers = _PATTERNS[decimal], set(), [], 0
    for label in labels:
        match = pattern.fullmatch(label.strip())
        if match is None or (match["open"] is None) != (match["close"] is None):
            strays.append(label)
            if len(strays) > MOST_STRAYS or any(map(str.isdigit, label)):
                return None
            continue
        if _IDENTIFIER.fullmatch(match["body"]):
            return None
        numbers += 1
        units.add(match["unit"])
    units -= {""} if "" in units and units & set("$€£¥₹%") else set()  # "0" among "12 %" has the same unit
    if len(units) > 1 or not numbers or (strays and numbers < FEWEST_NUMBERS):
        return None
    if len(strays) > FEW_STRAYS and numbers < NUMBERS_PER_STRAY * len(strays):
        return None
    return NumberFormat(decimal, units.pop() if units else "", tuple(strays))


def parse_numbers(labels: Sequence[str], format: NumberFormat) -> np.ndarray:
    """The numbers in many strings that are known to be of one format, NaN where there is none."""
    kept = {format.decimal: ".", "\u2212": "-"}
    dropped = dict.fromkeys("$€£¥₹₽₩%‰ '\u00a0\u202f\u2019.,")
    clean = str.maketrans(dropped | kept)
    numbers = np.empty(len(labels))
    for i, label in enumerate(labels):
        try:
            numbers[i] = float(label.translate(clean))  # most; letters and parentheses need the full pattern
        except ValueError:
            numbers[i] = parse_number(label, format)
    return numbers


def parse_number(label: str, format: NumberFormat) -> float:
    """The number in one string, NaN if there is none; percent signs are dropped, not divided by.

    >>> parse_number("(1,234.50)", NumberFormat()), parse_number("12 %", NumberFormat(unit="%"))
    (-1234.5, 12.0)
    """
    match = _PATTERNS[format.decimal].fullmatch(label.strip())
    if match is None or (match["open"] is None) != (match["close"] is None):
        return np.nan
    body = match["body"].translate(_GROUPS).replace("," if format.decimal == "." else ".", "").replace(",", ".")
    signs = [match["sign"], match["sign2"], "-" if match["open"] else None]
    negative = sum(sign in ("-", "\u2212") for sign in signs) % 2
    return (-1.0 if negative else 1.0) * float(body + (match["power"] or ""))
