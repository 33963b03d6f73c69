r"""The triangle of three class probabilities, colored by the largest

Probabilities of three classes lie on :math:`\{p \ge 0: p_1 + p_2 + p_3 = 1\}`. The most probable class divides it into
three regions that meet where all are 1/3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.activations.softmax import softmax

    rng = np.random.default_rng(seed)
    n = 4000 if fast else 40_000
    uniform = rng.dirichlet(np.ones(3), size=n)  # every point of the triangle is as likely
    scores = np.log(uniform) + rng.normal(size=(n, 1))  # a common constant does not count
    P = softmax(torch.from_numpy(scores), dim=1).numpy()
    return {"points": P @ CORNERS, "probabilities": P, "classes": P.argmax(axis=1), "drawn": uniform}


def check(data: dict[str, Any]) -> Verdict:
    P, classes = data["probabilities"], data["classes"]
    fractions = np.bincount(classes, minlength=3) / len(classes)
    inequalities = [(P[classes == k, k : k + 1] >= P[classes == k]).all() for k in range(3)]
    # In the picture, a triangle of equal sides, the most probable class is that of the nearest corner.
    nearest = np.linalg.norm(data["points"][:, None] - CORNERS, axis=2).argmin(axis=1)
    near_the_middle = np.linalg.norm(data["points"] - CORNERS.mean(axis=0), axis=1) < 0.15
    return every(
        softmax_finds_them=near(P, data["drawn"], tolerance=1e-12),
        cut_by_inequalities=equal([bool(right) for right in inequalities], [True] * 3),
        nearest_corners=equal(nearest, classes),
        meet_in_the_middle=equal(np.unique(classes[near_the_middle]).tolist(), [0, 1, 2]),
        a_third_each=near(fractions, np.full(3, 1 / 3), tolerance=0.04),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(7, 6)
    axis = figure.subplots()
    for k in range(3):
        axis.plot(*data["points"][data["classes"] == k].T, ".", ms=3, color=f"C{k}")
        outward = 0.07 * (CORNERS[k] - CORNERS.mean(axis=0))
        axis.annotate(f"$p_{k + 1} = 1$", CORNERS[k] + outward, fontsize=13, ha="center", va="center")
    axis.plot(*CORNERS.mean(axis=0), "o", color="black")
    axis.set(title="Where each of three probabilities is the largest", aspect="equal")
    axis.margins(0.08)
    axis.set_axis_off()
