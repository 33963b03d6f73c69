r"""The likelihood of a coin

With 49 heads in 80 tosses :math:`L(p) = \binom{80}{49} p^{49} (1-p)^{31}` peaks at 49/80 = 0.6125. Eight times the
data with the same fraction of heads peak at the same place, and :math:`\sqrt 8` times more sharply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from margin.core.verdict import Verdict, every, near
from margin.foundations.statistics import mle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADS, TOSSES = 49, 80
REPETITIONS = (1, 8)


def run(seed: int, fast: bool) -> dict[str, Any]:
    p = np.linspace(0.0005, 0.9995, 1999 if fast else 19_981)
    curves, estimates = {}, {}
    for times in REPETITIONS:
        heads, tosses = times * HEADS, times * TOSSES
        log_choose = special.gammaln(tosses + 1) - special.gammaln(heads + 1) - special.gammaln(tosses - heads + 1)
        curves[tosses] = np.exp(log_choose + heads * np.log(p) + (tosses - heads) * np.log1p(-p))
        estimates[tosses] = float(mle("bernoulli", np.repeat([1.0, 0.0], [heads, tosses - heads])).parameters[0])
    return {"p": p, "curves": curves, "estimates": estimates}


def check(data: dict[str, Any]) -> Verdict:
    p, curves = data["p"], list(data["curves"].values())
    spreads = [np.sqrt(np.average((p - np.average(p, weights=c)) ** 2, weights=c)) for c in curves]
    return every(
        estimate=near(list(data["estimates"].values()), [0.6125, 0.6125], tolerance=1e-12),
        peak=near([p[c.argmax()] for c in curves], [0.6125, 0.6125], tolerance=6e-4),
        height=near(curves[0].max(), special.comb(80, 49) * 0.6125**49 * 0.3875**31, tolerance=1e-5),
        sharper=near(spreads[0] / spreads[1], np.sqrt(8), tolerance=0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots()
    for tosses, curve in data["curves"].items():
        heads = round(data["estimates"][tosses] * tosses)
        (line,) = axes.plot(data["p"], curve / curve.max(), label=f"{heads} heads in {tosses} tosses")
        axes.fill_between(data["p"], curve / curve.max(), color=line.get_color(), alpha=0.12)
    axes.axvline(HEADS / TOSSES, color="0.3", linestyle="--", linewidth=1)
    axes.annotate(r"$\hat p = 49/80 = 0.6125$", (HEADS / TOSSES, 1.03), ha="center")
    axes.set(xlabel="probability of heads p", ylabel="likelihood relative to its peak", xlim=(0.3, 0.9), ylim=(0, 1.12))
    axes.set_title("More tosses: the same peak, sharper")
    axes.legend(loc="upper left")
