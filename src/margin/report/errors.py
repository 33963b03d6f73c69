"""Where the winner errs: the rows it is farthest from, and parts of the table in which it is worse than elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from margin.interpretation import TableColumns
from margin.report.layout import figure, grid, numbers_table, paragraph
from margin.report.markup import Markup, element, join
from margin.report.numbers import count, number, percent

__all__ = ["Segment", "errors_content", "row_errors", "segments_of"]

WORST_ROWS, SHOWN_COLUMNS, SHOWN_SEGMENTS, SHOWN_CHARACTERS = 10, 5, 8, 24
#: A part of the table has at least so many rows and so large a part of them, and its error is so many times the mean.
LEAST_ROWS, LEAST_PART, WORSE = 15, 0.02, 1.2
#: Its excess must be more than so many standard errors: the worst of dozens of parts are so by chance below that.
STANDARD_ERRORS = 3.0
#: Parts of a number, unless it has few values, labels of a column that are looked at, and columns.
QUANTILES, FEW_VALUES, MOST_LABELS, MOST_COLUMNS = 4, 8, 20, 300


@dataclass(frozen=True)
class Segment:
    """A part of the unseen rows: the column and what its values are there, its rows and its mean error."""

    column: str
    values: str
    rows: int
    error: float


def errors_content(comparison: Any, unseen: Any, importances: list[str] | None = None) -> Markup | None:
    """The worst rows and the worst parts of the table, on rows that the model has not seen; None for pictures."""
    if getattr(getattr(comparison, "source", None), "image_shape", None) is not None:
        return None
    errors, name = row_errors(comparison, unseen)
    X = comparison.X.iloc[unseen.rows] if hasattr(comparison.X, "iloc") else np.asarray(comparison.X)[unseen.rows]
    columns = TableColumns(X)
    names = list(comparison.features) if len(comparison.features) == len(columns) else columns.names
    worst = _worst_rows(comparison, unseen, errors, columns, names, importances)
    segments = segments_of(errors, columns, names)
    return join([element("h3", "Where it errs"), grid(worst, _segments_figure(segments, errors, name), class_="wide")])


def row_errors(comparison: Any, unseen: Any) -> tuple[np.ndarray, str]:
    """The error of every unseen row and what it is: an absolute error, or what the truth lacks in probability."""
    output, truth = unseen.output, np.asarray(unseen.y)
    if comparison.task != "classification":
        return np.abs(np.asarray(output.predicted, dtype=float) - truth.astype(float)), "absolute error"
    if output.scores is not None and output.kind == "probabilities":
        position = {label: j for j, label in enumerate(comparison.classes)}
        column = np.array([position[label] for label in truth.tolist()])
        return 1.0 - np.asarray(output.scores)[np.arange(len(truth)), column], "1 − probability of the truth"
    return (np.asarray(output.predicted) != truth).astype(float), "error rate"


def segments_of(errors: np.ndarray, columns: TableColumns, names: list[str]) -> list[Segment]:
    """Parts of the rows with one label, or a quarter of the values, in which errors are larger than chance allows."""
    mean, deviation = float(errors.mean()), float(errors.std())
    if not mean > 0 or len(errors) < 2 * LEAST_ROWS:
        return []
    found = []
    for j in range(min(len(columns), MOST_COLUMNS)):
        for values, rows in _parts(columns, j):
            n = int(rows.sum())
            if n < max(LEAST_ROWS, LEAST_PART * len(errors)) or n > 0.8 * len(errors):
                continue
            own = float(errors[rows].mean())
            if own >= WORSE * mean and own - mean > STANDARD_ERRORS * deviation / np.sqrt(n):
                found.append(Segment(names[j], values, n, own))
    found.sort(key=lambda s: -(s.error - mean) * np.sqrt(s.rows))
    return found[:SHOWN_SEGMENTS]


def _parts(columns: TableColumns, j: int) -> list[tuple[str, np.ndarray]]:
    """What the values are, and in which rows: labels, missing ones, quarters of a number."""
    import pandas as pd

    values = columns[j]
    absent = np.asarray(pd.isna(values))
    parts = [("missing", absent)]
    if columns.is_number(j):
        numbers = np.asarray(values, dtype=float)
        known = numbers[np.isfinite(numbers)]
        if not len(known):
            return parts
        few = np.unique(known)
        if len(few) <= FEW_VALUES:
            return parts + [(number(float(v)), numbers == v) for v in few]
        edges = np.unique(np.quantile(known, np.linspace(0, 1, QUANTILES + 1)))
        for k, (low, high) in enumerate(pairwise(edges.tolist())):
            last = k == len(edges) - 2
            inside = (numbers >= low) & ((numbers <= high) if last else (numbers < high))
            parts.append((f"{number(float(low))} to {number(float(high))}", inside))
        return parts
    if columns.is_date(j):
        return parts
    labels = np.asarray(values, dtype=object)
    return parts + [(str(v)[:SHOWN_CHARACTERS], labels == v) for v in columns.values_of(j)[:MOST_LABELS]]


def _worst_rows(
    comparison: Any,
    unseen: Any,
    errors: np.ndarray,
    columns: TableColumns,
    names: list[str],
    importances: list[str] | None,
) -> Markup:
    order = np.argsort(-errors, kind="stable")[: min(WORST_ROWS, len(errors))]
    shown = [names.index(name) for name in (importances or names)[:SHOWN_COLUMNS] if name in names]
    head = ["row", "true", "predicted", *(names[j] for j in shown)]
    rows = [
        [
            count(int(unseen.rows[i]) + 1),
            _cell(unseen.y[i]),
            _cell(unseen.output.predicted[i]),
            *(_cell(columns[j][i]) for j in shown),
        ]
        for i in order.tolist()
    ]
    numeric = (0, 1, 2) if comparison.task != "classification" else (0,)
    table = numbers_table(head, rows, numeric=numeric, class_="numbers worst")
    caption = "Rows are counted from 1 among those with a target. Errors of a kind here are where to look first."
    return figure("The worst rows", table, caption)


def _segments_figure(segments: list[Segment], errors: np.ndarray, name: str) -> Markup:
    mean = float(errors.mean())
    if not segments:
        return figure("By parts of the table", paragraph("No part of the table is much worse than the rest."))
    rows = [[s.column, s.values, count(s.rows), number(s.error), f"{s.error / mean:.1f} ×"] for s in segments]
    table = numbers_table(["column", "values", "rows", "mean error", "of all"], rows, numeric=(2, 3, 4))
    part = percent(max(s.rows for s in segments) / len(errors))
    caption = f"Mean {name}, {number(mean)} over all rows; a part has up to {part} of them. A row is in several."
    return figure("By parts of the table", table, caption)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, float | np.floating):
        return number(float(value))
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    return str(value).removesuffix(" 00:00:00")[:SHOWN_CHARACTERS]
