r"""Basins of descent: the start decides the minimum.

Gradient descent follows :math:`\theta \leftarrow \theta - \eta\nabla f(\theta)` into the minimum of its basin.
Left a tilted two-well function whose higher well catches a fraction of the starts, right the four equal minima of
Himmelblau's function, each with its own territory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, within
from margin.optimize.landscapes import HIMMELBLAU
from margin.optimize.rules import Descent

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

TILT = 0.3


def two_wells(p: np.ndarray) -> np.ndarray:
    return (p[0] ** 2 - 1) ** 2 + TILT * p[0] + p[1] ** 2


def two_wells_gradient(p: np.ndarray) -> np.ndarray:
    return np.stack([4 * p[0] * (p[0] ** 2 - 1) + TILT, 2 * p[1]])


def himmelblau_gradient(p: np.ndarray) -> np.ndarray:
    u, v = p[0] ** 2 + p[1] - 11, p[0] + p[1] ** 2 - 7
    return np.stack([4 * p[0] * u + 2 * v, 2 * u + 4 * p[1] * v])


def settle(grad: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, rate: float, steps: int) -> np.ndarray:
    """Descend from all starts at once: the rule is element-wise, so a stack of points is one array."""
    rule, x = Descent(), starts
    for _ in range(steps):
        x = x + rule.update(rule.start(x), grad(x), x, rate)[1]
    return x


def run(seed: int, fast: bool) -> dict[str, Any]:
    size = 60 if fast else 240
    data = {}
    for name, f, grad, half, rate in (
        ("two wells", two_wells, two_wells_gradient, 1.8, 0.05),
        ("Himmelblau", HIMMELBLAU.f, himmelblau_gradient, 4.5, 0.004),
    ):
        line = np.linspace(-half, half, size)
        starts = np.stack(np.meshgrid(line, line))
        ends = settle(grad, starts, rate, 600)
        minima = _distinct(ends.reshape(2, -1).T)
        nearest = np.argmin(np.linalg.norm(ends[None] - minima[:, :, None, None], axis=1), axis=0)
        data[name] = {
            "x": starts[0],
            "y": starts[1],
            "z": f(starts),
            "basin": nearest,
            "minima": minima,
            "values": f(minima.T),
            "rest": float(np.max(np.linalg.norm(grad(ends), axis=0))),
        }
    return data


def _distinct(points: np.ndarray) -> np.ndarray:
    """One representative of each cluster of end points, lowest first coordinate first."""
    rounded = np.unique(points.round(2), axis=0)
    keep: list[np.ndarray] = []
    for point in rounded:
        if all(np.linalg.norm(point - other) > 0.1 for other in keep):
            keep.append(point)
    return np.array(keep)


def check(data: dict[str, Any]) -> Verdict:
    wells, four = data["two wells"], data["Himmelblau"]
    higher = int(np.argmax(wells["values"]))
    return every(
        two=equal(len(wells["minima"]), 2),
        the_higher_well_catches=within(float(np.mean(wells["basin"] == higher)), 0.3, 0.6),
        by_how_much=above(float(np.ptp(wells["values"])), 0.5),
        four=equal(len(four["minima"]), 4),
        every_run_is_at_rest=below(max(wells["rest"], four["rest"]), 1e-3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5.4)
    for axis, (name, item) in zip(figure.subplots(1, 2), data.items()):
        levels = np.arange(len(item["minima"]) + 1) - 0.5
        axis.contourf(item["x"], item["y"], item["basin"], levels=levels, cmap="Set2", alpha=0.8)
        axis.contour(
            item["x"], item["y"], np.log(item["z"] - item["z"].min() + 0.1), levels=14, colors="k", linewidths=0.5
        )
        for point, value in zip(item["minima"], item["values"]):
            axis.plot(*point, "*", color="gold", mec="black", ms=15)
            axis.annotate(
                f"f = {abs(value) if abs(value) < 5e-3 else value:.2f}", point, (8, 6), textcoords="offset points"
            )
        axis.set(title=f"{name}: which minimum a start reaches", xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
