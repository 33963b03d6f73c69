"""What a table holds, judged before anything is fitted: every column with its kind, use and reason, and what to beware.

``profile(table, target="y")`` counts every column once (:mod:`margin.data.facts`) and asks, in this order: what kind of
column it is and whether a model may use it (:mod:`margin.data.judgement`, :mod:`margin.data.column_set`), whether one
gives the target away (:mod:`margin.data.leakage`), and whether rows belong together in groups, in time or as copies
(:mod:`margin.data.structure`). Nothing is left out silently: whatever is not used has a remark, and ``kinds`` and
``ignore`` overrule every judgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from margin.data.column_set import judge_columns
from margin.data.combined_leaks import find_combination
from margin.data.facts import ColumnFacts, facts_of
from margin.data.judgement import Judgement
from margin.data.leakage import Leak
from margin.data.structure import (
    duplicate_rows,
    group_column,
    order_of_rows,
    suggest_metric,
    target_remarks,
    time_column,
)
from margin.data.table import Table
from margin.data.tasks import detect_task
from margin.data.user_kinds import as_table, with_kinds

__all__ = ["ColumnProfile", "Profile", "profile"]

#: Columns of which the same is to be said and that are named.
NAMED = 5


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what it is, whether a model sees it, and why.

    ``kind`` is "number", "flag", "category", "text", "date" or "identifier"; ``remark`` is "" where there is nothing
    to say. ``missing`` is a fraction, ``distinct`` a count, ``examples`` the first distinct values.
    """

    name: str
    kind: str
    used: bool
    remark: str
    missing: float
    distinct: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """The judgement of a whole table.

    ``table`` holds the columns as they were read (numbers written ``$1,234.50`` are numbers). ``task`` is
    "classification" or "regression", or "density" without a target. ``suggested_group`` and ``suggested_time`` name a
    column whose values seem to tie rows together or to order them; ``suggested_metric`` is one that suits the target.
    Where rows repeat, ``copies`` has a number per row that equal ones share, and ``copies_remark`` is one of the
    remarks. Where ``table`` is drawn from more rows than could be looked at, ``rows_in_all`` says how many.
    """

    table: Table
    target: str | None
    task: str
    columns: tuple[ColumnProfile, ...]
    remarks: tuple[str, ...]
    suggested_group: str | None = None
    suggested_time: str | None = None
    suggested_metric: str | None = None
    copies_remark: str = ""
    copies: np.ndarray | None = field(default=None, repr=False, compare=False)
    rows_in_all: int | None = None

    def __getitem__(self, name: str) -> ColumnProfile:
        match = next((column for column in self.columns if column.name == name), None)
        if match is None:
            self.table[name]  # raises the sentence with close names
            raise KeyError(name)
        return match

    @property
    def n_rows(self) -> int:
        """How many rows there are, whether or not all of them were looked at."""
        return self.table.n_rows if self.rows_in_all is None else self.rows_in_all

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns a model sees."""
        return tuple(column.name for column in self.columns if column.used)

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of the columns a model sees, by name."""
        return {column.name: column.kind for column in self.columns if column.used}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "rows": self.n_rows,
            "target": self.target,
            "task": self.task,
            "columns": [asdict(column) for column in self.columns],
            "remarks": list(self.remarks),
            "suggested_group": self.suggested_group,
            "suggested_time": self.suggested_time,
            "suggested_metric": self.suggested_metric,
        }


def profile(
    table: Table | Any,
    target: str | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    ignore: Iterable[str] = (),
) -> Profile:
    """Judge every column of a table or DataFrame, and the table as data to learn ``target`` from.

    ``kinds`` says what columns are where the judgement would differ ("identifier" leaves a column out), and ``ignore``
    names columns that are left out.

    >>> found = profile(Table({"id": range(60), "age": [20, 30, 40] * 20, "ill": [0, 0, 1] * 20}), target="ill")
    >>> for column in found.columns:
    ...     print(column.name, column.kind, column.used, column.remark)
    id identifier False left out: the number of the row
    age number True LEAK? a few thresholds on it alone separate the classes completely
    ill number False the target
    """
    user_kinds, ignored = dict(kinds or {}), frozenset([ignore] if isinstance(ignore, str) else ignore)
    read = with_kinds(as_table(table), target, user_kinds, ignored)
    columns = facts_of(read)
    goal = None if target is None else columns.pop(target)
    task = "density" if goal is None else _task(goal, user_kinds)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest: their differences are infinite
        return _judge(read, columns, goal, task, user_kinds, ignored)


