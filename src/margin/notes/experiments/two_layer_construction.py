r"""The second layer clips functions that have common joints

Pre-activations of the second layer, :math:`\psi_{d0} + \sum_j\psi_{dj}h_j`, are shallow networks that bend at the same
places. Clipping gives each of them new joints where it crosses zero; the output adds them up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.theory import DenseNetwork, linear_pieces
    from margin.neural.theory.pieces import LinearPieces, clip, merge, unit_lines

    rng = np.random.default_rng(seed)
    places = np.array([-0.6, 0.0, 0.6])
    Psi = rng.choice([-1.0, 1.0], (3, 3)) * rng.uniform(0.5, 1.5, (3, 3))
    crossing = rng.uniform(-0.4, 1.0, 3)  # where each unit of the second layer is zero at least
    psi_0 = -np.sum(Psi * np.maximum(crossing[:, None] - places, 0), axis=1)
    net = DenseNetwork([np.ones((3, 1)), Psi, rng.choice([-1.0, 1.0], (1, 3))], [-places, psi_0, np.zeros(1)])
    lines = unit_lines(net, 1)

    def joints(pieces: LinearPieces, j: int) -> np.ndarray:
        return merge(LinearPieces(pieces.joints, pieces.slopes[:, [j]], pieces.constants[:, [j]])).joints

    x = np.linspace(-1.2, 1.2, 401 if fast else 4001)
    before = lines.evaluate(x)
    return {
        "x": x, "before": before, "after": np.maximum(before, 0), "y": net(x)[:, 0],
        "common": [joints(lines, j) for j in range(3)], "own": [joints(clip(lines), j) for j in range(3)],
        "all": linear_pieces(net).joints, "zeros": [int((np.diff(np.sign(before[:, j])) != 0).sum()) for j in range(3)],
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    places = np.array([-0.6, 0.0, 0.6])
    new = [np.setdiff1d(own.round(9), places) for own in data["own"]]
    seen = [int((np.abs(part) < 1.2).sum()) for part in new]
    return every(
        common=equal([np.allclose(part, places) for part in data["common"]], [True] * 3),
        one_new_joint_per_zero=equal(seen, data["zeros"]),
        more_than_before=above(len(data["all"]), 3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 9)
    grid = figure.add_gridspec(3, 3)
    for j in range(3):
        for row, (name, joints) in enumerate((("before", data["common"][j]), ("after", data["own"][j]))):
            axis = figure.add_subplot(grid[row, j])
            axis.plot(data["x"], data[name][:, j], color=f"C{j}")
            axis.axhline(0, color="silver", lw=0.8)
            for joint in joints[np.abs(joints) < 1.2]:
                axis.axvline(joint, ls=":", color="gray")
            axis.set_title(f"unit {j + 1} " + ("before" if row == 0 else "after") + " clipping")
    total = figure.add_subplot(grid[2, :])
    total.plot(data["x"], data["y"], color="black")
    for joint in data["all"][np.abs(data["all"]) < 1.2]:
        total.axvline(joint, ls=":", color="gray")
    total.set_title(f"the output: {len(data['all'])} joints")
