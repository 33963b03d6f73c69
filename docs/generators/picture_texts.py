"""What is wrong with the texts of a picture: those that leave the canvas, and those that overlap."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

__all__ = ["text_faults"]

#: Pixels of a box of text in which there may be no ink: above small letters, below those without a tail.
_SLACK = 2.5


def text_faults(figure: Figure) -> list[str]:
    """A sentence for every fault of a figure.

    Texts at an angle are not compared: their boxes are larger than they are. Nor are marks: texts whose ``gid`` is
    ``"mark"`` stand for points, which may lie upon each other.
    """
    figure.draw_without_rendering()  # what was saved lies where the resolution of its file had it
    texts = [(text, text.get_window_extent()) for text in _texts(figure)]
    faults = [f"{_said(text)} leaves the canvas" for text, box in texts if not _inside(box, figure.bbox)]
    level = [(text, box) for text, box in texts if text.get_rotation() % 90 == 0 and text.get_gid() != "mark"]
    for (one, first), (other, second) in combinations(level, 2):
        if _overlap(first, second):
            faults.append(f"{_said(one)} overlaps {_said(other)}")
    return faults


def _texts(figure: Figure) -> Iterator[Text]:
    """What can be read: visible texts of visible parts, ticks only where they are within their axis."""
    parts: list[Any] = [figure]
    while parts:
        part = parts.pop()
        if not part.get_visible():
            continue
        if isinstance(part, Text):
            if part.get_text().strip():
                yield part
        elif isinstance(part, Axis):
            parts += [part.label, part.get_offset_text(), *_tick_labels(part)]
        elif getattr(part, "axison", True):
            parts += part.get_children()
        else:
            parts += [child for child in part.get_children() if not isinstance(child, Axis)]


def _tick_labels(axis: Axis) -> Iterator[Text]:
    """Labels of ticks within the view: an axis keeps some beyond its ends, and draws them not."""
    scale = axis.get_transform()
    low, high = sorted(scale.transform(list(axis.get_view_interval())))
    slack = 1e-6 * (high - low)
    for tick in axis.get_major_ticks():
        if tick.get_visible() and low - slack <= scale.transform([tick.get_loc()])[0] <= high + slack:
            yield from (label for label in (tick.label1, tick.label2) if label.get_visible())


def _inside(box: Bbox, canvas: Bbox) -> bool:
    left, low, right, top = box.extents
    return left >= -1 and low >= -1 and right <= canvas.width + 1 and top <= canvas.height + 1


def _overlap(first: Bbox, second: Bbox) -> bool:
    wide = min(first.x1, second.x1) - max(first.x0, second.x0)
    high = min(first.y1, second.y1) - max(first.y0, second.y0)
    return wide > _SLACK and high > _SLACK


def _said(text: Text) -> str:
    return repr(" ".join(text.get_text().split()))
