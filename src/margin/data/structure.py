"""What holds between the rows of a table: copies, groups, order in time, and how the target is distributed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from margin.data.facts import ColumnFacts, write_value
from margin.data.judgement import has_identifier_name, has_time_name
from margin.data.kinds import FEW

__all__ = [
    "duplicate_rows",
    "few_combinations",
    "group_column",
    "mix",
    "names_groups",
    "order_of_rows",
    "repeats_beyond_chance",
    "suggest_metric",
    "target_remarks",
    "time_column",
]

#: Groups have on average at least so many rows, and there are at least so many groups.
ROWS_PER_GROUP, FEWEST_GROUPS = 2.0, 5
#: The commonest class is so many times as common as the rarest: then accuracy rewards ignoring the rarest.
IMBALANCE = 4.0
#: Neighboring targets differ by less than this fraction of what independent rows would: they belong together.
ALIKE = 0.5
#: Below this, a good part of the rows repeats by chance.
COMBINATIONS_PER_ROW = 10
FEWEST_ROWS = 50
#: Of the rows that repeat, so large a part at least must be more than chance explains before they count as copies.
COPIES_AMONG_REPEATS = 0.3
#: The part of the rows in which chance hardly repeats any.
RAREST = 0.2
#: Groups that a column of identifiers names are small: a shop with hundreds of rows is a category.
MOST_ROWS_PER_GROUP = 50

_PERSONS = (
    "patient|subject|participant|person|user|customer|client|member|student|employee|household|family|player|animal|"
    "donor|author|speaker|driver|individual|respondent|panelist|pupil|child|worker|voter"
)
_ID = re.compile(r"(?:^|[_\W])(?:id|ids|uuid|guid)$")
_OWNERS = re.compile(rf"{_PERSONS}|session|device|machine|sensor|vehicle|account|site|hospital|school|group")


def duplicate_rows(columns: Sequence[ColumnFacts], target: ColumnFacts | None) -> tuple[str, np.ndarray | None]:
    """A remark on rows that repeat an earlier one in all ``columns`` and in the target, and a number per row that equal
    rows share; "" and None if there are none.

    Where every column has few values, and combinations of them are not many times as many as rows, rows repeat anyway;
    and people who share common attributes are no copies (:func:`repeats_beyond_chance`). Rows that repeat but have
    other targets are no copies; they are only mentioned beside some that are.
    """
    if (
        not columns
        or not columns[0].n_rows
        or few_combinations([_size(column) for column in columns], columns[0].n_rows)
    ):
        return "", None
    keys = _row_keys(columns)
    different = len(np.unique(keys))
    whole = keys if target is None else _row_keys([*columns, target])
    copies = len(keys) - (different if target is None else len(np.unique(whole)))
    if not copies:
        return "", None
    repeat = "repeats" if copies == 1 else "repeat"
    if repeats_beyond_chance([column.codes for column in columns], whole) < COPIES_AMONG_REPEATS * copies:
        common = (
            f"{copies:,} of {len(keys):,} rows {repeat} an earlier one, all with common values: rows that are alike"
        )
        return f"{common}, not copies.", None
    remark = f"{copies:,} of {len(keys):,} rows {repeat} an earlier one: copies among test rows make scores too good"
    others = len(keys) - different - copies
    if not others:
        return remark + ".", whole
    return remark + f"; {others:,} more {'does' if others == 1 else 'do'}, but with another target.", whole


def repeats_beyond_chance(columns: Sequence[np.ndarray], keys: np.ndarray) -> float:
    """About how many rows that repeat an earlier one are copies, which chance would not have produced.

    Rows that are alike by chance have common values; copies were made of any row. So of the different rows in order of
    how common their values are, copies lie in every part alike, and chance repeats not in the rarest fifth: five times
    those in it are copies. So is a row with a value that no other one has. ``columns`` are codes of values, ``keys``
    the numbers that equal rows share.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.integers(0, 1000, size=(2, 200))
    >>> twice = np.concatenate([rows, rows[:, :40]], axis=1)
    >>> round(repeats_beyond_chance(list(twice), twice[0] * 1000 + twice[1]), -1)
    40.0
    """
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    common, rarest = np.zeros(len(first)), np.full(len(first), np.inf)
    for codes in columns:
        own = codes[first] + 1
        shared = np.bincount(own)[own]  # how many different rows have the value
        common += np.log(shared)
        rarest = np.minimum(rarest, shared)
    end = np.quantile(common, RAREST, method="lower")
    below, at = common < end - 1e-9, np.abs(common - end) <= 1e-9
    weight = below + at * max(RAREST - below.mean(), 0.0) / at.mean()
    repeats = counts - 1
    return float(max(repeats[rarest <= 1].sum(), (weight * repeats).sum() / RAREST))


def _size(column: ColumnFacts) -> int:
    return column.n_distinct + bool(column.absent.any())


def few_combinations(sizes: Sequence[int], n_rows: int) -> bool:
    """Whether columns of so many different values are bound to repeat whole rows."""
    return max(sizes) <= FEW and math.prod(sizes) < COMBINATIONS_PER_ROW * n_rows


def _row_keys(columns: Sequence[ColumnFacts]) -> np.ndarray:
    """One 64-bit number per row: rows with equal values have equal numbers, others different ones (almost surely)."""
    keys = np.zeros(columns[0].n_rows, dtype=np.uint64)
    for column in columns:
        keys = mix(keys, (column.codes + 1).astype(np.uint64))
    return keys


def mix(keys: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Two 64-bit numbers per row as one: the multiplier of a linear congruential generator mixes, and the shift brings
    high bits back down."""
    keys = (keys ^ more) * np.uint64(6364136223846793005)
    return keys ^ (keys >> np.uint64(29))


