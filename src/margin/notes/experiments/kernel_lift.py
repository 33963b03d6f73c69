r"""Rings that no line separates, separated by a plane one dimension higher.

The map :math:`\phi(x, y) = (x, y, x^2+y^2)` lifts the outer ring above the inner one; the plane found there is a circle
back in the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near
from margin.data import load
from margin.foundations.probability.feature_maps import radial_features
from margin.kernels import HardMarginSVC, LinearSVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    rings = load("circles", n_samples=120 if fast else 240, noise=0.06, seed=seed)
    X, y = np.asarray(rings.X), np.asarray(rings.y)
    flat, lifted = LinearSVC(loss="hinge").fit(X, y), HardMarginSVC().fit(radial_features(X), y)
    return {
        "X": X,
        "y": y,
        "lifted": radial_features(X),
        "support": lifted.support_,
        "plane": np.append(lifted.coef_[0], lifted.intercept_[0]),
        "accuracy": float(flat.score(X, y)),
        "lifted_accuracy": float(lifted.score(radial_features(X), y)),
    }


def check(data: dict[str, Any]) -> Verdict:
    a, b, c, d = data["plane"]
    # a x + b y + c (x^2 + y^2) + d = 0 is a circle.
    radius = np.sqrt((a**2 + b**2) / (4 * c**2) - d / c)
    return every(
        no_line=below(data["accuracy"], 0.75),
        a_plane=near(data["lifted_accuracy"], 1.0, tolerance=0.0),
        circle_between_the_rings=near(radius, 0.75, tolerance=0.12),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    X, y, lifted = data["X"], data["y"], data["lifted"]
    a, b, c, d = data["plane"]
    flat: Any = figure.add_subplot(1, 2, 1)
    space: Any = figure.add_subplot(1, 2, 2, projection="3d")
    grid = np.linspace(-1.3, 1.3, 200)
    u, v = np.meshgrid(grid, grid)
    flat.contour(u, v, a * u + b * v + c * (u**2 + v**2) + d, levels=[0], colors="black")
    for label, name, color in ((0, "outer", "C0"), (1, "inner", "C1")):
        flat.scatter(*X[y == label].T, s=14, color=color, label=name)
        space.scatter(*lifted[y == label].T, s=10, color=color, label=name)
    flat.set(title=f"Input: best line {data['accuracy']:.0%}, plane's trace {data['lifted_accuracy']:.0%}")
    flat.set(xlabel="x", ylabel="y", aspect="equal")
    flat.legend(loc="upper right", fontsize=8)
    sheet_u, sheet_v = np.meshgrid([-1.2, 1.2], [-1.2, 1.2])
    space.plot_surface(sheet_u, sheet_v, -(a * sheet_u + b * sheet_v + d) / c, alpha=0.3, color="gray")
    space.scatter(*lifted[data["support"]].T, s=60, facecolors="none", edgecolors="black", label="support")
    space.set(title=r"Lifted by $x^2+y^2$", xlabel="x", ylabel="y", zlabel=r"$x^2+y^2$")
    space.view_init(elev=14, azim=-60)
