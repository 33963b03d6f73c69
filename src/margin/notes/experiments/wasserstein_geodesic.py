r"""From one distribution to another: moving mass against fading it.

The geodesic :math:`Q_t = (1 - t) Q_0 + t Q_1` of quantile functions moves the whole shape at constant speed,
:math:`W_2(P_0, P_t) = t W_2(P_0, P_1)`; the mixture :math:`P_t = (1 - t) P_0 + t P_1` fades one out and the other in.
From N(0, 1) to N(10, 4) the midpoint is N(5, 1.5²), with one mode; the mixture has two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.foundations.transport import geodesic, mixture_path, wasserstein_1d
from margin.notes.motion import film

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure

TIMES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
START, END = (0.0, 1.0), (10.0, 2.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 4_000 if fast else 40_000
    levels = (np.arange(n) + 0.5) / n
    x, y = stats.norm(*START).ppf(levels), stats.norm(*END).ppf(levels)
    moved = np.array([geodesic(x, y, t)[0][:, 0] for t in TIMES])
    grid = np.linspace(-5, 18, 1151)
    p0, p1 = stats.norm(*START).pdf(grid), stats.norm(*END).pdf(grid)
    return {
        "grid": grid,
        # A density is the slope of the level against its quantile.
        "geodesic": np.array([np.interp(grid, q, np.gradient(levels, q), left=0, right=0) for q in moved]),
        "mixture": np.array([mixture_path(p0, p1, t) for t in TIMES]),
        "fraction": np.array([wasserstein_1d(x, q, 2) for q in moved]) / wasserstein_1d(x, y, 2),
        "midpoint": (float(moved[2].mean()), float(moved[2].std())),
        "p0": p0,
        "p1": p1,
        "ends": (x, y),
    }


def check(data: dict[str, Any]) -> Verdict:
    caption = np.array([t * data["p0"] + (1 - t) * data["p1"] for t in TIMES])
    return corrected(
        every(
            speed=near(data["fraction"], TIMES, tolerance=1e-12),
            midpoint=near(data["midpoint"], (5.0, 1.5), tolerance=5e-3),
            modes=equal([_modes(data[path][2]) for path in ("geodesic", "mixture")], [1, 2]),
            start=near(data["mixture"][0], data["p0"], tolerance=0.0),
            end=near(data["mixture"][-1], data["p1"], tolerance=0.0),
        ),
        printed=near(caption[0], data["p0"], tolerance=1e-3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    rows = figure.subplots(2, len(TIMES), sharex=True, sharey=True)
    for row, path, color in zip(rows, ("geodesic", "mixture"), ("C0", "C1")):
        for axis, density, t in zip(row, data[path], TIMES):
            axis.fill_between(data["grid"], density, color=color, alpha=0.8)
            axis.set(title=f"t = {t:g}" if path == "geodesic" else "", xlabel="x", ylabel=f"{path} density")
            axis.label_outer()
    figure.suptitle("Wasserstein geodesic (top) and mixture (bottom) from N(0, 1) to N(10, 4)")


def animate(data: dict[str, Any]) -> Animation:
    """There and back: above the mass walks, below it fades in one place and appears in the other."""
    grid, (x, y) = data["grid"], data["ends"]
    levels = (np.arange(len(x)) + 0.5) / len(x)

    def frame(figure: Figure, step: float) -> None:
        quantiles = geodesic(x, y, step)[0][:, 0]
        moved = np.interp(grid, quantiles, np.gradient(levels, quantiles), left=0, right=0)
        pair = {"geodesic: mass moves": moved, "mixture: mass fades": mixture_path(data["p0"], data["p1"], step)}
        for i, (axis, (title, density)) in enumerate(zip(figure.subplots(2, 1, sharex=True), pair.items())):
            axis.fill_between(grid, density, color=f"C{i}", alpha=0.8)
            axis.set(title=f"{title}, t = {step:.2f}", ylabel="density", ylim=(0, 0.42), xlim=(-5, 18))
        axis.set_xlabel("x")

    return film(frame, [*np.linspace(0, 1, 21), *np.linspace(0.95, 0.05, 19)], size=(6, 5), interval=120)


def _modes(density: np.ndarray, least: float = 1e-3) -> int:
    inner = density[1:-1]
    return int(((inner > density[:-2]) & (inner >= density[2:]) & (inner > least)).sum())
