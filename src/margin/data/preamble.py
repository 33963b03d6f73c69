"""Lines above the header of a delimited file: a title, the units, comments of the program that wrote it."""

from __future__ import annotations

import csv
from collections import Counter

from margin.data.dialect import Dialect, is_number, rows_of, whole_lines

__all__ = ["without_preamble"]

#: So many lines above the header at most; the rest is even if so large a fraction of its rows has one width.
MOST_LINES, EVEN = 30, 0.9


def without_preamble(text: str, dialect: Dialect) -> tuple[str, str]:
    """The text with empty lines in place of those above the header, so that line numbers stay, and a remark.

    A line is above the header if it begins with ``#`` and is not cut as the rows are, or if at most one of its fields
    holds anything (and that no number) where rows have more.

    >>> from margin.data.dialect import sniff
    >>> text = "Sales of 2021\\n\\nx,y\\n1,2\\n3,4\\n"
    >>> without_preamble(text, sniff(text, ".csv"))
    ('\\n\\nx,y\\n1,2\\n3,4\\n', '1 line above the header is left out: "Sales of 2021".')
    """
    width = _width(text, dialect)
    if width < 2:
        return text, ""
    lines: list[str] = []
    end = 0
    while len(lines) <= MOST_LINES:
        start, end = end, text.find("\n", end) + 1
        line = text[start : end or len(text)].strip()
        if not end or (line and not _stands_above(line, dialect, width)):
            break
        lines.append(line)
    written = [line for line in lines if line]
    if not written or not end:
        return text, ""
    count = "1 line above the header is" if len(written) == 1 else f"{len(written)} lines above the header are"
    return "\n" * len(lines) + text[start:], f'{count} left out: "{written[0].strip(dialect.delimiter)[:60]}".'


def _width(text: str, dialect: Dialect) -> int:
    """How many fields nearly all sampled rows have; 0 if there is no such number."""
    try:
        widths = [len(row) for row in rows_of(whole_lines(text), dialect) if row]
    except csv.Error:
        return 0
    body = widths[min(MOST_LINES, len(widths) // 2) :]  # what may stand above is not asked
    width, count = Counter(body).most_common(1)[0] if body else (0, 0)
    return width if count >= EVEN * len(body) else 0


def _stands_above(line: str, dialect: Dialect, width: int) -> bool:
    if dialect.quote and line.count(dialect.quote) % 2:  # a field that goes on in the next line
        return False
    try:
        cells: list[str] = next(iter(rows_of(line, dialect)), [])
    except csv.Error:
        return False
    filled = [cell for cell in cells if cell.strip()]
    if line.startswith("#") and len(cells) != width:
        return True
    padded = len(cells) == width > 2 and (
        not filled or bool(cells[0].strip())
    )  # a spreadsheet's title, in its first cell
    return (len(cells) < width or padded) and len(filled) <= 1 and not any(map(is_number, filled))
