r"""A slope field and its integral curves

Solutions of :math:`y' = f(t, y)` from several starts: each is tangent to the arrows wherever it passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STARTS = (-1.5, -0.5, 0.0, 0.7, 1.4)


def slope(t: Any, y: Any) -> Any:
    return np.sin(t) - 0.5 * y


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.physics.ode import solve_ode

    moved = 0.1 * np.random.default_rng(seed).normal(size=len(STARTS))
    t = np.linspace(0, 6, 121 if fast else 601)
    curves = np.stack([solve_ode(slope, start, t, method="rk4", steps=5)[:, 0] for start in STARTS + moved])
    return {"t": t, "curves": curves, "starts": STARTS + moved}


def check(data: dict[str, Any]) -> Verdict:
    t, curves = data["t"], data["curves"]
    tangents = (curves[:, 2:] - curves[:, :-2]) / (t[2:] - t[:-2])
    # y = (2 sin t - 4 cos t) / 5 + c e^(-t/2) with c from the start
    exact = (2 * np.sin(t) - 4 * np.cos(t)) / 5 + (data["starts"][:, None] + 0.8) * np.exp(-t / 2)
    return every(
        tangent=below(float(np.abs(tangents - slope(t[1:-1], curves[:, 1:-1])).max()), 1e-2),
        exact=near(curves, exact, tolerance=1e-6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    T, Y = np.meshgrid(np.linspace(0, 6, 25), np.linspace(-2, 2, 17))
    rise = slope(T, Y)
    length = np.hypot(1, rise)
    ax.quiver(T, Y, 1 / length, rise / length, color="0.7", angles="xy", width=0.002)
    for curve in data["curves"]:
        ax.plot(data["t"], curve)
    ax.set(xlabel="t", ylabel="y", title=r"$y' = \sin t - y/2$: curves tangent to the field")
