"""What a classifier does on rows it has not seen: confusion matrix, ROC, precision and recall, calibration, gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin import metrics
from margin.report.chart import Chart
from margin.report.layout import Figure, figure, legend, numbers_table
from margin.report.markup import Markup, element
from margin.report.numbers import count, number, percent, value
from margin.report.terms import term

__all__ = ["Judged", "calibration_figure", "confusion_figure", "gains_figure", "precision_recall_figure", "roc_figure"]

#: With more classes than this a matrix is no longer looked at as a whole; the commonest mistakes are listed instead.
MOST_CLASSES = 12
#: One curve per class up to here; beyond that, the classes whose curves are worst.
MOST_CURVES = 5
#: Points of a curve that are drawn: more than a screen can show would only make the file large.
MOST_POINTS = 400


@dataclass(frozen=True)
class Judged:
    """True labels, predicted labels and scores of rows the model has not seen.

    ``scores`` are probabilities (n, K), or decision values (n,) or (n, K), or None; ``kind`` says which.
    """

    y: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray | None
    kind: str
    classes: tuple[Any, ...]

    @property
    def is_binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def positive(self) -> Any:
        """The class that a threshold is about: the second of two."""
        return self.classes[1]

    def score_of(self, k: int) -> np.ndarray:
        """The score of class ``k``, one number per row."""
        assert self.scores is not None
        if self.scores.ndim == 1:
            return self.scores if k == 1 else -self.scores
        return self.scores[:, k]

    def curves(self) -> list[int]:
        """Classes to draw a curve for: the positive of two; of more, those that occur and are told apart worst."""
        if self.is_binary:
            return [1]
        both = [k for k, label in enumerate(self.classes) if 0 < np.sum(self.y == label) < len(self.y)]
        areas = {k: metrics.roc_auc(self.y == self.classes[k], self.score_of(k)) for k in both}
        return sorted(sorted(both, key=areas.__getitem__)[:MOST_CURVES])


def confusion_figure(judged: Judged) -> Figure:
    """How often each class is taken for each other; many classes: the commonest mistakes."""
    matrix = metrics.confusion_matrix(judged.y, judged.predicted, labels=list(judged.classes))
    caption = f"{count(int(np.trace(matrix)))} of {count(int(matrix.sum()))} rows are right."
    if len(judged.classes) > MOST_CLASSES:
        return figure("Commonest mistakes", _mistakes(matrix, judged.classes), caption, term_id="confusion-matrix")
    totals = np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    head = element(
        "thead",
        element("tr", element("td"), element("th", "predicted", colspan=len(matrix), scope="colgroup")),
        element("tr", element("th", "true", scope="col"), *(element("th", c, scope="col") for c in judged.classes)),
    )
    body = []
    for i, row in enumerate(matrix):
        cells = [_cell(n, n / totals[i, 0], i == j) for j, n in enumerate(row)]
        body.append(element("tr", element("th", judged.classes[i], scope="row"), *cells))
    table = element("table", head, element("tbody", *body), class_="confusion")
    return figure("Confusion matrix", element("div", table, class_="scroll"), caption, term_id="confusion-matrix")


def _cell(n: int, part: float, right: bool) -> Markup:
    tone = f"--tone:{100 * part:.0f}%"
    return element(
        "td",
        element("b", count(int(n))),
        element("small", percent(part)),
        class_="right" if right else "wrong",
        style=tone,
    )


def _mistakes(matrix: np.ndarray, classes: tuple[Any, ...]) -> Markup:
    wrong = matrix.copy()
    np.fill_diagonal(wrong, 0)
    pairs = [np.unravel_index(at, wrong.shape) for at in np.argsort(-wrong, axis=None, kind="stable")[:12]]
    rows = [[classes[i], classes[j], count(int(wrong[i, j]))] for i, j in pairs if wrong[i, j]]
    return numbers_table(["true", "predicted", "rows"], rows, numeric=(2,))


def roc_figure(judged: Judged) -> Figure:
    """True against false positive rate over all thresholds."""
    chart = Chart("ROC curve", "false positive rate", "true positive rate", (0, 1), (0, 1))
    chart.line([0, 1], [0, 1], "reference")
    names = {}
    for line, k in enumerate(judged.curves(), 1):
        is_k = judged.y == judged.classes[k]
        fpr, tpr, _ = metrics.roc_curve(is_k, judged.score_of(k))
        area = metrics.roc_auc(is_k, judged.score_of(k))
        chart.line(*_thin(fpr, tpr), f"s{line}")
        names[f"s{line}"] = f"{judged.classes[k]} {value(area, 3)}"
    caption = element("span", term("auc", "Area under the curve"), ": ", legend(names))
    return figure("ROC curve", chart.render("square"), caption, term_id="roc-curve")


def precision_recall_figure(judged: Judged) -> Figure:
    """Precision against recall over all thresholds; the dashed line is what calling every row positive gives."""
    chart = Chart("Precision and recall", "recall", "precision", (0, 1), (0, 1))
    names = {}
    for line, k in enumerate(judged.curves(), 1):
        is_k = judged.y == judged.classes[k]
        precision, recall, _ = metrics.precision_recall_curve(is_k, judged.score_of(k))
        if judged.is_binary:
            chart.rule(y=float(is_k.mean()), class_="reference")
        chart.line(*_thin(recall, precision), f"s{line}")
        mean = metrics.average_precision(is_k, judged.score_of(k))
        names[f"s{line}"] = f"{judged.classes[k]} {value(mean, 3)}"
    caption = element("span", "Average precision: ", legend(names))
    return figure("Precision and recall", chart.render("square"), caption, term_id="precision")


def calibration_figure(judged: Judged) -> Figure | None:
    """Whether events predicted with probability p happen in a fraction p of the cases."""
    if judged.kind != "probabilities" or judged.scores is None:
        return None
    arguments = (judged.y, judged.scores)
    bins = metrics.calibration_bins(*arguments, n_bins=10, labels=list(judged.classes))
    error = metrics.expected_calibration_error(*arguments, n_bins=10, labels=list(judged.classes))
    about = f"probability of {judged.positive}" if judged.is_binary else "probability of the likeliest class"
    chart = Chart("Calibration", f"predicted {about}", "how often it is so", (0, 1), (0, 1))
    chart.line([0, 1], [0, 1], "reference")
    # Two standard errors of a frequency: with few rows in a bin a wide gap means little.
    spread = 2 * np.sqrt(np.maximum(bins.frequency * (1 - bins.frequency), 0.0) / bins.weight)
    for x, y, s in zip(bins.confidence, bins.frequency, spread, strict=True):
        chart.line([x, x], [max(y - s, 0), min(y + s, 1)], "whisker s1")
    hints = [f"{count(int(n))} rows" for n in bins.weight]
    chart.line(bins.confidence, bins.frequency, "s1").dots(bins.confidence, bins.frequency, "s1", 3.5, hints)
    caption = f"Mean gap {value(error, 3)} in probability; bars are two standard errors."
    rows = [[value(c, 3), value(f, 3), count(int(n))] for c, f, n in zip(bins.confidence, bins.frequency, bins.weight)]
    table = numbers_table(["predicted", "observed", "rows"], rows, numeric=(0, 1, 2))
    return figure("Calibration", chart.render("square"), caption, numbers=table)


def gains_figure(judged: Judged) -> Figure:
    """How many of the positives are among the rows with the highest scores."""
    chart = Chart("Cumulative gains", "fraction of rows, highest scores first", "fraction found", (0, 1), (0, 1))
    chart.line([0, 1], [0, 1], "reference")
    is_positive = judged.y == judged.positive
    rows, gains = metrics.cumulative_gains(is_positive, judged.score_of(1))
    chart.line([0, float(is_positive.mean()), 1], [0, 1, 1], "reference").line(*_thin(rows, gains), "s1")
    at_fifth = float(np.interp(0.2, rows, gains))
    caption = f"The top 20\u202f% of rows hold {percent(at_fifth)} of all “{judged.positive}”."
    return figure("Cumulative gains", chart.render("square"), caption + f" Lift {number(at_fifth / 0.2, 2)}.")


def _thin(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(x) <= MOST_POINTS:
        return x, y
    at = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).astype(int))
    return x[at], y[at]
