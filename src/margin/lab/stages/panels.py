"""What a view is made of: panels that the page knows how to draw.

A panel is plain JSON. ``chart`` draws points, lines, bands, surfaces and marks over a window of the plane; ``images``,
``matrix``, ``bars``, ``text``, ``tree`` and ``graph`` draw what they are called. Arrays travel as base64.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "bars",
    "chart",
    "class_picture",
    "grid",
    "images",
    "matrix",
    "pack",
    "picture",
    "place_of",
    "round_values",
    "side_of",
    "signed_picture",
    "text",
    "window_of",
]

Panel = dict[str, Any]
FARTHEST = 1e6
SIDE = 56  # cells of a surface along each axis


def pack(values: np.ndarray) -> Panel:
    """An array of bytes or of float32 numbers, row by row."""
    kind = "u8" if values.dtype == np.uint8 else "f32"
    array = np.ascontiguousarray(values if kind == "u8" else values.astype("<f4"))
    return {"shape": list(array.shape), "type": kind, "data": base64.b64encode(array.tobytes()).decode()}


def round_values(values: Any, digits: int = 4) -> list[Any]:
    return np.round(np.asarray(values, dtype=float), digits).tolist()


def window_of(xy: np.ndarray, margin: float = 0.12) -> list[float]:
    """x from, x to, y from, y to around points, with a margin and never empty."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    room = np.maximum((high - low) * margin, 1e-3)
    low, high = low - room, high + room
    return [float(low[0]), float(high[0]), float(low[1]), float(high[1])]


def grid(window: Sequence[float], side: int = SIDE) -> np.ndarray:
    """Centers of the cells of a window, from the upper left one row by row, (side * side, 2)."""
    x0, x1, y0, y1 = window
    steps = (np.arange(side) + 0.5) / side
    columns, rows = np.meshgrid(x0 + (x1 - x0) * steps, y1 - (y1 - y0) * steps)
    return np.column_stack([columns.ravel(), rows.ravel()])


def place_of(probe: Any) -> np.ndarray | None:
    """The point of the plane that a probe is, kept within bounds in which every model computes; None if it is none."""
    if not isinstance(probe, list) or len(probe) != 2 or not all(isinstance(v, int | float) for v in probe):
        return None
    place = np.array(probe, dtype=float)
    return np.clip(place, -FARTHEST, FARTHEST) if np.isfinite(place).all() else None


def chart(window: Sequence[float], title: str = "", **layers: Any) -> Panel:
    shown = {name: layer for name, layer in layers.items() if layer is not None}
    return {"panel": "chart", "title": title, "window": round_values(window, 5), **shown}


def picture(pixels: np.ndarray, caption: str = "", span: tuple[float, float] | None = None, **more: Any) -> Panel:
    """Gray (h, w) or colored (h, w, 3) pixels; their range, or ``span``, becomes the range of the screen."""
    low, high = span or (float(pixels.min()), float(pixels.max()))
    bytes_ = np.round((pixels - low) * (255 / (high - low) if high > low else 0)).astype(np.uint8)
    return {"pixels": pack(bytes_), "caption": caption, **more}


def signed_picture(pixels: np.ndarray, most: float, caption: str = "") -> Panel:
    """Pixels from -most to most, which have one color below zero, another one above."""
    return picture(pixels, caption, (-most, most), signed=True)


def class_picture(classes: np.ndarray, caption: str = "") -> Panel:
    """A class for every pixel: 0 is the ground, the others have their colors."""
    return {"pixels": pack(np.asarray(classes).astype(np.uint8)), "caption": caption, "classes": True}


def side_of(X: Any) -> int:
    """The side of the square pictures that lie in the rows of X."""
    return round(np.asarray(X).shape[1] ** 0.5)


def images(items: Sequence[Panel], title: str = "", **more: Any) -> Panel:
    return {"panel": "images", "title": title, "items": list(items), **more}


def matrix(values: Any, rows: Sequence[str], columns: Sequence[str], title: str = "", **more: Any) -> Panel:
    shown = {"rows": list(rows), "columns": list(columns), "values": round_values(values), **more}
    return {"panel": "matrix", "title": title, **shown}


def bars(items: Sequence[tuple[str, float]], title: str = "", **more: Any) -> Panel:
    return {"panel": "bars", "title": title, "items": [[name, round(float(v), 4)] for name, v in items], **more}


def text(lines: Sequence[Sequence[Any]], title: str = "", **more: Any) -> Panel:
    """Lines of words; a word is a string or [string, weight from 0 to 1, note]."""
    return {"panel": "text", "title": title, "lines": [list(line) for line in lines], **more}
