r"""Correspondence analysis: hair and eye colors in one picture.

Residuals of independence, :math:`D_r^{-1/2}(P - rc^\top)D_c^{-1/2} = U \Sigma V^\top`, place rows and columns of a
table of counts; colors that go together point the same way, and the total inertia is :math:`\chi^2 / n`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import chi2_contingency

from margin.core.verdict import Verdict, above, equal, every, near
from margin.reduction import correspondence_analysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# 592 students of statistics (Snee 1974): hair by eyes.
HAIR, EYES = ("black", "brown", "red", "blond"), ("brown", "blue", "hazel", "green")
COUNTS = np.array([[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    analysis = correspondence_analysis(COUNTS)
    fractions, total = (COUNTS / COUNTS.sum()).ravel(), int(COUNTS.sum())
    rounds = 2000  # a deviation estimated from so many is off by 1.6 %
    resampled = [rng.multinomial(total, fractions).reshape(COUNTS.shape) for _ in range(rounds)]
    first = analysis.columns[:, 0] / analysis.singular_values[0]
    # Resampled rows placed on the axis of the whole table, by their profiles.
    places = np.array([table / table.sum(axis=1, keepdims=True) @ first for table in resampled])
    return {
        "rows": analysis.rows,
        "columns": analysis.columns,
        "inertia_fraction": analysis.singular_values**2 / analysis.inertia,
        "inertia": analysis.inertia,
        "spread": places.std(axis=0),
    }


def check(data: dict[str, Any]) -> Verdict:
    chi_squared = chi2_contingency(COUNTS, correction=False).statistic
    opposite = np.sign(data["rows"][0, 0] * data["rows"][3, 0])
    return every(
        inertia=near(data["inertia"], chi_squared / COUNTS.sum(), tolerance=1e-12),
        first_axis=above(data["inertia_fraction"][0], 0.85),
        black_against_blond=equal(float(opposite), -1.0),
        beyond_chance=above(float(np.min(np.abs(data["rows"][[0, 3], 0]) / data["spread"][[0, 3]])), 5.0),
        blond_goes_with_blue=above(float(data["rows"][3, :2] @ data["columns"][1, :2]), 0.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(8.5, 5.5)
    ax = figure.subplots()
    for points, names, color, marker, kind in (
        (data["rows"], HAIR, "C5", "o", "hair"),
        (data["columns"], EYES, "C0", "^", "eyes"),
    ):
        ax.scatter(points[:, 0], points[:, 1], color=color, marker=marker, s=60, label=kind)
        for point, name in zip(points, names):
            ax.annotate(name, point[:2], xytext=(7, 5), textcoords="offset points", color=color)
    ax.errorbar(data["rows"][:, 0], data["rows"][:, 1], xerr=2 * data["spread"], linestyle="", color="C5", alpha=0.4)
    ax.axhline(0, color="0.8", zorder=0)
    ax.axvline(0, color="0.8", zorder=0)
    percentages = 100 * data["inertia_fraction"]
    ax.set(xlabel=f"axis 1 ({percentages[0]:.1f} % of inertia)", ylabel=f"axis 2 ({percentages[1]:.1f} % of inertia)")
    ax.set_title("Hair and eyes of 592 students: what lies together goes together (bars: two standard errors)")
    ax.legend()
