r"""Data that no line separates, and its lifted image that a plane does.

Inside and outside of a disc, and exclusive or. The map :math:`\phi(x, y) = \max(0, 1 - (x^2 + y^2))` lifts the inside
of the unit disc above the plane z = 0 and leaves the outside in it; :math:`D = \lceil\lfloor r^2\rfloor/r^2\rceil`
decides the same in one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bump(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r""":math:`\phi(x, y) = \max(0, 1 - (x^2 + y^2))`."""
    return np.maximum(0, 1 - (x**2 + y**2))


def floor_ceil_decision(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r""":math:`D(x, y) = \lceil\lfloor r^2\rfloor / r^2\rceil` with D(0, 0) = 0: 0 inside the unit disc, 1 elsewhere."""
    r2 = np.asarray(x**2 + y**2, dtype=float)
    return np.ceil(np.divide(np.floor(r2), r2, out=np.zeros_like(r2), where=r2 > 0))


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.linear import LogisticRegression

    rng, n = np.random.default_rng(seed), 300 if fast else 600
    planar = {
        "disc": (disc := rng.uniform(-1.6, 1.6, size=(n, 2)), np.hypot(*disc.T) < 1),
        "exclusive or": (squares := rng.uniform(-1, 1, size=(n, 2)), squares.prod(axis=1) > 0),
    }
    lines = {name: float(LogisticRegression().fit(X, y).score(X, y)) for name, (X, y) in planar.items()}
    height = bump(*disc.T)
    return {
        "planar": planar,
        "majority": {name: float(max(y.mean(), 1 - y.mean())) for name, (_, y) in planar.items()},
        "line_accuracy": lines,
        "height": height,
        "decision": floor_ceil_decision(*disc.T),
    }


def check(data: dict[str, Any]) -> Verdict:
    inside = data["planar"]["disc"][1]
    return every(
        lifted_above_the_plane=equal(data["height"] > 0, inside),
        decision=equal(data["decision"], (~inside).astype(float)),
        **{f"no_line_for_{name.replace(' ', '_')}": below(score, 0.8) for name, score in data["line_accuracy"].items()},
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 4.8)
    colors = np.array(["C3", "C0"])
    for k, (name, (X, y)) in enumerate(data["planar"].items()):
        axis: Any = figure.add_subplot(1, 3, k + 1)
        axis.scatter(*X.T, s=14, color=colors[y.astype(int)])
        axis.set(title=f"{name}: best line {data['line_accuracy'][name]:.0%}", xlabel="x", ylabel="y", aspect="equal")
    space: Any = figure.add_subplot(1, 3, 3, projection="3d")
    X, y = data["planar"]["disc"]
    r, angle = np.meshgrid(np.linspace(0, 1, 25), np.linspace(0, 2 * np.pi, 60))
    u, v = r * np.cos(angle), r * np.sin(angle)
    space.plot_surface(u, v, bump(u, v), color="C0", alpha=0.25, linewidth=0)
    plane = np.meshgrid([-1.6, 1.6], [-1.6, 1.6])
    space.plot_surface(*plane, np.zeros((2, 2)), color="gray", alpha=0.25)
    space.scatter(*X.T, data["height"], s=10, color=colors[y.astype(int)], depthshade=False)
    space.set(title=r"$z = \max(0, 1 - x^2 - y^2)$: positive inside only", xlabel="x", ylabel="y", zlabel="z")
    space.view_init(elev=22, azim=-58)
