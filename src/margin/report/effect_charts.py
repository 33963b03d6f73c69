"""Importance, Shapley values and partial dependence as drawings."""

from __future__ import annotations

import math

import numpy as np

from margin.report.chart import Chart
from margin.report.effects import Curve, Effects
from margin.report.layout import Figure, figure, grid, legend, numbers_table
from margin.report.markup import Markup, element, join
from margin.report.numbers import number
from margin.report.scales import AxisScale

__all__ = ["curve_figures", "importance_figure", "shapley_figure"]

#: TableColumns in one drawing; the numbers of all are below it.
MOST_COLUMNS = 15
ROW, WIDTH, NAMES = 24, 440, 128
#: Lines of single rows behind the mean, and of classes, in one drawing.
SINGLE_ROWS, MOST_LINES = 25, 5


def importance_figure(effects: Effects, metric: str) -> Figure:
    """What the metric loses when a column is shuffled, with the range over the repeats."""
    mean = effects.drops.mean(axis=1)
    order = np.argsort(-mean, kind="stable")
    shown = order[:MOST_COLUMNS]
    low, high = effects.drops[shown].min(), effects.drops[shown].max()
    scale = AxisScale(min(low, 0.0), max(high, 1e-12), NAMES, WIDTH - 64)
    height = ROW * len(shown) + 30
    parts = [_vertical(scale, tick, height) for tick in scale.ticks(5)]
    for i, column in enumerate(shown):
        y, drops = 12 + ROW * i, effects.drops[column]
        left, right = sorted((scale(0.0), scale(float(mean[column]))))
        ends = scale(float(drops.min())), scale(float(drops.max()))
        middle = y + ROW / 2
        parts += [
            _name(effects.names[column], middle),
            element("rect", x=left, y=y + 5, width=round(max(right - left, 1), 1), height=ROW - 10, class_="bar s1"),
            element("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="whisker"),
            element("text", number(float(mean[column])), x=max(*ends, right) + 6, y=middle + 4, class_="tick"),
        ]
    drawing = _svg("Permutation importance of the columns", height, parts)
    caption = (
        f"How much worse {metric} gets on unseen rows when a column is shuffled; lines span {effects.drops.shape[1]}"
    )
    rows = [[effects.names[j], number(float(mean[j])), number(float(effects.drops[j].std(ddof=1)))] for j in order]
    table = numbers_table(["column", f"loss of {metric}", "deviation"], rows, numeric=(1, 2))
    return figure("Permutation importance", drawing, f"{caption} repeats.", numbers=table)


def shapley_figure(effects: Effects, unit: str) -> Figure:
    """One dot per row and column: how far the column's value moved that row's prediction."""
    strength = np.abs(effects.shapley).mean(axis=0)
    order = np.argsort(-strength, kind="stable")
    shown = order[:MOST_COLUMNS]
    scale = AxisScale.over(np.append(effects.shapley[:, shown].ravel(), 0.0), NAMES, WIDTH - 12)
    height = ROW * len(shown) + 30
    parts = [_vertical(scale, tick, height) for tick in scale.ticks(5)]
    for i, column in enumerate(shown):
        middle = 12 + ROW * (i + 0.5)
        parts.append(_name(effects.names[column], middle))
        parts += _swarm(scale, effects.shapley[:, column], effects.position[:, column], middle)
    drawing = _svg("Shapley values of the columns", height, parts)
    scale_words = element(
        "span",
        "low",
        element("i", class_="ramp", aria_hidden="true"),
        "high",
        class_="legend",
        title="value of the column",
    )
    caption = join([f"Each dot is a row: how far the column moved its {unit} from the mean. Value: ", scale_words])
    rows = [[effects.names[j], number(float(strength[j]))] for j in order]
    table = numbers_table(["column", "mean size"], rows, numeric=(1,))
    return figure("Shapley values", drawing, element("span", caption), numbers=table)


def _swarm(scale: AxisScale, values: np.ndarray, position: np.ndarray, middle: float) -> list[Markup]:
    """Dots beside each other where they would overlap, as far as the row is high."""
    taken: dict[int, int] = {}
    parts = []
    for k in np.argsort(values, kind="stable"):
        x = scale(float(values[k]))
        slot = round(x / 3)
        level = taken.get(slot, 0)
        taken[slot] = level + 1
        offset = (1 if level % 2 else -1) * min(-(-level // 2), 4) * 2.2
        tone = "none" if math.isnan(position[k]) else f"{100 * position[k]:.0f}%"
        style = None if tone == "none" else f"--at:{tone}"
        parts.append(element("circle", cx=x, cy=round(middle + offset, 1), r=2.2, class_="dot swarm", style=style))
    return parts


def curve_figures(effects: Effects, unit: str) -> Markup:
    """Partial dependence, one small drawing per column, all with one vertical scale; nothing where there is none."""
    if not effects.curves:
        return join([])
    lines = list(range(len(effects.outputs)))
    if len(lines) > MOST_LINES:  # the classes that the columns move most
        moved = [sum(float(np.ptp(curve.mean[:, k])) for curve in effects.curves) for k in lines]
        lines = sorted(np.argsort(-np.array(moved), kind="stable")[:MOST_LINES].tolist())
    heights = _heights(effects, lines, unit)
    drawings = [_curve(curve, lines, heights, unit) for curve in effects.curves]
    caption = "The mean prediction when one column is set to a value and the others stay as they are"
    if len(lines) > 1:
        key: Markup | str = join(
            [f"{caption}: ", legend({f"s{i}": effects.outputs[k] for i, k in enumerate(lines, 1)})]
        )
    else:
        key = f"{caption}; thin lines are single rows."
    return join([element("h3", "Partial dependence"), element("p", key), grid(*drawings, class_="small")])


def _heights(effects: Effects, lines: list[int], unit: str) -> tuple[float, float]:
    """One scale for all columns: of probabilities the whole, else all means and nine tenths of the single rows."""
    means = np.concatenate([curve.mean[:, lines].ravel() for curve in effects.curves])
    if unit == "probability" and means.min() >= 0 and means.max() <= 1:
        return 0.0, 1.0
    singles = np.concatenate([curve.rows.ravel() for curve in effects.curves]) if len(lines) == 1 else means
    scale = AxisScale.over([*means.tolist(), *np.quantile(singles, [0.05, 0.95]).tolist()], 0, 1)
    return scale.low, scale.high


def _curve(curve: Curve, lines: list[int], heights: tuple[float, float], unit: str) -> Figure:
    size = (300, 210)
    if curve.is_number and len(curve.grid) > 1:
        domain = (float(curve.grid[0]), float(curve.grid[-1]))
        chart = Chart(f"Partial dependence on {curve.name}", curve.name, unit, domain, heights, size=size)
        if len(lines) == 1:
            for row in curve.rows[:SINGLE_ROWS]:
                chart.line(curve.grid, np.clip(row, *heights), "single")
        for i, k in enumerate(lines, 1):
            chart.line(curve.grid, curve.mean[:, k], f"s{i}")
        return element("figure", chart.render())
    return element("figure", _labels_chart(curve, lines, heights, unit))


def _labels_chart(curve: Curve, lines: list[int], heights: tuple[float, float], unit: str) -> Markup:
    """Dots over labels, slanted where there are many; over dates, joined, of which the first and last are written."""
    n, dates = len(curve.grid), curve.grid.dtype.kind == "M"
    slanted = n > 4 and not dates
    chart = Chart(
        f"Partial dependence on {curve.name}",
        curve.name,
        unit,
        (-0.5, n - 0.5),
        heights,
        size=(300, 246 if slanted else 210),
        x_ticks=[],
        bottom=80 if slanted else 44,
    )
    for i, k in enumerate(lines, 1):
        hints = [f"{label}: {number(float(m))}" for label, m in zip(curve.grid, curve.mean[:, k], strict=True)]
        if dates:
            chart.line(range(n), curve.mean[:, k], f"s{i}")
        chart.dots(range(n), curve.mean[:, k], f"s{i}", 4, hints)
    for at in (0, n - 1) if dates else range(n):
        label = str(curve.grid[at])[:7] if dates else str(curve.grid[at])
        chart.below(at, _short(label, 9 if slanted else 14), slanted=slanted)
    return chart.render()


def _svg(title: str, height: int, parts: list[Markup]) -> Markup:
    return element(
        "svg", element("title", title), *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", class_="chart rows"
    )


def _vertical(scale: AxisScale, tick: float, height: int) -> Markup:
    at = scale(tick)
    line = element("line", x1=at, x2=at, y1=6, y2=height - 20, class_="grid zero" if tick == 0 else "grid")
    return join([line, element("text", number(tick), x=at, y=height - 6, text_anchor="middle", class_="tick")])


def _name(name: str, middle: float) -> Markup:
    return element("text", element("title", name), _short(name, 16), x=NAMES - 10, y=middle + 4, text_anchor="end")


def _short(name: str, most: int) -> str:
    """A name that fits, its beginning and its end kept, since columns often differ there.

    >>> _short("median_income_of_the_district", 12)
    'median…trict'
    """
    if len(name) <= most:
        return name
    head = (most - 1 + 1) // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"
