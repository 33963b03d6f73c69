r"""The curse of dimensionality: the same points fill a line and are lost in a cube.

Of :math:`b^d` cells n points occupy at most :math:`n / b^d`, and the relative contrast of distances,
:math:`(r_{\max} - r_{\min}) / r_{\min}`, falls towards zero as the dimension d grows: the nearest point is
hardly nearer than any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.reduction import distance_contrast, occupied_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS, CELLS = 40, 8
DIMENSIONS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    rounds = 20 if fast else 200
    points = {d: rng.uniform(size=(POINTS, d)) for d in (1, 2, 3)}
    contrasts = [
        [distance_contrast(rng.uniform(size=(500, d)), rng.uniform(size=d)) for _ in range(rounds)] for d in DIMENSIONS
    ]
    return {
        "points": points,
        "occupied": {d: occupied_cells(points[d], CELLS) for d in points},
        "dimensions": np.array(DIMENSIONS),
        "contrast": np.percentile(contrasts, [10, 50, 90], axis=1),
    }


def _as_by_chance(occupied: float, cells: int) -> Verdict:
    """The fraction of cells that uniform points hit: mean and variance of the number of empty cells are known."""
    empty, both = (1 - 1 / cells) ** POINTS, (1 - 2 / cells) ** POINTS
    variance = empty / cells + (1 - 1 / cells) * both - empty**2
    return near(occupied, 1 - empty, tolerance=6 * float(np.sqrt(variance)))


def check(data: dict[str, Any]) -> Verdict:
    median = data["contrast"][1]
    return every(
        most_of_the_line=above(data["occupied"][1], 0.7),  # one of eight cells stays empty at every 26th seed
        next_to_nothing_of_the_cube=below(data["occupied"][3], 0.1),
        **{f"as_by_chance_in_{d}": _as_by_chance(data["occupied"][d], CELLS**d) for d in data["occupied"]},
        contrast_falls=equal(bool((np.diff(median) < 0).all()), True),
        tens_in_two=above(median[1], 10.0),
        hardly_any_in_a_thousand=below(median[-1], 0.4),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 3.9)
    grid = figure.add_gridspec(1, 4, width_ratios=[1, 1, 1.15, 1.35])
    axes = [figure.add_subplot(grid[i], projection="3d" if i == 2 else None) for i in range(4)]
    ticks = np.linspace(0, 1, CELLS + 1)
    for d, ax in zip((1, 2, 3), axes):
        occupied_text = f"{100 * data['occupied'][d]:.0f} % of {CELLS**d} cells occupied"
        ax.set_title(f"{POINTS} points in {d} dimension{'s' * (d > 1)}\n{occupied_text}", fontsize=10)
        columns = [*data["points"][d].T, np.full(POINTS, 0.5)] if d == 1 else list(data["points"][d].T)
        ax.plot(*columns, linestyle="", marker="o", markersize=4, color="C0")
        ax.set_xticks(ticks, [])
        ax.set_yticks([] if d == 1 else ticks, [])
        ax.set_xlabel("$x_1$")
        if d > 1:
            ax.set_ylabel("$x_2$")
            ax.grid(True, alpha=0.5)
        else:
            ax.grid(True, axis="x")
    axes[2].set_zticks(ticks, [])  # type: ignore[attr-defined]
    low, median, high = data["contrast"]
    axes[3].fill_between(data["dimensions"], low, high, alpha=0.25, label="10 % to 90 %")
    axes[3].plot(data["dimensions"], median, marker="o", markersize=3, label="median of queries")
    axes[3].set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="$(r_{max} - r_{min})\\,/\\,r_{min}$")
    axes[3].set_title("Contrast of distances to 500 points", fontsize=10)
    axes[3].legend()