def names_groups(facts: ColumnFacts) -> bool:
    """Whether a column is called like the owner of several rows (``patient_id``) and its values repeat as owners do.

    >>> codes = np.repeat(np.arange(10), 3)
    >>> names_groups(ColumnFacts("patient_id", "number", codes * 1.0, codes, np.arange(10.0)))
    True
    """
    name = facts.name.strip().lower()
    called = re.fullmatch(_PERSONS, name) or (has_identifier_name(facts.name) and _OWNERS.search(name))
    if called:
        return _can_group(facts)
    is_id = _ID.search(name) is not None or re.search(r"[a-z]I[dD]$", facts.name.strip()) is not None
    return is_id and facts.kind == "number" and _can_group(facts) and facts.counts.max() <= MOST_ROWS_PER_GROUP


def _can_group(facts: ColumnFacts) -> bool:
    if facts.kind in ("date", "flag") or (facts.kind == "number" and not facts.is_integer):
        return False
    return facts.n_distinct >= FEWEST_GROUPS and facts.n_present >= ROWS_PER_GROUP * facts.n_distinct


def group_column(columns: Mapping[str, ColumnFacts]) -> tuple[str | None, str]:
    """The column whose values seem to own several rows each, and a remark.

    By its name; otherwise because other columns that vary as much are constant within each of its values, as the birth
    date of a patient is.
    """
    named = [facts for facts in columns.values() if names_groups(facts)]
    if named:
        column = max(named, key=lambda facts: facts.n_distinct)
        each = column.n_present / column.n_distinct
        return column.name, (
            f"{column.name!r} ties rows together ({column.n_distinct:,} values, each in about {each:.0f} rows):"
            " folds should keep its groups whole."
        )
    for facts in sorted(columns.values(), key=lambda facts: -facts.n_distinct):
        if facts.kind == "number" and not has_identifier_name(facts.name):
            continue
        if not _can_group(facts) or facts.n_distinct < 2 * FEWEST_GROUPS:
            continue
        owned = [other.name for other in columns.values() if other is not facts and _is_owned(other, facts)]
        if owned:
            listed = ", ".join(map(repr, owned[:3]))
            return facts.name, (
                f"{listed} {'is' if len(owned) == 1 else 'are'} constant within each value of {facts.name!r}: rows may"
                " come in groups, and then folds should keep them whole."
            )
    return None, ""


def _is_owned(other: ColumnFacts, owner: ColumnFacts) -> bool:
    """Whether a measurement or date varies about as much as ``owner`` and is constant within each of its values."""
    if other.kind not in ("number", "date") or not 0.5 * owner.n_distinct <= other.n_distinct <= owner.n_distinct:
        return False
    remembered = np.full(owner.n_distinct, -1)
    rows = ~owner.absent
    remembered[owner.codes[rows]] = other.codes[rows]
    return bool(np.array_equal(remembered[owner.codes[rows]], other.codes[rows]))


