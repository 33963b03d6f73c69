r"""A deep network of two inputs: planes, folded once more

The first network maps the plane to a number by clipped planes, the second acts on that number. The lines of the first
stay boundaries of the composition; the joints of the second become new ones along level lines of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGE = 1.5


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.theory import DenseNetwork, activation_regions, compose

    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * (np.arange(3) + rng.uniform(0.2, 0.8, 3)) / 3
    first = DenseNetwork(
        [np.c_[np.cos(angle), np.sin(angle)], np.array([[1.0, 1.0, 1.0]])], [rng.uniform(0.1, 0.4, 3), np.zeros(1)]
    )
    second = DenseNetwork([np.ones((3, 1)), np.array([[1.0, -2.5, 2.5]])], [-np.array([0.0, 0.8, 1.4]), np.zeros(1)])
    both, box = compose(first, second), (-EDGE, EDGE, -EDGE, EDGE)
    axis = np.linspace(-EDGE, EDGE, 81 if fast else 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    shape = (len(axis), len(axis))
    shallow, deep = (activation_regions(net, box) for net in (first, both))
    inside = np.array([cell.corners.mean(axis=0) for cell in deep])
    line = np.linspace(-0.5, 4, 200)
    return {
        "axis": axis, "first": first(grid).reshape(shape), "both": both(grid).reshape(shape),
        "line": line, "second": second(line)[:, 0], "shallow": [c.corners for c in shallow],
        "deep": [c.corners for c in deep], "sides": inside @ first.weights[0].T + first.biases[0],
        "corner_sides": [c.corners @ first.weights[0].T + first.biases[0] for c in deep],
        "planes": np.array([c.gradient @ x + c.constant for c, x in zip(deep, inside)]), "values": both(inside)[:, 0],
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    # A boundary of the first network persists if no region of the composition lies on both sides of it.
    crosses = [((corners > 1e-9).any(axis=0) & (corners < -1e-9).any(axis=0)).any() for corners in data["corner_sides"]]
    return every(
        more_regions=above(len(data["deep"]), len(data["shallow"])),
        boundaries_persist=equal(int(sum(crosses)), 0),
        planar=near(data["planes"], data["values"], tolerance=1e-9),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 4.5)
    left, middle, right = figure.subplots(1, 3)
    for axis, name, cells in ((left, "first", "shallow"), (right, "both", "deep")):
        axis.contourf(data["axis"], data["axis"], data[name], levels=24)
        for corners in data[cells]:
            axis.plot(*np.r_[corners, corners[:1]].T, color="white", lw=0.8)
        axis.set_aspect("equal")
        axis.set_title(f"{'network 1' if name == 'first' else 'overall'}: {len(data[cells])} regions")
    middle.plot(data["line"], data["second"], color="black")
    middle.set_title("network 2")
