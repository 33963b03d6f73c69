r"""The chord lies under a concave curve

.. math:: E[g(Y)] \le g(E[Y]) \quad\text{for concave } g, \qquad E[g(Y)] \ge g(E[Y]) \quad\text{for convex } g

Between two points the mean of the function lies on the chord, the function of the mean on the curve. The printed
mnemonic :math:`\log(1+1) > \log 1 + \log 1` compares sums, not means: the concave square root fails it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, every, near
from margin.foundations.probability import Gamma, jensen_gap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FUNCTIONS = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp}
ENDS = np.array([0.4, 3.2])
WEIGHTS = np.array([0.45, 0.55])


def run(seed: int, fast: bool) -> dict[str, Any]:
    data = Gamma(4, 2.5).sample(500 if fast else 5000, np.random.default_rng(seed))
    y = np.linspace(0.2, 3.5, 200)
    return {
        "y": y,
        "curves": {name: g(y) for name, g in FUNCTIONS.items()},
        "gaps": {name: jensen_gap(g, data) for name, g in FUNCTIONS.items()},
        "chord_gaps": {name: jensen_gap(g, ENDS, WEIGHTS) for name, g in FUNCTIONS.items()},
        "linear_gap": jensen_gap(lambda v: 2 * v + 1, data),
    }


def check(data: dict[str, Any]) -> Verdict:
    truth = every(
        log=below(data["gaps"]["log"], 0),
        sqrt=below(data["gaps"]["sqrt"], 0),
        exp=above(data["gaps"]["exp"], 0),
        chord=below(data["chord_gaps"]["log"], 0),
        linear=near(data["linear_gap"], 0.0, tolerance=1e-12),
    )
    return corrected(truth, printed=above(float(np.sqrt(2)), 2 * float(np.sqrt(1))))


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(1, 2)
    center = float(WEIGHTS @ ENDS)
    for axes, name in zip(panels, ("log", "exp")):
        g = FUNCTIONS[name]
        on_chord = float(WEIGHTS @ g(ENDS))
        axes.plot(data["y"], data["curves"][name], color="C0", label=f"{name} y")
        axes.plot(ENDS, g(ENDS), "o-", color="C1", label="chord")
        axes.plot([center, center], [on_chord, g(center)], color="black", linewidth=1)
        axes.plot(center, g(center), "s", color="C0", label="function of the mean")
        axes.plot(center, on_chord, "s", color="C1", label="mean of the function")
        kind = "concave: curve above chord" if name == "log" else "convex: chord above curve"
        axes.set(xlabel="y", ylabel=f"{name} y", title=kind)
        axes.legend(fontsize="small")
