"""Columns that give the target away: copies of it, and columns that alone determine it (almost).

Each test is one pass over one column. For classes, a column of labels determines the target if no label occurs with two
classes; a number does if, in its order, the classes come in a few blocks, or ranks them almost perfectly (area under
the ROC curve). For a quantity it is the squared rank correlation or, for labels, the fraction of variance between them.
Being missing may tell the target as well: a date of death is there for the dead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from margin.data.facts import ColumnFacts

__all__ = ["Leak", "average_ranks", "find_leak"]

#: From so many rows on a perfect relation is no accident.
FEWEST_ROWS = 20
#: Alone, no honest column ranks the classes or explains a quantity better than this.
TOO_GOOD = 0.995
#: Labels must occur so often on average before they can be said to determine anything.
ROWS_PER_LABEL = 5
#: So many rows, evenly spread, are ranked.
ENOUGH_ROWS = 10_000


@dataclass(frozen=True)
class Leak:
    """``copy``: the column is the target under another name and is left out; otherwise it is only reported."""

    copy: bool
    remark: str


def find_leak(column: ColumnFacts, target: ColumnFacts, task: str) -> Leak | None:
    """How ``column`` gives ``target`` away, or None. Rows without a target do not count."""
    known = ~target.absent
    if known.sum() < FEWEST_ROWS or column.n_distinct < 1 or target.n_distinct < 2:
        return None
    if _is_copy(column, target, known, task):
        return Leak(True, "it copies the target")
    if task == "classification":
        return _absence(column, target, known) or _classes(column, target, known)
    return _quantity(column, target, known)


def _determines(codes: np.ndarray, classes: np.ndarray) -> bool:
    """Whether no code occurs with two classes: each code remembers one, and all rows must agree with it."""
    remembered = np.full(codes.max(initial=-1) + 1, -1)
    remembered[codes] = classes
    return bool(np.array_equal(remembered[codes], classes))


def _is_copy(column: ColumnFacts, target: ColumnFacts, known: np.ndarray, task: str) -> bool:
    """The same values, or for classes the same under other names: a one-to-one relation without a gap."""
    codes, classes = column.codes[known], target.codes[known]
    if np.any(codes < 0):
        return False
    if task == "regression":
        return column.kind == "number" and bool(np.array_equal(column.values[known], target.values[known]))
    return _determines(codes, classes) and _determines(classes, codes)


def _absence(column: ColumnFacts, target: ColumnFacts, known: np.ndarray) -> Leak | None:
    absent, classes = column.absent[known], target.codes[known]
    if absent.sum() < 5 or (~absent).sum() < 5 or not _determines(classes, absent.astype(np.int64)):
        return None
    return Leak(False, "whether it has a value determines the target")


def _classes(column: ColumnFacts, target: ColumnFacts, known: np.ndarray) -> Leak | None:
    rows = np.flatnonzero(known & ~column.absent)
    codes, classes = column.codes[rows], target.codes[rows]
    n_classes = np.count_nonzero(np.bincount(classes))
    if len(rows) < FEWEST_ROWS or n_classes < 2:
        return None
    if column.kind in ("number", "date"):
        some = _some(rows)
        values, labels = column.values[some].astype(np.float64), target.codes[some]
        order = np.lexsort((labels, values))
        if _blocks(values[order], labels[order]) and _blocks(*_sort(column.values[rows].astype(np.float64), classes)):
            return Leak(False, "a few thresholds on it alone separate the classes completely")
        area = _least_area(values, labels)
        if area >= TOO_GOOD:
            return Leak(False, f"alone it ranks the classes almost perfectly (area under the ROC curve {area:.3f})")
    n_labels = np.count_nonzero(np.bincount(codes))
    if n_labels * ROWS_PER_LABEL <= len(rows) and _determines(codes, classes):
        return Leak(False, "each of its values occurs with one class only: it determines the target")
    return None


def _some(rows: np.ndarray) -> np.ndarray:
    """At most ``ENOUGH_ROWS`` of the rows, evenly spread: enough to see a relation that is almost perfect."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), ENOUGH_ROWS)).astype(np.intp)]


def _sort(values: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort((classes, values))
    return values[order], classes[order]


def _blocks(values: np.ndarray, classes: np.ndarray) -> bool:
    """Whether, along ascending values, classes change at most twice per class, and never within equal values."""
    changes = np.flatnonzero(np.diff(classes))
    few = len(changes) <= 2 * (np.count_nonzero(np.bincount(classes)) - 1)
    return bool(few and np.all(values[changes] != values[changes + 1]))


def average_ranks(values: np.ndarray) -> np.ndarray:
    """The place of each value in ascending order, from 1; equal values share the mean of their places.

    scipy.stats has it too, but importing that takes as long as judging some thousand columns.

    >>> average_ranks(np.array([30.0, 10.0, 30.0, 20.0]))
    array([3.5, 1. , 3.5, 2. ])
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    ends = np.append(starts[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((starts + ends + 1) / 2, ends - starts)
    return ranks


def _least_area(values: np.ndarray, classes: np.ndarray) -> float:
    """Of two classes the area under the ROC curve; of more, the least over the classes against the rest."""
    ranks, areas = average_ranks(values), []
    labels = np.flatnonzero(np.bincount(classes))
    for label in labels[:1] if len(labels) == 2 else labels:
        inside = classes == label
        n, m = int(inside.sum()), int((~inside).sum())
        area = (ranks[inside].sum() - n * (n + 1) / 2) / (n * m)
        areas.append(max(area, 1 - area))
    return float(min(areas)) if len(labels) > 1 else 0.0


def _quantity(column: ColumnFacts, target: ColumnFacts, known: np.ndarray) -> Leak | None:
    rows = _some(np.flatnonzero(known & ~column.absent))
    y = target.values[rows].astype(np.float64)
    if len(y) < FEWEST_ROWS or not np.all(np.isfinite(y)) or np.ptp(y) == 0:
        return None
    if column.kind in ("number", "date"):
        x = column.values[rows].astype(np.float64)
        if not np.all(np.isfinite(x)) or np.ptp(x) == 0:
            return None
        squared_correlation = float(np.corrcoef(average_ranks(x), average_ranks(y))[0, 1] ** 2)
        if squared_correlation < TOO_GOOD:
            return None
        return Leak(
            False, f"it orders the rows almost as the target does (squared rank correlation {squared_correlation:.3f})"
        )
    codes = column.codes[rows]
    counts = np.bincount(codes)
    if np.count_nonzero(counts) * ROWS_PER_LABEL > len(y):
        return None
    means = np.bincount(codes, y - y.mean()) / np.maximum(counts, 1)
    explained = float((counts * means**2).sum() / ((y - y.mean()) ** 2).sum())
    if explained < TOO_GOOD:
        return None
    return Leak(False, f"its labels explain {explained:.1%} of the target's variance")
