r"""A shear turns every arrow but one

The shear :math:`\begin{bmatrix}1&k\\0&1\end{bmatrix}` moves points sideways in proportion to their height. The
horizontal arrow keeps its direction and its length: it is an eigenvector with eigenvalue 1. Every other arrow turns,
the upright one by :math:`\arctan k`; there is no second eigenvector, the matrix is defective.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near
from margin.foundations.linalg import eig, is_diagonalizable, is_eigenpair

if TYPE_CHECKING:
    from matplotlib.figure import Figure

K = 0.6


def run(seed: int, fast: bool) -> dict[str, Any]:
    shear = np.array([[1.0, K], [0.0, 1.0]])
    angles = np.linspace(0, np.pi, 181)[:-1]
    arrows = np.array([np.cos(angles), np.sin(angles)])
    x, y = shear @ arrows
    return {
        "shear": shear,
        "values": eig(shear).values,
        "angles": np.degrees(angles),
        "turned": np.degrees(np.arctan2(arrows[0] * y - arrows[1] * x, arrows[0] * x + arrows[1] * y)),
        "kept_is_eigenvector": is_eigenpair(shear, 1.0, [1.0, 0.0]),
        "diagonalizable": is_diagonalizable(shear),
    }


def check(data: dict[str, Any]) -> Verdict:
    turned = np.abs(data["turned"])
    upright = turned[np.argmin(np.abs(data["angles"] - 90))]
    return every(
        eigenvector=equal(data["kept_is_eigenvector"], True),
        eigenvalue=near(data["values"], np.ones(2), tolerance=1e-12),
        horizontal_turns=near(turned[0], 0.0, tolerance=1e-12),
        upright_turns=near(upright, np.degrees(np.arctan(K)), tolerance=1e-9),
        all_others_turn=above(turned[1:].min(), 0.0),
        diagonalizable=equal(data["diagonalizable"], False),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.3)
    before, after, angles = figure.subplots(1, 3, width_ratios=[1, 1.3, 1.3])
    lines = np.linspace(-1.5, 1.5, 7)
    for axes, matrix, title in ((before, np.eye(2), "Before"), (after, data["shear"], f"After the shear, k = {K}")):
        for value in lines:
            for ends in ([[value, value], [lines[0], lines[-1]]], [[lines[0], lines[-1]], [value, value]]):
                axes.plot(*(matrix @ np.array(ends)), color="0.8", linewidth=0.8)
        for arrow, color in (([1.2, 0.0], "C0"), ([0.0, 1.2], "C3")):
            style = {"arrowstyle": "-|>", "color": color, "linewidth": 3, "mutation_scale": 18}
            axes.annotate("", matrix @ arrow, (0, 0), arrowprops=style)
        axes.set(title=title, aspect="equal", ylim=(-1.7, 1.7), xlabel="$x_1$", ylabel="$x_2$")
    angles.plot(data["angles"], data["turned"], color="0.2")
    angles.plot([0, 180], [0, 0], "o", color="C0", label="blue: eigenvector, λ = 1")
    angles.plot(90, data["turned"][90], "o", color="C3", label="red: the upright arrow")
    angles.set(title="Turn of each arrow", xlabel="direction before, degrees", ylabel="turn, degrees", ylim=(-36, 12))
    angles.legend(fontsize="small", loc="upper center")
