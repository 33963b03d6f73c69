"""A chart as inline SVG: axes, lines, bands, dots, bars. Colors and fonts come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.report.markup import Markup, element, join
from margin.report.numbers import number
from margin.report.scales import AxisScale

__all__ = ["Chart", "points"]

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 44


class Chart:
    """One drawing. What is added first lies below what is added later.

    ``title`` is read aloud in place of the drawing, so it says what is to be seen. ``x`` and ``y`` are labels of the
    axes; the domains are pairs of numbers.
    """

    def __init__(
        self,
        title: str,
        x: str,
        y: str,
        x_domain: tuple[float, float],
        y_domain: tuple[float, float],
        *,
        size: tuple[int, int] = (WIDTH, HEIGHT),
        log_x: bool = False,
        x_ticks: Sequence[float] | None = None,
        y_ticks: Sequence[float] | None = None,
        left: int = LEFT,
        bottom: int = BOTTOM,
    ):
        self.title, self._labels, self.size = title, (x, y), size
        self.x = AxisScale(*x_domain, left, size[0] - RIGHT, log=log_x)
        self.y = AxisScale(*y_domain, size[1] - bottom, TOP)
        self._x_ticks = list(x_ticks) if x_ticks is not None else self.x.ticks()
        self._y_ticks = list(y_ticks) if y_ticks is not None else self.y.ticks()
        self._parts: list[Markup] = []
        self._bottom = bottom

    def line(self, x: Any, y: Any, class_: str = "s1") -> Chart:
        """Points joined by a line."""
        return self._add(element("polyline", points=points(self.x, self.y, x, y), class_=f"line {class_}"))

    def band(self, x: Any, low: Any, high: Any, class_: str = "s1") -> Chart:
        """The area between two lines."""
        lower_edge = points(self.x, self.y, x, low)
        back = points(self.x, self.y, list(x)[::-1], list(high)[::-1])
        return self._add(element("polygon", points=f"{lower_edge} {back}", class_=f"band {class_}"))

    def dots(
        self, x: Any, y: Any, class_: str = "s1", radius: float = 2.5, hints: Sequence[str] | None = None
    ) -> Chart:
        """One circle per point; ``hints`` appear under the pointer."""
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            hint = None if hints is None else element("title", hints[i])
            self._add(element("circle", hint, cx=self.x(a), cy=self.y(b), r=radius, class_=f"dot {class_}"))
        return self

    def bars(self, edges: Any, heights: Any, class_: str = "s1", base: float = 0.0) -> Chart:
        """Bars that stand on ``base`` between the ``edges``: a histogram."""
        for low, high, top in zip(edges[:-1], edges[1:], heights, strict=True):
            left, right, upper, lower = self.x(low), self.x(high), self.y(max(top, base)), self.y(min(top, base))
            width = round(max(right - left - 1, 0.5), 1)
            bar = element("rect", x=left, y=upper, width=width, height=round(lower - upper, 1), class_=f"bar {class_}")
            self._add(bar)
        return self

    def rule(
        self, *, x: float | None = None, y: float | None = None, class_: str = "", id_: str | None = None
    ) -> Chart:
        """A straight line across the drawing."""
        (left, right), (bottom, top) = (self.x.start, self.x.end), (self.y.start, self.y.end)
        at = (self.x(x), bottom, self.x(x), top) if x is not None else (left, self.y(y or 0.0), right, self.y(y or 0.0))
        ends = dict(zip(("x1", "y1", "x2", "y2"), at, strict=True))
        return self._add(element("line", **ends, class_=f"rule {class_}".strip(), id=id_))

    def mark(self, x: float, y: float, text: str, *, anchor: str = "start", class_: str = "") -> Chart:
        """Words at a point."""
        return self._add(
            element("text", text, x=self.x(x), y=self.y(y), text_anchor=anchor, class_=f"mark {class_}".strip())
        )

    def below(self, x: float, text: str, *, slanted: bool = False) -> Chart:
        """Words below the horizontal axis, in place of a number."""
        at_x, at_y = self.x(x), self.y.start + 16
        turn = f"rotate(-35 {at_x} {at_y})" if slanted else None
        anchor = "end" if slanted else "middle"
        return self._add(element("text", text, x=at_x, y=at_y, text_anchor=anchor, transform=turn, class_="tick"))

    def render(self, class_: str = "") -> Markup:
        """The finished drawing."""
        width, height = self.size
        return element(
            "svg",
            element("title", self.title),
            *self._axes(),
            *self._parts,
            viewBox=f"0 0 {width} {height}",
            role="img",
            class_=f"chart {class_}".strip(),
        )

    def _axes(self) -> list[Markup]:
        bottom, left = self.y.start, self.x.start
        parts = [self._y_tick(tick) for tick in self._y_ticks]
        for tick in self._x_ticks:
            at = self.x(tick)
            parts.append(element("line", x1=at, y1=bottom, x2=at, y2=bottom + 4, class_="axis"))
            parts.append(element("text", number(tick, 4), x=at, y=bottom + 16, text_anchor="middle", class_="tick"))
        parts.append(element("line", x1=left, y1=bottom, x2=self.x.end, y2=bottom, class_="axis"))
        middle = round((self.x.start + self.x.end) / 2, 1)
        parts.append(
            element(
                "text", self._labels[0], x=middle, y=bottom + self._bottom - 10, text_anchor="middle", class_="label"
            )
        )
        turn = f"rotate(-90 12 {round((self.y.start + self.y.end) / 2, 1)})"
        at_y = round((self.y.start + self.y.end) / 2, 1)
        parts.append(
            element("text", self._labels[1], x=12, y=at_y, text_anchor="middle", transform=turn, class_="label")
        )
        return parts

    def _y_tick(self, tick: float) -> Markup:
        at, left = self.y(tick), self.x.start
        line = element("line", x1=left, y1=at, x2=self.x.end, y2=at, class_="grid")
        # The part of the height lets a script write another number here when the scale changes.
        part = round((tick - self.y.low) / (self.y.high - self.y.low), 4)
        label = element(
            "text", number(tick, 4), x=left - 6, y=at + 3.5, text_anchor="end", class_="tick tick-y", data_part=part
        )
        return join([line, label])

    def _add(self, part: Markup) -> Chart:
        self._parts.append(part)
        return self


def points(x_scale: AxisScale, y_scale: AxisScale, x: Any, y: Any) -> str:
    """Positions for a polyline; of points that fall together on the screen one is written."""
    written: list[tuple[float, float]] = []
    for a, b in zip(np.asarray(x, dtype=float), np.asarray(y, dtype=float), strict=True):
        at = (x_scale(float(a)), y_scale(float(b))) if math.isfinite(a) and math.isfinite(b) else None
        if at is not None and (not written or at != written[-1]):
            written.append(at)
    return " ".join(f"{a:g},{b:g}" for a, b in _without_middles(written))


def _without_middles(path: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The path without points in the middle of a horizontal or vertical run, of which step curves are full."""
    kept: list[tuple[float, float]] = []
    for at in path:
        while len(kept) >= 2 and any(kept[-2][i] == kept[-1][i] == at[i] for i in (0, 1)):
            kept.pop()
        kept.append(at)
    return kept
