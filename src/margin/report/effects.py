"""What a fitted model has learned about the columns, in numbers: importance, Shapley values, partial dependence."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.interpretation import TableColumns, grid_of, permutation_importance, shapley_values

__all__ = ["Curve", "Effects", "asking_seconds", "effects_of", "explained_output"]

#: Rows that each part looks at, and columns whose curves are drawn.
IMPORTANCE_ROWS, SHAPLEY_ROWS, BACKGROUND_ROWS, CURVE_ROWS = 1000, 120, 40, 150
CURVES, GRID_POINTS, DATE_POINTS, MOST_LABELS = 6, 24, 8, 12
#: Labels are too many for a curve where more than this fraction of the rows has one of its own.
MOST_DISTINCT = 0.5
#: Orders of the columns for Shapley values: each pair starts from another background row.
ORDERS = 2 * BACKGROUND_ROWS
REPEATS = 5
#: Rows that a part may have predicted, and the seconds that may take, before it looks at fewer rows.
MOST_PREDICTIONS, MOST_SECONDS = 400_000, 20.0
#: Rows with which the time of a prediction is measured.
PROBE_ROWS = 2000
#: What importance, Shapley values and curves take together, by what importance takes.
OTHER_PARTS = 1.4
#: Fewer rows than this say nothing.
LEAST_ROWS = 10

Explained = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class Curve:
    """Partial dependence on one column: grid values (or labels) and the mean (points, outputs), some single rows."""

    name: str
    grid: np.ndarray
    is_number: bool
    mean: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Effects:
    """``drops`` (columns, repeats): what the metric loses; ``shapley`` (rows, columns): parts of the predictions.

    ``position`` (rows, columns) says how large a row's value is among all values of the column, from 0 to 1, NaN for
    labels and missing values. ``outputs`` names what the curves predict.
    """

    names: list[str]
    drops: np.ndarray
    shapley: np.ndarray
    position: np.ndarray
    curves: list[Curve]
    outputs: list[str]
    n_rows: tuple[int, int, int]


def effects_of(
    model: Any,
    X: Any,
    y: np.ndarray,
    score: Callable[[Any, Any, Any], float],
    *,
    task: str,
    classes: tuple[Any, ...] = (),
    names: Sequence[str] = (),
    seconds_per_row: float | None = None,
    seed: int = 0,
) -> Effects:
    """Effects of the columns on the predictions for the rows ``X``, or for fewer rows if the model is slow.

    ``names`` are those of the columns of an array. The time of a prediction is measured unless it is given.
    """
    rng = np.random.default_rng(seed)
    p = X.shape[1]
    if seconds_per_row is None:
        seconds_per_row = _seconds_per_row(model, X)
    affordable = int(min(MOST_PREDICTIONS, MOST_SECONDS / max(seconds_per_row, 1e-9)))
    rows = _some_rows(rng, len(X), min(IMPORTANCE_ROWS, affordable // (REPEATS * p + 1)))
    drops = permutation_importance(model, _take(X, rows), y[rows], n_repeats=REPEATS, scoring=score, random_state=seed)
    explained, chosen = explained_output(model, task, classes)
    explained_rows = _some_rows(rng, len(X), min(SHAPLEY_ROWS, affordable // (ORDERS * (p + 1))))
    background = _some_rows(rng, len(X), BACKGROUND_ROWS)
    attributions = shapley_values(
        explained, _take(X, explained_rows), _take(X, background), n_samples=ORDERS, random_state=seed
    )
    picked = chosen(_take(X, explained_rows))
    shapley = np.take_along_axis(attributions.values, picked[:, None, None], axis=2)[:, :, 0]
    order = np.argsort(-drops.mean(axis=1), kind="stable")
    seen = _some_rows(rng, len(X), min(CURVE_ROWS, affordable // (CURVES * GRID_POINTS)))
    columns = TableColumns(X)
    columns.names = [str(name) for name in names] or columns.names
    drawn = [int(column) for column in order if _repeats(columns, int(column), len(X))][:CURVES]
    curves = [_curve(explained, _take(X, seen), columns, column) for column in drawn]
    return Effects(
        columns.names,
        drops,
        shapley,
        _positions(columns, explained_rows),
        curves,
        _output_names(task, classes),
        (len(rows), len(explained_rows), len(seen)),
    )


def explained_output(model: Any, task: str, classes: tuple[Any, ...]) -> tuple[Explained, Explained]:
    """What is explained, as a function of rows: the prediction, the probability of the positive class, or those of all
    classes; and which of its columns speaks for a row (the class that the model chose)."""
    if task != "classification":
        return lambda rows: np.asarray(model.predict(rows), dtype=np.float64), _first
    if hasattr(model, "predict_proba"):
        scores = model.predict_proba
    elif hasattr(model, "decision_function"):
        scores = model.decision_function
    else:
        labels = np.asarray(classes)
        scores = lambda rows: (np.asarray(model.predict(rows))[:, None] == labels).astype(np.float64)  # noqa: E731
    if len(classes) == 2:
        return lambda rows: _positive_column(np.asarray(scores(rows))), _first
    return lambda rows: np.asarray(scores(rows), dtype=np.float64), lambda rows: np.argmax(scores(rows), axis=1)


def _positive_column(scores: np.ndarray) -> np.ndarray:
    return scores[:, 1] if scores.ndim == 2 else scores


def _first(rows: Any) -> np.ndarray:
    return np.zeros(len(rows), dtype=np.intp)


def _output_names(task: str, classes: tuple[Any, ...]) -> list[str]:
    if task != "classification":
        return ["prediction"]
    return [str(classes[1])] if len(classes) == 2 else [str(label) for label in classes]


def _repeats(columns: TableColumns, column: int, n_rows: int) -> bool:
    """Whether a column has values at which others can be asked for: numbers, dates, or labels that occur again.

    Of texts and names, a few of which say nothing of the rest, there is no curve.
    """
    if columns.is_number(column) or columns.is_date(column):
        return True
    return len(columns.values_of(column)) <= MOST_DISTINCT * n_rows


def _curve(explained: Explained, rows: Any, columns: TableColumns, column: int) -> Curve:
    is_number = columns.is_number(column)
    grid = columns.values_of(column)[:MOST_LABELS]
    ordered = columns.ordered_values(column)
    if columns.is_date(column) and ordered is not None and len(grid):
        grid = grid_of(ordered, DATE_POINTS).astype(np.int64).astype("datetime64[us]")
    if is_number and len(grid):
        grid = grid_of(np.asarray(columns[column], dtype=np.float64), GRID_POINTS)
    predictions = np.asarray(explained(TableColumns(rows).over_values(column, grid)))
    by_row = predictions.reshape(len(grid), len(rows), -1)  # (points, rows, outputs)
    return Curve(columns.names[column], grid, is_number, by_row.mean(axis=1), by_row[:, :, 0].T)


def asking_seconds(model: Any, X: Any) -> float:
    """About how long :func:`effects_of` takes: mostly one call per column and repetition of the importance."""
    rows = _take(X, np.arange(IMPORTANCE_ROWS) % len(X))
    started = time.perf_counter()
    model.predict(rows)
    return OTHER_PARTS * REPEATS * int(X.shape[1]) * (time.perf_counter() - started)


def _seconds_per_row(model: Any, X: Any) -> float:
    """From as many rows as one call usually gets, since every call of a pipeline costs something, too."""
    rows = _take(X, np.arange(PROBE_ROWS) % len(X))
    started = time.perf_counter()
    model.predict(rows)
    return (time.perf_counter() - started) / PROBE_ROWS


def _positions(columns: TableColumns, rows: np.ndarray) -> np.ndarray:
    """Where the values of the rows stand among all of their column, from 0 (least) to 1 (greatest)."""
    position = np.full((len(rows), len(columns)), np.nan)
    for j in range(len(columns)):
        values = columns.ordered_values(j)
        if values is not None:
            known = np.sort(values[~np.isnan(values)])
            if len(known) > 1:
                middle = (
                    np.searchsorted(known, values[rows], "left") + np.searchsorted(known, values[rows], "right") - 1
                )
                position[:, j] = np.where(np.isnan(values[rows]), np.nan, middle / 2 / (len(known) - 1))
    return position


def _some_rows(rng: np.random.Generator, n: int, count: int) -> np.ndarray:
    return np.sort(rng.permutation(n)[: max(count, LEAST_ROWS)])


def _take(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
