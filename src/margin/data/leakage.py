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

__all__ = ["Leak", "find_leak"]

#: From so many rows on a perfect relation is no accident.
FEWEST_ROWS = 20
#: Alone, no honest column ranks the classes or explains a quantity better than this.
TOO_GOOD = 0.995
#: Labels must occur so often on average before they can be said to determine anything.
ROWS_PER_LABEL = 5


@dataclass(frozen=True)
class Leak:
    """``copy``: the column is the target under another name and is left out; otherwise it is only told."""

    copy: bool
    remark: str


def find_leak(column: ColumnFacts, target: ColumnFacts, task: str) -> Leak | None:
    """How ``column`` gives ``target`` away, or None. Rows without a target do not count."""
    known = ~target.absent
    if known.sum() < FEWEST_ROWS or column.n_distinct < 1 or target.n_distinct < 2:
        return None
    codes, classes = column.codes[known], target.codes[known]
    if _is_copy(column, target, known, codes, classes, task):
        return Leak(True, "it copies the target")
    if task == "classification":
        return _absence(codes, classes) or _classes(column, codes, classes, known)
    return _quantity(column, target, codes, known)


def _is_copy(
    column: ColumnFacts, target: ColumnFacts, known: np.ndarray, codes: np.ndarray, classes: np.ndarray, task: str
) -> bool:
    """The same values, or for classes the same under other names: a one-to-one relation without a gap."""
    if np.any(codes < 0):
        return False
    if task == "regression":
        return column.kind == "number" and bool(np.array_equal(column.values[known], target.values[known]))
    pairs = len(np.unique(codes * np.int64(target.n_distinct) + classes))
    return pairs == len(np.unique(codes)) == len(np.unique(classes))


def _absence(codes: np.ndarray, classes: np.ndarray) -> Leak | None:
    absent = codes < 0
    there, gone = np.unique(classes[~absent]), np.unique(classes[absent])
    if not len(there) or not len(gone) or np.intersect1d(there, gone).size or absent.sum() < 5 or (~absent).sum() < 5:
        return None
    return Leak(False, "whether it has a value determines the target")


def _classes(column: ColumnFacts, codes: np.ndarray, classes: np.ndarray, known: np.ndarray) -> Leak | None:
    present = codes >= 0
    if present.sum() < FEWEST_ROWS or len(np.unique(classes[present])) < 2:
        return None
    if column.kind in ("number", "date"):
        values = column.values[known][present].astype(np.float64)
        if _blocks(values, classes[present]):
            return Leak(False, "a few thresholds on it alone separate the classes completely")
        area = _largest_area(values, classes[present])
        if area >= TOO_GOOD:
            return Leak(False, f"alone it ranks the classes almost perfectly (area under the ROC curve {area:.3f})")
        if column.n_distinct * ROWS_PER_LABEL > present.sum():
            return None
    n_labels = len(np.unique(codes[present]))
    pairs = len(np.unique(codes[present] * np.int64(classes.max() + 1) + classes[present]))
    if pairs == n_labels and n_labels * ROWS_PER_LABEL <= present.sum():
        return Leak(False, "each of its values occurs with one class only: it determines the target")
    return None


def _blocks(values: np.ndarray, classes: np.ndarray) -> bool:
    """Whether, in ascending order of values, classes change at most twice per class, and never within equal values."""
    order = np.lexsort((classes, values))
    changes = np.flatnonzero(np.diff(classes[order]))
    few = len(changes) <= 2 * (len(np.unique(classes)) - 1)
    return few and bool(np.all(values[order][changes] != values[order][changes + 1]))


def _largest_area(values: np.ndarray, classes: np.ndarray) -> float:
    """Of two classes the area under the ROC curve; of more, the least over the classes against the rest."""
    from scipy.stats import rankdata

    ranks, areas = rankdata(values), []
    labels = np.unique(classes)
    for label in labels[:1] if len(labels) == 2 else labels:
        inside = classes == label
        n, m = int(inside.sum()), int((~inside).sum())
        area = (ranks[inside].sum() - n * (n + 1) / 2) / (n * m)
        areas.append(max(area, 1 - area))
    return float(min(areas))


def _quantity(column: ColumnFacts, target: ColumnFacts, codes: np.ndarray, known: np.ndarray) -> Leak | None:
    from scipy.stats import rankdata

    present = codes >= 0
    y = target.values[known][present].astype(np.float64)
    if len(y) < FEWEST_ROWS or not np.all(np.isfinite(y)) or np.ptp(y) == 0:
        return None
    if column.kind in ("number", "date"):
        x = column.values[known][present].astype(np.float64)
        if not np.all(np.isfinite(x)) or np.ptp(x) == 0:
            return None
        found = float(np.corrcoef(rankdata(x), rankdata(y))[0, 1] ** 2)
        if found >= TOO_GOOD:
            return Leak(False, f"it orders the rows almost as the target does (squared rank correlation {found:.3f})")
        return None
    n_labels = len(np.unique(codes[present]))
    if n_labels * ROWS_PER_LABEL > len(y):
        return None
    counts = np.bincount(codes[present])
    means = np.bincount(codes[present], y - y.mean()) / np.maximum(counts, 1)
    explained = float((counts * means**2).sum() / ((y - y.mean()) ** 2).sum())
    if explained >= TOO_GOOD:
        return Leak(False, f"its labels explain {explained:.1%} of the target's variance")
    return None
