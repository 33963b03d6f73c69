"""The table itself: its size, the target, every column with what was judged of it, and all remarks."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.interpretation import TableColumns
from margin.report.layout import numbers_table, paragraph
from margin.report.markup import Markup, element, join
from margin.report.numbers import count, number, percent
from margin.report.scales import AxisScale

__all__ = ["data_content", "image_shape_of"]

PLOT_WIDTH, PLOT_HEIGHT, BINS = 96, 22, 16
#: TableColumns listed before the rest is folded away.
MOST_COLUMNS, MOST_FOLDED = 30, 300


def data_content(comparison: Any) -> Markup:
    """Everything a reader should know of the data before believing a score."""
    n, p = np.shape(comparison.X)
    shape = image_shape_of(comparison)
    size = f"{count(p)} columns to learn from" if shape is None else f"pictures of {' × '.join(map(str, shape))}"
    about = f"{count(n)} rows, {size}, target "
    intro = paragraph(about, element("b", comparison.target or "y"), f" ({comparison.task}).")
    columns = _columns_tables(comparison) if shape is None else None
    return join([intro, _remarks(comparison.remarks), _target(comparison), columns])


def image_shape_of(comparison: Any) -> tuple[int, ...] | None:
    """The shape of the pictures whose pixels are the columns, or None for a table."""
    return getattr(getattr(comparison, "source", None), "image_shape", None)


def _columns_tables(comparison: Any) -> Markup:
    columns = _column_rows(comparison)
    head = ["column", "kind", "missing", "different", "values", "remark"]
    if not any(row[-1] for row in columns):
        head, columns = head[:-1], [row[:-1] for row in columns]
    shown, rest = columns[:MOST_COLUMNS], columns[MOST_COLUMNS:MOST_FOLDED]
    parts = [element("h3", "Columns"), numbers_table(head, shown, numeric=(2, 3), class_="numbers columns")]
    if rest:
        table = numbers_table(head, rest, numeric=(2, 3), class_="numbers columns")
        parts.append(element("details", element("summary", f"{count(len(rest))} more columns"), table))
    if len(columns) > MOST_FOLDED:
        parts.append(paragraph(f"{count(len(columns) - MOST_FOLDED)} further columns are not listed."))
    return join(parts)


def _remarks(remarks: Any) -> Markup | None:
    if not remarks:
        return None
    return element("ul", *(element("li", remark) for remark in remarks), class_="remarks")


def _target(comparison: Any) -> Markup:
    """The classes with their sizes, or the distribution of the numbers."""
    if comparison.task != "classification":
        y = np.asarray(comparison.y, dtype=float)
        low, middle, high = np.quantile(y, [0.05, 0.5, 0.95])
        summary = f" Median {number(middle)}; nine of ten rows lie from {number(low)} to {number(high)}."
        return paragraph(_histogram(y), summary)
    labels, sizes = np.unique(np.asarray(comparison.y).astype(str), return_counts=True)
    order = np.argsort(-sizes, kind="stable")[:12]
    bars = [
        element(
            "div",
            element("span", labels[k], class_="name"),
            element("span", class_="bar", style=f"--part:{100 * sizes[k] / sizes.max():.1f}%"),
            element("span", f"{count(int(sizes[k]))} · {percent(sizes[k] / sizes.sum())}", class_="n"),
            role="listitem",
        )
        for k in order
    ]
    more = element("p", f"and {len(labels) - 12} more classes") if len(labels) > 12 else None
    return join([element("div", *bars, class_="classes", role="list", aria_label="Sizes of the classes"), more])


def _column_rows(comparison: Any) -> list[list[Any]]:
    """One row per column; those left out come last with their reason."""
    columns = TableColumns(comparison.X)
    names = list(comparison.features) if len(comparison.features) == len(columns) else columns.names
    judged = {column.name: column for column in getattr(comparison.profile, "columns", ())}
    rows = []
    for j, name in enumerate(names):
        known = judged.get(name)
        usual = "number" if columns.is_number(j) else "date" if columns.is_date(j) else "category"
        kind = known.kind if known else usual
        gone = _missing(columns[j])
        values = _values(columns, j)
        remark = known.remark if known else ""
        different = count(len(columns.values_of(j)))
        rows.append([name, kind, percent(gone, 1) if gone else "–", different, values, remark])
    for column in judged.values():
        if column.name not in names and column.name != comparison.target:
            absent = percent(column.missing, 1) if column.missing else "–"
            examples = element("span", ", ".join(column.examples[:3]), class_="labels")
            rows.append(
                [element("s", column.name), column.kind, absent, count(column.distinct), examples, column.remark]
            )
    return rows


def _missing(values: Any) -> float:
    import pandas as pd

    return float(np.mean(pd.isna(values)))


def _values(columns: TableColumns, j: int) -> Markup:
    """A histogram of numbers, the range of dates, the commonest labels."""
    if columns.is_number(j):
        return _histogram(columns[j])
    if columns.is_date(j) and len(columns.values_of(j)):
        known = np.asarray(columns.values_of(j), dtype="datetime64[D]")
        return element("span", f"{known.min()} to {known.max()}", class_="labels")
    return _commonest(columns, j)


def _commonest(columns: TableColumns, j: int) -> Markup:
    return element("span", ", ".join(str(v)[:16] for v in columns.values_of(j)[:3]), class_="labels")


def _histogram(values: Any) -> Markup:
    """A small histogram with its least and greatest value beside it."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return element("span", "–")
    heights, _ = np.histogram(known, bins=BINS)
    scale = AxisScale(0, float(heights.max()), 0, PLOT_HEIGHT)
    width = PLOT_WIDTH / BINS
    bars = [
        element("rect", x=round(i * width, 1), y=PLOT_HEIGHT - scale(h), width=round(width - 1, 1), height=scale(h))
        for i, h in enumerate(heights.tolist())
        if h
    ]
    drawing = element(
        "svg", *bars, viewBox=f"0 0 {PLOT_WIDTH} {PLOT_HEIGHT}", class_="histogram", role="img", aria_label="histogram"
    )
    low, high = (element("small", number(float(end))) for end in (known.min(), known.max()))
    return element("span", low, drawing, high, class_="spread")
