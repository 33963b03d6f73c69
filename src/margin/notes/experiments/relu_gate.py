r"""Backwards through a rectifier: a diagonal of zeros and ones

The Jacobian of :math:`a = \max(0, b)` is diagonal, :math:`\partial a_i / \partial b_i = 1[b_i > 0]`, so the gradient
that arrives is passed on where the unit was on and stopped where it was off. Nothing is scaled: what is left of a
gradient after several layers is decided by which units were on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS, STEP = 8, 1e-6


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.backprop import relu_jacobian

    rng = np.random.default_rng(seed)
    b = rng.normal(size=UNITS)
    b = np.sign(b) * np.maximum(np.abs(b), 0.05)  # differences need room on both sides of the corner
    b[:2] = np.abs(b[0]), -np.abs(b[1])
    arriving = rng.normal(size=UNITS)
    J = relu_jacobian(b)
    moved = [np.maximum(0, b + STEP * row) - np.maximum(0, b - STEP * row) for row in np.eye(UNITS)]
    return {
        "b": b,
        "a": np.maximum(0, b),
        "jacobian": np.asarray(J),
        "differences": np.array(moved).T / (2 * STEP),
        "arriving": arriving,
        "passed": np.asarray(J.T @ arriving),
    }


def check(data: dict[str, Any]) -> Verdict:
    on = data["b"] > 0
    return every(
        jacobian=near(data["jacobian"], data["differences"], tolerance=1e-8),
        diagonal=equal(np.count_nonzero(data["jacobian"]), int(on.sum())),
        passed_where_on=equal(data["passed"][on].tolist(), data["arriving"][on].tolist()),
        stopped_where_off=equal(np.abs(data["passed"][~on]).tolist(), [0.0] * int((~on).sum())),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.4)
    forward, matrix, backward = figure.subplots(1, 3, width_ratios=(3, 2.4, 3))
    units, width = np.arange(1, UNITS + 1), 0.38
    forward.bar(units - width / 2, data["b"], width, color="C7", label="$b$")
    forward.bar(units + width / 2, data["a"], width, color="C0", label=r"$a = \max(0, b)$")
    forward.set(title="Forwards", xlabel="unit", ylabel="value", xticks=units)
    matrix.imshow(data["jacobian"], cmap="Greys", vmin=0, vmax=1.6, extent=(0.5, UNITS + 0.5, UNITS + 0.5, 0.5))
    for i in units:
        value = data["jacobian"][i - 1, i - 1]
        matrix.text(i, i, f"{value:.0f}", ha="center", va="center", color="w" if value else "C7")
    matrix.set(title=r"Jacobian $\partial a / \partial b$", xlabel="$b_j$", ylabel="$a_i$", xticks=units, yticks=units)
    backward.bar(units - width / 2, data["arriving"], width, color="C7", label=r"$\partial L / \partial a$ arrives")
    backward.bar(units + width / 2, data["passed"], width, color="C3", label=r"$\partial L / \partial b$ goes on")
    backward.set(title="Backwards", xlabel="unit", ylabel="gradient", xticks=units)
    for ax, values in ((forward, data["b"]), (backward, data["arriving"])):
        ax.axhline(0, color="C7", linewidth=0.8)
        ax.set_ylim(min(values.min(), 0) - 0.2, max(values.max(), 0) + 1.2)
        ax.legend(loc="upper right")
