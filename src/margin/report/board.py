"""The board: every model with its score, interval, times, and whether it can be told from the best."""

from __future__ import annotations

import json
import math
from typing import Any

from margin.metrics import REGISTRY
from margin.report.layout import paragraph
from margin.report.markup import Markup, element, join
from margin.report.numbers import seconds, value
from margin.report.scales import AxisScale
from margin.report.terms import METRICS, term

__all__ = ["board_table", "decimals_for"]

PLOT_WIDTH, PLOT_HEIGHT = 150, 16
BASELINE = "baseline"


def decimals_for(standings: Any) -> int:
    """Decimals that show the differences: three or four below 10, none above 10,000."""
    sizes = [abs(s.mean) for s in standings if math.isfinite(s.mean)]
    largest = max(sizes, default=1.0)
    return 4 if largest < 1.5 else 3 if largest < 100 else 1 if largest < 10_000 else 0


def board_table(comparison: Any) -> Markup:
    """Models with a score, best first, and below them those without, each with the reason."""
    ranked = [s for s in comparison.standings if not _without_score(s)]
    others = [s for s in comparison.standings if _without_score(s)]
    metric, arrow = comparison.metric, "higher is better" if comparison.metric.greater_is_better else "lower is better"
    name = term(METRICS.get(metric.name, ""), metric.name)
    columns = [
        element("th", "", scope="col", class_="n rank"),
        element("th", "model", scope="col", data_sort="model"),
        element("th", element("span", name), element("small", arrow), scope="col", class_="n", data_sort="score"),
        element("th", "95\u202f% interval", scope="col", class_="n interval"),
        element("td", class_="plot"),
        element("th", "fit", scope="col", class_="n", data_sort="fit"),
        element("th", "predict", scope="col", class_="n", data_sort="predict"),
    ]
    scale = _scale(ranked)
    decimals = decimals_for(ranked)
    places = {s.model: i for i, s in enumerate((s for s in ranked if not _baseline(s)), 1)}
    rows = [_row(places.get(s.model), s, comparison, scale, decimals) for s in ranked]
    table = element(
        "table",
        element("caption", _caption(comparison)),
        element("thead", element("tr", *columns)),
        element("tbody", *rows),
        class_="board",
    )
    marks = paragraph(
        element("i", class_="tie", aria_hidden="true"), " not distinguishable from the best", class_="key"
    )
    tied = any(s.tied and s.model != comparison.winner for s in ranked)
    switch = _metric_switch(comparison, ranked)
    return join([switch, element("div", table, class_="scroll"), marks if tied else None, _reasons(others)])


def _metric_switch(comparison: Any, ranked: Any) -> Markup | None:
    """A list of the metrics that every model was measured by; the script shows it and reorders the rows."""
    decides = comparison.metric
    measured = [set(getattr(s, "others", {})) for s in ranked]
    names = sorted(set.intersection(*measured)) if measured else []
    directions = {name: REGISTRY[name].greater_is_better for name in names if name in REGISTRY}
    if not directions:
        return None
    options = [element("option", decides.name, value="", data_greater=_flag(decides.greater_is_better))]
    options += [
        element("option", name, value=name, data_greater=_flag(greater)) for name, greater in directions.items()
    ]
    label = element("label", "Order by ", element("select", *options, id="board-metric"))
    return element("p", label, element("small", " ", id="board-note"), class_="switch", hidden=True)


def _flag(yes: bool) -> str:
    return "1" if yes else "0"


def _caption(comparison: Any) -> Markup:
    folds = term("k-fold-cross-validation", "the folds")
    return join(["Scores are means over ", folds, ": ", comparison.plan.sentence.rstrip("."), "."])


def _without_score(standing: Any) -> bool:
    return standing.status in ("cut", "left out", "failed") or not math.isfinite(standing.mean)


def _scale(ranked: Any) -> AxisScale:
    """A common scale for all intervals; a hopeless model may fall off it, so that the others can be told apart."""
    best = [s for s in ranked if s.model != BASELINE][: max(3, math.ceil(0.7 * len(ranked)))] or ranked
    ends = [x for s in best for x in (s.low, s.high, s.mean)]
    return AxisScale.over(ends, 4, PLOT_WIDTH - 4)


def _row(place: int | None, standing: Any, comparison: Any, scale: AxisScale, decimals: int) -> Markup:
    best, tied = standing.model == comparison.winner, standing.tied
    class_ = " ".join(
        c for c, yes in (("best", best), ("tied", tied and not best), (BASELINE, _baseline(standing))) if yes
    )
    mark = element("i", class_="tie", title="not distinguishable from the best") if tied and not best else None
    note = " on part of the folds" if standing.status == "partial" else None
    spoken = element("span", " (not distinguishable from the best)", class_="aside") if mark else None
    known = math.isfinite(standing.low)
    interval = f"{value(standing.low, decimals)}–{value(standing.high, decimals)}" if known else "–"
    cells = [
        element("td", "" if place is None else place, class_="n rank"),
        element("th", standing.model, mark, spoken, note and element("small", note), scope="row"),
        element("td", value(standing.mean, decimals), class_="n score"),
        element("td", interval, class_="n interval"),
        element("td", _plot(standing, scale), class_="plot"),
        element("td", seconds(standing.fit_seconds), class_="n time"),
        element("td", seconds(standing.predict_seconds), class_="n time"),
    ]
    scores = {name: value for name, value in getattr(standing, "others", {}).items() if math.isfinite(value)}
    facts = {"": standing.mean, **scores}
    data = json.dumps({name: round(x, 6) if abs(x) < 1e4 else x for name, x in facts.items() if math.isfinite(x)})
    seconds_of = {"data_fit": f"{standing.fit_seconds:.6g}", "data_predict": f"{standing.predict_seconds:.6g}"}
    return element("tr", *cells, class_=class_ or None, data_scores=data, data_model=standing.model, **seconds_of)


def _baseline(standing: Any) -> bool:
    return standing.model == BASELINE


def _plot(standing: Any, scale: AxisScale) -> Markup:
    """Mean and interval on the common scale; an arrowhead where they lie beyond it."""
    middle = PLOT_HEIGHT / 2
    inside = scale.low <= standing.mean <= scale.high
    parts = []
    if math.isfinite(standing.low):
        ends = [scale(min(max(x, scale.low), scale.high)) for x in (standing.low, standing.high)]
        if ends[1] > ends[0]:
            parts.append(element("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="whisker"))
    if inside:
        parts.append(element("circle", cx=scale(standing.mean), cy=middle, r=3.5, class_="dot s1"))
    else:
        tip = 1 if standing.mean < scale.low else PLOT_WIDTH - 1
        base = tip + (6 if tip == 1 else -6)
        parts.append(element("polygon", points=f"{tip},{middle} {base},{middle - 4} {base},{middle + 4}", class_="off"))
    return element("svg", *parts, viewBox=f"0 0 {PLOT_WIDTH} {PLOT_HEIGHT}", aria_hidden="true", class_="interval-plot")


def _reasons(others: Any) -> Markup | None:
    if not others:
        return None
    items = [element("li", element("b", s.model), f" {_status(s)}: {s.error}" if s.error else "") for s in others]
    plural = "s" if len(items) > 1 else ""
    summary = element("summary", f"{len(items)} model{plural} without a score")
    return element("details", summary, element("ul", *items, class_="plain"))


def _status(standing: Any) -> str:
    return standing.status if standing.status in ("cut", "left out") else "failed"
