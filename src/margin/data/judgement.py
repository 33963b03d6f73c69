"""Whether a model may see a column, as what, and why: one rule per kind, each with its reason in the remark.

==================  ===========================================================================================
left out            no value, one value, fewer than 1 % of the rows with a value, row numbers, identifiers
number              infinite values count as missing; a suspicious code such as -999 is reported
category            more than ``MAX_CATEGORIES`` labels: the rarest are merged
text                tf-idf; a nearly unique label without spaces is an identifier, with spaces it is text
date                becomes year, month, day, weekday, hour and elapsed days
==================  ===========================================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from margin.data.coercion import LARGEST
from margin.data.dialect import is_number
from margin.data.facts import ColumnFacts, write_value

__all__ = ["MAX_CATEGORIES", "Judgement", "has_identifier_name", "has_time_name", "judge"]

#: So many columns one category gives at most: the commonest labels have one each, all others share the last.
MAX_CATEGORIES = 32
#: Below this fraction of rows with a value a column is as good as empty; above this fraction missing it is reported.
NEARLY_EMPTY, OFTEN_MISSING = 0.01, 0.3
#: Labels are an identifier if so large a fraction of them occurs once, in at least so many rows.
NEARLY_UNIQUE, FEWEST_ROWS = 0.95, 20
#: A label is text from so many words on average, if it repeats rarely or takes many values.
WORDS, RARELY, MANY_VALUES = 3.0, 0.5, 50
#: A number far outside the others that occurs in so large a fraction of the rows may stand for "missing".
CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
OFTEN_CODED = 0.005
#: Labels of which at most this fraction is not a number may be numbers with slips.
NEARLY_NUMBERS = 0.2

_IDENTIFIER = re.compile(
    r"(?:^|[_\W])(?:id|ids|uuid|guid|key|nr|no|num|number|index|idx|row|rowid|serial|hash)$|^unnamed|row_?(?:id|num)|[a-z]I[dD]$"
)
_TIME = re.compile(
    r"(?:^|[_\W])(?:year|time|date|day|week|month|quarter|hour|minute|second|step|period|timestamp|ts)s?$"
)


@dataclass(frozen=True)
class Judgement:
    """What is to become of one column."""

    kind: str
    used: bool
    remark: str = ""


def judge(facts: ColumnFacts) -> Judgement:
    """The judgement of one column by itself."""
    if not facts.n_present:
        return Judgement(facts.kind, False, "left out: no row has a value")
    if facts.n_present < NEARLY_EMPTY * facts.n_rows:
        return Judgement(facts.kind, False, f"left out: only {facts.n_present:,} of {facts.n_rows:,} rows have a value")
    if facts.n_distinct == 1:
        return _one_value(facts)
    judged = _RULES[facts.kind](facts)
    often = f"{facts.missing:.0%} of the rows have no value" if facts.missing > OFTEN_MISSING and judged.used else ""
    return Judgement(judged.kind, judged.used, _join(judged.remark, often))


def has_identifier_name(name: str) -> bool:
    """Whether a column is called like an identifier.

    >>> [has_identifier_name(name) for name in ("PassengerId", "order_no", "Unnamed: 0", "humid", "age")]
    [True, True, True, False, False]
    """
    return _IDENTIFIER.search(name.strip()) is not None or _IDENTIFIER.search(name.strip().lower()) is not None


def has_time_name(name: str) -> bool:
    """Whether a column is called like a time or an order in it.

    >>> [has_time_name(name) for name in ("Year", "t", "birth_date", "timely")]
    [True, True, True, False]
    """
    return name.strip().lower() == "t" or _TIME.search(name.strip().lower()) is not None


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _one_value(facts: ColumnFacts) -> Judgement:
    value = write_value(facts.distinct[0])
    if not facts.absent.any():
        return Judgement(facts.kind, False, f'left out: every row has the same value, "{value}"')
    remark = f'"{value}" or nothing: whether there is a value is what a model sees'
    return Judgement("category", True, remark)


def _number(facts: ColumnFacts) -> Judgement:
    if _is_row_number(facts):
        return Judgement("identifier", False, "left out: the number of the row")
    unique = facts.n_distinct >= NEARLY_UNIQUE * facts.n_present and facts.n_present >= FEWEST_ROWS
    if facts.is_integer and unique and has_identifier_name(facts.name):
        counted = f"{facts.n_distinct:,} different values in {facts.n_present:,} rows"
        return Judgement("identifier", False, f"left out: an identifier, {counted}")
    infinite = int(np.isinf(facts.values).sum())
    beyond = int((np.abs(facts.values) > LARGEST).sum()) - infinite
    if infinite + beyond == facts.n_present:
        return Judgement("number", False, f"left out: every value is infinite or beyond {LARGEST:g}")
    lost = [f"{infinite:,} infinite values count as missing"] if infinite else []
    lost += [f"{beyond:,} values beyond {LARGEST:g} count as missing; another unit would keep them"] if beyond else []
    return Judgement("number", True, _join(*lost, _code(facts)))


def _is_row_number(facts: ColumnFacts) -> bool:
    """Whether the integers from some first one on each occur once, and the name does not say that they are a time."""
    if not facts.is_integer or facts.n_distinct != facts.n_rows or np.ptp(facts.distinct) != facts.n_rows - 1:
        return False
    if has_identifier_name(facts.name):
        return True
    return facts.n_rows >= FEWEST_ROWS and not has_time_name(facts.name) and len(facts.name.strip()) > 1


def _code(facts: ColumnFacts) -> str:
    """A remark on a number that may stand for "missing": see ``CODES``."""
    finite = facts.distinct[np.isfinite(facts.distinct)]
    for end, rest in (
        (finite.min(initial=0.0), finite > finite.min(initial=0.0)),
        (finite.max(initial=0.0), finite < finite.max(initial=0.0)),
    ):
        others = finite[rest]
        if end not in CODES or len(others) < 5:
            continue
        gap = min(abs(end - others.min()), abs(end - others.max()))
        # -1 below counts that begin at 0 is suspicious only because nothing else is negative.
        lonely = gap > np.ptp(others) or (end < 0 <= others.min())
        fraction = float(np.mean(facts.values == end))
        if lonely and fraction >= OFTEN_CODED:
            return f"{end:g} in {fraction:.1%} of the rows looks like a code for missing"
    return ""


def _label(facts: ColumnFacts) -> Judgement:
    judged = _labels_or_text(facts)
    return Judgement(judged.kind, judged.used, _join(judged.remark, _nearly_numbers(facts)))


def _nearly_numbers(facts: ColumnFacts) -> str:
    """A remark on labels most of which are numbers: the others may be slips that cost the whole column."""
    some = _spread(facts.distinct)
    others = [str(label) for label in some if not is_number(str(label).strip())]
    if not others or len(some) < FEWEST_ROWS or len(others) > NEARLY_NUMBERS * len(some):
        return ""
    return (
        f'{1 - len(others) / len(some):.0%} of its labels are numbers, but not "{write_value(others[0])}":'
        f" --kinds {facts.name}=number counts such ones as missing"
    )


def _spread(labels: np.ndarray) -> np.ndarray:
    """At most about 500 labels from all over the column: its beginning may be special."""
    return labels[:: max(1, len(labels) // 500)]


def _labels_or_text(facts: ColumnFacts) -> Judgement:
    words = _mean_words(facts.distinct)
    repeated = facts.n_distinct <= RARELY * facts.n_present
    if words >= WORDS and (not repeated or facts.n_distinct > MANY_VALUES):
        return Judgement("text", True, f"text of about {words:.0f} words: tf-idf")
    if facts.n_distinct >= NEARLY_UNIQUE * facts.n_present and facts.n_present >= FEWEST_ROWS:
        if words < 1.5:
            counted = f"{facts.n_distinct:,} different values in {facts.n_present:,} rows"
            return Judgement("identifier", False, f"left out: an identifier, {counted}")
        return Judgement("text", True, "nearly every value is different: tf-idf of its words")
    return Judgement("category", True, many_labels(facts.n_distinct))


def many_labels(n_labels: int, most: int = MAX_CATEGORIES) -> str:
    """How labels are merged where there are many, or "" where there are not."""
    if n_labels <= most:
        return ""
    return f"{n_labels:,} labels: the {most - 1} commonest are kept, the others are merged"


def _mean_words(labels: np.ndarray) -> float:
    some = _spread(labels)
    return sum(len(str(label).split()) for label in some) / len(some)


_DATE = Judgement("date", True, "becomes year, month, day, weekday, hour and elapsed days, as far as they vary")


_RULES = {
    "number": _number,
    "flag": lambda _: Judgement("flag", True),
    "category": _label,
    "text": _label,
    "date": lambda _: _DATE,
}