def _judge(
    read: Table,
    columns: dict[str, ColumnFacts],
    goal: ColumnFacts | None,
    task: str,
    user_kinds: Mapping[str, str],
    ignored: frozenset[str],
) -> Profile:
    target = None if goal is None else goal.name
    judged, leaks = judge_columns(columns, user_kinds, ignored, goal, task)
    # Who gives the target away says nothing about which rows belong together.
    group, group_remark = group_column(
        {n: facts for n, facts in columns.items() if n not in ignored and n not in leaks}
    )
    time, time_remark = time_column({name: facts for name, facts in columns.items() if judged[name].used})
    used = [facts for name, facts in columns.items() if judged[name].used]
    copies_remark, copies = duplicate_rows(used, goal)
    remarks = [
        *read.remarks,
        *([] if goal is None else target_remarks(goal, task)),
        *_leak_remarks(leaks, target),
        "" if goal is None or task != "regression" else _combination_remark(used, goal, leaks),
        copies_remark,
        group_remark,
        time_remark,
        "" if goal is None or time or group else order_of_rows(goal, task),
        "" if used else "No column can be used.",
    ]
    return Profile(
        table=read,
        target=target,
        task=task,
        columns=tuple(_column(read, name, columns.get(name) or goal, judged.get(name)) for name in read.names),
        remarks=tuple(remark for remark in remarks if remark),
        suggested_group=group,
        suggested_time=time,
        suggested_metric=None if goal is None else suggest_metric(goal, task),
        copies_remark=copies_remark,
        copies=copies,
    )


def _task(target: ColumnFacts, user_kinds: Mapping[str, str]) -> str:
    if not target.n_present:
        raise ValueError(f"profile: no row has a value of the target {target.name!r}.")
    kind = user_kinds.get(target.name)
    if kind == "number" or (target.kind == "date" and kind is None):
        return "regression"
    if kind is not None or target.kind != "number":
        return "classification"
    finite = target.values[np.isfinite(target.values)]
    return detect_task(finite) if len(finite) else "regression"


def _combination_remark(used: list[ColumnFacts], goal: ColumnFacts, leaks: Mapping[str, Leak]) -> str:
    """That the target is computed from several columns; those that give it away alone are spoken of already."""
    found = find_combination({facts.name: facts for facts in used if facts.name not in leaks}, goal)
    if found is None:
        return ""
    columns = ", ".join(map(repr, found.columns))
    are, them = ("it is", "it") if len(found.columns) == 1 else ("they are", "them")
    return f"{columns} may give {goal.name!r} away: {found.phrase}. If {are} not known before, leave {them} out."


def _leak_remarks(leaks: Mapping[str, Leak], target: str | None) -> list[str]:
    """One for each column that copies the target, one for all of which the same is to be said."""
    copies = [f"{name!r} copies the target {target!r}." for name, leak in leaks.items() if leak.copy]
    alike: dict[str, list[str]] = {}
    for name, leak in leaks.items():
        if not leak.copy:
            alike.setdefault(leak.remark, []).append(name)
    return copies + [_giving_away(names, remark, target) for remark, names in alike.items()]


def _giving_away(names: list[str], remark: str, target: str | None) -> str:
    if len(names) == 1:
        return (
            f"{names[0]!r} may give {target!r} away: {remark}. If it is not known before {target!r} is, leave it out."
        )
    named = ", ".join(map(repr, names[:NAMED])) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return f"{named} may give {target!r} away, each alone: {remark}. What is not known before {target!r} is, leave out."


def _column(table: Table, name: str, facts: ColumnFacts | None, judgement: Judgement | None) -> ColumnProfile:
    assert facts is not None
    kind, used, remark = (
        (facts.kind, False, "the target")
        if judgement is None
        else (
            judgement.kind,
            judgement.used,
            judgement.remark,
        )
    )
    note = table.notes.get(name, "")
    return ColumnProfile(
        name=name,
        kind=kind,
        used=used,
        remark="; ".join(part for part in (remark, note) if part),
        missing=facts.missing,
        distinct=facts.n_distinct,
        examples=facts.examples,
    )
