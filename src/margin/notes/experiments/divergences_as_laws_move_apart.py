r"""Divergences as laws move apart: KL is infinite, JS is stuck, Wasserstein keeps measuring.

For a uniform block shifted by :math:`\theta` past its width the supports are disjoint: :math:`D_{KL} = \infty`,
:math:`D_{JS} = \log 2` with slope zero, :math:`W_1 = |\theta|` with slope one. That is a matter of supports, not of
distance: between normals :math:`D_{KL} = \theta^2 / 2` grows, and :math:`D_{JS}` approaches :math:`\log 2` without
reaching it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.foundations.information import js_divergence, kl_divergence
from margin.foundations.transport import wasserstein_1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS_PER_UNIT = 50
SHIFTS = np.arange(0, 10.01, 0.2)


def run(seed: int, fast: bool) -> dict[str, Any]:
    x = np.arange(-12.0, 24.0, 1.0 / CELLS_PER_UNIT)
    families = {
        "uniform blocks": lambda theta: ((x >= theta - 1e-9) & (x < theta + 1 - 1e-9)).astype(float),
        "normals": lambda theta: np.exp(-0.5 * (x - theta) ** 2),
    }
    curves = {}
    for name, density in families.items():
        rows = np.array([density(theta) for theta in SHIFTS])
        rows /= rows.sum(axis=1, keepdims=True)
        curves[name] = {
            "KL": kl_divergence(rows[0], rows),
            "JS": js_divergence(rows[0], rows),
            "W1": np.array([wasserstein_1d(x, x, 1, rows[0], row) for row in rows]),
        }
    return {"shift": SHIFTS, "curves": curves}


def check(data: dict[str, Any]) -> Verdict:
    shift, blocks, normals = data["shift"], data["curves"]["uniform blocks"], data["curves"]["normals"]
    apart = shift >= 1 - 1e-9
    at_five = int(np.argmin(np.abs(shift - 5)))
    return corrected(
        every(
            blocks_kl=equal(bool(np.isinf(blocks["KL"][apart]).all()), True),
            blocks_js=near(blocks["JS"][apart], np.full(apart.sum(), math.log(2)), tolerance=1e-12),
            blocks_w1=near(blocks["W1"], shift, tolerance=1e-9),
            normals_kl=near(normals["KL"], shift**2 / 2, tolerance=1e-6),
            normals_js=near(normals["JS"][at_five], 0.67594, tolerance=1e-5),
            normals_js_grows=above(float(np.diff(normals["JS"]).min()), 0.0),
            normals_w1=near(normals["W1"], shift, tolerance=1e-6),
        ),
        # "KL cannot express how far apart, JS is constant" for any two distant distributions.
        kl=equal(bool(np.isinf(normals["KL"][at_five])), True),
        js=near(normals["JS"][at_five], math.log(2), tolerance=1e-3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    for axis, (name, curves) in zip(figure.subplots(1, 2), data["curves"].items()):
        kl = np.where(np.isinf(curves["KL"]), np.nan, curves["KL"])
        axis.plot(data["shift"], kl, color="C4", lw=2, label="KL")
        axis.plot(data["shift"], curves["JS"], color="C1", lw=2, label="Jensen-Shannon")
        axis.plot(data["shift"], curves["W1"], color="C0", lw=2, label="Wasserstein $W_1$")
        axis.axhline(math.log(2), color="#999999", lw=1, ls=":", label="log 2")
        if np.isinf(curves["KL"]).any():
            axis.text(2.2, 10.6, "KL = ∞ for every shift", color="C4")
        axis.set(xlabel="shift θ", ylabel="nats, or distance", title=name, ylim=(-0.3, 12))
        axis.legend(frameon=False, loc="center right")
    figure.suptitle("Three ways to compare a law with a shifted copy")
