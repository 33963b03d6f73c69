"""Numbers as a reader wants them: the digits that mean something, a true minus sign, thin spaces between thousands."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["count", "number", "percent", "score", "seconds", "value"]

MINUS, THIN_SPACE = "\u2212", "\u202f"


def number(x: Any, digits: int = 3) -> str:
    """``digits`` significant digits, but all digits of an integer part; a dash for what is not a number.

    >>> number(0.123456), number(1234567.8), number(-2.0), number(float("nan"))
    ('0.123', '1\u202f234\u202f568', '\u22122', '–')
    """
    if x is None or not math.isfinite(x):
        return "–" if x is None or math.isnan(x) else ("∞" if x > 0 else f"{MINUS}∞")
    if x == 0:
        return "0"
    size = math.floor(math.log10(abs(x)))
    if size < -4:
        return _minus(f"{x:.{digits - 1}e}")
    shown = f"{x:,.{max(digits - 1 - size, 0)}f}"
    return _minus((shown.rstrip("0").rstrip(".") if "." in shown else shown).replace(",", THIN_SPACE))


def value(x: float, decimals: int) -> str:
    """A fixed number of decimals, so that a column of numbers aligns.

    >>> value(0.5, 3), value(-1234.5, 1)
    ('0.500', '\u22121\u202f234.5')
    """
    return "–" if x is None or math.isnan(x) else _minus(f"{x:,.{decimals}f}".replace(",", THIN_SPACE))


def score(x: float) -> str:
    """A score: three decimals where it is small, so that scores beside each other align, else four digits.

    >>> score(0.6), score(12.3456), score(51234.5)
    ('0.600', '12.35', '51\u202f234')
    """
    return value(x, 3) if abs(x) < 10 else number(x, 4)


def count(n: int) -> str:
    """An integer.

    >>> count(60000)
    '60\u202f000'
    """
    return _minus(f"{n:,d}".replace(",", THIN_SPACE))


def percent(fraction: float, decimals: int = 0) -> str:
    """A fraction as a percentage.

    >>> percent(0.1234, 1)
    '12.3\u202f%'
    """
    return f"{value(100 * fraction, decimals)}{THIN_SPACE}%"


def seconds(x: float) -> str:
    """A duration in the unit a reader would choose.

    >>> seconds(0.00042), seconds(1.234), seconds(600)
    ('0.4\u202fms', '1.23\u202fs', '10\u202fmin')
    """
    if x is None or math.isnan(x):
        return "–"
    if x < 0.0995:
        return f"{1000 * x:.{1 if x < 0.00995 else 0}f}{THIN_SPACE}ms"
    return f"{x:.{2 if x < 9.95 else 0}f}{THIN_SPACE}s" if x < 120 else f"{x / 60:.0f}{THIN_SPACE}min"


def _minus(shown: str) -> str:
    return shown.replace("-", MINUS)
