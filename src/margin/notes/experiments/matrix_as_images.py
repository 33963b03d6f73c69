r"""A matrix read column by column

The columns of a matrix are the images of the basis vectors, :math:`Ae_j = A_{:,j}`. For
:math:`A = \begin{bmatrix}3&1\\1&2\end{bmatrix}` the unit square becomes a parallelogram of area :math:`\det A = 5`
whose sides meet at 45 degrees: the basis is not only rotated and scaled, it is sheared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.foundations.linalg import column_images, determinant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

A = np.array([[3.0, 1.0], [1.0, 2.0]])
SQUARE = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=float)


def run(seed: int, fast: bool) -> dict[str, Any]:
    images = np.array(column_images(A))
    cosine = images[0] @ images[1] / np.prod(np.linalg.norm(images, axis=1))
    parallelogram = A @ SQUARE
    x, y = parallelogram
    shoelace = abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
    return {
        "images": images,
        "parallelogram": parallelogram,
        "angle": float(np.degrees(np.arccos(cosine))),
        "area": float(shoelace),
        "determinant": determinant(A),
    }


def check(data: dict[str, Any]) -> Verdict:
    return corrected(
        every(
            images=equal(data["images"], np.array([[3.0, 1.0], [1.0, 2.0]])),
            angle=near(data["angle"], 45.0, tolerance=1e-9),
            area=near(data["area"], data["determinant"], tolerance=1e-12),
        ),
        printed=near(data["angle"], 90.0, tolerance=1e-6),  # what rotating and scaling alone would keep
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    before, after = figure.subplots(1, 2, sharex=True, sharey=True)
    names = ("$e_1$", "$e_2$"), ("$Ae_1 = (3, 1)$", "$Ae_2 = (1, 2)$")
    shapes = SQUARE, data["parallelogram"]
    for axes, shape, vectors, labels in zip((before, after), shapes, (np.eye(2), data["images"]), names):
        axes.fill(*shape, color="0.9")
        axes.plot(*shape, color="0.6", linewidth=1)
        for vector, label, color in zip(vectors, labels, ("C0", "C3")):
            axes.annotate("", vector, (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2.5})
            axes.annotate(label, vector, xytext=(4, 6), textcoords="offset points", color=color)
        axes.set(xlim=(-0.5, 4.9), ylim=(-0.5, 3.5), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
        axes.grid(alpha=0.3)
    before.set_title("The unit square")
    after.set_title(f"Its image: {data['angle']:.0f}° between the sides, area {data['area']:.0f}")
