r"""The Hausdorff distance is the longer of two one-sided distances.

.. math:: d_H(X, Y) = \max\bigl\{\sup_x\inf_y \lVert x - y\rVert,\ \sup_y\inf_x\lVert x - y\rVert\bigr\}

Each segment runs from the point of one curve that is farthest from the other curve to the point next to it. The two
differ: a spike on one curve is far from the other, which everywhere has a near neighbor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near
from margin.foundations.transport.hausdorff import directed_hausdorff
from margin.metrics import hausdorff, hausdorff_pairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 2 * np.pi, 200 if fast else 800, endpoint=False)
    phase = rng.uniform(0, 2 * np.pi)
    ring = np.column_stack([np.cos(t), np.sin(t)])
    distance_from_spike = np.abs((t - phase + np.pi) % (2 * np.pi) - np.pi)
    radius = 1.25 + 0.06 * np.sin(5 * t) + 1.2 * np.exp(-((distance_from_spike / 0.25) ** 2))
    spiked = radius[:, None] * ring
    return {"X": ring, "Y": spiked, "pairs": hausdorff_pairs(ring, spiked), "distance": hausdorff(ring, spiked)}


def _lengths(data: dict[str, Any]) -> list[float]:
    return [float(np.linalg.norm(data["X"][i] - data["Y"][j])) for i, j in data["pairs"]]


def check(data: dict[str, Any]) -> Verdict:
    lengths = _lengths(data)
    one_sided = [directed_hausdorff(data["X"], data["Y"]), directed_hausdorff(data["Y"], data["X"])]
    return every(
        attained=near(lengths, one_sided, tolerance=1e-12),
        the_longer=near(data["distance"], max(lengths), tolerance=1e-12),
        they_differ=above(lengths[1] / lengths[0], 2.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(8, 8)
    axes = figure.subplots()
    X, Y = (np.vstack([curve, curve[:1]]) for curve in (data["X"], data["Y"]))
    axes.fill(*X.T, color="C0", alpha=0.08)
    axes.plot(*X.T, color="C0", lw=2, label="X")
    axes.plot(*Y.T, color="C2", lw=2, label="Y")
    names = (r"$\sup_x\inf_y\|x-y\|$", r"$\sup_y\inf_x\|x-y\|$")
    for (i, j), length, name, color in zip(data["pairs"], _lengths(data), names, ("C4", "C3"), strict=True):
        ends = np.array([data["X"][i], data["Y"][j]])
        axes.plot(*ends.T, "o-", color=color, lw=2.5, ms=6, label=f"{name} = {length:.2f}")
    axes.set(aspect="equal", xticks=[], yticks=[])
    axes.set_title(f"Hausdorff distance {data['distance']:.2f}: the longer segment")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    axes.spines[:].set_visible(False)
