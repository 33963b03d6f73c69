r"""From mixed to pure: entropy falls as a group of items loses its colors.

:math:`H(p) = -\sum_c p_c \log_2 p_c` is :math:`\log_2 K` for an even mix of :math:`K` colors and zero for one color.
It is not confined to [0, 1]: four even colors have two bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.information import entropy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTS = np.array([[6, 6, 6, 6], [12, 6, 4, 2], [20, 2, 1, 1], [24, 0, 0, 0]])
COLORS = ("C0", "C1", "C2", "C4")


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    fractions = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    items = [rng.permutation(np.repeat(np.arange(4), counts)) for counts in COUNTS]
    positions = [_scatter(rng, len(group)) for group in items]
    return {"fractions": fractions, "items": items, "positions": positions, "bits": entropy(fractions, base=2)}


def check(data: dict[str, Any]) -> Verdict:
    bits = data["bits"]
    return every(
        falling=equal(bool((np.diff(bits) < 0).all()), True),
        even_mix=near(bits[0], 2.0, tolerance=1e-12),
        pure=near(bits[-1], 0.0, tolerance=0.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    groups, bars = figure.subplots(2, len(COUNTS), height_ratios=(3, 1))
    for axis, items, positions, bits in zip(groups, data["items"], data["positions"], data["bits"]):
        axis.scatter(*positions.T, c=[COLORS[item] for item in items], s=70, edgecolors="white")
        axis.set(xticks=[], yticks=[], xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal", title=f"{bits:.2f} bits")
        axis.spines[:].set_visible(False)
    for axis, fractions in zip(bars, data["fractions"]):
        axis.bar(range(4), fractions, color=COLORS)
        axis.set(xticks=[], ylim=(0, 1.05), xlabel="color")
        axis.spines[["top", "right"]].set_visible(False)
        axis.label_outer()
    bars[0].set_ylabel("fraction")
    figure.suptitle("Entropy falls from an even mix to a single color")


def _scatter(rng: np.random.Generator, n: int) -> np.ndarray:
    """Positions on a sunflower in a disc: even, without overlap, turned at random."""
    k = np.arange(n) + 0.5
    angle = k * np.pi * (3.0 - np.sqrt(5.0)) + rng.uniform(0, 2 * np.pi)
    return (np.sqrt(k / n) * np.array([np.cos(angle), np.sin(angle)])).T
