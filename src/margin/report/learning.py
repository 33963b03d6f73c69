"""How the winner learns: scores by number of training rows, and what that says in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.report.chart import Chart
from margin.report.layout import figure, legend, numbers_table, paragraph
from margin.report.markup import Markup, element, join
from margin.report.numbers import count, number
from margin.report.scales import AxisScale
from margin.report.terms import term

__all__ = ["learning_content"]

#: The words of a diagnosis that a row of the notes explains.
EXPLAINED = {"underfit": "underfitting", "overfit": "overfitting"}


def learning_content(comparison: Any) -> Markup:
    """The diagnosis and the learning curve, as far as there are any."""
    parts = [paragraph(_with_terms(comparison.diagnosis), class_="diagnosis")] if comparison.diagnosis else []
    if comparison.curve is not None:
        parts.append(_curve(comparison.curve))
    return join(parts)


def _with_terms(sentence: str) -> Markup:
    """The sentence, the first mention of each explained word linked to its row."""
    pieces: list[Any] = [sentence]
    for stem, id in EXPLAINED.items():
        at = next(
            (i for i, piece in enumerate(pieces) if not isinstance(piece, Markup) and stem in piece.lower()), None
        )
        if at is None:
            continue
        piece = pieces[at]
        start = piece.lower().index(stem)
        end = start + len(stem)
        while end < len(piece) and piece[end].isalpha():
            end += 1
        pieces[at : at + 1] = [piece[:start], term(id, piece[start:end]), piece[end:]]
    return join(pieces)


def _curve(curve: Any) -> Markup:
    sizes = np.asarray(curve.sizes, dtype=float)
    means = [np.asarray(part).mean(axis=1) for part in (curve.train, curve.validation)]
    errors = [
        np.asarray(part).std(axis=1, ddof=1) / np.sqrt(np.asarray(part).shape[1])
        for part in (curve.train, curve.validation)
    ]
    ends = np.concatenate([m + sign * 2 * e for m, e in zip(means, errors, strict=True) for sign in (-1, 1)])
    heights = AxisScale.over(ends, 0, 1, margin=0.08)
    log = bool(sizes[-1] / sizes[0] >= 4)
    domain = (float(sizes[0]), float(sizes[-1])) if len(sizes) > 1 else (0.0, float(sizes[0]))
    chart = Chart(
        "Learning curve",
        "training rows",
        curve.metric,
        domain,
        (heights.low, heights.high),
        size=(440, 250),
        log_x=log,
        x_ticks=sizes.tolist(),
    )
    for name, mean, error in zip(("s2", "s1"), means, errors, strict=True):
        chart.band(sizes, mean - 2 * error, mean + 2 * error, name).line(sizes, mean, name).dots(sizes, mean, name, 3)
    caption = element(
        "span", legend({"s1": "on rows held out", "s2": "on the rows learned from"}), " Bands are two standard errors."
    )
    rows = [
        [count(int(n)), number(float(a), 4), number(float(b), 4)]
        for n, a, b in zip(sizes, means[0], means[1], strict=True)
    ]
    table = numbers_table(["training rows", "learned from", "held out"], rows, numeric=(0, 1, 2))
    return figure("Learning curve", chart.render("wide"), caption, numbers=table)
