"""Diagrams for experiments: boxes, arrows, and the graph of a computation, on an axis without scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MUTED", "TapeEntry", "add_arrow", "add_box", "blank", "draw_tape", "place_tape"]

#: Index, name, indices of what it was computed from, value, derivative of the last node in it.
TapeEntry = tuple[int, str, Sequence[int], Any, Any]

MUTED = "#5b616b"
SIGNS = {
    "multiply": "×",
    "add": "+",
    "subtract": "−",
    "log_var": r"$\log\sigma^2$",
    "mu": r"$\mu$",
    "eps": r"$\epsilon$",
}


def blank(axis: Axes, *, width: tuple[float, float], height: tuple[float, float]) -> Axes:
    """The axis without scales, over these ranges."""
    axis.set(xlim=width, ylim=height)
    axis.set_axis_off()
    return axis


def add_box(
    axis: Axes, x: float, y: float, text: str, *, width: float, height: float, color: str = "C7", zorder: float = 2.0
) -> None:
    """A box with its middle at (x, y), tinted in its color."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import FancyBboxPatch

    corner = min(0.15 * min(width, height), 0.1)
    shape = f"round,pad=0,rounding_size={corner}"
    place = (x - width / 2, y - height / 2)
    axis.add_patch(
        FancyBboxPatch(place, width, height, boxstyle=shape, fc=to_rgba(color, 0.13), ec=color, lw=1.1, zorder=zorder)
    )
    axis.text(x, y, text, ha="center", va="center", fontsize=9, zorder=3)


def add_arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], *, color: str = MUTED, bend: float = 0.0
) -> None:
    """An arrow between two places; ``bend`` curves it."""
    from matplotlib.patches import FancyArrowPatch

    way = f"arc3,rad={bend}"
    axis.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=10, connectionstyle=way, color=color, lw=1.1,
            shrinkA=0, shrinkB=0, zorder=1,
        )
    )  # fmt: skip


def place_tape(entries: Sequence[TapeEntry]) -> dict[int, tuple[float, float]]:
    """A column for every depth, an input just before its first use, each node level with those it feeds."""
    depth: dict[int, int] = {}
    users: dict[int, list[int]] = {index: [] for index, *_ in entries}
    for index, _, parents, *_ in entries:
        depth[index] = max((depth[parent] + 1 for parent in parents), default=0)
        for parent in set(parents):
            users[parent].append(index)
    for index, _, parents, *_ in entries:
        if not parents and users[index]:
            depth[index] = min(depth[user] for user in users[index]) - 1
    first = min(depth.values())
    position: dict[int, tuple[float, float]] = {}
    for column in sorted(set(depth.values()), reverse=True):
        here = [index for index in depth if depth[index] == column]
        wished = {index: _mean([position[user][1] for user in users[index]]) for index in here}
        here.sort(key=lambda index: (-wished[index], index))
        middle = _mean(list(wished.values()))
        for row, index in enumerate(here):
            position[index] = (float(column - first), middle + (len(here) - 1) / 2 - row)
    return position


def draw_tape(
    axis: Axes, entries: Sequence[TapeEntry], *, fill: dict[str, str] | None = None, gradient: str = "C3"
) -> None:
    """Nodes with their value and, below, the derivative of the last one; arrows that carry a derivative are colored."""
    position = place_tape(entries)
    across, up = zip(*position.values())
    blank(axis, width=(min(across) - 0.5, max(across) + 0.5), height=(min(up) - 0.6, max(up) + 0.6))
    for index, name, parents, value, adjoint in entries:
        x, y = position[index]
        color = (fill or {}).get(name, "C0" if parents else "C7")
        add_box(axis, x, y + 0.22, SIGNS.get(name, name), width=0.56, height=0.3, color=color)
        axis.text(x, y - 0.07, f"{float(value):.3f}", ha="center", va="center", fontsize=8)
        axis.text(x, y - 0.28, f"{float(adjoint):.3f}", ha="center", va="center", fontsize=8, color=gradient)
        for parent in dict.fromkeys(parents):
            before, level = position[parent]
            flows = gradient if float(adjoint) else MUTED
            twice = len(parents) > 1 and len(set(parents)) == 1  # a square: the same node on both sides
            for bend in (0.25, -0.25) if twice else (0.0,):
                add_arrow(axis, (before + 0.28, level + 0.22), (x - 0.28, y + 0.22), color=flows, bend=bend)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
