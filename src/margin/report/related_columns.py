"""Columns that say nearly the same: an importance is shared among them, and one of them may be enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.data.leakage import average_ranks
from margin.foundations.information.divergence import mutual_information
from margin.foundations.information.entropy import entropy
from margin.interpretation import TableColumns
from margin.report.layout import paragraph
from margin.report.markup import Markup, element

__all__ = ["related_content", "related_pairs"]

#: A rank correlation, or mutual information in parts of the smaller entropy, from which on two columns are related.
CLOSE = 0.9
#: Columns and rows that are looked at, distinct values of one that counts as labels, pairs that are named.
MOST_COLUMNS, MOST_ROWS, MOST_LABELS, MOST_NAMED = 150, 2_000, 32, 8


def related_pairs(X: Any, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Pairs of columns that say nearly the same and how, the closest first."""
    n = np.shape(X)[0]
    rows = np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp)
    columns = TableColumns(X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows])
    p = min(len(columns), MOST_COLUMNS)
    ranks = {j: average_ranks(_fill(columns[j])) for j in range(p) if columns.is_number(j)}
    ranks = {j: r for j, r in ranks.items() if np.ptp(r) > 0}
    codes = {j: c for j in range(p) if (c := _codes(columns, j)) is not None}
    found = []
    for i in range(p):
        for j in range(i + 1, p):
            closeness, how = 0.0, ""
            if i in ranks and j in ranks:
                r = float(np.corrcoef(ranks[i], ranks[j])[0, 1])
                closeness, how = abs(r), f"rank correlation {r:.2f}"
            if i in codes and j in codes and closeness < CLOSE:
                closeness = _shared_information(codes[i], codes[j])
                how = "each value of one goes with one of the other" if closeness > 0.999 else f"{closeness:.0%} shared"
            if closeness >= CLOSE:
                found.append((closeness, names[i], names[j], how))
    found.sort(key=lambda pair: -pair[0])
    return [(one, other, how) for _, one, other, how in found]


def related_content(X: Any, names: Sequence[str]) -> Markup | None:
    """The pairs as a list, or None if there are none."""
    pairs = related_pairs(X, names)
    if not pairs:
        return None
    items = [
        element("li", element("b", one), " and ", element("b", other), f": {how}")
        for one, other, how in pairs[:MOST_NAMED]
    ]
    more = f" {len(pairs) - MOST_NAMED} more pairs are as close." if len(pairs) > MOST_NAMED else ""
    intro = "These columns say nearly the same, so what they matter is shared among them, and each alone looks less"
    return element("div", paragraph(f"{intro} important than it is.{more}"), element("ul", *items, class_="plain"))


def _fill(values: Any) -> np.ndarray:
    numbers = np.asarray(values, dtype=float)
    known = numbers[np.isfinite(numbers)]
    return np.where(np.isfinite(numbers), numbers, np.median(known) if len(known) else 0.0)


def _codes(columns: TableColumns, j: int) -> np.ndarray | None:
    """Codes of labels, or of a number that takes few values; None for others."""
    import pandas as pd

    codes, distinct = pd.factorize(np.asarray(columns[j], dtype=object), use_na_sentinel=False)
    return codes if 2 <= len(distinct) <= MOST_LABELS else None


def _shared_information(one: np.ndarray, other: np.ndarray) -> float:
    """Mutual information of two lists of codes as a part of the larger entropy: 1 where they are one to one."""
    joint = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(joint, (one, other), 1.0)
    joint /= len(one)
    entropies = [float(entropy(joint.sum(axis=axis))) for axis in (0, 1)]
    return float(mutual_information(joint)) / max(entropies) if max(entropies) > 0 else 0.0
