r"""Eigenvectors are the directions that a matrix only stretches

Along a real eigenvector a matrix multiplies lengths by :math:`|\lambda|`. For a symmetric matrix these directions are
the axes of the ellipse that the unit circle becomes; for other diagonalizable matrices they are not; and a rotation
has none, because its eigenvalues :math:`e^{\pm i\theta}` are not real.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.foundations.linalg import eig, rotation, svd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATRICES = {
    "symmetric": np.array([[1.6, 0.7], [0.7, 0.9]]),
    "diagonalizable": np.array([[1.6, 1.1], [0.1, 0.7]]),
    "rotation": rotation(np.pi / 5),
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    angle = np.linspace(0, 2 * np.pi, 361)
    circle = np.array([np.cos(angle), np.sin(angle)])
    return {
        name: {
            "image": matrix @ circle,
            "values": eig(matrix).values,
            "vectors": eig(matrix).vectors,
            "stretch": np.linalg.norm(matrix @ eig(matrix).vectors, axis=0),
            "axes": svd(matrix).U,
            "semi_axes": svd(matrix).s,
        }
        for name, matrix in MATRICES.items()
    }


def check(data: dict[str, Any]) -> Verdict:
    symmetric, general, turning = (data[name] for name in MATRICES)

    def alignment(case: dict[str, Any]) -> float:
        """The cosine between the longest axis of the ellipse and the eigenvector of the largest eigenvalue."""
        return float(abs(case["axes"][:, 0] @ case["vectors"][:, -1]))

    return corrected(
        every(
            stretch=near(general["stretch"], np.abs(general["values"]), tolerance=1e-12),
            symmetric_axes=near(alignment(symmetric), 1.0, tolerance=1e-12),
            symmetric_semi_axes=near(symmetric["semi_axes"], symmetric["values"][::-1], tolerance=1e-12),
            other_axes_differ=equal(alignment(general) < 0.999, True),
        ),
        # "Space is scaled in the direction of the eigenvectors": a rotation would need real ones.
        printed=equal(bool(np.isreal(turning["values"]).all()), True),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    angle = np.linspace(0, 2 * np.pi, 361)
    for axes, (name, case) in zip(figure.subplots(1, 3, sharex=True, sharey=True), data.items()):
        axes.plot(np.cos(angle), np.sin(angle), color="0.7", linestyle="--", label="unit circle")
        axes.plot(*case["image"], color="0.2", label="its image")
        if np.isrealobj(case["values"]):
            for value, vector, color in zip(case["values"], case["vectors"].T, ("C0", "C3")):
                ends = np.outer(vector, [-2.4, 2.4])
                axes.plot(*ends, color=color, linewidth=0.7, alpha=0.5)
                arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 2.5}
                axes.annotate("", value * vector, (0, 0), arrowprops=arrow)
                axes.plot([], [], color=color, label=f"$\\lambda$ = {value:.2f}")
        else:
            first = case["values"][-1]
            axes.plot([], [], " ", label=f"$\\lambda$ = {first.real:.2f} ± {abs(first.imag):.2f}i")
            arrow = {"arrowstyle": "->", "color": "0.5", "connectionstyle": "arc3,rad=0.2"}
            for start in range(0, 360, 45):  # every direction turns
                source, target = np.array([np.cos(angle[start]), np.sin(angle[start])]), case["image"][:, start]
                axes.annotate("", 1.3 * target, 1.3 * source, arrowprops=arrow)
        axes.set(title=name, aspect="equal", xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xlabel="$x_1$")
        axes.legend(fontsize="x-small", loc="upper left")
