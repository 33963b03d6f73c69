"""Curves of the studies of scale: memory by the number of rows, processor time by the number of workers."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["growth_charts"]

WIDTH, HEIGHT, LEFT, TOP, GAP = 200, 120, 40, 20, 28  # of a panel in pixels, and the space around it
PANELS_PER_ROW = 3
STYLES = {"in memory": "stroke-dasharray:5 3", "on a stream": "", "others": "stroke-dasharray:1 3"}
WAYS = {"memory": "in memory", "stream": "on a stream", "others": "others"}

Points = Mapping[str, Sequence[tuple[float, float]]]


def growth_charts(full_scale: Path) -> str:
    """The curves as raw HTML of the page; empty where nothing was measured."""
    text = _raw("Most megabytes by millions of rows", _memory(_rows(full_scale / "scale.json")))
    text += _raw(
        "Processor seconds of the busiest worker by workers", _workers(_rows(full_scale / "scale-workers.json"))
    )
    return text


def _rows(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["raw"]) if path.exists() else []


def _memory(rows: Sequence[Mapping[str, Any]]) -> dict[str, Points]:
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        if row["columns"] == 20:
            curves = panels.setdefault(row["task"], {})
            curves.setdefault(WAYS[row["way"]], []).append((row["millions"], row["megabytes"]))
    return {task: curves for task, curves in panels.items() if any(len(points) > 1 for points in curves.values())}


def _workers(rows: Sequence[Mapping[str, Any]]) -> dict[str, Points]:
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        if row["way"] == "ours":
            panels.setdefault(row["task"], {}).setdefault("on a stream", []).append((row["workers"], row["busiest"]))
    return {task: curves for task, curves in panels.items() if any(len(points) > 1 for points in curves.values())}


def _raw(title: str, panels: Mapping[str, Points]) -> str:
    if not panels:
        return ""
    columns = PANELS_PER_ROW  # a panel has one size, however many there are
    lines = -(-len(panels) // columns)
    across, down = WIDTH + LEFT + GAP, HEIGHT + TOP + GAP
    drawn = ""
    for i, (task, curves) in enumerate(panels.items()):
        place = f"{LEFT + i % columns * across},{TOP + i // columns * down}"
        drawn += f'<g transform="translate({place})">{_panel(task, curves)}</g>'
    picture = (
        f'<svg class="growth" viewBox="0 0 {columns * across} {lines * down + 8}" role="img" '
        f'aria-label="{html.escape(title)}" font-size="9" fill="currentColor">{drawn}</svg>'
    )
    return f"{title}; both axes are logarithmic.\n\n.. raw:: html\n\n   {picture}\n\n"


def _panel(task: str, curves: Points) -> str:
    points = [point for some in curves.values() for point in some]
    xs, ys = ([point[k] for point in points] for k in range(2))
    across = _scale(min(xs), max(xs), 6, WIDTH - 6)
    down = _scale(min(ys) / 1.3, max(ys) * 1.3, HEIGHT, 0)
    text = f'<text x="0" y="-7" font-weight="bold">{html.escape(task)}</text>'
    text += f'<path d="M0 0V{HEIGHT}H{WIDTH}" fill="none" stroke="currentColor" stroke-width=".7"/>'
    for x in sorted(set(xs)):
        text += f'<text x="{across(x):.1f}" y="{HEIGHT + 11}" text-anchor="middle">{x:g}</text>'
    for y in sorted({min(ys), max(ys)}):
        text += f'<text x="-3" y="{down(y) + 3:.1f}" text-anchor="end">{_number(y)}</text>'
    for name, some in curves.items():
        line = sorted(some)
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in line)
        style = f"fill:none;stroke:currentColor;stroke-width:1.5;{STYLES[name]}"
        text += f'<polyline points="{path}" style="{style}"/>'
        text += "".join(f'<circle cx="{across(a):.1f}" cy="{down(b):.1f}" r="1.8"/>' for a, b in line)
        if len(curves) > 1:
            x, y = across(line[-1][0]), down(line[-1][1])
            place = (
                f'x="{x + 6:.1f}" y="{y + 3:.1f}"'
                if x < WIDTH / 2
                else f'x="{x:.1f}" y="{y - 5:.1f}" text-anchor="end"'
            )
            text += f"<text {place}>{name}</text>"
    return text


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _scale(low: float, high: float, start: float, end: float) -> Any:
    span = math.log(high / low) or 1.0
    return lambda value: start + (end - start) * math.log(value / low) / span
