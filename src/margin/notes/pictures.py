"""How experiments are drawn: one style for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.figure import Figure

    from margin.notes.experiments import Experiment

__all__ = ["COLORS", "SIZE", "STYLE", "draw_picture", "picture_style"]

SIZE = (10, 6)  # inches

#: Blue, orange, green, red and what follows, of unequal lightness: neighbors differ for the color-blind and in gray.
COLORS = (
    "#2a5db0", "#e08e2b", "#2f8260", "#b8322a", "#8250a3",
    "#7a5c12", "#d685b5", "#6b7280", "#a3b83a", "#2ea3b7",
)  # fmt: skip

_INK, _MUTED, _RULE = "#1b1d21", "#5b616b", "#e3e3dd"  # as the report, the lab and the site have them

#: Settings of Matplotlib, without the color cycle, which needs one of its objects.
STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 10,
    "axes.labelcolor": _MUTED,
    "axes.edgecolor": "#9aa0a8",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": "#9aa0a8",
    "ytick.color": "#9aa0a8",
    "xtick.labelcolor": _MUTED,
    "ytick.labelcolor": _MUTED,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "grid.color": _RULE,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "patch.linewidth": 0.8,
    "image.cmap": "viridis",
    "figure.constrained_layout.h_pad": 0.09,
    "figure.constrained_layout.w_pad": 0.09,
}


def picture_style() -> AbstractContextManager[None]:
    """Everything that is drawn and saved inside has the style."""
    import matplotlib
    from cycler import cycler

    settings: Any = {**STYLE, "axes.prop_cycle": cycler(color=COLORS)}
    return matplotlib.rc_context(settings)


def draw_picture(experiment: Experiment, data: dict[str, Any]) -> Figure:
    """The picture of what an experiment computed; draw and save it inside :func:`picture_style`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    experiment.draw(data, figure)
    return figure
