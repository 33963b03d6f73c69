r"""Wasserstein distance ignores small wiggles.

Between the uniform density on [0, 1] and :math:`1 + \sin(2 \pi k x)`, :math:`W_1 = 1 / (2 \pi k)`: a fast wiggle is
smoothed by short moves. The L1 distance :math:`2 / \pi` and the KL divergence do not see the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near
from margin.foundations.information import kl_divergence
from margin.foundations.transport import wasserstein_1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WAVES = np.array([1, 2, 5, 10, 20, 50])


def run(seed: int, fast: bool) -> dict[str, Any]:
    cells = 20_000 if fast else 200_000
    x = (np.arange(cells) + 0.5) / cells
    flat = np.full(cells, 1.0 / cells)
    wiggles = [np.sin(2 * np.pi * k * x) for k in WAVES]
    return {
        "waves": WAVES,
        "W1": np.array([wasserstein_1d(x, x, 1, flat, flat * (1 + wiggle)) for wiggle in wiggles]),
        "L1": np.array([np.abs(flat * wiggle).sum() for wiggle in wiggles]),
        "KL": np.array([kl_divergence(flat, flat * (1 + 0.9 * wiggle)) for wiggle in wiggles]),
        "x": x[:: cells // 1000],
        "slow": 1 + wiggles[0][:: cells // 1000],
        "fast": 1 + wiggles[3][:: cells // 1000],
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        w1=near(data["W1"] * 2 * np.pi * data["waves"], np.ones(len(WAVES)), tolerance=1e-4),
        l1=near(data["L1"], np.full(len(WAVES), 2 / np.pi), tolerance=1e-3),
        kl=near(data["KL"], np.full(len(WAVES), 0.3312), tolerance=1e-3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    densities, curves = figure.subplots(1, 2)
    densities.axhline(1, color="#444444", label="uniform")
    densities.plot(data["x"], data["slow"], color="C1", label="k = 1")
    densities.plot(data["x"], data["fast"], color="C0", lw=1, label="k = 10")
    densities.set(xlabel="x", ylabel="density", ylim=(0, 2.6), title="1 + sin(2πkx)")
    densities.legend(frameon=False, ncols=3)
    for name, color, label in (
        ("L1", "C2", "L1 distance"),
        ("KL", "C4", "KL (amplitude 0.9)"),
        ("W1", "C0", "$W_1$"),
    ):
        curves.loglog(data["waves"], data[name], "o-", color=color, label=label)
    curves.loglog(data["waves"], 1 / (2 * np.pi * data["waves"]), ":", color="#444444", label="1 / (2πk)")
    curves.set(xlabel="wiggles k", ylabel="distance from uniform", title="only $W_1$ fades with the wiggles")
    curves.legend(frameon=False)
