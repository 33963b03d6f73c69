"""The board of generative models as a figure: densities with their intervals, and what samples say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from margin.service.comparison.generative.result import GenerativeComparison

__all__ = ["draw_board"]

COLORS = {"exact": "tab:blue", "bound": "tab:orange"}
FRACTIONS = ("neighbor_accuracy", "precision", "recall", "coverage", "fraction_closer")
IDEAL = {"neighbor_accuracy": 0.5, "fraction_closer": 0.5}  # 1 for the others


def draw_board(comparison: GenerativeComparison, figure: Any = None) -> Any:
    """Left: held-out log-density with its interval, exact or a bound. Right: fractions of samples, dark where ideal."""
    from matplotlib.figure import Figure

    shown = [s for s in comparison.standings if s.status in ("ranked", "reference")]
    figure = figure or Figure(figsize=(9, 1.6 + 0.32 * len(shown)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 4])
    heights = range(len(shown))
    for height, s in zip(heights, shown):
        if np.isfinite(s.log_density):
            color = COLORS[s.log_density_kind]
            left.plot([s.low, s.high], [height, height], color=color, linewidth=1.5)
            left.plot([s.log_density], [height], "o" if s.log_density_kind == "exact" else ">", color=color)
    for kind, color in COLORS.items():
        left.plot([], [], "o" if kind == "exact" else ">", color=color, label=f"{kind} log-density")
    left.legend(fontsize="x-small", loc="lower left")
    left.set_yticks(heights, [s.model for s in shown])
    left.invert_yaxis()
    left.set_xlabel("nats per held-out row, 95 % interval")
    left.set_title(f"{comparison.name}: {len(comparison.data.held_out):,} rows held out", fontsize="medium", loc="left")
    values = np.array([[s.measures.get(name, np.nan) for name in FRACTIONS] for s in shown])
    distance = np.abs(values - [IDEAL.get(name, 1.0) for name in FRACTIONS])
    right.imshow(1 - distance, cmap="Greens", vmin=0, vmax=1.4, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        right.text(j, i, f"{value:.2f}" if np.isfinite(value) else "", ha="center", va="center", fontsize="small")
    right.set_xticks(range(len(FRACTIONS)), [f"{n.replace('_', ' ')}\n(ideal {IDEAL.get(n, 1)})" for n in FRACTIONS])
    right.tick_params(axis="x", labelsize="x-small")
    right.set_title("samples against held-out rows", fontsize="medium", loc="left")
    return figure
