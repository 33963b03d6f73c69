"""What a delimited text file does not say about itself: its encoding, delimiter and quotes.

All of it is decided from the bytes alone, by rules simple enough to state, and never by trial of a whole parse.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

__all__ = [
    "MISSING",
    "Dialect",
    "decode",
    "guess_encoding",
    "has_fractions",
    "is_number",
    "rows_of",
    "separate_by_tabs",
    "separated_by_spaces",
    "sniff",
    "whole_lines",
]

#: Spellings of "no value", quoted or not. "none" in lower case is left alone: it is a label in many tables.
MISSING = (
    *("", "?", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "-nan", "-NaN", "NaT", "null", "Null", "NULL", "None"),
    *("#N/A", "#N/A N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),  # errors of spreadsheets
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),  # what C on Windows prints for NaN
)

_DELIMITERS = (",", ";", "\t", "|")
_SUFFIX_DELIMITER = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
_SAMPLE_CHARACTERS = 200_000  # and at least
_SAMPLE_LINES = 20
_SAMPLE_ROWS = 200

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)


_GUESSED = "The encoding is not stated and not UTF-8; it was read as {}."


@dataclass(frozen=True)
class Dialect:
    """How fields are separated and quoted. ``quote`` is None when quote characters are ordinary characters."""

    delimiter: str
    quote: str | None
    skip_space: bool


def decode(data: bytes) -> str:
    """Text of a file, in whatever encoding it was written; see :func:`guess_encoding`.

    >>> decode("naïve".encode("cp1252")), decode("naïve".encode("utf-16"))
    ('naïve', 'naïve')
    """
    return guess_encoding(data)[0]


def guess_encoding(data: bytes) -> tuple[str, str]:
    """Text of a file, and a remark if its encoding was a guess.

    UTF-8 or UTF-16 by byte-order mark or zero bytes, else UTF-8, Windows-1252, Latin-1 by trial.

    >>> guess_encoding("naïve".encode("cp1252"))
    ('naïve', 'The encoding is not stated and not UTF-8; it was read as Windows-1252.')
    """
    if data.startswith(codecs.BOM_UTF8):
        return _strict(data, "utf-8-sig"), ""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _strict(data, "utf-16"), ""
    if b"\0" in data[:4096]:
        # Without a mark, UTF-16 of mostly Latin text has a zero in every second byte.
        head = data[: min(len(data), 4096) // 2 * 2]
        for encoding, high, low in (("utf-16-le", head[1::2], head[0::2]), ("utf-16-be", head[0::2], head[1::2])):
            if high.count(0) > 0.4 * len(high) and low.count(0) < 0.05 * len(low):
                return _strict(data, encoding), f"The encoding is not stated; it was read as {encoding.upper()}."
        raise ValueError("it holds zero bytes, so it is not a text file")
    for encoding, remark in (("utf-8", ""), ("cp1252", _GUESSED.format("Windows-1252"))):
        try:
            return data.decode(encoding), remark
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1"), _GUESSED.format("Latin-1")


def _strict(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise ValueError(f"it begins as {encoding} but byte {problem.start} is not") from None


def sniff(text: str, suffix: str) -> Dialect:
    """The dialect of ``text``: the delimiter that cuts the sampled rows most evenly into most fields.

    >>> sniff("a;b\\n1,5;2\\n", ".csv").delimiter
    ';'
    """
    sample = whole_lines(text)
    best, best_score = _SUFFIX_DELIMITER.get(suffix), (0.0, 0)
    if best is None or best not in sample:
        best = ","
        for delimiter in _DELIMITERS:
            score = _evenness(sample, delimiter)
            if score > best_score:
                best, best_score = delimiter, score
    return Dialect(best, _quote(text, sample, best), _delimiters_followed_by_space(sample, best))


def separated_by_spaces(text: str) -> bool:
    """Whether runs of spaces, and nothing else, cut the sampled lines into equally many fields, most of them numbers.

    >>> separated_by_spaces("1.0  2.5   3\\n 4   5   6\\n"), separated_by_spaces("one two\\nthree four\\n")
    (True, False)
    """
    sample = whole_lines(text)
    if any(_evenness(sample, delimiter)[1] for delimiter in _DELIMITERS):
        return False
    rows = [line.split() for line in islice(sample.splitlines(), _SAMPLE_ROWS) if line.strip()]
    cells = [cell for row in rows for cell in row]
    even = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return even and sum(map(is_number, cells)) > 0.5 * len(cells)


def separate_by_tabs(text: str) -> str:
    """The same lines with a tab for every run of spaces."""
    return "\n".join("\t".join(line.split()) for line in text.split("\n"))


def whole_lines(text: str) -> str:
    """The beginning of a long text, up to the end of a line: enough to judge it by."""
    end = 0
    for _ in range(_SAMPLE_LINES):
        end = text.find("\n", end) + 1
        if end == 0:
            return text
    longer = text.find("\n", _SAMPLE_CHARACTERS) + 1
    return text[: max(end, longer)] if longer else text


def _evenness(sample: str, delimiter: str, quoting: Any = csv.QUOTE_MINIMAL) -> tuple[float, int]:
    """(fraction of sampled rows with the commonest width, that width); (0, 0) if no row is cut at all."""
    rows = csv.reader(io.StringIO(sample), delimiter=delimiter, quoting=quoting)
    try:
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS))
    except csv.Error:
        return 0.0, 0
    widths.pop(0, None)
    if not widths:
        return 0.0, 0
    width, count = widths.most_common(1)[0]
    return (count / widths.total(), width) if width > 1 else (0.0, 0)


def _quote(text: str, sample: str, delimiter: str) -> str | None:
    """Double quotes, unless single ones enclose fields instead, or quotes are plain characters between tabs."""
    edge = re.escape(delimiter)
    if delimiter == "\t" and '"' in text:
        # One that opens a field and closes none before the line ends is plain, and then all are: unless only fields
        # that span lines make the rows equally wide.
        opened_only = re.compile(r'(?:^|\t)"(?![^\n]*"(?:\t|\r?$))', re.MULTILINE)
        spans_lines = _evenness(sample, "\t")[0] == 1.0 > _evenness(sample, "\t", csv.QUOTE_NONE)[0]
        return None if opened_only.search(text) and not spans_lines else '"'
    if '"' not in sample and "'" in sample:
        enclosed = re.findall(rf"(?:^|{edge}) ?'[^'\n]*'(?={edge}|\r?$)", sample, re.MULTILINE)
        if 2 * len(enclosed) == sample.count("'"):
            return "'"
    return '"'


def _delimiters_followed_by_space(sample: str, delimiter: str) -> bool:
    return delimiter != "\t" and re.search(rf"{re.escape(delimiter)} +[\"']", sample) is not None


def rows_of(text: str, dialect: Dialect) -> Any:
    """Rows of ``text`` by the standard library's reader: slow, exact, and it counts lines."""
    return csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or '"',
        quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
        skipinitialspace=dialect.skip_space,
    )


def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def has_fractions(cells: Sequence[str]) -> bool:
    """Whether the sampled cells of a column are numbers written with a point, as measurements are.

    >>> has_fractions(["1.5", "NA", "2"]), has_fractions(["007", "12"]), has_fractions(["1,5"])
    (True, False, False)
    """
    present = [cell for cell in cells if cell not in MISSING]
    return any("." in cell for cell in present) and all("," not in cell and is_number(cell) for cell in present)
