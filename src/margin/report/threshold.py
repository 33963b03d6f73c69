"""The threshold of a classifier, chosen by what its two kinds of mistakes cost."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np

from margin import metrics
from margin.report.chart import Chart
from margin.report.classification import Judged
from margin.report.layout import Figure, figure
from margin.report.markup import Markup, element
from margin.report.numbers import count, number, percent

__all__ = ["Thresholds", "threshold_figure", "thresholds_of"]

#: Thresholds that the slider offers: steps of half a percent of the rows.
MOST_THRESHOLDS = 201


@dataclass(frozen=True)
class Thresholds:
    """Thresholds that rise, and how many positives and negatives lie at or above each."""

    threshold: np.ndarray
    true_positive: np.ndarray
    false_positive: np.ndarray
    n_positive: int
    n_negative: int

    def cost(self, false_positive: float = 1.0, false_negative: float = 1.0) -> np.ndarray:
        """Mean cost per row at each threshold."""
        missed = self.n_positive - self.true_positive
        total = self.n_positive + self.n_negative
        return (false_positive * self.false_positive + false_negative * missed) / total

    def cheapest(self, false_positive: float = 1.0, false_negative: float = 1.0) -> int:
        """The position of the threshold with the least cost."""
        return int(np.argmin(self.cost(false_positive, false_negative)))


def thresholds_of(judged: Judged) -> Thresholds:
    """The counts at every distinct score, or at evenly many of them where there are too many for a slider.

    A threshold lies halfway between two scores, so that rounding a score changes nothing.
    """
    counts = metrics.threshold_counts(judged.y == judged.positive, judged.score_of(1))
    scores, tp, fp = (counts[key][::-1] for key in ("threshold", "true_positive", "false_positive"))
    n_positive, n_negative = int(tp[0]), int(fp[0])
    known = scores[:-1]  # the last one is infinity: nothing is called positive
    between = np.append(known[0], (known[1:] + known[:-1]) / 2)
    beyond = known[-1] + max((known[-1] - known[0]) * 0.01, 1e-6)
    cuts = np.append(between, 1.0 if judged.kind == "probabilities" and known[-1] < 1 else beyond)
    at = np.arange(len(cuts))
    if len(cuts) > MOST_THRESHOLDS:
        best = int(np.argmin(fp + n_positive - tp))
        at = np.unique(np.append(np.linspace(0, len(cuts) - 1, MOST_THRESHOLDS - 1).astype(int), best))
    return Thresholds(cuts[at], tp[at], fp[at], n_positive, n_negative)


def threshold_figure(judged: Judged) -> Figure:
    """A slider over thresholds with the confusion, precision, recall and cost of each; it opens at the cheapest."""
    table = thresholds_of(judged)
    start = table.cheapest()
    chart = _chart(table, start)
    drawing = element(
        "div",
        chart.render("wide"),
        _controls(table, start, chart),
        _readout(table, start, judged),
        class_="threshold",
    )
    name = "probability" if judged.kind == "probabilities" else "decision value"
    caption = (
        f"A row is called “{judged.positive}” when its {name} is at least the threshold. Set what the two kinds of "
        "mistakes cost; the cheapest threshold on these rows is found again, and the slider shows any other."
    )
    return figure("Threshold by cost", drawing, caption, term_id="decision-threshold")


def _chart(table: Thresholds, start: int) -> Chart:
    cost = table.cost()
    top = _round_up(float(cost.max()))
    chart = Chart(
        "Mean cost per row by threshold",
        "threshold",
        "mean cost per row",
        (float(table.threshold[0]), float(table.threshold[-1])),
        (0.0, top),
        size=(440, 200),
        y_ticks=[0.0, top / 2, top],
    )
    return chart.line(table.threshold, cost, "s1 cost").rule(
        x=float(table.threshold[start]), class_="at", id_="threshold-at"
    )


def _round_up(x: float) -> float:
    """The next number that is easily halved: the page's script does the same when costs change.

    >>> _round_up(0.37), _round_up(1.3)
    (0.4, 2.0)
    """
    if x <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(x))
    return float(f"{next(s for s in (1, 2, 4, 6, 8, 10) if s * power >= x * 0.9999) * power:.6g}")


def _controls(table: Thresholds, start: int, chart: Chart) -> Markup:
    def price(id: str, text: str) -> Markup:
        box = element("input", type="number", id=id, min="0", step="any", value="1", inputmode="decimal")
        return element("label", element("span", text), box, for_=id)

    low, high = float(table.threshold[0]), float(table.threshold[-1])
    slider = element(
        "input",
        type="range",
        id="threshold",
        min=f"{low:.6g}",
        max=f"{high:.6g}",
        step=f"{(high - low) / 200:.4g}",
        value=f"{table.threshold[start]:.6g}",
    )
    return element(
        "form",
        element("label", element("span", "Threshold"), slider, for_="threshold", class_="slide"),
        price("cost-false-positive", "Cost of a false positive"),
        price("cost-false-negative", "Cost of a false negative"),
        element("button", "Cheapest", type="button", id="cheapest"),
        class_="controls",
        data_box=json.dumps([chart.x.start, chart.x.end, chart.y.end, chart.y.start]),
        data_thresholds=_as_json(table),
        onsubmit="return false",
    )


def _readout(table: Thresholds, at: int, judged: Judged) -> Markup:
    tp, fp = int(table.true_positive[at]), int(table.false_positive[at])
    called, cost = tp + fp, float(table.cost()[at])
    cells = {
        "threshold": number(float(table.threshold[at])),
        "cost": number(cost),
        "found": f"{count(tp)} of {count(table.n_positive)}",
        "alarms": f"{count(fp)} of {count(table.n_negative)}",
        "precision": percent(tp / called, 1) if called else "–",
        "recall": percent(tp / table.n_positive, 1),
    }
    names = {
        "threshold": "threshold",
        "cost": "mean cost per row",
        "found": f"“{judged.positive}” found",
        "alarms": "false alarms",
        "precision": "precision",
        "recall": "recall",
    }
    pairs = [element("div", element("dt", names[k]), element("dd", v, id=f"at-{k}")) for k, v in cells.items()]
    return element("dl", *pairs, class_="readout", aria_live="polite")


def _as_json(table: Thresholds) -> str:
    facts = {
        "threshold": [float(f"{t:.6g}") for t in table.threshold],
        "tp": table.true_positive.tolist(),
        "fp": table.false_positive.tolist(),
        "positive": table.n_positive,
        "negative": table.n_negative,
    }
    return json.dumps(facts, separators=(",", ":"))
