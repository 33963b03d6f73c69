"""The judgement of all columns together: by themselves, against the target, against each other, and as a user says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from margin.data.facts import ColumnFacts
from margin.data.judgement import Judgement, judge, many_labels
from margin.data.leakage import Leak, find_leak
from margin.data.structure import names_groups

__all__ = ["judge_columns"]

Judgements = dict[str, Judgement]


def judge_columns(
    columns: Mapping[str, ColumnFacts],
    user_kinds: Mapping[str, str],
    ignored: Collection[str],
    target: ColumnFacts | None,
    task: str,
) -> tuple[Judgements, dict[str, Leak]]:
    """What is to become of each column, and which give the target away.

    ``user_kinds`` are given, so they are not judged again; where they cannot help, a remark says so.
    """
    judged = {}
    for name, facts in columns.items():
        if name in ignored:
            judged[name] = Judgement(facts.kind, False, "left out as told")
        elif name in user_kinds:
            judged[name] = _of_user_kind(facts, user_kinds[name])
        elif names_groups(facts):
            remark = f"left out: it names who {facts.n_present:,} rows belong to; use it for folds by group"
            judged[name] = Judgement("identifier", False, remark)
        else:
            judged[name] = judge(facts)
    judged = _without_repeated(columns, judged, user_kinds)
    leaks = _leaks(columns, judged, target, task)
    judged = {name: _with_leak(judgement, leaks.get(name), name in user_kinds) for name, judgement in judged.items()}
    return _keep_something(columns, judged, leaks), leaks


def _of_user_kind(facts: ColumnFacts, kind: str) -> Judgement:
    if kind == "identifier":
        return Judgement("identifier", False, "left out: an identifier, as told")
    if not facts.n_present:
        return Judgement(kind, False, f"left out: no row has a {kind}")
    return Judgement(kind, True, many_labels(facts.n_distinct) if kind == "category" else "")


def _without_repeated(
    columns: Mapping[str, ColumnFacts], judged: Judgements, user_kinds: Mapping[str, str]
) -> Judgements:
    """Of columns with equal values only the first is used."""
    seen: dict[tuple[str, bytes, tuple[Any, ...]], list[str]] = {}
    result = dict(judged)
    for name, facts in columns.items():
        if not judged[name].used or name in user_kinds:
            continue
        # Measurements differ in every row, so the codes of all of them are alike: their first values tell them apart.
        key = (facts.kind, facts.codes[:1000].tobytes(), tuple(facts.distinct[:10].tolist()))
        alike = seen.setdefault(key, [])
        first = next((other for other in alike if _equal(columns[other], facts)), None)
        if first is not None:
            result[name] = Judgement(judged[name].kind, False, f"left out: it repeats {first!r}")
        else:
            alike.append(name)
    return result


def _equal(one: ColumnFacts, other: ColumnFacts) -> bool:
    return np.array_equal(one.codes, other.codes) and np.array_equal(one.distinct, other.distinct)


def _leaks(
    columns: Mapping[str, ColumnFacts], judged: Judgements, target: ColumnFacts | None, task: str
) -> dict[str, Leak]:
    if target is None:
        return {}
    leaks = {name: find_leak(facts, target, task) for name, facts in columns.items() if judged[name].used}
    return {name: leak for name, leak in leaks.items() if leak is not None}


def _with_leak(judgement: Judgement, leak: Leak | None, has_user_kind: bool) -> Judgement:
    if leak is None:
        return judgement
    if leak.copy and not has_user_kind:
        return Judgement(judgement.kind, False, f"left out: {leak.remark}")
    remark = "; ".join(part for part in (f"LEAK? {leak.remark}", judgement.remark) if part)
    return replace(judgement, remark=remark)


def _keep_something(columns: Mapping[str, ColumnFacts], judged: Judgements, leaks: Mapping[str, Leak]) -> Judgements:
    """Where nothing else is left, row numbers and copies of the target are better than nothing."""
    if any(judgement.used for judgement in judged.values()):
        return judged
    result = dict(judged)
    for name, judgement in judged.items():
        row_number = (
            judgement.kind == "identifier" and columns[name].kind == "number" and "number of" in judgement.remark
        )
        if row_number or (name in leaks and leaks[name].copy):
            kind = columns[name].kind if row_number else judgement.kind
            reason = judgement.remark.removeprefix("left out: ")
            result[name] = Judgement(kind, True, f"{reason}, but there is nothing else to learn from")
    return result
