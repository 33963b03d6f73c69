r"""The four slopes of one Runge-Kutta step

:math:`k_1` at the start, :math:`k_2` and :math:`k_3` at the middle, :math:`k_4` at the end: their mean with the weights
1, 2, 2, 1 leads far closer to the solution than Euler's :math:`k_1` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP = 1.0


def slope(t: float, y: Any) -> Any:
    return y * np.cos(t) + 0.5


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.physics.ode import solve_ode
    from margin.physics.steps import rk4_slopes

    y = float(np.random.default_rng(seed).uniform(0.5, 1.5))
    after, slopes = rk4_slopes(slope, 0.0, y, STEP)
    t = np.linspace(0, STEP, 21 if fast else 201)
    return {
        "t": t,
        "curve": solve_ode(slope, y, t)[:, 0],
        "start": y,
        "slopes": np.array(slopes),
        "rk4": float(after),
        "euler": y + STEP * slopes[0],
    }


def check(data: dict[str, Any]) -> Verdict:
    k, end = data["slopes"], data["curve"][-1]
    return every(
        weights=near(data["rk4"], data["start"] + STEP / 6 * (k @ [1, 2, 2, 1]), tolerance=1e-12),
        closer_than_euler=below(abs(data["rk4"] - end), 0.1 * abs(data["euler"] - end)),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    ax.plot(data["t"], data["curve"], color="black", label="solution")
    y, (k1, k2, k3, k4) = data["start"], data["slopes"]
    at = [(0.0, y, k1), (STEP / 2, y + STEP / 2 * k1, k2), (STEP / 2, y + STEP / 2 * k2, k3), (STEP, y + STEP * k3, k4)]
    for number, (t, value, k) in enumerate(at, start=1):
        reach = np.array([-0.12, 0.12])
        ax.plot(t + reach, value + k * reach, color=f"C{number}", linewidth=3, label=f"$k_{number}$ = {k:.2f}")
    ax.plot([0, STEP], [y, data["euler"]], "o--", color="C1", alpha=0.6, label="Euler")
    ax.plot([STEP], [data["rk4"]], "k*", markersize=12, label="RK4")
    ax.set(xlabel="t", ylabel="y", title="One step from its four slopes")
    ax.legend()
