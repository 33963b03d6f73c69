r"""Whether new rows are like those a model was trained on, column by column.

Training rows are kept as a few numbers: deciles of a quantity, frequencies of labels, the fraction that is missing. New
rows are counted in the same bins, and the two lists of fractions compared by the population stability index

.. math:: \sum_b (q_b - p_b) \ln \frac{q_b}{p_b},

which is small for samples of one population (about the number of bins times 1/n + 1/m, for samples of n and m rows) and
above 0.25 beyond that where a column has moved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["column_summaries", "drift_remarks", "stability_index"]

#: From this index on a column has moved; fewer new rows than these scatter too much to tell.
MOVED, FEWEST_ROWS = 0.25, 50
#: Bins of a quantity, labels that are counted, and columns that are looked at and named.
BINS, MOST_LABELS, MOST_COLUMNS, MOST_NAMED = 10, 50, 500, 5
#: A part of the rows outside what training saw that is worth a word.
OUTSIDE = 0.05


def column_summaries(X: Any, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What is kept of each column of the training rows, as plain values."""
    return {name: _summary(values) for name, values in _columns(X, names)}


def drift_remarks(summaries: Mapping[str, Mapping[str, Any]], X: Any, names: Sequence[str]) -> list[str]:
    """A sentence on the columns in which the rows ``X`` differ from those that were summarized; none where they do not.

    >>> rng = np.random.default_rng(0)
    >>> seen = column_summaries(rng.normal(size=(500, 1)), ["age"])
    >>> drift_remarks(seen, rng.normal(size=(200, 1)), ["age"])
    []
    >>> drift_remarks(seen, rng.normal(size=(200, 1)) + 2, ["age"])[0][:54]
    "These rows are unlike the training rows: 'age' (median"
    """
    found = []
    for name, values in _columns(X, names):
        seen = summaries.get(name)
        said = _difference(seen, values) if seen else None
        if said is not None:
            found.append((said[0], f"{name!r} ({said[1]})"))
    if not found:
        return []
    found.sort(key=lambda pair: -pair[0])
    listed = "; ".join(text for _, text in found[:MOST_NAMED])
    more = f"; and {len(found) - MOST_NAMED} more columns" if len(found) > MOST_NAMED else ""
    return [f"These rows are unlike the training rows: {listed}{more}. Predictions may be worse than the scores say."]


def stability_index(expected: np.ndarray, found: np.ndarray, n: int) -> float:
    """The population stability index of two lists of fractions; an empty bin counts as half a row of ``n``.

    >>> round(stability_index(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 100), 3)
    0.0
    """
    p, q = (np.maximum(fractions, 0.5 / n) for fractions in (expected, found))
    return float(((q - p) * np.log(q / p)).sum())


def _columns(X: Any, names: Sequence[str]) -> list[tuple[str, np.ndarray]]:
    if hasattr(X, "iloc"):
        return [(str(name), X[name].to_numpy()) for name in list(X.columns)[:MOST_COLUMNS]]
    # Texts, lists of words and pictures have no columns to compare.
    if not isinstance(X, np.ndarray) or X.ndim != 2 or len(names) != X.shape[1] or X.shape[1] > MOST_COLUMNS:
        return []
    return [(str(name), X[:, j]) for j, name in enumerate(names)]


def _summary(values: np.ndarray) -> dict[str, Any]:
    numbers = _numbers(values)
    if numbers is not None:
        known = numbers[np.isfinite(numbers)]
        missing = 1.0 - len(known) / max(len(numbers), 1)
        edges = np.quantile(known, np.linspace(0, 1, BINS + 1)).tolist() if len(known) else []
        return {"kind": "number", "rows": len(known), "edges": edges, "missing": missing}
    labels, counts = np.unique(_labels(values), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    fractions = {str(labels[i]): float(counts[i] / len(values)) for i in order}
    return {"kind": "label", "rows": len(values), "fractions": fractions, "complete": len(labels) <= MOST_LABELS}


def _difference(seen: Mapping[str, Any], values: np.ndarray) -> tuple[float, str] | None:
    """How far a column has moved, and how, or None."""
    if not len(values):
        return None
    return _of_numbers(seen, values) if seen["kind"] == "number" else _of_labels(seen, values)


def _of_numbers(seen: Mapping[str, Any], values: np.ndarray) -> tuple[float, str] | None:
    numbers, edges = _numbers(values), np.asarray(seen["edges"], dtype=np.float64)
    if numbers is None or not len(edges):
        return None
    known = numbers[np.isfinite(numbers)]
    missing = 1.0 - len(known) / len(numbers)
    if len(numbers) >= FEWEST_ROWS and missing - seen["missing"] > MOVED:
        return missing, f"{missing:.0%} missing, {seen['missing']:.0%} then"
    if not len(known):
        return None
    outside = float(np.mean((known < edges[0]) | (known > edges[-1])))
    if len(known) >= FEWEST_ROWS:
        inner = np.unique(edges[1:-1])  # equal deciles are one bin, whose part of the training rows is theirs together
        expected = np.diff([0.0, *(np.searchsorted(edges[1:-1], inner, side="right") / BINS), 1.0])
        counted = np.bincount(np.searchsorted(inner, known, side="left"), minlength=len(inner) + 1) / len(known)
        index = stability_index(expected, counted, len(known))
        middle, then = float(np.median(known)), float(edges[BINS // 2])
        if index > _threshold(len(expected), len(known), seen["rows"]) and not math.isclose(middle, then):
            return index, f"median {middle:.4g}, {then:.4g} then"
    if outside > OUTSIDE:
        return outside, f"{outside:.0%} of the rows beyond {edges[0]:.4g} to {edges[-1]:.4g}"
    return None


def _of_labels(seen: Mapping[str, Any], values: np.ndarray) -> tuple[float, str] | None:
    labels = _labels(values)
    fractions = dict(seen["fractions"])
    unknown = [label for label in np.unique(labels) if label not in fractions]
    new = float(np.isin(labels, unknown).mean())
    if seen["complete"] and new > OUTSIDE:
        return new, f"{new:.0%} of the rows have labels that training never saw, such as {unknown[0]!r}"
    if len(labels) < FEWEST_ROWS:
        return None
    expected = np.array([*fractions.values(), max(1.0 - sum(fractions.values()), 0.0)])
    counted = np.array([*(float(np.mean(labels == label)) for label in fractions), new])
    index = stability_index(expected, counted, len(labels))
    if index <= _threshold(len(expected), len(labels), seen["rows"]):
        return None
    most = int(np.argmax(np.abs(counted[:-1] - expected[:-1])))
    label = list(fractions)[most]
    return index, f"{counted[most]:.0%} {label!r}, {expected[most]:.0%} then"


def _threshold(bins: int, n: int, m: int) -> float:
    """What an index must exceed: ``MOVED``, and three deviations above what two samples of one population have."""
    degrees = max(bins - 1, 1)
    return MOVED + (1 / n + 1 / max(m, 1)) * (degrees + 3 * math.sqrt(2 * degrees))


def _numbers(values: np.ndarray) -> np.ndarray | None:
    """The values as numbers, dates as days; None for labels."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind == "M":
        days = values.astype("datetime64[s]").astype(np.float64) / 86_400.0
        return np.where(np.isnat(values), np.nan, days)
    return None


def _labels(values: np.ndarray) -> np.ndarray:
    from margin.core.missing import is_missing

    return np.array(["(missing)" if is_missing(value) else str(value) for value in values.tolist()], dtype=object)