def time_column(columns: Mapping[str, ColumnFacts]) -> tuple[str | None, str]:
    """The column that seems to order rows in time, and a remark: dates first, then numbers called like a time."""
    dates = [facts for facts in columns.values() if facts.kind == "date" and facts.n_distinct >= 10]
    numbers = [
        facts
        for facts in columns.values()
        if facts.kind == "number" and facts.n_distinct >= 10 and has_time_name(facts.name) and _ascends(facts)
    ]
    if not dates and not numbers:
        return None, ""
    ordered = [facts for facts in dates if _ascends(facts)]
    column = max(ordered or dates or numbers, key=lambda facts: (facts.n_distinct, -facts.missing))
    if _ascends(column):
        return column.name, (
            f"The rows are in order of {column.name!r}: to predict later rows from earlier ones, folds should follow"
            " time."
        )
    first, last = np.nanmin(column.values), np.nanmax(column.values)
    return column.name, (
        f"{column.name!r} runs from {write_value(first)} to {write_value(last)}: "
        "if later rows are to be predicted from earlier"
        " ones, folds should follow time."
    )


def _ascends(facts: ColumnFacts) -> bool:
    values = facts.values[~facts.absent].astype(np.float64)
    return len(values) >= 10 and bool(np.all(np.diff(values) >= 0) or np.all(np.diff(values) <= 0))


def order_of_rows(target: ColumnFacts, task: str) -> str:
    """A remark if neighboring rows have alike targets, or rows are sorted by it, or ""."""
    known = target.codes[~target.absent]
    if len(known) < FEWEST_ROWS or target.n_distinct < 2:
        return ""
    if task == "classification":
        changes = int(np.count_nonzero(np.diff(known)))
        if changes == target.n_distinct - 1:
            return f"The rows are sorted by {target.name!r}: they must be shuffled before they are split."
        frequencies = target.counts / len(known)
        ratio = changes / (len(known) - 1) / max(1 - float((frequencies**2).sum()), 1e-12)
    else:
        y = target.values[~target.absent].astype(np.float64)
        steps = np.diff(y)
        if np.all(steps >= 0) or np.all(steps <= 0):
            return f"The rows are sorted by {target.name!r}: they must be shuffled before they are split."
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = float(np.mean(steps**2) / (2 * np.var(y)))  # von Neumann's ratio: 1 for independent rows
    if not ratio < ALIKE:
        return ""
    return (
        f"Neighboring rows have alike values of {target.name!r} (they change {ratio:.0%} as much as in shuffled rows):"
        " rows may be in order of time or in groups, which plain folds would not notice."
    )


def target_remarks(target: ColumnFacts, task: str) -> list[str]:
    """What to beware of in the target: rows without it, rare classes, imbalance."""
    remarks = []
    if target.absent.any():
        remarks.append(
            f"{int(target.absent.sum()):,} rows have no value of {target.name!r}: they cannot be learned from."
        )
    if task != "classification":
        return remarks
    counts = np.sort(target.counts)
    if target.n_distinct == 1:
        remarks.append(
            f"All rows have the same class, {write_value(target.distinct[0])!r}: there is nothing to tell apart."
        )
    single = [write_value(label) for label, count in zip(target.distinct, target.counts) if count == 1]
    if single and target.n_distinct > 1:
        listed = ", ".join(map(repr, single[:3])) + (f" and {len(single) - 3} more" if len(single) > 3 else "")
        remarks.append(
            f"{listed} {'occurs' if len(single) == 1 else 'occur'} in one row only: no fold can test what it learned."
        )
    if _is_imbalanced(target):
        judged = np.where(target.counts > 1, target.counts, len(target.codes))
        rare, n_rare = write_value(target.distinct[np.argmin(judged)]), judged.min()
        remarks.append(
            f"The classes are out of balance: {rare!r} is {n_rare / counts.sum():.1%} of the rows, and predicting"
            f" the commonest class everywhere is already {counts[-1] / counts.sum():.1%} accurate."
        )
    return remarks


def _is_imbalanced(target: ColumnFacts) -> bool:
    """Whether one class is many times as common as another; a class of a single row judges nothing."""
    counts = target.counts[target.counts > 1]
    return len(counts) > 1 and bool(counts.max() >= IMBALANCE * counts.min())


def suggest_metric(target: ColumnFacts, task: str) -> str | None:
    """The metric that suits the target: one that sees rare classes where they are rare.

    Two classes out of balance are judged by how they are ranked; more classes by their mean recall.
    """
    if task == "regression":
        return "rmse"
    if task != "classification":
        return None
    if not _is_imbalanced(target):
        return "accuracy"
    return "roc_auc" if np.count_nonzero(target.counts > 1) == 2 else "balanced_accuracy"
