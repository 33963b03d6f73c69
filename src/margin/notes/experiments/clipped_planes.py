r"""Two inputs: three planes, each clipped along a line, add up to seven planar pieces

A unit :math:`h_d = \mathrm{relu}(\theta_{d0} + \theta_{d1}x_1 + \theta_{d2}x_2)` is zero on one side of a line. Three
lines in general position cut the plane into 1 + 3 + 3 = 7 regions, in each of which the sum is a plane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGE = 2.0


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.theory import DenseNetwork, activation_regions

    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * (np.arange(3) + rng.uniform(0.2, 0.8, 3)) / 3
    normals, offsets = np.c_[np.cos(angle), np.sin(angle)], rng.uniform(0.2, 0.5, 3)
    net = DenseNetwork(
        [normals, rng.choice([-1.0, 1.0], (1, 3)) * rng.uniform(0.6, 1.4, (1, 3))], [offsets, np.zeros(1)]
    )
    axis = np.linspace(-EDGE, EDGE, 61 if fast else 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    units = np.maximum(grid @ normals.T + offsets, 0)
    surface = net(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    cells = activation_regions(net, (-EDGE, EDGE, -EDGE, EDGE))
    far = activation_regions(net, (-1e4, 1e4, -1e4, 1e4))
    inside = np.array([cell.corners.mean(axis=0) for cell in cells])
    planes = np.array([cell.gradient @ x + cell.constant for cell, x in zip(cells, inside)])
    return {
        "axis": axis, "units": units, "surface": surface, "n_far": len(far), "corners": [c.corners for c in cells],
        "planes": planes, "values": net(inside)[:, 0], "weights": net.weights[1][0],
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    added = data["units"] @ data["weights"]
    return every(
        seven=equal(data["n_far"], 7),
        no_more_in_the_picture=below(len(data["corners"]), 7.5),
        planes=near(data["planes"], data["values"], tolerance=1e-9),
        sum_of_units=near(added, data["surface"], tolerance=1e-9),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(15, 4)
    axes = figure.subplots(1, 4)
    x = data["axis"]
    for d in range(3):
        axes[d].contourf(x, x, data["units"][..., d], levels=12)
        axes[d].set_title(f"clipped plane {d + 1}")
    axes[3].contourf(x, x, data["surface"], levels=24)
    for corners in data["corners"]:
        axes[3].plot(*np.r_[corners, corners[:1]].T, color="white", lw=1)
    axes[3].set_title(f"the sum: {len(data['corners'])} planar pieces in view")
    for axis in axes:
        axis.set_aspect("equal")
