r"""A line in the plane with its normal, and the gap between two parallel lines.

The plane :math:`w^\top x = b` lies :math:`|b|/\|w\|` from the origin, and :math:`w^\top x = c_1` and
:math:`w^\top x = c_2` are :math:`|c_2-c_1|/\|w\|` apart: 1 and 0.4 for w = (3, 4), b = 5, c = -1 and 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.linalg.hyperplanes import project_to_hyperplane, signed_distance
from margin.kernels.geometry import distance_from_origin, parallel_distance, side_of_plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

W, B, LEVELS = np.array([3.0, 4.0]), 5.0, (-1.0, 1.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    points = np.random.default_rng(seed).uniform(-2, 2, size=(20 if fast else 40, 2))
    start = project_to_hyperplane(np.zeros(2), W, -LEVELS[0])
    return {
        "points": points,
        "sides": side_of_plane(points, W, -B),
        "feet": project_to_hyperplane(points, W, -B),
        "distances": signed_distance(points, W, -B),
        "origin": distance_from_origin(W, -B),
        "nearest": project_to_hyperplane(np.zeros(2), W, -B),
        "gap": parallel_distance(W, *LEVELS),
        "across": np.stack([start, project_to_hyperplane(start, W, -LEVELS[1])]),
    }


def check(data: dict[str, Any]) -> Verdict:
    walked = np.linalg.norm(data["points"] - data["feet"], axis=1)
    return every(
        origin=near(data["origin"], 1.0, tolerance=1e-12),
        nearest=near(np.linalg.norm(data["nearest"]), 1.0, tolerance=1e-12),
        gap=near(data["gap"], 0.4, tolerance=1e-12),
        walked_across=near(np.linalg.norm(np.diff(data["across"], axis=0)), 0.4, tolerance=1e-12),
        distances=near(np.abs(data["distances"]), walked, tolerance=1e-12),
        sides=equal(data["sides"].tolist(), np.sign(data["points"] @ W - B).astype(int).tolist()),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    x = np.linspace(-2.4, 2.4, 2)
    left.plot(x, (B - W[0] * x) / W[1], color="black", label=r"$w^\top x = 5$")
    for side, color in ((1, "C0"), (-1, "C1")):
        chosen = data["sides"] == side
        left.scatter(*data["points"][chosen].T, color=color, s=18, label=f"side {side:+d}")
        for point, foot in zip(data["points"][chosen], data["feet"][chosen]):
            left.plot(*np.stack([point, foot]).T, color=color, linewidth=0.5, alpha=0.6)
    left.annotate("", data["nearest"] + 0.2 * W, data["nearest"], arrowprops={"arrowstyle": "->", "lw": 2})
    left.text(*(data["nearest"] + 0.2 * W + 0.08), "w", fontsize=12)
    left.plot(*np.stack([np.zeros(2), data["nearest"]]).T, "k--", linewidth=1)
    left.text(0.32, 0.28, f"{data['origin']:g}")
    left.plot(0, 0, "k+", markersize=9)
    left.set(title="A hyperplane, its normal and its sides", xlim=(-2.4, 2.4), ylim=(-2.4, 2.6))
    for level, style in zip(LEVELS, ("C3", "C2")):
        right.plot(x, (level - W[0] * x) / W[1], color=style, label=rf"$w^\top x = {level:+g}$")
    right.plot(*data["across"].T, "k-", linewidth=2)
    right.text(*(data["across"].mean(axis=0) + np.array([0.06, -0.12])), f"{data['gap']:g}", fontsize=12)
    right.set(title=r"Parallel hyperplanes, $|c_2-c_1|/\|w\|$ apart", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    for axes in (left, right):
        axes.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        axes.legend(loc="lower left", fontsize=8)
